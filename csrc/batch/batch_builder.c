/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/batch_builder.h"

/* The lines of a shuffled record between its first and its last are asked for so many rows before
   its turn: far enough for memory, near enough for the cache. */
#define NEAR 3
#define LINE 64
#define MOST 4096 /* of a longer one the rest comes by itself, as it is read from end to end */

/* Rows that are resolved, and brought into the cache, together. Twice as many places are known, so
   that there are always some ahead of the row that is read. */
#define AT_ONCE FR_DATASET_AT_ONCE

typedef struct {
    const uint64_t *numbers;
    uint64_t rows, resolved;
    bool touch; /* records are scattered over memory */
    fr_dataset_place places[2 * AT_ONCE];
    fr_dataset_hold holds[2]; /* of each half of them */
} resolver;

static int resolve_more(resolver *r, const fr_dataset *dataset, fr_error *err) {
    const uint64_t left = r->rows - r->resolved;
    const size_t some = left < AT_ONCE ? (size_t)left : AT_ONCE;
    const size_t half = r->resolved / AT_ONCE % 2;
    fr_dataset_place *places = r->places + half * AT_ONCE;
    FR_TRY(
        fr_dataset_resolve(dataset, r->numbers + r->resolved, some, places, &r->holds[half], err));
    if (r->touch) fr_dataset_touch(places, some);
    r->resolved += some;
    return FR_OK;
}

/* The place of a row that is resolved. */
static const fr_dataset_place *place_at(const resolver *r, uint64_t row) {
    return &r->places[row % (2 * AT_ONCE)];
}

static inline void prefetch_between(fr_span frame) {
    const size_t end = frame.size < MOST ? frame.size : MOST;
    for (size_t at = LINE; at < end; at += LINE)
        __builtin_prefetch(frame.data + at, 0, 2);
}

/* A record that does not stay in the cache: its checksum is made of what is copied, on the way, and
   looked at last, so that it is read from memory once. */
static int parse_long(fr_batch_builder *builder, const fr_dataset_place *place, fr_columns *columns,
                      fr_error *err) {
    fr_crc32c_run *run = &builder->parser.intake.run;
    fr_record record;
    FR_TRY(fr_dataset_peek(builder->dataset, place, &record, err));
    *run = fr_crc32c_begin(record.data.data, record.data.size);
    int status = fr_parse_row(&builder->parser, record.data, columns, err);
    FR_TRY(fr_dataset_verify(builder->dataset, place, &record, run, err));
    return status;
}

static int parse_short(fr_batch_builder *builder, const fr_dataset_place *place,
                       fr_columns *columns, fr_error *err) {
    fr_record record;
    FR_TRY(fr_dataset_read(builder->dataset, place, &record, err));
    return fr_parse_row(&builder->parser, record.data, columns, err);
}

/* A parsed record counts only if the file was complete until then. */
static int add_record(fr_batch_builder *builder, const fr_dataset_place *place, fr_columns *columns,
                      fr_error *err) {
    const fr_dataset *dataset = builder->dataset;
    const bool is_long = dataset->options.verify && place->frame.size >= FR_CRC32C_LONG;
    int status = (is_long ? parse_long : parse_short)(builder, place, columns, err);
    FR_TRY(fr_dataset_check(dataset, place->number, err));
    if (FR_UNLIKELY(status != FR_OK)) fr_dataset_locate(dataset, place->number, err);
    return status;
}

static int add_rows(fr_batch_builder *builder, resolver *r, const atomic_bool *stop,
                    fr_columns *columns, fr_error *err) {
    for (uint64_t row = 0; row < r->rows; row++) {
        if (atomic_load_explicit(stop, memory_order_relaxed)) return FR_AGAIN;
        while (r->resolved < r->rows && r->resolved <= row + NEAR)
            FR_TRY(resolve_more(r, builder->dataset, err));
        if (r->touch && row + NEAR < r->rows) prefetch_between(place_at(r, row + NEAR)->frame);
        FR_TRY(add_record(builder, place_at(r, row), columns, err));
    }
    return FR_OK;
}

static int fill(fr_batch_builder *builder, const uint64_t *numbers, uint64_t rows,
                const atomic_bool *stop, fr_columns *columns, fr_error *err) {
    /* Records that are not in the page cache were announced, and are waited for in turn. */
    resolver r = {.numbers = numbers, .rows = rows};
    r.touch = builder->order->shuffle != FR_SHUFFLE_NONE && builder->ahead.warm;
    int status = add_rows(builder, &r, stop, columns, err);
    for (size_t half = 0; half < 2; half++)
        fr_dataset_let_go(builder->dataset, &r.holds[half]);
    return status;
}

/* Announces the batch that this builder probably makes next, before this one is read. */
static void announce_next(fr_batch_builder *builder, uint64_t serial) {
    fr_slice slice;
    builder->next = 0;
    if (fr_sampler_is_stateful(builder->order) ||
        fr_order_slice(builder->order, serial + builder->stride, &slice) != FR_OK)
        return;
    fr_sampler_numbers(&builder->sampler, &slice, builder->next_numbers);
    fr_readahead_announce(builder->dataset, builder->next_numbers, slice.rows);
    builder->next = serial + builder->stride;
}

int fr_batch_builder_init(fr_batch_builder *builder, const fr_dataset *dataset,
                          const fr_order *order, fr_pool *pool, size_t stride, bool retires,
                          uint64_t *numbers, fr_error *err) {
    *builder = (fr_batch_builder){.dataset = dataset,
                                  .order = order,
                                  .pool = pool,
                                  .retires = retires,
                                  .stride = stride,
                                  .next_numbers = numbers};
    FR_TRY(fr_parser_init(&builder->parser, fr_pool_schema(pool), err));
    if (fr_sampler_is_stateful(order)) return FR_OK;
    int status = fr_sampler_init(&builder->sampler, order, err);
    if (status != FR_OK) fr_parser_free(&builder->parser);
    return status;
}

/* Of blocks whose records are mixed, once that is over; in file order, and of records that are
   longer than a page, at once. */
static void retire(fr_batch_builder *builder, const uint64_t *numbers, uint64_t rows) {
    const fr_order *order = builder->order;
    if (order->shuffle != FR_SHUFFLE_BLOCKS) {
        fr_readahead_retire(builder->dataset, numbers, rows);
        return;
    }
    const uint64_t *blocks, count = fr_sampler_take_left(&builder->sampler, &blocks);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t first = blocks[i] * order->block, left = order->count - first;
        fr_dataset_retire(builder->dataset, first, left < order->block ? left : order->block);
    }
}

int fr_batch_builder_make(fr_batch_builder *builder, uint64_t serial, const fr_slice *slice,
                          uint64_t *numbers, const atomic_bool *stop, fr_columns **batch,
                          fr_error *err) {
    fr_columns *columns;
    if (!fr_sampler_is_stateful(builder->order))
        fr_sampler_numbers(&builder->sampler, slice, numbers);
    FR_TRY(fr_pool_take(builder->pool, slice->rows, &columns, err));
    bool announced = builder->next != 0 && builder->next == serial;
    fr_readahead_begin(&builder->ahead, builder->dataset, numbers, slice->rows, announced);
    if (!builder->ahead.warm) announce_next(builder, serial);
    int status = fill(builder, numbers, slice->rows, stop, columns, err);
    fr_readahead_end(&builder->ahead);
    if (builder->retires) retire(builder, numbers, slice->rows);
    if (status == FR_OK)
        *batch = columns;
    else
        fr_pool_give(builder->pool, columns);
    return status;
}

void fr_batch_builder_free(fr_batch_builder *builder) {
    fr_parser_free(&builder->parser);
    fr_sampler_free(&builder->sampler);
    *builder = (fr_batch_builder){0};
}
