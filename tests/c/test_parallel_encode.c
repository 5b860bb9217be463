/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of rows by several threads: the bytes are those of one thread, errors come in turn, and
 * stopping at any moment leaves nothing behind.
 */
#include "example/parallel_encode.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "test.h"

enum { ROWS = 30000, WIDTH = 7 };

static int64_t numbers[ROWS * WIDTH], offsets[ROWS + 1], splits[ROWS + 1];
static uint8_t text[ROWS * 40];

static fr_span key_of(const char *s) {
    return (fr_span){(const uint8_t *)s, strlen(s)};
}

/* Integers, floats, rows of differing length, and strings of 0 to 39 bytes. */
static size_t make_values(fr_value values[4]) {
    uint64_t seed = 3;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        numbers[i] = (int64_t)(test_random(&seed) >> (i % 64));
    for (size_t row = 0; row < ROWS; row++) {
        offsets[row + 1] = offsets[row] + (int64_t)(test_random(&seed) % 40);
        splits[row + 1] = splits[row] + (int64_t)(test_random(&seed) % (WIDTH + 1));
    }
    test_fill(text, sizeof text, 4);
    values[0] = (fr_value){.key = key_of("a"), .kind = FR_KIND_INT64, .dtype = FR_INT64};
    values[0].values = (const uint8_t *)numbers, values[0].count = WIDTH;
    values[1] = (fr_value){.key = key_of("b"), .kind = FR_KIND_FLOAT, .dtype = FR_FLOAT32};
    values[1].values = (const uint8_t *)numbers, values[1].count = 2 * WIDTH;
    values[2] = (fr_value){.key = key_of("c"), .kind = FR_KIND_INT64, .dtype = FR_INT64};
    values[2].values = (const uint8_t *)numbers, values[2].splits = splits;
    values[2].elements = ROWS * WIDTH;
    values[3] = (fr_value){.key = key_of("d"), .kind = FR_KIND_BYTES, .dtype = FR_BYTES};
    values[3].values = text, values[3].offsets = offsets, values[3].count = 1;
    values[3].elements = ROWS;
    for (size_t i = 0; i < 4; i++)
        values[i].size = i == 3 ? sizeof text : sizeof numbers;
    return 4;
}

/* Appends every block; the records in them. */
static size_t collect(const fr_value *values, size_t count, fr_rows rows, size_t threads,
                      fr_buffer *out) {
    fr_parallel_encode *encode;
    fr_span frames;
    size_t some, all = 0;
    fr_error err;
    CHECK(fr_parallel_encode_start(values, count, rows, threads, &encode, &err) == FR_OK);
    int status;
    while ((status = fr_parallel_encode_next(encode, &frames, &some, &err)) != FR_END) {
        if (status == FR_AGAIN) continue;
        CHECK_CASE(status == FR_OK, "%s", err.cause);
        CHECK(fr_buffer_append(out, frames.data, frames.size, NULL) == FR_OK);
        all += some;
    }
    CHECK(fr_parallel_encode_next(encode, &frames, &some, &err) == FR_END);
    fr_parallel_encode_free(encode);
    return all;
}

static void any_number_of_threads_gives_the_same_bytes(const fr_value *values, size_t count) {
    for (size_t step = 1; step < 4; step += 2) {
        const fr_rows rows = {step - 1, ROWS, step};
        fr_buffer plain = {0}, bare = {0}, ends = {0};
        CHECK(fr_encode_rows(values, count, rows, true, &plain, NULL, NULL) == FR_OK);
        CHECK(fr_encode_rows(values, count, rows, false, &bare, &ends, NULL) == FR_OK);
        for (size_t threads = 0; threads <= 5; threads++) {
            fr_buffer out = {0}, whole = {0}, whole_offsets = {0};
            CHECK(collect(values, count, rows, threads, &out) == fr_rows_count(rows));
            CHECK(out.size == plain.size && memcmp(out.data, plain.data, out.size) == 0);
            CHECK(fr_parallel_encode_whole(values, count, rows, threads, &whole, &whole_offsets,
                                           NULL) == FR_OK);
            CHECK(whole.size == bare.size && memcmp(whole.data, bare.data, bare.size) == 0);
            CHECK(whole_offsets.size == ends.size + 8);
            CHECK(memcmp(whole_offsets.data + 8, ends.data, ends.size) == 0);
            fr_buffer_free(&out);
            fr_buffer_free(&whole);
            fr_buffer_free(&whole_offsets);
        }
        fr_buffer_free(&plain);
        fr_buffer_free(&bare);
        fr_buffer_free(&ends);
    }
}

static void no_rows_are_no_blocks(const fr_value *values, size_t count) {
    fr_buffer out = {0}, ends = {0};
    const fr_rows none = {0, 0, 1};
    CHECK(collect(values, count, none, 3, &out) == 0 && out.size == 0);
    CHECK(fr_parallel_encode_whole(values, count, none, 3, &out, &ends, NULL) == FR_OK);
    CHECK(out.size == 0 && ends.size == 8 && fr_load_u64(ends.data) == 0);
    fr_buffer_free(&out);
    fr_buffer_free(&ends);
}

/* A split that leads nowhere, in the middle: blocks before it come, and then the error, for ever.
 */
static void an_error_comes_where_its_block_would_have_been(fr_value *values, size_t count) {
    const fr_rows rows = {0, ROWS, 1};
    const size_t bad = ROWS / 2;
    int64_t good = splits[bad];
    splits[bad] = -1;
    fr_error err;
    CHECK(fr_encode_check(values, count, rows, &err) == FR_ERR_ARG);
    CHECK(err.record == (int64_t)bad - 1);
    for (size_t threads = 0; threads < 4; threads++) {
        fr_parallel_encode *encode;
        fr_span frames;
        size_t some, all = 0;
        int status;
        CHECK(fr_parallel_encode_start(values, count, rows, threads, &encode, &err) == FR_OK);
        while ((status = fr_parallel_encode_next(encode, &frames, &some, &err)) >= 0)
            all += status == FR_OK ? some : 0;
        CHECK(status == FR_ERR_ARG && err.record == (int64_t)bad - 1 && all < bad);
        CHECK(fr_parallel_encode_next(encode, &frames, &some, &err) == FR_ERR_ARG);
        fr_parallel_encode_free(encode);
        fr_buffer out = {0}, ends = {0};
        CHECK(fr_parallel_encode_whole(values, count, rows, threads, &out, &ends, &err) ==
              FR_ERR_ARG);
        CHECK(out.size == 0 && ends.size == 0);
        fr_buffer_free(&out);
        fr_buffer_free(&ends);
    }
    splits[bad] = good;
}

static void a_bulk_may_be_freed_at_any_moment(const fr_value *values, size_t count) {
    const fr_rows rows = {0, ROWS, 1};
    for (size_t round = 0; round < 200; round++) {
        fr_parallel_encode *encode;
        fr_span frames;
        size_t some;
        CHECK(fr_parallel_encode_start(values, count, rows, 1 + round % 4, &encode, NULL) == FR_OK);
        for (size_t i = 0; i < round % 7; i++)
            if (fr_parallel_encode_next(encode, &frames, &some, NULL) < 0) CHECK(0);
        fr_parallel_encode_free(encode);
    }
    fr_parallel_encode_free(NULL);
}

#if defined(_WIN32)

static void a_child_is_told_that_the_members_are_gone(const fr_value *values, size_t count) {
    (void)values, (void)count;
    TEST_SKIPPED("a child that is told that the members are gone");
}

#else

static void a_child_is_told_that_the_members_are_gone(const fr_value *values, size_t count) {
    fr_parallel_encode *encode;
    fr_span frames;
    size_t some;
    CHECK(fr_parallel_encode_start(values, count, (fr_rows){0, ROWS, 1}, 2, &encode, NULL) ==
          FR_OK);
    pid_t child = fork();
    if (child == 0) {
        bool told = fr_parallel_encode_next(encode, &frames, &some, NULL) == FR_ERR_STATE;
        fr_parallel_encode_free(encode);
        _exit(told ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fr_parallel_encode_free(encode);
}

#endif

int main(void) {
    fr_value values[4];
    size_t count = make_values(values);
    any_number_of_threads_gives_the_same_bytes(values, count);
    no_rows_are_no_blocks(values, count);
    an_error_comes_where_its_block_would_have_been(values, count);
    a_bulk_may_be_freed_at_any_moment(values, count);
    a_child_is_told_that_the_members_are_gone(values, count);
    CHECK(fr_parallel_encode_threads(values, count, (fr_rows){0, ROWS, 1}, 1) == 0);
    CHECK(fr_parallel_encode_threads(values, count, (fr_rows){0, ROWS, 1}, 2) == 2);
    values[0].size = 5 * WIDTH * sizeof *numbers;
    CHECK(fr_parallel_encode_threads(values, 1, (fr_rows){0, 5, 1}, 2) == 0);
    printf("parallel_encode: ok\n");
    return 0;
}
