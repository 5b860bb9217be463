/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordered parallel tasks: threads run numbered tasks, and one consumer takes the results in order.
 *
 * A member is a thread that repeatedly claims the next number and runs that task. The consumer
 * takes tasks 0, 1, 2, ... Besides the task whose result it holds, `depth` - 1 further tasks may be
 * claimed, so task i may write its result to place i % depth of an array. An error is returned in
 * place of its task, and no later task starts. A task depends only on its number, so results are
 * the same for any number of threads. Without members, the consumer runs each task itself.
 *
 * A ring has one consumer at a time. Members block all signals and call only tasks. In a child made
 * by fork(), which lacks the members, fr_task_ring_next() fails and fr_task_ring_free() works.
 */
#ifndef FASTREC_TASK_RING_H
#define FASTREC_TASK_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define FR_TASK_RING_THREADS_MAX 256

typedef struct fr_task_ring fr_task_ring;

typedef struct {
    /* Runs task `number`. `member` is below max(`threads`, 1); calls with the same member do not
       overlap. */
    int (*task)(void *context, size_t member, size_t number, fr_error *err);
    /* Called for each number in order, before its task; calls do not overlap. May be NULL. */
    void (*claim)(void *context, size_t number);
    void *context;
    size_t count;   /* number of tasks */
    size_t depth;   /* places for results; at least 1 */
    size_t threads; /* 0 to FR_TASK_RING_THREADS_MAX */
} fr_task_ring_options;

FR_NODISCARD int fr_task_ring_start(const fr_task_ring_options *options, fr_task_ring **ring,
                                    fr_error *err);

/*
 * Waits for the next task; its result is valid until the next call. Returns FR_END after the last
 * task, FR_AGAIN after `timeout_ms`, FR_ERR_STATE in a child process, or the error of a task. After
 * an error, each call returns it again.
 */
FR_NODISCARD int fr_task_ring_next(fr_task_ring *ring, int timeout_ms, size_t *number,
                                   fr_error *err);

typedef struct {
    uint64_t consumer_ns; /* time that the consumer waited for tasks */
    uint64_t members_ns;  /* time that all members together waited for free places */
} fr_task_ring_waits;

/* Returns the times so far; zeros in a child process. */
fr_task_ring_waits fr_task_ring_get_waits(fr_task_ring *ring);

/* Stops the members after their current tasks and frees the ring. `ring` may be NULL. */
void fr_task_ring_free(fr_task_ring *ring);

#endif
