/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task_ring.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* How a task ended. */
typedef struct {
    bool done;
    int status;
    fr_error err;
} outcome;

typedef struct {
    fr_task_ring *ring;
    pthread_t thread;
} member;

struct fr_task_ring {
    fr_task_ring_options options;
    pid_t pid;
    member *members;
    size_t threads; /* members that were started */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ready;  /* the task that the consumer waits for is done */
    pthread_cond_t room;   /* one more task may be claimed, or none will be */
    outcome *outcomes;     /* of task `number` at number % depth */
    size_t end;            /* tasks from here on are not begun */
    size_t claimed;        /* the task that a member takes next */
    size_t next;           /* the task that the consumer takes next */
    size_t released;       /* tasks whose results the consumer is done with */
    bool stopping;
    fr_task_ring_waits waits;
    outcome failed; /* what the consumer was told, if it was an error */
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* With the mutex held, or by the consumer of a ring without members. */
static size_t claim_next(fr_task_ring *ring) {
    const size_t number = ring->claimed++;
    if (ring->options.claim) ring->options.claim(ring->options.context, number);
    return number;
}

static bool claim(fr_task_ring *ring, size_t *number) {
    uint64_t began = 0;
    pthread_mutex_lock(&ring->mutex);
    while (!ring->stopping && ring->claimed < ring->end &&
           ring->claimed - ring->released >= ring->options.depth) {
        if (!began) began = now_ns();
        pthread_cond_wait(&ring->room, &ring->mutex);
    }
    if (began) ring->waits.members_ns += now_ns() - began;
    const bool found = !ring->stopping && ring->claimed < ring->end;
    if (found) *number = claim_next(ring);
    pthread_mutex_unlock(&ring->mutex);
    return found;
}

static void deliver(fr_task_ring *ring, size_t number, const outcome *done) {
    pthread_mutex_lock(&ring->mutex);
    ring->outcomes[number % ring->options.depth] = *done;
    if (done->status != FR_OK && number + 1 < ring->end) {
        ring->end = number + 1;
        pthread_cond_broadcast(&ring->room);
    }
    const bool awaited = number == ring->next;
    pthread_mutex_unlock(&ring->mutex);
    /* Whoever is woken wants the mutex at once. */
    if (awaited) pthread_cond_signal(&ring->ready);
}

static void *work(void *argument) {
    member *m = argument;
    fr_task_ring *ring = m->ring;
    const fr_task_ring_options *options = &ring->options;
    size_t number;
    while (claim(ring, &number)) {
        outcome done = {.done = true};
        done.status =
            options->task(options->context, (size_t)(m - ring->members), number, &done.err);
        deliver(ring, number, &done);
    }
    return NULL;
}

/* As many threads as can be had: with fewer, or none, the work is done all the same. */
static void start_members(fr_task_ring *ring) {
    sigset_t before;
    fr_block_signals(&before);
    for (size_t i = 0; i < ring->options.threads; i++, ring->threads++) {
        ring->members[i].ring = ring;
        if (pthread_create(&ring->members[i].thread, NULL, work, &ring->members[i]) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Its waits are timed by the clock that nobody sets. */
static int init_ready(pthread_cond_t *ready) {
#if defined(__APPLE__)
    return pthread_cond_init(ready, NULL);
#else
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed) return failed;
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!failed) failed = pthread_cond_init(ready, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed;
#endif
}

static int init_locks(fr_task_ring *ring, fr_error *err) {
    int failed = pthread_mutex_init(&ring->mutex, NULL);
    if (failed) return fr_fail_io(err, failed, "making a mutex");
    failed = init_ready(&ring->ready);
    if (!failed) {
        failed = pthread_cond_init(&ring->room, NULL);
        if (!failed) return FR_OK;
        pthread_cond_destroy(&ring->ready);
    }
    pthread_mutex_destroy(&ring->mutex);
    return fr_fail_io(err, failed, "making a condition");
}

static void discard(fr_task_ring *ring) {
    free(ring->members);
    free(ring->outcomes);
    free(ring);
}

int fr_task_ring_start(const fr_task_ring_options *options, fr_task_ring **ring, fr_error *err) {
    if (options->threads > FR_TASK_RING_THREADS_MAX)
        return fr_fail(err, FR_ERR_ARG, "threads must be 0 to %d, got %zu",
                       FR_TASK_RING_THREADS_MAX, options->threads);
    fr_task_ring *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    made->options = *options;
    made->end = options->count;
    made->pid = getpid();
    made->members = calloc(options->threads + 1, sizeof *made->members);
    made->outcomes = calloc(options->depth, sizeof *made->outcomes);
    int status = FR_OK;
    if (!made->members || !made->outcomes)
        status = fr_fail_nomem(err, options->depth * sizeof *made->outcomes);
    if (status == FR_OK) status = init_locks(made, err);
    if (status != FR_OK) {
        discard(made);
        return status;
    }
    start_members(made);
    *ring = made;
    return FR_OK;
}

/* Releases the mutex for a signal of `ready`, until `deadline`, or for no reason. */
static void wait_ready(fr_task_ring *ring, uint64_t now, uint64_t deadline) {
#if defined(__APPLE__)
    const uint64_t left = deadline - now;
    struct timespec span = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    pthread_cond_timedwait_relative_np(&ring->ready, &ring->mutex, &span);
#else
    (void)now;
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    pthread_cond_timedwait(&ring->ready, &ring->mutex, &until);
#endif
}

static void await(fr_task_ring *ring, const outcome *next, int timeout_ms) {
    if (next->done) return;
    const uint64_t began = now_ns();
    const uint64_t deadline = began + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    uint64_t now = began;
    while (!next->done && now < deadline) {
        wait_ready(ring, now, deadline);
        now = now_ns();
    }
    ring->waits.consumer_ns += now - began;
}

/* The result that the consumer had until now is its no more: its place is free. */
static void release(fr_task_ring *ring) {
    if (ring->released == ring->next) return;
    ring->released = ring->next;
    pthread_cond_signal(&ring->room);
}

static void do_next(fr_task_ring *ring, outcome *done) {
    const size_t number = claim_next(ring);
    *done = (outcome){.done = true};
    done->status = ring->options.task(ring->options.context, 0, number, &done->err);
}

/* FR_OK when the next task is done, whatever came of it. */
static int take(fr_task_ring *ring, int timeout_ms, outcome *taken) {
    if (ring->next == ring->options.count) return FR_END;
    if (ring->threads == 0) {
        do_next(ring, taken);
    } else {
        outcome *place = &ring->outcomes[ring->next % ring->options.depth];
        await(ring, place, timeout_ms);
        if (!place->done) return FR_AGAIN;
        *taken = *place;
        place->done = false;
    }
    ring->next++;
    return FR_OK;
}

int fr_task_ring_next(fr_task_ring *ring, int timeout_ms, size_t *number, fr_error *err) {
    if (ring->pid != getpid())
        return fr_fail(err, FR_ERR_STATE, "made in process %lld: it works only there",
                       (long long)ring->pid);
    if (!ring->failed.done) {
        outcome taken;
        pthread_mutex_lock(&ring->mutex);
        release(ring);
        int status = take(ring, timeout_ms, &taken);
        *number = ring->next - 1;
        pthread_mutex_unlock(&ring->mutex);
        if (status != FR_OK) return status;
        if (taken.status == FR_OK) return FR_OK;
        ring->failed = taken;
    }
    if (err) *err = ring->failed.err;
    return ring->failed.status;
}

fr_task_ring_waits fr_task_ring_get_waits(fr_task_ring *ring) {
    if (ring->pid != getpid()) return (fr_task_ring_waits){0};
    pthread_mutex_lock(&ring->mutex);
    const fr_task_ring_waits waits = ring->waits;
    pthread_mutex_unlock(&ring->mutex);
    return waits;
}

void fr_task_ring_free(fr_task_ring *ring) {
    if (!ring) return;
    if (ring->pid == getpid()) {
        pthread_mutex_lock(&ring->mutex);
        ring->stopping = true;
        pthread_cond_broadcast(&ring->room);
        pthread_mutex_unlock(&ring->mutex);
        for (size_t i = 0; i < ring->threads; i++)
            pthread_join(ring->members[i].thread, NULL);
        pthread_cond_destroy(&ring->room);
        pthread_cond_destroy(&ring->ready);
        pthread_mutex_destroy(&ring->mutex);
    }
    discard(ring);
}
