/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring with as many members as large machines have: nothing is locked while a task runs, so
 * that all members are in a task at once, on a machine with any number of processors.
 */
#include <pthread.h>
#include <stdatomic.h>

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

int main(void) {
    for (size_t threads = 1; threads <= MOST; threads *= 2)
        members_are_in_their_tasks_at_once(threads);
    printf("parallel_ring: ok\n");
    return 0;
}
