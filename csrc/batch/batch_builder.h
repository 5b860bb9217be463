/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch at a time: the numbers of its records, the records, their columns.
 *
 * A single assembler is for one thread, which must not change; different ones may share an order, a
 * dataset and a pool.
 */
#ifndef FASTREC_BATCH_BUILDER_H
#define FASTREC_BATCH_BUILDER_H

#include <stdatomic.h>

#include "batch/pool.h"
#include "batch/sampler.h"
#include "example/parse.h"
#include "files/readahead.h"

/* All-zero is a valid assembler that can only be freed. */
typedef struct {
    const fr_dataset *dataset;
    const fr_order *order;
    fr_pool *pool;
    size_t stride; /* batch n is followed by batch n + stride here, if by any */
    fr_parser parser;
    fr_sampler cursor; /* unless the order is drawn in turn */
    fr_readahead ahead;
    uint64_t *next_numbers; /* of batch `next`, whose records are announced; 0 for none */
    uint64_t next;
} fr_batch_builder;

/* Orders whose batches one cursor had better go through in turn, for all assemblers. */
static inline bool fr_order_is_drawn(const fr_order *order) {
    return order->shuffle == FR_SHUFFLE_BUFFER;
}

/* What is given is borrowed; `numbers` is room for as many as the largest batch has rows. */
FR_NODISCARD int fr_batch_builder_init(fr_batch_builder *assembler, const fr_dataset *dataset,
                                       const fr_order *order, fr_pool *pool, size_t stride,
                                       uint64_t *numbers, fr_error *err);

/*
 * Makes the batch of that serial and slice. Writes the records' numbers, or finds them in
 * `numbers` when the order is drawn in turn. FR_AGAIN when `stop` became true. Errors have file,
 * record within it and offset.
 */
FR_NODISCARD int fr_batch_builder_make(fr_batch_builder *assembler, uint64_t serial,
                                       const fr_slice *slice, uint64_t *numbers,
                                       const atomic_bool *stop, fr_columns **batch, fr_error *err);

void fr_batch_builder_free(fr_batch_builder *assembler);

#endif
