/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker threads: order -> records -> parsed batches, delivered in order.
 *
 * The number of a batch says all about it (order.h), so making it is a task of a ring
 * (task_ring.h), which bounds the batches in memory and gives the first error where its batch would
 * have been.
 *
 * A loader is for one consumer at a time. A child made by fork() has no workers: it is told so, and
 * can free the loader.
 */
#ifndef FASTREC_LOADER_H
#define FASTREC_LOADER_H

#include "batch/batch_builder.h"

typedef struct fr_loader fr_loader;

typedef struct {
    const fr_dataset *dataset; /* borrowed, fully indexed; outlives the loader */
    fr_pool *pool;             /* borrowed; its schema is what is parsed */
    fr_order order;            /* what it points to outlives the loader */
    size_t threads;            /* 1 to 256 */
    size_t prefetch; /* batches finished or in work beyond the consumer's, at least `threads` */
    uint64_t start;  /* number of the first batch */
    bool retires;    /* files are retired behind the reading: fr_dataset_retire() */
} fr_loader_options;

FR_NODISCARD int fr_loader_start(const fr_loader_options *options, fr_loader **loader,
                                 fr_error *err);

/*
 * The next batch, which is the caller's to give back to the pool. FR_END after the last, FR_AGAIN
 * after `timeout_ms` without one, FR_ERR_STATE in a child process. Errors have file, record within
 * it and offset.
 */
FR_NODISCARD int fr_loader_next(fr_loader *loader, int timeout_ms, fr_columns **batch,
                                fr_error *err);

/* The numbers of the records of the batch that was given last, those that were left out of its rows
   among them: fr_columns_records() numbers, valid until the next call. */
const uint64_t *fr_loader_numbers(const fr_loader *loader);

typedef struct {
    uint64_t batches;     /* given to the consumer */
    uint64_t consumer_ns; /* the consumer waited for a batch */
    uint64_t workers_ns;  /* workers waited for a place in the ring, all together */
} fr_loader_stats;

void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats);

/* Stops the workers, waits for them, and gives back what they had made. NULL is fine. */
void fr_loader_free(fr_loader *loader);

#endif
