/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that are reused: columns that are given back keep their blocks, and with them their
 * pages.
 *
 * Thread-safe. The pool exists until its owner has released it and all columns are given back.
 */
#ifndef FASTREC_POOL_H
#define FASTREC_POOL_H

#include "example/columns.h"

typedef struct fr_pool fr_pool;

/* Makes an empty pool, which owns `schema` and keeps at most `keep` idle columns. On failure,
   the caller still owns the schema. */
FR_NODISCARD int fr_pool_new(fr_schema *schema, size_t keep, fr_pool **pool, fr_error *err);

const fr_schema *fr_pool_schema(const fr_pool *pool);

/* Gets columns with capacity for `capacity` rows. */
FR_NODISCARD int fr_pool_take(fr_pool *pool, size_t capacity, fr_columns **columns, fr_error *err);

/* Adds idle columns whose shared block is the given memory while it is large enough. REQUIRES:
   the memory is aligned to 64 bytes and outlives the pool. */
FR_NODISCARD int fr_pool_lend(fr_pool *pool, void *data, size_t size, fr_error *err);

/* Gives columns back. Their blocks may be overwritten afterwards. */
void fr_pool_give(fr_pool *pool, fr_columns *columns);

/* Releases the owner's reference. */
void fr_pool_release(fr_pool *pool);

/* Returns the number of columns that are taken; for tests. */
size_t fr_pool_taken(const fr_pool *pool);

#endif
