/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbered tasks, done by several threads, their results taken in turn.
 *
 * Members take the next number and do that task; the consumer waits for tasks 0, 1, 2, ... Members
 * never run more than `depth` tasks ahead of it, so that task i may use place i % depth of what the
 * consumer has for results. The first error in turn is given where its task would have been, and
 * ends everything. Which task does what depends on its number alone, so the results are the same
 * for any number of threads, and with none the consumer does each task as it asks for it.
 *
 * A crew is for one consumer at a time. Members block all signals and call nothing but tasks. A
 * child made by fork() has no members: it is told so, and can free the crew.
 */
#ifndef FASTREC_TASK_RING_H
#define FASTREC_TASK_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct fr_task_ring fr_task_ring;

typedef struct {
    int (*task)(void *context, size_t number, fr_error *err);
    void *context;
    size_t count;   /* of tasks */
    size_t depth;   /* at least 1 */
    size_t threads; /* 0 to 256 */
} fr_task_ring_options;

FR_NODISCARD int fr_task_ring_start(const fr_task_ring_options *options, fr_task_ring **crew,
                                    fr_error *err);

/*
 * Waits for the next task in turn, whose result may be used until the next call. FR_END after the
 * last, FR_AGAIN after `timeout_ms` without one, FR_ERR_STATE in a child process, or the task's
 * error, again and again.
 */
FR_NODISCARD int fr_task_ring_next(fr_task_ring *crew, int timeout_ms, size_t *number,
                                   fr_error *err);

/* Waits for tasks that were begun; begins no more. NULL is fine. */
void fr_task_ring_free(fr_task_ring *crew);

#endif
