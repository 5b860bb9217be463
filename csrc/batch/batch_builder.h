/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one batch at a time: the numbers of its records, the records, and their columns.
 *
 * A builder belongs to one thread for its lifetime. Different builders may share an order, a
 * dataset and a pool.
 */
#ifndef FASTREC_BATCH_BUILDER_H
#define FASTREC_BATCH_BUILDER_H

#include <stdatomic.h>

#include "batch/pool.h"
#include "batch/sampler.h"
#include "example/parse.h"
#include "files/readahead.h"

/* All-zero is a valid builder, but can only be freed. */
typedef struct {
    const fr_dataset *dataset;
    const fr_order *order;
    fr_pool *pool;
    bool retires;  /* retire records after reading them */
    size_t stride; /* this builder makes batch n + stride after batch n */
    fr_parser parser;
    fr_sampler sampler; /* unused if the order is stateful: the caller then gives numbers */
    fr_readahead ahead;
    uint64_t *next_numbers; /* record numbers of batch `next`, which are announced */
    uint64_t next;          /* number of the announced batch; 0: none */
} fr_batch_builder;

/* Initializes a builder. All pointers are borrowed; `numbers` has room for the largest batch.
   With `retires`, files are retired after they are read: fr_dataset_retire(). */
FR_NODISCARD int fr_batch_builder_init(fr_batch_builder *builder, const fr_dataset *dataset,
                                       const fr_order *order, fr_pool *pool, size_t stride,
                                       bool retires, uint64_t *numbers, fr_error *err);

/*
 * Makes the batch with this serial and slice. Writes the records' numbers to `numbers`, or reads
 * them from there if the order is stateful (sampler.h). Returns FR_AGAIN if `stop` became true.
 * Errors have file, record within the file, and offset.
 */
FR_NODISCARD int fr_batch_builder_make(fr_batch_builder *builder, uint64_t serial,
                                       const fr_slice *slice, uint64_t *numbers,
                                       const atomic_bool *stop, fr_columns **batch, fr_error *err);

void fr_batch_builder_free(fr_batch_builder *builder);

#endif
