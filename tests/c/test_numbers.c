/* SPDX-License-Identifier: Apache-2.0 */
/* Texts are the numbers that the C library finds in them, to the bit, or are left to others. */
#include "tensor/numbers.h"

#include <errno.h>
#include <stdbool.h>

#include "test.h"

enum { LONGEST = 48, TURNS = 300000, COLUMNS = 3, ROWS = 20 };

static const size_t SIZES[] = {4, 8, 4, 8, 4, 8};

static bool is_blank(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The number of all of a text, as the C library reads it; false where there is none. */
static bool expected(const char *text, fr_number_type type, void *out) {
    const bool is_real = type <= FR_NUMBER_FLOAT64;
    const bool is_unsigned = type >= FR_NUMBER_UINT32;
    char *end = (char *)text;
    errno = 0;
    if (is_unsigned && strchr(text, '-')) return false;
    if (type == FR_NUMBER_FLOAT32) {
        const float found = strtof(text, &end);
        memcpy(out, &found, sizeof found);
    } else if (type == FR_NUMBER_FLOAT64) {
        const double found = strtod(text, &end);
        memcpy(out, &found, sizeof found);
    } else if (is_unsigned) {
        const uint64_t found = strtoull(text, &end, 10);
        if (errno || (type == FR_NUMBER_UINT32 && found > UINT32_MAX)) return false;
        memcpy(out, &found, SIZES[type]); /* of little-endian machines */
    } else {
        const int64_t found = strtoll(text, &end, 10);
        if (errno || (type == FR_NUMBER_INT32 && (found < INT32_MIN || found > INT32_MAX)))
            return false;
        memcpy(out, &found, SIZES[type]);
    }
    if (end == text) return false;
    while (is_blank(*end))
        end++;
    return !*end && (!is_real || !strpbrk(text, "xX(")); /* no hexadecimal, no nan(...) */
}

static void append(char *text, const char *set, uint64_t count, uint64_t *random) {
    size_t size = strlen(text);
    for (; count && size < LONGEST - 1; count--)
        text[size++] = set[test_random(random) % strlen(set)];
    text[size] = 0;
}

/* Of any bytes, much like a number, at a limit, or near the middle of two. */
static void make(char *text, uint64_t *random) {
    static const char *const WORDS[] = {
        "inf",
        "-Inf",
        "infinity",
        "nan",
        "NaN",
        "-nan",
        "infx",
        "i",
        "-2147483648",
        "-2147483649",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "-0",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551620",
        /* just above the middle of two float64 */ "3521749804183414561e-27"};
    const uint64_t kind = test_random(random) % 10;
    *text = 0;
    if (kind == 0) {
        for (uint64_t count = test_random(random) % 12; count; count--)
            append(text, (char[]){(char)(1 + test_random(random) % 255), 0}, 1, random);
        return;
    }
    if (kind == 1) {
        append(text, " \t0123456789+-.eEinfaxp", test_random(random) % 8, random);
        return;
    }
    if (kind == 2) {
        append(text, " ", test_random(random) % 2, random);
        strcat(text, WORDS[test_random(random) % (sizeof WORDS / sizeof *WORDS)]);
        append(text, "\n", test_random(random) % 2, random);
        return;
    }
    if (kind == 3) {
        const float below = fabsf(test_random_float(random));
        const double middle = ((double)below + (double)nextafterf(below, INFINITY)) / 2;
        snprintf(text, LONGEST, "%.*g", (int)(15 + test_random(random) % 6), middle);
        return;
    }
    if (kind == 4) {
        append(text, "0123456789", 1 + test_random(random) % 19, random);
        append(text, "e", 1, random);
        append(text, "-", test_random(random) % 4 > 0, random);
        append(text, "234", 1, random);
        append(text, "0123456789", 1, random);
        return;
    }
    append(text, " \t", test_random(random) % 4 == 0, random);
    append(text, "+-", test_random(random) % 3 == 0, random);
    append(text, "0123456789", test_random(random) % 11, random);
    append(text, ".", test_random(random) % 3 > 0, random);
    append(text, "0123456789", test_random(random) % 11, random);
    if (test_random(random) % 3 == 0) {
        append(text, "eE", 1, random);
        append(text, "+-", test_random(random) % 3, random);
        append(text, "0123456789", test_random(random) % 3, random);
    }
    append(text, " \n", test_random(random) % 4 == 0, random);
}

/* Columns of texts in a block of exactly their size; how many were left that have a number. */
static size_t check_columns(uint64_t *random) {
    enum { TEXTS = COLUMNS * ROWS };
    char texts[TEXTS][LONGEST];
    int64_t offsets[TEXTS + 1] = {0}, left[ROWS];
    size_t late = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        make(texts[i], random);
        offsets[i + 1] = offsets[i] + (int64_t)strlen(texts[i]);
    }
    uint8_t *data = malloc((size_t)offsets[TEXTS] + 1);
    CHECK(data);
    data = realloc(data, (size_t)offsets[TEXTS] ? (size_t)offsets[TEXTS] : 1);
    for (size_t i = 0; i < TEXTS; i++)
        memcpy(data + offsets[i], texts[i], strlen(texts[i]));
    for (int type = FR_NUMBER_FLOAT32; type <= FR_NUMBER_UINT64; type++) {
        const size_t column = test_random(random) % COLUMNS, size = SIZES[type];
        uint8_t *out = malloc(ROWS * size);
        CHECK(out);
        const size_t others =
            fr_numbers_read(data, offsets + column, COLUMNS, ROWS, (fr_number_type)type, out, left);
        for (size_t row = 0, other = 0; row < ROWS; row++) {
            const char *text = texts[row * COLUMNS + column];
            uint8_t right[8] = {0};
            const bool some = expected(text, (fr_number_type)type, right);
            if (other < others && left[other] == (int64_t)row) {
                other++;
                late += some;
                memset(right, 0, sizeof right);
                CHECK_CASE(!some || type <= FR_NUMBER_FLOAT64, "%d left %s", type, text);
            } else {
                CHECK_CASE(some, "%d took %s", type, text);
            }
            CHECK_CASE(!memcmp(out + row * size, right, size), "%d of %s", type, text);
        }
        free(out);
    }
    free(data);
    return late;
}

int main(void) {
    uint64_t random = 11;
    size_t late = 0;
    for (int turn = 0; turn < TURNS / (COLUMNS * ROWS); turn++)
        late += check_columns(&random);
    CHECK(late > 0 && late < TURNS / 8); /* most are read at once */
    return 0;
}
