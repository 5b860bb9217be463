/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/gather.h"

/* Rows ahead at which the inner cache lines of a shuffled record are prefetched: early enough
   for memory, late enough for the lines to stay in the cache. */
#define NEAR 3
#define LINE 64
#define MOST 4096 /* bytes to prefetch; sequential reading loads the rest */

/* Rows that are resolved and read into the cache together. Twice this number of places are kept,
   so that some are always ahead of the row that is parsed. */
#define AT_ONCE FR_DATASET_AT_ONCE
#define READ_AT_ONCE ((uint64_t)256 << 10) /* bytes; resolving copies records of unmapped files */

typedef struct {
    const uint64_t *numbers;
    uint64_t rows, resolved;
    size_t at_once; /* rows resolved together */
    bool touch;     /* records are scattered in memory */
    fr_dataset_place places[2 * AT_ONCE];
    fr_dataset_hold holds[2]; /* one for each half of the places */
} resolver;

static int resolve_more(resolver *r, const fr_dataset *dataset, fr_error *err) {
    const uint64_t left = r->rows - r->resolved;
    const size_t some = left < r->at_once ? (size_t)left : r->at_once;
    const size_t half = r->resolved / r->at_once % 2;
    fr_dataset_place *places = r->places + r->resolved % (2 * AT_ONCE);
    FR_TRY(
        fr_dataset_resolve(dataset, r->numbers + r->resolved, some, places, &r->holds[half], err));
    if (r->touch) fr_dataset_touch(places, some);
    r->resolved += some;
    return FR_OK;
}

/* Returns the place of a resolved row. */
static const fr_dataset_place *place_at(const resolver *r, uint64_t row) {
    return &r->places[row % (2 * AT_ONCE)];
}

static inline void prefetch_between(fr_span frame) {
    const size_t end = frame.size < MOST ? frame.size : MOST;
    for (size_t at = LINE; at < end; at += LINE)
        __builtin_prefetch(frame.data + at, 0, 2);
}

/* Parses a record that is too long for the cache. The checksum is computed while the data is
   copied, and compared last, so that the record is read from memory once. */
static int parse_long(const fr_gather *gather, const fr_dataset_place *place, fr_columns *columns,
                      fr_error *err) {
    fr_crc32c_run *run = &gather->parser->intake.run;
    fr_record record;
    FR_TRY(fr_dataset_peek(gather->dataset, place, &record, err));
    *run = fr_crc32c_begin(record.data.data, record.data.size);
    int status = fr_parse_row(gather->parser, record.data, columns, err);
    FR_TRY(fr_dataset_verify(gather->dataset, place, &record, run, err));
    return status;
}

/* Parses a checked copy, because another process may write to the file. The copy stays in the
   first-level cache. */
static int parse_short(const fr_gather *gather, const fr_dataset_place *place, fr_columns *columns,
                       fr_error *err) {
    const fr_dataset *dataset = gather->dataset;
    uint8_t copy[FR_CRC32C_LONG];
    fr_record record;
    FR_TRY(fr_dataset_peek(dataset, place, &record, err));
    if (record.data.size <= sizeof copy) { /* an index with gaps may give a longer record */
        FR_TRY(fr_dataset_copy(dataset, place->number, &record, copy, err));
        record.data.data = copy;
    } else {
        FR_TRY(fr_dataset_read(dataset, place, &record, err));
    }
    return fr_parse_row(gather->parser, record.data, columns, err);
}

/* Adds a row. The record is valid only if the file has not shrunk while it was parsed. */
static int add_record(const fr_gather *gather, const fr_dataset_place *place, fr_columns *columns,
                      fr_error *err) {
    const fr_dataset *dataset = gather->dataset;
    const bool is_long = dataset->options.verify && place->frame.size >= FR_CRC32C_LONG;
    int status = (is_long ? parse_long : parse_short)(gather, place, columns, err);
    FR_TRY(fr_dataset_check(dataset, place->number, err));
    if (FR_UNLIKELY(status != FR_OK)) fr_dataset_locate(dataset, place->number, err);
    return status;
}

static int add_rows(const fr_gather *gather, resolver *r, fr_columns *columns, fr_error *err) {
    const size_t before = fr_columns_records(columns);
    for (uint64_t row = 0; row < r->rows; row++) {
        if (gather->stop && atomic_load_explicit(gather->stop, memory_order_relaxed))
            return FR_AGAIN;
        while (r->resolved < r->rows && r->resolved <= row + NEAR)
            FR_TRY(resolve_more(r, gather->dataset, err));
        if (r->touch && row + NEAR < r->rows) prefetch_between(place_at(r, row + NEAR)->frame);
        const int status = add_record(gather, place_at(r, row), columns, err);
        if (FR_UNLIKELY(status != FR_OK))
            FR_TRY(fr_columns_leave_out(columns, before + (size_t)row, status, err));
    }
    return FR_OK;
}

/* Returns how many rows to resolve together, a power of two. If resolving copies records, those of
   the file with the largest average have about READ_AT_ONCE bytes. There are more than NEAR, so
   that two holds suffice. */
static size_t count_at_once(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows) {
    size_t count = AT_ONCE;
    uint64_t first = 0, end = 0; /* records of the file of the previous row */
    for (uint64_t row = 0; dataset->reads && row < rows && count / 2 > NEAR; row++) {
        if (first <= numbers[row] && numbers[row] < end) continue;
        const size_t file = fr_dataset_find(dataset, numbers[row]);
        const fr_dataset_range *range = &dataset->ranges[file];
        first = range->first;
        end = file + 1 < dataset->file_count ? range[1].first : dataset->count;
        while (count / 2 > NEAR && range->size / (end - first) > READ_AT_ONCE / count)
            count /= 2;
    }
    return count;
}

int fr_gather_rows(const fr_gather *gather, const uint64_t *numbers, uint64_t rows,
                   fr_columns *columns, fr_error *err) {
    resolver r = {.numbers = numbers,
                  .rows = rows,
                  .at_once = count_at_once(gather->dataset, numbers, rows),
                  .touch = gather->scattered,
                  .holds = {{.stop = gather->stop}, {.stop = gather->stop}}};
    int status = add_rows(gather, &r, columns, err);
    for (size_t half = 0; half < 2; half++)
        fr_dataset_let_go(gather->dataset, &r.holds[half]);
    return status;
}

typedef struct {
    const fr_dataset *dataset;
    const uint64_t *numbers;
    bool scattered;
} batch;

static int gather_run(const void *self, fr_parser *parser, size_t first, size_t count,
                      fr_columns *columns, fr_error *err) {
    const batch *b = self;
    const fr_gather gather = {.dataset = b->dataset, .parser = parser, .scattered = b->scattered};
    return fr_gather_rows(&gather, b->numbers + first, count, columns, err);
}

int fr_gather_batch(const fr_dataset *dataset, const fr_schema *schema, fr_readahead *ahead,
                    const uint64_t *numbers, size_t rows, size_t threads, fr_columns *columns,
                    fr_error *err) {
    size_t firsts[FR_PARALLEL_PARSE_MAX + 1] = {0};
    ahead->how = FR_ANNOUNCE_SCATTERED;
    fr_readahead_begin(ahead, dataset, numbers, rows, false);
    const batch self = {dataset, numbers, ahead->warm};
    const fr_row_source source = {.self = &self, .parse = gather_run};
    for (size_t i = 1; i <= threads; i++)
        firsts[i] = rows / threads * i + rows % threads * i / threads;
    int status = fr_parallel_rows(schema, &source, firsts, threads, columns, err);
    fr_readahead_end(ahead);
    return status;
}
