/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/loader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define THREADS_MAX 256
#define PREFETCH_MAX ((size_t)1 << 20)

typedef struct {
    fr_loader *loader;
    fr_batch_builder assembler;
    pthread_t thread;
} worker;

/* A place for a batch that is made. */
typedef struct {
    fr_columns *batch; /* NULL until it is there */
    uint64_t *numbers; /* of its records */
} slot;

struct fr_loader {
    fr_loader_options options;
    pid_t pid;
    worker *workers;
    size_t assemblers, threads; /* how many of the workers' are made */
    atomic_bool stopping;       /* also read where the mutex is not held */
    size_t depth;               /* of the ring */
    size_t rows;                /* no batch has more */
    uint64_t *numbers;          /* all that there are, in one block */
    uint64_t *ahead;            /* those of the assemblers */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ready;  /* the batch that the consumer waits for is there, or never will be */
    pthread_cond_t room;   /* the ring has room, or no more batches are wanted */
    fr_sampler cursor;     /* of an order whose batches are best drawn in turn */
    slot *ring;            /* batch `serial` is at serial % depth */
    uint64_t *given;       /* numbers of the last batch given; of the consumer alone */
    uint64_t next;         /* serial of the batch that the consumer takes next */
    uint64_t claimed;      /* serial of the batch that a worker makes next */
    uint64_t end;          /* serial of the batch that will not come, ... */
    int end_status;        /* ... and why: FR_END or an error */
    fr_error end_error;
    fr_loader_stats stats;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A batch to make. */
typedef struct {
    uint64_t serial;
    int status; /* of `slice`, which is FR_END after the last */
    fr_slice slice;
    uint64_t *numbers;
} job;

static void assign(fr_loader *loader, job *todo) {
    todo->serial = loader->claimed++;
    todo->numbers = loader->ring[todo->serial % loader->depth].numbers;
    todo->status = fr_order_slice(&loader->options.order, todo->serial, &todo->slice);
    if (todo->status == FR_OK && fr_order_is_drawn(&loader->options.order))
        fr_sampler_numbers(&loader->cursor, &todo->slice, todo->numbers);
}

/* A batch to make; false when there is no more to do. */
static bool claim(fr_loader *loader, job *todo) {
    pthread_mutex_lock(&loader->mutex);
    uint64_t began = 0;
    while (!loader->stopping && loader->claimed < loader->end &&
           loader->claimed - loader->next >= loader->depth) {
        if (!began) began = now_ns();
        pthread_cond_wait(&loader->room, &loader->mutex);
    }
    if (began) loader->stats.workers_ns += now_ns() - began;
    bool found = !loader->stopping && loader->claimed < loader->end;
    if (found) assign(loader, todo);
    pthread_mutex_unlock(&loader->mutex);
    return found;
}

/* Nothing comes from batch `serial` on, unless the end was earlier still. */
static void end_at(fr_loader *loader, uint64_t serial, int status, const fr_error *err) {
    if (serial >= loader->end) return;
    loader->end = serial;
    loader->end_status = status;
    if (status < 0) loader->end_error = *err;
    pthread_cond_broadcast(&loader->room);
}

static void deliver(fr_loader *loader, uint64_t serial, int status, fr_columns *batch,
                    const fr_error *err) {
    pthread_mutex_lock(&loader->mutex);
    if (status == FR_OK)
        loader->ring[serial % loader->depth].batch = batch;
    else
        end_at(loader, serial, status, err);
    const bool awaited = serial == loader->next;
    pthread_mutex_unlock(&loader->mutex);
    /* Whoever is woken wants the mutex at once. */
    if (awaited) pthread_cond_signal(&loader->ready);
}

static void *work(void *argument) {
    worker *w = argument;
    job todo;
    while (claim(w->loader, &todo)) {
        fr_columns *batch = NULL;
        fr_error err;
        int status = todo.status;
        if (status == FR_OK)
            status = fr_batch_builder_make(&w->assembler, todo.serial, &todo.slice, todo.numbers,
                                           &w->loader->stopping, &batch, &err);
        if (status == FR_AGAIN) break;
        deliver(w->loader, todo.serial, status, batch, &err);
    }
    return NULL;
}

static int check_options(const fr_loader_options *options, fr_error *err) {
    FR_TRY(fr_order_check(&options->order, err));
    if (options->threads < 1 || options->threads > THREADS_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of threads is %zu, it has to be 1 to %d",
                       options->threads, THREADS_MAX);
    if (options->prefetch > PREFETCH_MAX)
        return fr_fail(err, FR_ERR_ARG, "%zu batches are too many to prefetch", options->prefetch);
    const fr_dataset *dataset = options->dataset;
    if (dataset->indexed < dataset->file_count || options->order.count > dataset->count)
        return fr_fail(err, FR_ERR_ARG, "the files are not indexed as far as they shall be read");
    return FR_OK;
}

/* Deadlines are read from the clock that nobody sets. */
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

static int init_locks(fr_loader *loader, fr_error *err) {
    int failed = pthread_mutex_init(&loader->mutex, NULL);
    if (failed) return fr_fail_io(err, failed, "making a mutex");
    failed = init_ready(&loader->ready);
    if (!failed) {
        failed = pthread_cond_init(&loader->room, NULL);
        if (!failed) return FR_OK;
        pthread_cond_destroy(&loader->ready);
    }
    pthread_mutex_destroy(&loader->mutex);
    return fr_fail_io(err, failed, "making a condition");
}

/* Rows that the largest batch can have. */
static uint64_t most_rows(const fr_order *order) {
    uint64_t size = fr_order_shard_size(order), all = size;
    if (order->batch_across_epochs &&
        __builtin_mul_overflow(size, order->epochs ? order->epochs : UINT64_MAX, &all))
        all = UINT64_MAX;
    return all < order->batch_size ? all : order->batch_size;
}

/* Each slot and each worker has numbers, and so has the consumer. */
static int allocate_numbers(fr_loader *loader, fr_error *err) {
    const uint64_t rows = most_rows(&loader->options.order);
    const size_t users = loader->depth + loader->options.threads + 1;
    size_t size;
    loader->rows = (size_t)rows;
    if (rows != loader->rows || fr_mul_overflows(loader->rows, users * sizeof(uint64_t), &size))
        return fr_fail_nomem(err, UINT64_MAX);
    uint64_t *numbers = loader->numbers = malloc(size + 1);
    if (!numbers) return fr_fail_nomem(err, size);
    for (size_t i = 0; i < loader->depth; i++, numbers += rows)
        loader->ring[i].numbers = numbers;
    loader->given = numbers;
    loader->ahead = numbers + rows;
    return FR_OK;
}

static int allocate(fr_loader *loader, fr_error *err) {
    const fr_loader_options *options = &loader->options;
    loader->workers = calloc(options->threads, sizeof *loader->workers);
    loader->ring = calloc(loader->depth, sizeof *loader->ring);
    if (!loader->workers || !loader->ring)
        return fr_fail_nomem(
            err, options->threads * sizeof *loader->workers + loader->depth * sizeof(slot));
    FR_TRY(allocate_numbers(loader, err));
    if (fr_order_is_drawn(&loader->options.order))
        FR_TRY(fr_sampler_init(&loader->cursor, &options->order, err));
    for (; loader->assemblers < options->threads; loader->assemblers++) {
        worker *w = &loader->workers[loader->assemblers];
        w->loader = loader;
        FR_TRY(fr_batch_builder_init(&w->assembler, options->dataset, &loader->options.order,
                                     options->pool, options->threads,
                                     loader->ahead + loader->assemblers * loader->rows, err));
    }
    return FR_OK;
}

static int start_threads(fr_loader *loader, fr_error *err) {
    sigset_t before;
    fr_block_signals(&before);
    int failed = 0;
    while (!failed && loader->threads < loader->assemblers) {
        worker *w = &loader->workers[loader->threads];
        failed = pthread_create(&w->thread, NULL, work, w);
        if (!failed) loader->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? fr_fail_io(err, failed, "starting a thread") : FR_OK;
}

int fr_loader_start(const fr_loader_options *options, fr_loader **loader, fr_error *err) {
    FR_TRY(check_options(options, err));
    fr_loader *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    int status = init_locks(made, err);
    if (status != FR_OK) {
        free(made);
        return status;
    }
    made->options = *options;
    made->pid = getpid();
    made->depth = options->prefetch > options->threads ? options->prefetch : options->threads;
    made->next = made->claimed = options->start;
    made->end = UINT64_MAX;
    status = allocate(made, err);
    if (status == FR_OK) status = start_threads(made, err);
    if (status != FR_OK) {
        fr_loader_free(made);
        return status;
    }
    *loader = made;
    return FR_OK;
}

/* Releases the mutex for a signal of `ready`, until `deadline`, or for no reason. */
static void wait_ready(fr_loader *loader, uint64_t now, uint64_t deadline) {
#if defined(__APPLE__)
    uint64_t left = deadline - now;
    struct timespec span = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    pthread_cond_timedwait_relative_np(&loader->ready, &loader->mutex, &span);
#else
    (void)now;
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    pthread_cond_timedwait(&loader->ready, &loader->mutex, &until);
#endif
}

/* Whether the next batch, or the end, is there. */
static bool is_ready(const fr_loader *loader) {
    return loader->next >= loader->end || loader->ring[loader->next % loader->depth].batch;
}

static void await(fr_loader *loader, int timeout_ms) {
    if (is_ready(loader)) return;
    const uint64_t began = now_ns();
    const uint64_t deadline = began + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    uint64_t now = began;
    while (!is_ready(loader) && now < deadline) {
        wait_ready(loader, now, deadline);
        now = now_ns();
    }
    loader->stats.consumer_ns += now - began;
}

static int take(fr_loader *loader, fr_columns **batch, fr_error *err) {
    if (!is_ready(loader)) return FR_AGAIN;
    if (loader->next >= loader->end) {
        if (err && loader->end_status < 0) *err = loader->end_error;
        return loader->end_status;
    }
    slot *taken = &loader->ring[loader->next % loader->depth];
    uint64_t *numbers = taken->numbers;
    taken->numbers = loader->given;
    loader->given = numbers;
    *batch = taken->batch;
    taken->batch = NULL;
    loader->next++;
    loader->stats.batches++;
    pthread_cond_signal(&loader->room);
    return FR_OK;
}

int fr_loader_next(fr_loader *loader, int timeout_ms, fr_columns **batch, fr_error *err) {
    if (loader->pid != getpid())
        return fr_fail(err, FR_ERR_STATE, "made in process %lld; make a new iterator in the child",
                       (long long)loader->pid);
    pthread_mutex_lock(&loader->mutex);
    await(loader, timeout_ms);
    int status = take(loader, batch, err);
    pthread_mutex_unlock(&loader->mutex);
    return status;
}

const uint64_t *fr_loader_numbers(const fr_loader *loader) {
    return loader->given;
}

void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats) {
    *stats = (fr_loader_stats){0};
    if (loader->pid != getpid()) return;
    pthread_mutex_lock(&loader->mutex);
    *stats = loader->stats;
    pthread_mutex_unlock(&loader->mutex);
}

static void stop_threads(fr_loader *loader) {
    pthread_mutex_lock(&loader->mutex);
    loader->stopping = true;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->mutex);
    for (size_t i = 0; i < loader->threads; i++)
        pthread_join(loader->workers[i].thread, NULL);
}

/* A child has copies of memory that workers were in the middle of changing, and nobody to ask when
   they are done: it leaves all of it alone. */
void fr_loader_free(fr_loader *loader) {
    if (!loader || loader->pid != getpid()) return;
    stop_threads(loader);
    for (size_t i = 0; loader->ring && i < loader->depth; i++)
        if (loader->ring[i].batch) fr_pool_give(loader->options.pool, loader->ring[i].batch);
    for (size_t i = 0; i < loader->assemblers; i++)
        fr_batch_builder_free(&loader->workers[i].assembler);
    fr_sampler_free(&loader->cursor);
    free(loader->numbers);
    free(loader->ring);
    free(loader->workers);
    pthread_cond_destroy(&loader->room);
    pthread_cond_destroy(&loader->ready);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}
