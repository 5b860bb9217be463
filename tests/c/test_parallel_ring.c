/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring with as many members as large machines have: nothing is locked while a task runs, so
 * that all members are in a task at once, on a machine with any number of processors.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/platform.h"
#include "base/task_ring.h"
#include "test.h"

#define MOST 16

typedef struct {
    pthread_barrier_t barrier; /* passed when all members are in a task */
    atomic_size_t done;
} meeting;

static int meet(void *context, size_t member, size_t number, fr_error *err) {
    meeting *m = context;
    (void)member;
    (void)number;
    (void)err;
    (void)pthread_barrier_wait(&m->barrier);
    atomic_fetch_add(&m->done, 1);
    return FR_OK;
}

static void take_all(fr_task_ring *ring, size_t count) {
    size_t number;
    for (size_t expected = 0; expected < count;) {
        int status = fr_task_ring_next(ring, 1000, &number, NULL);
        CHECK(status == FR_OK || status == FR_AGAIN);
        if (status == FR_OK) CHECK(number == expected++);
    }
    CHECK(fr_task_ring_next(ring, 1000, &number, NULL) == FR_END);
}

static void members_are_in_their_tasks_at_once(size_t threads) {
    meeting m = {.done = 0};
    CHECK(pthread_barrier_init(&m.barrier, NULL, (unsigned)threads) == 0);
    const size_t count = threads * 20;
    const fr_task_ring_options options = {
        .task = meet, .context = &m, .count = count, .depth = 2 * threads, .threads = threads};
    fr_task_ring *ring;
    CHECK(fr_task_ring_start(&options, &ring, NULL) == FR_OK);
    take_all(ring, count);
    CHECK(atomic_load(&m.done) == count);
    fr_task_ring_free(ring);
    CHECK(pthread_barrier_destroy(&m.barrier) == 0);
}

#define WAIT_NS 20000000u /* of a task */

static int wait_in_task(void *context, size_t member, size_t number, fr_error *err) {
    (void)context;
    (void)member;
    (void)number;
    (void)err;
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    (void)nanosleep(&pause, NULL);
    return FR_OK;
}

static int compute_in_task(void *context, size_t member, size_t number, fr_error *err) {
    (void)context;
    (void)member;
    (void)number;
    (void)err;
    const uint64_t before = fr_thread_cpu_ns();
    while (fr_thread_cpu_ns() - before < WAIT_NS)
        continue;
    return FR_OK;
}

static fr_task_ring_times times_of(int (*task)(void *, size_t, size_t, fr_error *), size_t threads,
                                   size_t count) {
    const fr_task_ring_options options = {
        .task = task, .count = count, .depth = threads + 1, .threads = threads};
    fr_task_ring *ring;
    CHECK(fr_task_ring_start(&options, &ring, NULL) == FR_OK);
    take_all(ring, count);
    const fr_task_ring_times times = fr_task_ring_get_times(ring);
    fr_task_span spans[FR_TASK_SPANS];
    CHECK(fr_task_ring_get_spans(ring, spans) == count);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(spans[i].member < threads || (threads == 0 && spans[i].member == 0));
        CHECK(spans[i].number < count && spans[i].ended_ns >= spans[i].began_ns);
        sum += spans[i].ended_ns - spans[i].began_ns;
    }
    CHECK(times.tasks_ns == sum && times.tasks_ns >= count * WAIT_NS && times.done == 0);
    fr_task_ring_free(ring);
    return times;
}

/* Waiting for a processor depends on the machine, so that only the other two are compared. */
static void times_tell_waiting_from_computing(void) {
    fr_task_ring_times times = times_of(wait_in_task, 2, 6);
    CHECK(times.blocked_ns + times.starved_ns >= 6 * (WAIT_NS - WAIT_NS / 4));
    CHECK(times.consumer_ns >= WAIT_NS);
    times = times_of(compute_in_task, 2, 6);
    CHECK(times.tasks_ns - times.blocked_ns - times.starved_ns >= 6 * (WAIT_NS - WAIT_NS / 4));
    times = times_of(wait_in_task, 0, 2);
    CHECK(times.consumer_ns == 0 && times.room_ns == 0);
}

static void a_full_ring_is_counted(void) {
    size_t number;
    const fr_task_ring_options options = {
        .task = wait_in_task, .count = 4, .depth = 1, .threads = 1};
    fr_task_ring *ring;
    CHECK(fr_task_ring_start(&options, &ring, NULL) == FR_OK);
    while (fr_task_ring_get_times(ring).done == 0)
        (void)wait_in_task(NULL, 0, 0, NULL);
    (void)wait_in_task(NULL, 0, 0, NULL);
    while (fr_task_ring_next(ring, 1000, &number, NULL) == FR_AGAIN)
        continue;
    CHECK(number == 0 && fr_task_ring_get_times(ring).done == 0);
    while (fr_task_ring_next(ring, 1000, &number, NULL) == FR_AGAIN)
        continue;
    CHECK(fr_task_ring_get_times(ring).room_ns >= WAIT_NS / 2);
    fr_task_ring_free(ring);
}

int main(void) {
    times_tell_waiting_from_computing();
    a_full_ring_is_counted();
    for (size_t threads = 1; threads <= MOST; threads *= 2)
        members_are_in_their_tasks_at_once(threads);
    printf("parallel_ring: ok\n");
    return 0;
}
