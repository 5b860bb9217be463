/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task_ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "base/thread.h"

/* How a task ended. */
typedef struct {
    bool done;
    int status;
    fr_error err;
} outcome;

typedef struct {
    fr_task_ring *ring;
    fr_thread thread;
    uint64_t cpu_ns, starved_ns; /* usage of the thread, when it was last read */
    uint64_t tasks_ns;           /* time in tasks since then */
} member;

#define USAGE_EVERY_NS 1000000 /* task time between two readings of a member's usage */
#define SHORT_TASK_NS 20000

struct fr_task_ring {
    fr_task_ring_options options;
    int64_t pid;
    member *members;
    size_t threads; /* members that were started */

    fr_mutex mutex;    /* guards what follows */
    fr_cond ready;     /* signaled when the consumer's next task is done */
    fr_cond room;      /* signaled when a place is free, or no more tasks start */
    outcome *outcomes; /* outcome of task `number` at number % depth */
    size_t end;        /* number after the last task to start */
    size_t claimed;    /* number of the next task to claim */
    size_t next;       /* number of the consumer's next task */
    size_t released;   /* number of tasks whose results are no longer used */
    bool stopping;
    fr_task_ring_times times;
    fr_task_span *spans; /* the last FR_TASK_SPANS; span i is at i % FR_TASK_SPANS */
    size_t span_count;   /* spans so far */
    uint64_t last_ns;    /* duration of the last span */
    outcome failed;      /* the error that each further call returns */
};

/* REQUIRES: the mutex is held, or the ring has 0 members. */
static size_t claim_next(fr_task_ring *ring) {
    const size_t number = ring->claimed++;
    if (ring->options.claim) ring->options.claim(ring->options.context, number);
    return number;
}

static bool claim(member *m, size_t *number) {
    fr_task_ring *ring = m->ring;
    uint64_t began = 0;
    fr_mutex_lock(&ring->mutex);
    while (!ring->stopping && ring->claimed < ring->end &&
           ring->claimed - ring->released >= ring->options.depth) {
        if (!began) began = fr_clock_ns();
        fr_cond_wait(&ring->room, &ring->mutex);
    }
    if (began) ring->times.room_ns += fr_clock_ns() - began;
    const bool found = !ring->stopping && ring->claimed < ring->end;
    if (found) *number = claim_next(ring);
    fr_mutex_unlock(&ring->mutex);
    return found;
}

/* REQUIRES: the mutex is held, or the ring has 0 members. */
static void add_span(fr_task_ring *ring, const fr_task_span *span) {
    ring->last_ns = span->ended_ns - span->began_ns;
    ring->times.tasks_ns += ring->last_ns;
    ring->spans[ring->span_count++ % FR_TASK_SPANS] = *span;
}

/* Splits the time that a member was off the processor in tasks: into waiting inside of them, and
   waiting for a processor. */
static void add_usage(member *m, fr_task_ring_times *times) {
    const uint64_t cpu_ns = fr_thread_cpu_ns(), starved_ns = fr_thread_starved_ns();
    const uint64_t used = cpu_ns - m->cpu_ns, starved = starved_ns - m->starved_ns;
    const uint64_t off = m->tasks_ns > used ? m->tasks_ns - used : 0;
    times->starved_ns += starved < off ? starved : off;
    times->blocked_ns += starved < off ? off - starved : 0;
    m->cpu_ns = cpu_ns;
    m->starved_ns = starved_ns;
    m->tasks_ns = 0;
}

static void deliver(member *m, const fr_task_span *span, const outcome *done) {
    fr_task_ring *ring = m->ring;
    const size_t number = span->number;
    fr_task_ring_times off = {0};
    m->tasks_ns += span->ended_ns - span->began_ns;
    if (m->tasks_ns >= USAGE_EVERY_NS) add_usage(m, &off);
    fr_mutex_lock(&ring->mutex);
    ring->outcomes[number % ring->options.depth] = *done;
    ring->times.done++;
    ring->times.blocked_ns += off.blocked_ns;
    ring->times.starved_ns += off.starved_ns;
    add_span(ring, span);
    if (done->status != FR_OK && number + 1 < ring->end) {
        ring->end = number + 1;
        fr_cond_broadcast(&ring->room);
    }
    const bool awaited = number == ring->next;
    fr_mutex_unlock(&ring->mutex);
    /* Signaled after unlocking, because the consumer locks the mutex when it wakes. */
    if (awaited) fr_cond_signal(&ring->ready);
}

static void *work(void *argument) {
    member *m = argument;
    const fr_task_ring_options *options = &m->ring->options;
    fr_task_span span = {.member = (size_t)(m - m->ring->members)};
    m->cpu_ns = fr_thread_cpu_ns();
    m->starved_ns = fr_thread_starved_ns();
    while (claim(m, &span.number)) {
        outcome done = {.done = true};
        span.began_ns = fr_clock_ns();
        done.status = options->task(options->context, span.member, span.number, &done.err);
        span.ended_ns = fr_clock_ns();
        deliver(m, &span, &done);
    }
    return NULL;
}

/* Starts members until the system refuses a thread. Fewer members, or none, are sufficient. */
static void start_members(fr_task_ring *ring) {
    for (size_t i = 0; i < ring->options.threads; i++, ring->threads++) {
        ring->members[i].ring = ring;
        if (fr_thread_start(&ring->members[i].thread, work, &ring->members[i]) != 0) break;
    }
}

static int init_locks(fr_task_ring *ring, fr_error *err) {
    int failed = fr_mutex_init(&ring->mutex);
    if (failed) return fr_fail_io(err, failed, "making a mutex");
    failed = fr_cond_init(&ring->ready);
    if (!failed) {
        failed = fr_cond_init(&ring->room);
        if (!failed) return FR_OK;
        fr_cond_destroy(&ring->ready);
    }
    fr_mutex_destroy(&ring->mutex);
    return fr_fail_io(err, failed, "making a condition");
}

static void discard(fr_task_ring *ring) {
    free(ring->spans);
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
    made->pid = fr_process_id();
    made->members = calloc(options->threads + 1, sizeof *made->members);
    made->outcomes = calloc(options->depth, sizeof *made->outcomes);
    made->spans = calloc(FR_TASK_SPANS, sizeof *made->spans);
    int status = FR_OK;
    if (!made->members || !made->outcomes || !made->spans)
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

static void await(fr_task_ring *ring, const outcome *next, int timeout_ms) {
    if (next->done) return;
    const uint64_t began = fr_clock_ns();
    const uint64_t deadline = began + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    uint64_t now = began;
    while (!next->done && now < deadline) {
        fr_cond_wait_until(&ring->ready, &ring->mutex, deadline);
        now = fr_clock_ns();
    }
    ring->times.consumer_ns += now - began;
}

/* Frees the place of the consumer's previous result. Waking a member takes longer than a short
   task, so members that have filled the ring with short tasks sleep until half of it is free. */
static void release(fr_task_ring *ring) {
    if (ring->released == ring->next) return;
    ring->released = ring->next;
    const size_t used = ring->claimed - ring->released;
    if (used <= ring->options.depth / 2 || ring->last_ns >= SHORT_TASK_NS)
        fr_cond_signal(&ring->room);
}

static void do_next(fr_task_ring *ring, outcome *done) {
    fr_task_span span = {.number = claim_next(ring), .began_ns = fr_clock_ns()};
    *done = (outcome){.done = true};
    done->status = ring->options.task(ring->options.context, 0, span.number, &done->err);
    span.ended_ns = fr_clock_ns();
    add_span(ring, &span);
}

/* Takes the outcome of the next task. Returns FR_OK even if the task failed. */
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
        ring->times.done--;
    }
    ring->next++;
    return FR_OK;
}

int fr_task_ring_next(fr_task_ring *ring, int timeout_ms, size_t *number, fr_error *err) {
    FR_TRY(fr_check_process(ring->pid, "the iterator", err));
    if (!ring->failed.done) {
        outcome taken;
        fr_mutex_lock(&ring->mutex);
        release(ring);
        int status = take(ring, timeout_ms, &taken);
        *number = ring->next - 1;
        fr_mutex_unlock(&ring->mutex);
        if (status != FR_OK) return status;
        if (taken.status == FR_OK) return FR_OK;
        ring->failed = taken;
    }
    if (err) *err = ring->failed.err;
    return ring->failed.status;
}

fr_task_ring_times fr_task_ring_get_times(fr_task_ring *ring) {
    if (ring->pid != fr_process_id()) return (fr_task_ring_times){0};
    fr_mutex_lock(&ring->mutex);
    const fr_task_ring_times times = ring->times;
    fr_mutex_unlock(&ring->mutex);
    return times;
}

size_t fr_task_ring_get_spans(fr_task_ring *ring, fr_task_span *spans) {
    if (ring->pid != fr_process_id()) return 0;
    fr_mutex_lock(&ring->mutex);
    const size_t count = ring->span_count < FR_TASK_SPANS ? ring->span_count : FR_TASK_SPANS;
    memcpy(spans, ring->spans, count * sizeof *spans);
    fr_mutex_unlock(&ring->mutex);
    return count;
}

void fr_task_ring_free(fr_task_ring *ring) {
    if (!ring) return;
    if (ring->pid == fr_process_id()) {
        fr_mutex_lock(&ring->mutex);
        ring->stopping = true;
        fr_cond_broadcast(&ring->room);
        fr_mutex_unlock(&ring->mutex);
        for (size_t i = 0; i < ring->threads; i++)
            fr_thread_join(ring->members[i].thread);
        fr_cond_destroy(&ring->room);
        fr_cond_destroy(&ring->ready);
        fr_mutex_destroy(&ring->mutex);
    }
    discard(ring);
}
