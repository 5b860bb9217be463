/* SPDX-License-Identifier: Apache-2.0 */
#include "loader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256
#define PREFETCH_MAX ((size_t)1 << 20)

/* How many rows before its turn the first bytes of a shuffled record are asked for. */
#define AHEAD 8

typedef struct {
    fr_loader *loader;
    fr_parser parser;
    pthread_t thread;
} worker;

struct fr_loader {
    fr_loader_options options;
    pid_t pid;
    worker *workers;
    size_t parsers, threads; /* how many of the workers' are made */
    atomic_bool stopping;    /* also read where the mutex is not held */
    size_t depth;            /* of the ring */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ready;  /* the batch that the consumer waits for is there, or never will be */
    pthread_cond_t room;   /* the ring has room, or no more batches are wanted */
    fr_columns **ring;     /* batch `serial` is at serial % depth, or NULL */
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

/* ---- One batch ------------------------------------------------------------------------------ */

/* The numbers of the next rows' records, known early enough to have their bytes on the way. */
typedef struct {
    const fr_dataset *dataset;
    const fr_slice *slice;
    uint64_t numbers[AHEAD];
} preview;

static void preview_row(preview *view, uint64_t row) {
    if (row >= view->slice->rows) return;
    uint64_t number = fr_slice_record(view->slice, row);
    view->numbers[row % AHEAD] = number;
    if (!view->slice->order->shuffle) return;
    const fr_dataset_file *file = &view->dataset->files[fr_dataset_find(view->dataset, number)];
    const uint8_t *p = file->map.bytes.data + fr_index_offset(&file->index, number - file->first);
    __builtin_prefetch(p);
    __builtin_prefetch(p + 64);
}

/* What was parsed counts only if the file was there all the time. */
static int add_record(worker *w, uint64_t number, fr_columns *columns, fr_error *err) {
    const fr_dataset *dataset = w->loader->options.dataset;
    fr_record record;
    FR_TRY(fr_dataset_record(dataset, number, &record, err));
    int status = fr_parse_row(&w->parser, record.data, columns, err);
    FR_TRY(fr_dataset_check(dataset, number, err));
    if (FR_UNLIKELY(status != FR_OK)) fr_dataset_locate(dataset, number, err);
    return status;
}

/* FR_AGAIN when the loader is being stopped. */
static int fill(worker *w, const fr_slice *slice, fr_columns *columns, fr_error *err) {
    preview view = {.dataset = w->loader->options.dataset, .slice = slice};
    for (uint64_t row = 0; row < AHEAD; row++)
        preview_row(&view, row);
    for (uint64_t row = 0; row < slice->rows; row++) {
        if (atomic_load_explicit(&w->loader->stopping, memory_order_relaxed)) return FR_AGAIN;
        FR_TRY(add_record(w, view.numbers[row % AHEAD], columns, err));
        preview_row(&view, row + AHEAD);
    }
    return FR_OK;
}

static int make_batch(worker *w, uint64_t serial, fr_columns **batch, fr_error *err) {
    const fr_loader_options *options = &w->loader->options;
    fr_slice slice;
    fr_columns *columns;
    FR_TRY(fr_order_slice(&options->order, serial, &slice));
    FR_TRY(fr_pool_take(options->pool, slice.rows, &columns, err));
    int status = fill(w, &slice, columns, err);
    if (status == FR_OK)
        *batch = columns;
    else
        fr_pool_give(options->pool, columns);
    return status;
}

/* ---- Workers -------------------------------------------------------------------------------- */

/* The serial of a batch to make; false when there is no more to do. */
static bool claim(fr_loader *loader, uint64_t *serial) {
    pthread_mutex_lock(&loader->mutex);
    uint64_t began = 0;
    while (!loader->stopping && loader->claimed < loader->end &&
           loader->claimed - loader->next >= loader->depth) {
        if (!began) began = now_ns();
        pthread_cond_wait(&loader->room, &loader->mutex);
    }
    if (began) loader->stats.workers_ns += now_ns() - began;
    bool found = !loader->stopping && loader->claimed < loader->end;
    if (found) *serial = loader->claimed++;
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
        loader->ring[serial % loader->depth] = batch;
    else
        end_at(loader, serial, status, err);
    if (serial == loader->next) pthread_cond_signal(&loader->ready);
    pthread_mutex_unlock(&loader->mutex);
}

static void *work(void *argument) {
    worker *w = argument;
    uint64_t serial;
    while (claim(w->loader, &serial)) {
        fr_columns *batch = NULL;
        fr_error err;
        int status = make_batch(w, serial, &batch, &err);
        if (status == FR_AGAIN) break;
        deliver(w->loader, serial, status, batch, &err);
    }
    return NULL;
}

/* ---- Starting ------------------------------------------------------------------------------- */

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

static int allocate(fr_loader *loader, fr_error *err) {
    const fr_loader_options *options = &loader->options;
    loader->workers = calloc(options->threads, sizeof *loader->workers);
    loader->ring = calloc(loader->depth, sizeof(fr_columns *));
    if (!loader->workers || !loader->ring)
        return fr_fail_nomem(
            err, options->threads * sizeof *loader->workers + loader->depth * sizeof(fr_columns *));
    for (; loader->parsers < options->threads; loader->parsers++) {
        worker *w = &loader->workers[loader->parsers];
        w->loader = loader;
        FR_TRY(fr_parser_init(&w->parser, fr_pool_schema(options->pool), err));
    }
    return FR_OK;
}

/* Signals go to threads that expect them; but a fault is of the thread whose it is, and a map's
   handler has to get it. */
static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, before);
}

static int start_threads(fr_loader *loader, fr_error *err) {
    sigset_t before;
    block_signals(&before);
    int failed = 0;
    while (!failed && loader->threads < loader->parsers) {
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

/* ---- The consumer --------------------------------------------------------------------------- */

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
    return loader->next >= loader->end || loader->ring[loader->next % loader->depth];
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
    fr_columns **slot = &loader->ring[loader->next % loader->depth];
    *batch = *slot;
    *slot = NULL;
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

void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats) {
    *stats = (fr_loader_stats){0};
    if (loader->pid != getpid()) return;
    pthread_mutex_lock(&loader->mutex);
    *stats = loader->stats;
    pthread_mutex_unlock(&loader->mutex);
}

/* ---- Stopping ------------------------------------------------------------------------------- */

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
        if (loader->ring[i]) fr_pool_give(loader->options.pool, loader->ring[i]);
    for (size_t i = 0; i < loader->parsers; i++)
        fr_parser_free(&loader->workers[i].parser);
    free(loader->ring);
    free(loader->workers);
    pthread_cond_destroy(&loader->room);
    pthread_cond_destroy(&loader->ready);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}
