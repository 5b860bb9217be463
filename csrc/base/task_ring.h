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

/*
 * Where the time went, in nanoseconds; of all members together, except for the consumer's. The
 * system's counts of a thread, which are read at most once in a millisecond of work, give the time
 * of tasks off the processor. On systems other than Linux, all of it counts as blocked.
 */
typedef struct {
    uint64_t consumer_ns; /* the consumer waited for a task */
    uint64_t room_ns;     /* members waited for a free place */
    uint64_t tasks_ns;    /* members were in tasks; of this time, */
    uint64_t blocked_ns;  /* time that they waited inside of a task, for example for a disk */
    uint64_t starved_ns;  /* time that they waited for a processor */
    size_t done;          /* tasks that are done and that the consumer has not taken */
} fr_task_ring_times;

/* All zero in a child process. */
fr_task_ring_times fr_task_ring_get_times(fr_task_ring *ring);

/* When a member did a task, by fr_clock_ns(). */
typedef struct {
    size_t member, number;
    uint64_t began_ns, ended_ns;
} fr_task_span;

#define FR_TASK_SPANS 1024 /* spans that are kept */

/* Copies the spans of the tasks done last to `spans`, which has room for FR_TASK_SPANS; returns
   their number. They are not sorted. */
size_t fr_task_ring_get_spans(fr_task_ring *ring, fr_task_span *spans);

/* Stops the members after their current tasks and frees the ring. `ring` may be NULL. */
void fr_task_ring_free(fr_task_ring *ring);

#endif
