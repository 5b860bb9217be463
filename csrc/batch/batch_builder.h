/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch at a time: the numbers of its records, the records, their columns.
 *
 * A single builder is for one thread, which must not change; different ones may share an order, a
 * dataset and a pool.
 */
#ifndef FASTREC_BATCH_BUILDER_H
#define FASTREC_BATCH_BUILDER_H

#include <stdatomic.h>

#include "batch/pool.h"
#include "batch/sampler.h"
#include "example/parse.h"
#include "files/readahead.h"

/* All-zero is a valid builder that can only be freed. */
typedef struct {
    const fr_dataset *dataset;
    const fr_order *order;
    fr_pool *pool;
    bool retires;  /* records that were read are retired */
    size_t stride; /* batch n is followed by batch n + stride here, if by any */
    fr_parser parser;
    fr_sampler sampler; /* unless the order is stateful: then numbers are given */
    fr_readahead ahead;
    uint64_t *next_numbers; /* of batch `next`, whose records are announced; 0 for none */
    uint64_t next;
} fr_batch_builder;

/* Everything is borrowed; `numbers` is an array as long as the largest batch. With `retires`, files
   are retired behind the reading: fr_dataset_retire(). */
FR_NODISCARD int fr_batch_builder_init(fr_batch_builder *builder, const fr_dataset *dataset,
                                       const fr_order *order, fr_pool *pool, size_t stride,
                                       bool retires, uint64_t *numbers, fr_error *err);

/*
 * Makes the batch of that serial and slice. Writes the records' numbers, or finds them in
 * `numbers` when the order is stateful (sampler.h). FR_AGAIN when `stop` became true. Errors have
 * file, record within it and offset.
 */
FR_NODISCARD int fr_batch_builder_make(fr_batch_builder *builder, uint64_t serial,
                                       const fr_slice *slice, uint64_t *numbers,
                                       const atomic_bool *stop, fr_columns **batch, fr_error *err);

void fr_batch_builder_free(fr_batch_builder *builder);

#endif
