/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered tasks, done by several threads, their results taken in turn.
 *
 * Members take the next number and do that task; the consumer waits for tasks 0, 1, 2, ... The task
 * that the consumer holds and the `depth` - 1 after it may be claimed, so that task i may use place
 * i % depth of what the consumer has for results. The first error in turn is given where its task
 * would have been, and ends everything: nothing after it is begun. Which task does what depends on
 * its number alone, so the results are the same for any number of threads; with none the consumer
 * does each task as it asks for it.
 *
 * A ring is for one consumer at a time. Members block all signals and call nothing but tasks. A
 * child made by fork() has no members: it is told so, and can free the ring.
 */
#ifndef FASTREC_TASK_RING_H
#define FASTREC_TASK_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define FR_TASK_RING_THREADS_MAX 256

typedef struct fr_task_ring fr_task_ring;

typedef struct {
    /* Does task `number`; no two calls with the same `member`, below `threads` or 0, overlap. */
    int (*task)(void *context, size_t member, size_t number, fr_error *err);
    /* NULL, or called for each number in turn, before its task, and never while it runs itself. */
    void (*claim)(void *context, size_t number);
    void *context;
    size_t count;   /* of tasks */
    size_t depth;   /* at least 1 */
    size_t threads; /* 0 to FR_TASK_RING_THREADS_MAX */
} fr_task_ring_options;

FR_NODISCARD int fr_task_ring_start(const fr_task_ring_options *options, fr_task_ring **ring,
                                    fr_error *err);

/*
 * Waits for the next task in turn, whose result may be used until the next call. FR_END after the
 * last, FR_AGAIN after `timeout_ms` without one, FR_ERR_STATE in a child process, or the task's
 * error, again and again.
 */
FR_NODISCARD int fr_task_ring_next(fr_task_ring *ring, int timeout_ms, size_t *number,
                                   fr_error *err);

typedef struct {
    uint64_t consumer_ns; /* the consumer waited for a task */
    uint64_t members_ns;  /* members waited until they might begin one, all together */
} fr_task_ring_waits;

/* All zero in a child process. */
fr_task_ring_waits fr_task_ring_get_waits(fr_task_ring *ring);

/* Waits for tasks that were begun; begins no more. NULL is fine. */
void fr_task_ring_free(fr_task_ring *ring);

#endif
