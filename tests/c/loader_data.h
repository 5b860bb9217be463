/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of known records, and a loader of them, for the drivers that test the loader.
 */
#ifndef FASTREC_LOADER_DATA_H
#define FASTREC_LOADER_DATA_H

#include "batch/loader.h"
#include "example/encode.h"
#include "test.h"

#define FILES 3
#define RECORDS 100 /* a file */
#define TEXT "name"

/* Of ThreadSanitizer, which takes the zero pages that a map gets in place of lost ones (map.h) for
   something that is written: whoever reads there asks whether the map is lost. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:rescue\n";
}

static char paths[FILES][64];
static const char *const path_list[FILES] = {paths[0], paths[1], paths[2]};
static const fr_frame_options verified = {.verify = true};

static inline fr_span text(const char *s) {
    return (fr_span){(const uint8_t *)s, strlen(s)};
}

/* Record i of all: {"id": [i], "name": [as many letters as i mod 50]}. */
static inline void write_file(int file) {
    static uint8_t letters[50];
    int64_t ids[RECORDS], ends[RECORDS + 1] = {0};
    uint8_t *names = malloc(RECORDS * 50);
    memset(letters, 'x', sizeof letters);
    for (int i = 0; i < RECORDS; i++) {
        ids[i] = file * RECORDS + i;
        ends[i + 1] = ends[i] + ids[i] % 50;
        memcpy(names + ends[i], letters, (size_t)(ids[i] % 50));
    }
    const fr_value values[] = {
        {.key = text("id"),
         .kind = FR_KIND_INT64,
         .dtype = FR_INT64,
         .values = (const uint8_t *)ids,
         .count = 1},
        {.key = text(TEXT),
         .kind = FR_KIND_BYTES,
         .dtype = FR_BYTES,
         .values = names,
         .offsets = ends,
         .count = 1,
         .size = RECORDS * 50,
         .elements = RECORDS},
    };
    fr_buffer frames = {0};
    CHECK(fr_encode_rows(values, 2, (fr_rows){0, RECORDS, 1}, true, &frames, NULL, NULL) == FR_OK);
    FILE *f = fopen(paths[file], "wb");
    CHECK(f && fwrite(frames.data, 1, frames.size, f) == frames.size && fclose(f) == 0);
    fr_buffer_free(&frames);
    free(names);
}

static inline void open_dataset(fr_dataset *dataset, const fr_frame_options *options) {
    *dataset = (fr_dataset){0};
    CHECK(fr_dataset_open(dataset, path_list, FILES, options, NULL) == FR_OK);
    CHECK(fr_dataset_scan(dataset, UINT64_MAX, NULL) == FR_OK);
    CHECK(dataset->count == FILES * RECORDS);
}

static inline fr_pool *new_pool(const fr_feature *features, size_t count, size_t keep) {
    fr_schema schema;
    fr_pool *pool;
    CHECK(fr_schema_init(&schema, features, count, NULL) == FR_OK);
    CHECK(fr_pool_new(&schema, keep, &pool, NULL) == FR_OK);
    return pool;
}

static inline fr_pool *pool_of_both(size_t keep) {
    const fr_feature features[] = {
        {.key = text("id"), .kind = FR_KIND_INT64, .dtype = FR_INT64, .count = 1},
        {.key = text(TEXT), .kind = FR_KIND_BYTES, .dtype = FR_BYTES, .count = 1},
    };
    return new_pool(features, 2, keep);
}

typedef struct {
    fr_dataset dataset;
    fr_pool *pool;
    fr_loader_options options;
} setup;

static inline void set_up(setup *s, size_t threads) {
    open_dataset(&s->dataset, &verified);
    s->pool = pool_of_both(threads);
    s->options = (fr_loader_options){
        .dataset = &s->dataset,
        .pool = s->pool,
        .order = {.count = FILES * RECORDS,
                  .shuffle = FR_SHUFFLE_RECORDS,
                  .seed = 11,
                  .epochs = 2,
                  .shard_count = 1,
                  .batch_size = 7},
        .threads = threads,
        .prefetch = threads + 2,
    };
}

static inline void tear_down(setup *s) {
    CHECK(fr_pool_taken(s->pool) == 0);
    fr_pool_release(s->pool);
    fr_dataset_close(&s->dataset);
}

static inline fr_loader *start(const setup *s) {
    fr_loader *loader;
    fr_error err;
    int status = fr_loader_start(&s->options, &loader, &err);
    CHECK_CASE(status == FR_OK, "%s", err.cause);
    return loader;
}

static inline int next(fr_loader *loader, fr_columns **batch, fr_error *err) {
    int status;
    while ((status = fr_loader_next(loader, 100, batch, err)) == FR_AGAIN) {
    }
    return status;
}

static inline int64_t id_of(const fr_columns *batch, size_t row) {
    int64_t id;
    memcpy(&id, batch->dense.data + batch->columns[0].dense + 8 * row, 8);
    return id;
}

/* The number of the record in a row of a batch. */
static inline uint64_t number_of(const fr_order *order, const fr_slice *slice, uint64_t row) {
    static uint64_t numbers[FILES * RECORDS];
    fr_sampler sampler;
    CHECK(fr_sampler_init(&sampler, order, NULL) == FR_OK);
    fr_sampler_numbers(&sampler, slice, numbers);
    fr_sampler_free(&sampler);
    return numbers[row];
}

static inline void check_batch(const setup *s, const fr_columns *batch, uint64_t serial) {
    fr_slice slice;
    CHECK(fr_order_slice(&s->options.order, serial, &slice) == FR_OK && batch->rows == slice.rows);
    const int64_t *ends = (const int64_t *)(const void *)batch->columns[1].offsets.data;
    for (size_t row = 0; row < batch->rows; row++) {
        int64_t id = id_of(batch, row);
        CHECK(id == (int64_t)number_of(&s->options.order, &slice, row));
        CHECK(ends[row + 1] - ends[row] == id % 50);
    }
}

static inline void make_files(void) {
    for (int file = 0; file < FILES; file++) {
        snprintf(paths[file], sizeof paths[file], TEST_FOLDER "/test_loader.%ld.%d", (long)getpid(),
                 file);
        write_file(file);
    }
}

static inline void remove_files(void) {
    for (int file = 0; file < FILES; file++)
        CHECK(unlink(paths[file]) == 0);
}

#endif
