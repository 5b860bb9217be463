/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task_ring.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define THREADS_MAX 256

/* What became of a task. */
typedef struct {
    bool done;
    int status;
    fr_error err;
} outcome;

struct fr_task_ring {
    fr_task_ring_options options;
    pid_t pid;
    pthread_t *members;
    size_t threads; /* how many members there are */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ready;  /* the task that the consumer waits for is done */
    pthread_cond_t room;   /* a place is free, or no more tasks are wanted */
    outcome *outcomes;     /* of task `number` at number % depth */
    size_t claimed;        /* the task that a member takes next */
    size_t next;           /* the task that the consumer takes next */
    size_t released;       /* tasks whose results the consumer is done with */
    bool stopping;
    outcome failed; /* what the consumer was told, if it was an error */
};

static bool claim(fr_task_ring *crew, size_t *number) {
    const fr_task_ring_options *options = &crew->options;
    pthread_mutex_lock(&crew->mutex);
    while (!crew->stopping && crew->claimed < options->count &&
           crew->claimed - crew->released >= options->depth)
        pthread_cond_wait(&crew->room, &crew->mutex);
    bool found = !crew->stopping && crew->claimed < options->count;
    if (found) *number = crew->claimed++;
    pthread_mutex_unlock(&crew->mutex);
    return found;
}

static void *work(void *argument) {
    fr_task_ring *crew = argument;
    size_t number;
    while (claim(crew, &number)) {
        outcome outcome = {.done = true};
        outcome.status = crew->options.task(crew->options.context, number, &outcome.err);
        pthread_mutex_lock(&crew->mutex);
        crew->outcomes[number % crew->options.depth] = outcome;
        if (number == crew->next) pthread_cond_signal(&crew->ready);
        pthread_mutex_unlock(&crew->mutex);
    }
    return NULL;
}

/* As many threads as can be had: with fewer, or none, the work is done all the same. */
static void start_members(fr_task_ring *crew) {
    sigset_t before;
    fr_block_signals(&before);
    while (crew->threads < crew->options.threads &&
           pthread_create(&crew->members[crew->threads], NULL, work, crew) == 0)
        crew->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int init_locks(fr_task_ring *crew, fr_error *err) {
    int failed = pthread_mutex_init(&crew->mutex, NULL);
    if (failed) return fr_fail_io(err, failed, "making a mutex");
    failed = pthread_cond_init(&crew->ready, NULL);
    if (!failed) {
        failed = pthread_cond_init(&crew->room, NULL);
        if (!failed) return FR_OK;
        pthread_cond_destroy(&crew->ready);
    }
    pthread_mutex_destroy(&crew->mutex);
    return fr_fail_io(err, failed, "making a condition");
}

static void discard(fr_task_ring *crew) {
    free(crew->members);
    free(crew->outcomes);
    free(crew);
}

int fr_task_ring_start(const fr_task_ring_options *options, fr_task_ring **crew, fr_error *err) {
    if (options->threads > THREADS_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of threads is %zu, it has to be 0 to %d",
                       options->threads, THREADS_MAX);
    fr_task_ring *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    made->options = *options;
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
    *crew = made;
    return FR_OK;
}

/* Waits on `ready` until `timeout_ms` have passed since the call. Realtime, as a condition has it
   everywhere; should the clock be set meanwhile, one wait is shorter or longer. */
static void await(fr_task_ring *crew, const outcome *outcome, int timeout_ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)timeout_ms * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    while (!outcome->done && pthread_cond_timedwait(&crew->ready, &crew->mutex, &until) == 0) {
    }
}

/* The outcome of the next task, whoever does it; not done when that takes too long. */
static outcome take(fr_task_ring *crew, int timeout_ms) {
    outcome *place = &crew->outcomes[crew->next % crew->options.depth], taken;
    if (crew->threads == 0) {
        taken = (outcome){.done = true};
        taken.status = crew->options.task(crew->options.context, crew->next, &taken.err);
        return taken;
    }
    pthread_mutex_lock(&crew->mutex);
    await(crew, place, timeout_ms);
    taken = *place;
    place->done = false;
    pthread_mutex_unlock(&crew->mutex);
    return taken;
}

static void release(fr_task_ring *crew) {
    pthread_mutex_lock(&crew->mutex);
    if (crew->released < crew->next) {
        crew->released = crew->next;
        pthread_cond_broadcast(&crew->room);
    }
    pthread_mutex_unlock(&crew->mutex);
}

int fr_task_ring_next(fr_task_ring *crew, int timeout_ms, size_t *number, fr_error *err) {
    if (crew->pid != getpid())
        return fr_fail(err, FR_ERR_STATE, "made in process %lld, and works only there",
                       (long long)crew->pid);
    if (crew->failed.done) {
        if (err) *err = crew->failed.err;
        return crew->failed.status;
    }
    release(crew);
    if (crew->next == crew->options.count) return FR_END;
    outcome taken = take(crew, timeout_ms);
    if (!taken.done) return FR_AGAIN;
    if (taken.status != FR_OK) {
        crew->failed = taken;
        if (err) *err = taken.err;
        return taken.status;
    }
    pthread_mutex_lock(&crew->mutex);
    *number = crew->next++;
    pthread_mutex_unlock(&crew->mutex);
    return FR_OK;
}

void fr_task_ring_free(fr_task_ring *crew) {
    if (!crew) return;
    if (crew->pid == getpid()) {
        pthread_mutex_lock(&crew->mutex);
        crew->stopping = true;
        pthread_cond_broadcast(&crew->room);
        pthread_mutex_unlock(&crew->mutex);
        for (size_t i = 0; i < crew->threads; i++)
            pthread_join(crew->members[i], NULL);
        pthread_cond_destroy(&crew->room);
        pthread_cond_destroy(&crew->ready);
        pthread_mutex_destroy(&crew->mutex);
    }
    discard(crew);
}
