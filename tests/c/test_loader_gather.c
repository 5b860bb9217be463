/* SPDX-License-Identifier: Apache-2.0 */
/* Records by number, parsed by several threads: rows, the error of the first that has one. */
#include "batch/gather.h"
#include "loader_data.h"

#define ROWS 500

static uint64_t numbers[ROWS];

static void draw(uint64_t seed) {
    for (size_t row = 0; row < ROWS; row++)
        numbers[row] = test_random(&seed) % (FILES * RECORDS);
}

static int gather(const setup *s, size_t rows, size_t threads, fr_columns **batch, fr_error *err) {
    fr_readahead ahead = {0};
    CHECK(fr_pool_take(s->pool, rows, batch, NULL) == FR_OK);
    return fr_gather_batch(&s->dataset, fr_pool_schema(s->pool), &ahead, numbers, rows, threads,
                           *batch, err);
}

static void rows_are_the_same_for_any_threads(size_t rows, size_t threads) {
    setup s;
    fr_columns *batch;
    set_up(&s, 1);
    draw(rows + threads);
    CHECK(gather(&s, rows, threads, &batch, NULL) == FR_OK && batch->rows == rows);
    const int64_t *ends = (const int64_t *)(const void *)batch->columns[1].offsets.data;
    for (size_t row = 0; row < rows; row++) {
        CHECK(id_of(batch, row) == (int64_t)numbers[row]);
        CHECK(ends[row + 1] - ends[row] == (int64_t)numbers[row] % 50);
    }
    fr_pool_give(s.pool, batch);
    tear_down(&s);
}

static void slices_follow_each_other(size_t threads) {
    setup s;
    fr_columns *batch;
    set_up(&s, 1);
    draw(threads);
    CHECK(fr_pool_take(s.pool, ROWS, &batch, NULL) == FR_OK);
    for (size_t done = 0; done < ROWS; done += ROWS / 5) {
        fr_readahead ahead = {0};
        CHECK(fr_gather_batch(&s.dataset, fr_pool_schema(s.pool), &ahead, numbers + done, ROWS / 5,
                              threads, batch, NULL) == FR_OK);
    }
    for (size_t row = 0; row < ROWS; row++)
        CHECK(id_of(batch, row) == (int64_t)numbers[row]);
    const int64_t *ends = (const int64_t *)(const void *)batch->columns[1].offsets.data;
    CHECK(batch->rows == ROWS && ends[ROWS] == (int64_t)batch->columns[1].values.size);
    fr_pool_give(s.pool, batch);
    tear_down(&s);
}

static void the_first_error_in_order_is_told(size_t threads) {
    setup s;
    fr_columns *batch;
    fr_error err;
    set_up(&s, 1);
    draw(7);
    test_cut_off(paths[2], 0);
    size_t first = 0;
    while (numbers[first] < 2 * RECORDS)
        first++;
    CHECK(gather(&s, ROWS, threads, &batch, &err) == FR_ERR_TRUNCATED);
    CHECK(err.fault == FR_FAULT_SHRUNK && err.file == 2);
    CHECK(err.record == (int64_t)numbers[first] - 2 * RECORDS);
    fr_pool_give(s.pool, batch);
    tear_down(&s);
    write_file(2);
}

int main(void) {
    make_files();
    for (size_t threads = 1; threads <= FR_PARALLEL_PARSE_MAX; threads += 3) {
        rows_are_the_same_for_any_threads(0, threads);
        rows_are_the_same_for_any_threads(1, threads);
        rows_are_the_same_for_any_threads(ROWS, threads);
        slices_follow_each_other(threads);
        the_first_error_in_order_is_told(threads);
    }
    remove_files();
    printf("gather: ok\n");
    return 0;
}
