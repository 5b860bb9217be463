/* SPDX-License-Identifier: Apache-2.0 */
/* Files indexed side by side are as those indexed one after the other. */
#include "files/parallel_index.h"

#include "loader_data.h"

#define MANY 40

static const char *many[MANY];

static void open_many(fr_dataset *dataset) {
    *dataset = (fr_dataset){0};
    for (int i = 0; i < MANY; i++)
        many[i] = paths[i % FILES];
    CHECK(fr_dataset_open(dataset, many, MANY, &verified, NULL) == FR_OK);
}

static int scan_all(fr_dataset *dataset, size_t threads, fr_error *err) {
    fr_parallel_index *scan;
    int status;
    CHECK(fr_parallel_index_start(dataset, threads, &scan, NULL) == FR_OK);
    while ((status = fr_parallel_index_wait(scan, 100, err)) == FR_AGAIN) {
    }
    fr_parallel_index_free(scan);
    return status;
}

static void all_offsets_are_found(size_t threads) {
    fr_dataset one, other;
    fr_dataset_hold hold = {.count = 0};
    open_many(&one);
    open_many(&other);
    CHECK(fr_dataset_scan(&one, UINT64_MAX, NULL) == FR_OK);
    CHECK(scan_all(&other, threads, NULL) == FR_OK);
    CHECK(other.indexed == 0 && other.count == 0);
    CHECK(fr_dataset_scan(&other, 1, NULL) == FR_OK); /* nothing is left but to number them */
    CHECK(other.count == one.count && one.count == MANY * RECORDS);
    for (uint64_t number = 0; number < one.count; number++) {
        fr_dataset_place a, b;
        CHECK(fr_dataset_resolve(&one, &number, 1, &a, &hold, NULL) == FR_OK);
        CHECK(fr_dataset_resolve(&other, &number, 1, &b, &hold, NULL) == FR_OK);
        CHECK(fr_span_equal(a.frame, b.frame));
    }
    fr_dataset_close(&one);
    fr_dataset_close(&other);
}

/* The first bad file in turn, whichever thread is quicker. */
static void the_first_error_is_that_of_the_first_file(size_t threads) {
    FILE *file = fopen(paths[1], "r+b");
    CHECK(file && fputc(0xff, file) == 0xff && fclose(file) == 0);
    fr_dataset dataset;
    open_many(&dataset);
    fr_error one, other;
    CHECK(scan_all(&dataset, threads, &other) == FR_ERR_CORRUPT);
    CHECK(fr_dataset_scan(&dataset, UINT64_MAX, &one) == FR_ERR_CORRUPT);
    CHECK(other.file == 1 && other.record == 0 && other.offset == 0);
    CHECK(one.file == 1 && strcmp(one.cause, other.cause) == 0);
    fr_dataset_close(&dataset);
    write_file(1);
}

static void a_scan_can_be_freed_at_any_moment(void) {
    uint64_t seed = 1;
    for (int trial = 0; trial < 300; trial++) {
        fr_dataset dataset;
        fr_parallel_index *scan;
        open_many(&dataset);
        CHECK(fr_parallel_index_start(&dataset, test_random(&seed) % 5, &scan, NULL) == FR_OK);
        for (int wait = trial % 4; wait > 0; wait--)
            CHECK(fr_parallel_index_wait(scan, 0, NULL) >= 0);
        fr_parallel_index_free(scan);
        CHECK(fr_dataset_scan(&dataset, UINT64_MAX, NULL) == FR_OK); /* goes on where it stood */
        CHECK(dataset.count == MANY * RECORDS);
        fr_dataset_close(&dataset);
    }
    fr_parallel_index_free(NULL);
}

static void small_files_are_not_worth_a_thread(void) {
    fr_dataset dataset;
    open_many(&dataset);
    CHECK(!fr_parallel_index_pays(&dataset));
    fr_dataset_close(&dataset);
}

int main(void) {
    make_files();
    for (size_t threads = 0; threads < 5; threads += 2) {
        all_offsets_are_found(threads);
        the_first_error_is_that_of_the_first_file(threads);
    }
    a_scan_can_be_freed_at_any_moment();
    small_files_are_not_worth_a_thread();
    remove_files();
    printf("parallel_index: ok\n");
    return 0;
}
