/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/loader.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/platform.h"

#define PREFETCH_MAX ((size_t)1 << 20)

/* A slot of the ring. */
typedef struct {
    fr_columns *batch; /* NULL, or a batch that the consumer has not taken */
    uint64_t *numbers; /* numbers of the batch's records */
} slot;

struct fr_loader {
    fr_loader_options options;
    int64_t pid;
    fr_task_ring *ring;
    atomic_bool stopping;
    fr_batch_builder *builders; /* one for each member of the ring */
    size_t builder_count;       /* number of initialized builders */
    fr_sampler sampler;         /* for a stateful order, whose numbers are drawn in sequence */
    size_t rows;                /* rows of the largest batch */
    uint64_t *numbers;          /* record numbers of all slots and builders, in one block */
    slot *slots;                /* slot number % depth has task `number` of the ring */
    size_t depth;
    const uint64_t *given;      /* record numbers of the batch returned last */
    uint64_t batches;           /* number of batches returned */
    atomic_uint_fast64_t bytes; /* size of the records that the builders have read */
};

/* Gets the slice of a task. Tasks are numbered as batches, from the first batch that is
   requested. */
static int slice_of(const fr_loader *loader, size_t number, fr_slice *slice) {
    return fr_order_slice(&loader->options.order, loader->options.start + number, slice);
}

static void draw_in_turn(void *context, size_t number) {
    fr_loader *loader = context;
    fr_slice slice;
    if (slice_of(loader, number, &slice) == FR_OK)
        fr_sampler_numbers(&loader->sampler, &slice, loader->slots[number % loader->depth].numbers);
}

static int make_batch(void *context, size_t member, size_t number, fr_error *err) {
    fr_loader *loader = context;
    slot *place = &loader->slots[number % loader->depth];
    fr_slice slice;
    FR_TRY(slice_of(loader, number, &slice));
    fr_batch_builder *builder = &loader->builders[member];
    const uint64_t before = builder->parser.bytes;
    const int status = fr_batch_builder_make(builder, loader->options.start + number, &slice,
                                             place->numbers, &loader->stopping, &place->batch, err);
    atomic_fetch_add_explicit(&loader->bytes, builder->parser.bytes - before, memory_order_relaxed);
    return status;
}

static int check_options(const fr_loader_options *options, fr_error *err) {
    FR_TRY(fr_order_check(&options->order, err));
    if (options->threads < 1 || options->threads > FR_TASK_RING_THREADS_MAX)
        return fr_fail(err, FR_ERR_ARG, "threads must be 1 to %d, got %zu",
                       FR_TASK_RING_THREADS_MAX, options->threads);
    if (options->prefetch > PREFETCH_MAX)
        return fr_fail(err, FR_ERR_ARG, "prefetch must be at most %zu batches, got %zu",
                       PREFETCH_MAX, options->prefetch);
    const fr_dataset *dataset = options->dataset;
    if (dataset->indexed < dataset->file_count ||
        fr_order_records(&options->order) > dataset->count)
        return fr_fail(err, FR_ERR_ARG, "the dataset is not fully indexed");
    return FR_OK;
}

/* Returns the number of rows that the largest batch can have. */
static uint64_t most_rows(const fr_order *order) {
    uint64_t size = fr_order_shard_size(order), all = size;
    if (order->batch_across_epochs &&
        __builtin_mul_overflow(size, order->epochs ? order->epochs : UINT64_MAX, &all))
        all = UINT64_MAX;
    return all < order->batch_size ? all : order->batch_size;
}

/* Allocates the record numbers of each slot and of each builder. */
static int allocate_numbers(fr_loader *loader, fr_error *err) {
    const uint64_t rows = most_rows(&loader->options.order);
    const size_t users = loader->depth + loader->options.threads;
    size_t size;
    loader->rows = (size_t)rows;
    if (rows != loader->rows || fr_mul_overflows(loader->rows, users * sizeof(uint64_t), &size))
        return fr_fail_nomem(err, UINT64_MAX);
    loader->numbers = malloc(size + 1);
    if (!loader->numbers) return fr_fail_nomem(err, size);
    for (size_t i = 0; i < loader->depth; i++)
        loader->slots[i].numbers = loader->numbers + i * loader->rows;
    return FR_OK;
}

static int make_builders(fr_loader *loader, fr_error *err) {
    const fr_loader_options *options = &loader->options;
    uint64_t *numbers = loader->numbers + loader->depth * loader->rows;
    for (; loader->builder_count < options->threads; loader->builder_count++) {
        FR_TRY(fr_batch_builder_init(&loader->builders[loader->builder_count], options->dataset,
                                     &loader->options.order, options->pool, options->threads,
                                     options->retires, numbers, err));
        numbers += loader->rows;
    }
    return FR_OK;
}

static int allocate(fr_loader *loader, fr_error *err) {
    const fr_loader_options *options = &loader->options;
    loader->builders = calloc(options->threads, sizeof *loader->builders);
    loader->slots = calloc(loader->depth, sizeof *loader->slots);
    if (!loader->builders || !loader->slots)
        return fr_fail_nomem(
            err, options->threads * sizeof *loader->builders + loader->depth * sizeof(slot));
    FR_TRY(allocate_numbers(loader, err));
    if (fr_sampler_is_stateful(&options->order))
        FR_TRY(fr_sampler_init(&loader->sampler, &loader->options.order, err));
    return make_builders(loader, err);
}

static int start_ring(fr_loader *loader, fr_error *err) {
    const fr_loader_options *options = &loader->options;
    const uint64_t all = fr_order_batches(&options->order);
    const uint64_t left = options->start < all ? all - options->start : 0;
    const fr_task_ring_options ring = {
        .task = make_batch,
        .claim = fr_sampler_is_stateful(&options->order) ? draw_in_turn : NULL,
        .context = loader,
        .count = left < SIZE_MAX ? (size_t)left : SIZE_MAX,
        .depth = loader->depth,
        .threads = options->threads,
    };
    return fr_task_ring_start(&ring, &loader->ring, err);
}

int fr_loader_start(const fr_loader_options *options, fr_loader **loader, fr_error *err) {
    FR_TRY(check_options(options, err));
    fr_loader *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    made->options = *options;
    made->pid = fr_process_id();
    /* One slot for the consumer's batch, and the others for batches ahead of it. */
    made->depth = 1 + (options->prefetch > options->threads ? options->prefetch : options->threads);
    int status = allocate(made, err);
    if (status == FR_OK) status = start_ring(made, err);
    if (status != FR_OK) {
        fr_loader_free(made);
        return status;
    }
    *loader = made;
    return FR_OK;
}

int fr_loader_next(fr_loader *loader, int timeout_ms, fr_columns **batch, fr_error *err) {
    size_t number;
    FR_TRY(fr_task_ring_next(loader->ring, timeout_ms, &number, err));
    slot *taken = &loader->slots[number % loader->depth];
    *batch = taken->batch;
    taken->batch = NULL;
    loader->given = taken->numbers;
    loader->batches++;
    return FR_OK;
}

const uint64_t *fr_loader_numbers(const fr_loader *loader) {
    return loader->given;
}

void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats) {
    *stats = (fr_loader_stats){0};
    if (loader->pid != fr_process_id()) return;
    stats->batches = loader->batches;
    stats->bytes = atomic_load_explicit(&loader->bytes, memory_order_relaxed);
    stats->times = fr_task_ring_get_times(loader->ring);
}

size_t fr_loader_get_spans(fr_loader *loader, fr_task_span *spans) {
    return fr_task_ring_get_spans(loader->ring, spans);
}

/* In a forked child, leaves all memory alone: workers may have been changing it during the fork,
   and they do not run in the child to finish. */
void fr_loader_free(fr_loader *loader) {
    if (!loader || loader->pid != fr_process_id()) return;
    atomic_store_explicit(&loader->stopping, true, memory_order_relaxed);
    fr_task_ring_free(loader->ring);
    for (size_t i = 0; loader->slots && i < loader->depth; i++)
        if (loader->slots[i].batch) fr_pool_give(loader->options.pool, loader->slots[i].batch);
    for (size_t i = 0; i < loader->builder_count; i++)
        fr_batch_builder_free(&loader->builders[i]);
    fr_sampler_free(&loader->sampler);
    free(loader->numbers);
    free(loader->slots);
    free(loader->builders);
    free(loader);
}
