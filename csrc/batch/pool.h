/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that are used again: columns that come back keep their blocks, and with them their
 * pages.
 *
 * Safe to use by several threads at once. The pool lives until the last of its owner and the
 * columns taken from it lets go.
 */
#ifndef FASTREC_POOL_H
#define FASTREC_POOL_H

#include "example/columns.h"

typedef struct fr_pool fr_pool;

/* An empty pool that keeps at most `keep` columns of `schema`, which it takes over, when they are
   not in use. On failure the schema is still the caller's. */
FR_NODISCARD int fr_pool_new(fr_schema *schema, size_t keep, fr_pool **pool, fr_error *err);

const fr_schema *fr_pool_schema(const fr_pool *pool);

/* Columns begun for `capacity` rows. */
FR_NODISCARD int fr_pool_take(fr_pool *pool, size_t capacity, fr_columns **columns, fr_error *err);

/* Adds idle columns whose shared block is that memory, 64-byte aligned, as long as it is large
   enough. It must outlive the pool. */
FR_NODISCARD int fr_pool_lend(fr_pool *pool, void *data, size_t size, fr_error *err);

/* Gives columns back. Their blocks may be written to from now on. */
void fr_pool_give(fr_pool *pool, fr_columns *columns);

/* The owner lets go. */
void fr_pool_release(fr_pool *pool);

/* Columns that are out now; for tests. */
size_t fr_pool_taken(const fr_pool *pool);

#endif
