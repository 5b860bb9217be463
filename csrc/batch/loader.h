/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker threads: order -> records -> parsed batches, delivered in order.
 *
 * The number of a batch determines its content (order.h), so each batch is one task of a ring
 * (task_ring.h). The ring bounds the number of batches in memory, and returns the first error in
 * place of its batch.
 *
 * A loader has one consumer at a time. A child made by fork() has no workers: calls there fail, and
 * the child can only free the loader.
 */
#ifndef FASTREC_LOADER_H
#define FASTREC_LOADER_H

#include "base/task_ring.h"
#include "batch/batch_builder.h"

typedef struct fr_loader fr_loader;

typedef struct {
    const fr_dataset *dataset; /* borrowed, fully indexed; outlives the loader */
    fr_pool *pool;             /* borrowed; has the schema of the batches */
    fr_order order;            /* its pointers are borrowed and must outlive the loader */
    size_t threads;            /* 1 to 256 */
    size_t prefetch; /* batches finished or in progress beyond the consumer's, at least `threads` */
    uint64_t start;  /* number of the first batch */
    bool retires;    /* whether to call fr_dataset_retire() for files that are read to their end */
} fr_loader_options;

FR_NODISCARD int fr_loader_start(const fr_loader_options *options, fr_loader **loader,
                                 fr_error *err);

/*
 * Gets the next batch, which the caller gives back to the pool. Returns FR_END after the last
 * batch, FR_AGAIN after waiting for `timeout_ms`, FR_ERR_STATE in a child process. Errors have
 * file, record within the file, and offset.
 */
FR_NODISCARD int fr_loader_next(fr_loader *loader, int timeout_ms, fr_columns **batch,
                                fr_error *err);

/* Returns the record numbers of the batch returned last, including the records that its rows
   leave out. There are fr_columns_records() numbers, valid until the next call. */
const uint64_t *fr_loader_numbers(const fr_loader *loader);

typedef struct {
    uint64_t batches;         /* returned to the consumer */
    uint64_t bytes;           /* size of the records of all finished batches */
    fr_task_ring_times times; /* of the workers, whose tasks are batches, and of the consumer */
} fr_loader_stats;

/* All zero in a child process. */
void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats);

/* As fr_task_ring_get_spans(), whose tasks are batches. */
size_t fr_loader_get_spans(fr_loader *loader, fr_task_span *spans);

/* Stops the workers, waits for them, and gives their finished batches back. NULL is allowed. */
void fr_loader_free(fr_loader *loader);

#endif
