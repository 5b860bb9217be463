/* SPDX-License-Identifier: Apache-2.0 */
/* Which batches come, in which order, and what comes in place of one that cannot. */
#include "loader_data.h"

static void batches_are_the_same_for_any_threads(size_t threads, fr_shuffle shuffle,
                                                 uint64_t first) {
    setup s;
    set_up(&s, threads);
    s.options.order.shuffle = shuffle;
    s.options.order.block = 9, s.options.order.window = 4, s.options.order.buffer = 50;
    s.options.start = first;
    fr_loader *loader = start(&s);
    fr_columns *batch;
    uint64_t serial = first;
    int status;
    for (; (status = next(loader, &batch, NULL)) == FR_OK; serial++) {
        check_batch(&s, batch, serial);
        for (size_t row = 0; row < batch->rows; row++)
            CHECK(fr_loader_numbers(loader)[row] == (uint64_t)id_of(batch, row));
        fr_pool_give(s.pool, batch);
    }
    CHECK(status == FR_END && serial == 2 * ((FILES * RECORDS + 6) / 7));
    CHECK(next(loader, &batch, NULL) == FR_END);
    fr_loader_stats stats;
    fr_loader_get_stats(loader, &stats);
    CHECK(stats.batches == serial - first);
    fr_loader_free(loader);
    tear_down(&s);
}

static void a_loader_can_be_freed_at_any_moment(void) {
    uint64_t seed = 1;
    setup s;
    set_up(&s, 4);
    s.options.order.epochs = 0;
    for (int trial = 0; trial < 1000; trial++) {
        s.options.threads = 1 + test_random(&seed) % 4;
        s.options.prefetch = test_random(&seed) % 6;
        fr_loader *loader = start(&s);
        fr_columns *batch;
        for (int take = trial % 5; take > 0; take--) {
            int status = fr_loader_next(loader, take % 2, &batch, NULL);
            CHECK(status == FR_OK || status == FR_AGAIN);
            if (status == FR_OK) fr_pool_give(s.pool, batch);
        }
        if (trial % 7 == 0) usleep(200);
        fr_loader_free(loader);
        CHECK(fr_pool_taken(s.pool) == 0);
    }
    fr_loader_free(NULL);
    tear_down(&s);
}

static void memory_is_bounded_by_the_ring(void) {
    setup s;
    set_up(&s, 3);
    s.options.prefetch = 5;
    fr_loader *loader = start(&s);
    fr_columns *batch;
    CHECK(next(loader, &batch, NULL) == FR_OK);
    for (int wait = 0; wait < 200 && fr_pool_taken(s.pool) < 6; wait++)
        usleep(10000);
    usleep(20000);
    CHECK(fr_pool_taken(s.pool) == 6);
    fr_pool_give(s.pool, batch);
    fr_loader_free(loader);
    tear_down(&s);
}

/* Flips a bit in the data of a record, and gives it back. */
static void flip(int file, uint64_t offset) {
    FILE *f = fopen(paths[file], "r+b");
    CHECK(f && fseek(f, (long)offset, SEEK_SET) == 0);
    int byte = fgetc(f);
    CHECK(fseek(f, (long)offset, SEEK_SET) == 0 && fputc(byte ^ 4, f) != EOF && fclose(f) == 0);
}

static void an_error_comes_at_its_place(size_t threads, uint64_t number) {
    setup s;
    set_up(&s, threads);
    s.options.order.batch_size = 1;
    uint64_t place = 0;
    fr_slice slice;
    while (fr_order_slice(&s.options.order, place, &slice) == FR_OK &&
           number_of(&s.options.order, &slice, 0) != number)
        place++;
    int file = (int)(number / RECORDS);
    uint64_t offset = fr_index_offset(&s.dataset.files[file].index, number % RECORDS);
    flip(file, offset + 14);

    fr_loader *loader = start(&s);
    fr_columns *batch;
    fr_error err;
    for (uint64_t serial = 0; serial < place; serial++) {
        CHECK(next(loader, &batch, &err) == FR_OK);
        check_batch(&s, batch, serial);
        fr_pool_give(s.pool, batch);
    }
    for (int again = 0; again < 3; again++) {
        memset(&err, 0, sizeof err);
        CHECK(next(loader, &batch, &err) == FR_ERR_CORRUPT && err.fault == FR_FAULT_DATA_CRC);
        CHECK(err.file == file && err.record == (int64_t)number % RECORDS);
        CHECK(err.offset == (int64_t)offset && strstr(err.cause, "checksum mismatch"));
    }
    CHECK(next(loader, &batch, NULL) == FR_ERR_CORRUPT);
    fr_loader_free(loader);
    flip(file, offset + 14);
    tear_down(&s);
}

static void an_example_of_another_kind_is_located(void) {
    setup s;
    set_up(&s, 2);
    fr_pool_release(s.pool);
    const fr_feature wrong = {
        .key = text(TEXT), .kind = FR_KIND_INT64, .dtype = FR_INT64, .count = 1};
    s.options.pool = s.pool = new_pool(&wrong, 1, 2);
    s.options.order.shuffle = FR_SHUFFLE_NONE;
    s.options.start = (RECORDS + 20) / 7;
    fr_loader *loader = start(&s);
    fr_columns *batch;
    fr_error err;
    uint64_t number = s.options.start * 7 - RECORDS;
    CHECK(next(loader, &batch, &err) == FR_ERR_SCHEMA);
    CHECK(err.file == 1 && err.record == (int64_t)number && strcmp(err.feature, TEXT) == 0);
    CHECK(err.offset == (int64_t)fr_index_offset(&s.dataset.files[1].index, number));
    fr_loader_free(loader);
    tear_down(&s);
}

/* Whatever went wrong with the bytes that are gone, they are gone. */
static void a_file_that_shrinks_is_truncated(bool verify) {
    setup s;
    set_up(&s, 2);
    s.options.order.shuffle = FR_SHUFFLE_NONE;
    s.dataset.options.verify = verify;
    test_cut_off(paths[0], 0);
    fr_loader *loader = start(&s);
    fr_columns *batch;
    fr_error err;
    CHECK(next(loader, &batch, &err) == FR_ERR_TRUNCATED && err.fault == FR_FAULT_SHRUNK);
    CHECK(err.file == 0 && err.record == 0 && err.offset == 0);
    fr_loader_free(loader);
    tear_down(&s);
    write_file(0);
}

static void raw_records_need_no_schema(void) {
    setup s;
    set_up(&s, 2);
    fr_pool_release(s.pool);
    const fr_feature whole = {.kind = FR_KIND_NONE, .dtype = FR_BYTES, .count = 1};
    s.options.pool = s.pool = new_pool(&whole, 1, 2);
    fr_loader *loader = start(&s);
    fr_columns *batch;
    CHECK(next(loader, &batch, NULL) == FR_OK && batch->rows == 7);
    const int64_t *ends = (const int64_t *)(const void *)batch->columns[0].offsets.data;
    fr_slice slice;
    CHECK(fr_order_slice(&s.options.order, 0, &slice) == FR_OK);
    for (uint64_t row = 0; row < 7; row++) {
        fr_record record;
        fr_dataset_hold hold = {.count = 0};
        CHECK(!fr_dataset_records(&s.dataset,
                                  (uint64_t[]){number_of(&s.options.order, &slice, row)}, 1,
                                  &record, &hold, NULL));
        fr_span got = {batch->columns[0].values.data + ends[row],
                       (size_t)(ends[row + 1] - ends[row])};
        CHECK(fr_span_equal(got, record.data));
    }
    fr_pool_give(s.pool, batch);
    fr_loader_free(loader);
    tear_down(&s);
}

int main(void) {
    make_files();
    for (size_t threads = 1; threads <= 8; threads++) {
        for (int shuffle = FR_SHUFFLE_NONE; shuffle <= FR_SHUFFLE_BUFFER; shuffle++)
            batches_are_the_same_for_any_threads(threads, (fr_shuffle)shuffle, threads % 2 * 9);
        an_error_comes_at_its_place(threads, 37 * threads);
    }
    a_loader_can_be_freed_at_any_moment();
    memory_is_bounded_by_the_ring();
    an_example_of_another_kind_is_located();
    a_file_that_shrinks_is_truncated(true);
    a_file_that_shrinks_is_truncated(false);
    raw_records_need_no_schema();
    remove_files();
    printf("loader: ok\n");
    return 0;
}
