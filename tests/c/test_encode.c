/* SPDX-License-Identifier: Apache-2.0 */
#include "example/encode.h"
#include "test.h"

#include <float.h>
#include <math.h>

/* An encoder that is slow and plain: each message is made before the one that it is put into. */

static void add_varint(fr_buffer *out, uint64_t v) {
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        CHECK(fr_buffer_append(out, &byte, 1, NULL) == FR_OK);
        v >>= 7;
    } while (v);
}

static void add_sized(fr_buffer *out, int field, const void *data, size_t size) {
    add_varint(out, (uint64_t)field << 3 | 2);
    add_varint(out, size);
    CHECK(fr_buffer_append(out, data, size, NULL) == FR_OK);
}

static uint64_t integer_at(const fr_value *value, size_t i) {
    int8_t i8;
    uint16_t u16;
    int32_t i32;
    uint64_t u64;
    switch (value->dtype) {
        case FR_BOOL:
            return value->values[i];
        case FR_INT8:
            memcpy(&i8, value->values + i, 1);
            return (uint64_t)(int64_t)i8;
        case FR_UINT16:
            memcpy(&u16, value->values + 2 * i, 2);
            return u16;
        case FR_INT32:
            memcpy(&i32, value->values + 4 * i, 4);
            return (uint64_t)(int64_t)i32;
        default:
            memcpy(&u64, value->values + 8 * i, 8);
            return u64;
    }
}

static void add_elements(fr_buffer *list, const fr_value *value, size_t begin, size_t end) {
    fr_buffer packed = {0};
    for (size_t i = begin; i < end; i++) {
        if (value->kind == FR_KIND_BYTES && value->offsets)
            add_sized(list, 1, value->values + value->offsets[i],
                      (size_t)(value->offsets[i + 1] - value->offsets[i]));
        else if (value->kind == FR_KIND_BYTES)
            add_sized(list, 1, value->values + i * value->element_size, value->element_size);
        else if (value->kind == FR_KIND_FLOAT)
            CHECK(fr_buffer_append(&packed, value->values + 4 * i, 4, NULL) == FR_OK);
        else
            add_varint(&packed, integer_at(value, i));
    }
    if (packed.size) add_sized(list, 1, packed.data, packed.size);
    fr_buffer_free(&packed);
}

static void plain_encode(fr_buffer *out, const fr_value *values, size_t count, size_t row) {
    fr_buffer features = {0};
    for (size_t i = 0; i < count; i++) {
        const fr_value *value = &values[i];
        size_t begin = value->splits ? (size_t)value->splits[row] : row * value->count;
        size_t end = value->splits ? (size_t)value->splits[row + 1] : begin + value->count;
        fr_buffer list = {0}, feature = {0}, entry = {0};
        if (value->kind != FR_KIND_NONE) {
            add_elements(&list, value, begin, end);
            add_sized(&feature, (int)value->kind, list.data, list.size);
        }
        add_sized(&entry, 1, value->key.data, value->key.size);
        add_sized(&entry, 2, feature.data, feature.size);
        add_sized(&features, 1, entry.data, entry.size);
        fr_buffer_free(&list);
        fr_buffer_free(&feature);
        fr_buffer_free(&entry);
    }
    add_sized(out, 1, features.data, features.size);
    fr_buffer_free(&features);
}

static void check_against_plain(const fr_value *values, size_t count, size_t rows) {
    fr_buffer bare = {0}, offsets = {0}, framed = {0}, plain = {0};
    fr_error err = {0};
    int status = fr_encode_rows(values, count, (fr_rows){0, rows, 1}, false, &bare, &offsets, &err);
    CHECK_CASE(status == FR_OK, "%s", err.cause);
    CHECK(fr_encode_rows(values, count, (fr_rows){0, rows, 1}, true, &framed, NULL, &err) == FR_OK);
    CHECK(offsets.size == rows * 8);
    const int64_t *ends = (const int64_t *)(const void *)offsets.data;
    const fr_frame_options options = {.verify = true};
    fr_span window = {framed.data, framed.size};
    for (size_t row = 0; row < rows; row++) {
        size_t begin = row ? (size_t)ends[row - 1] : 0, size = (size_t)ends[row] - begin;
        plain.size = 0;
        plain_encode(&plain, values, count, row);
        CHECK(size == plain.size && memcmp(bare.data + begin, plain.data, size) == 0);
        fr_frame frame;
        CHECK(fr_frame_next(window, true, &options, &frame, NULL) == FR_OK);
        CHECK(fr_span_equal(frame.data, (fr_span){plain.data, plain.size}));
        window = fr_span_after(window, frame.size);
    }
    CHECK(window.size == 0);
    fr_buffer_free(&bare);
    fr_buffer_free(&offsets);
    fr_buffer_free(&framed);
    fr_buffer_free(&plain);
}

static fr_span text(const char *s) {
    return (fr_span){(const uint8_t *)s, strlen(s)};
}

static fr_value ints(const char *key, fr_dtype dtype, const void *values, size_t count) {
    return (fr_value){
        .key = text(key), .kind = FR_KIND_INT64, .dtype = dtype, .values = values, .count = count};
}

static void check_hex(const fr_value *values, size_t count, const char *expected) {
    fr_buffer out = {0};
    char hex[512] = "";
    CHECK(fr_encode_rows(values, count, (fr_rows){0, 1, 1}, false, &out, NULL, NULL) == FR_OK);
    for (size_t i = 0; i < out.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", out.data[i]);
    CHECK_CASE(strcmp(hex, expected) == 0, "%s", hex);
    fr_buffer_free(&out);
}

/* What google.protobuf writes of the same. */
static void known_examples_have_known_bytes(void) {
    const int64_t numbers[] = {5, 300, -1};
    const float ones[] = {1, 1};
    fr_value value = ints("a", FR_INT64, numbers, 1);
    check_hex(NULL, 0, "0a00");
    check_hex(&value, 1, "0a0c0a0a0a016112051a030a0105");
    value.count = 3;
    check_hex(&value, 1, "0a180a160a016112111a0f0a0d05ac02ffffffffffffffffff01");
    value.count = 0;
    check_hex(&value, 1, "0a090a070a016112021a00");
    value.kind = FR_KIND_NONE;
    check_hex(&value, 1, "0a070a050a01611200");
    value.key.size = 0;
    check_hex(&value, 1, "0a060a040a001200");
    value = (fr_value){.key = text("a"),
                       .kind = FR_KIND_FLOAT,
                       .dtype = FR_FLOAT32,
                       .values = (const uint8_t *)ones,
                       .count = 2,
                       .element_size = 0};
    check_hex(&value, 1, "0a130a110a0161120c120a0a080000803f0000803f");
    value = (fr_value){.key = text("a"),
                       .kind = FR_KIND_BYTES,
                       .dtype = FR_BYTES,
                       .values = (const uint8_t *)"xyz",
                       .count = 1,
                       .element_size = 3};
    check_hex(&value, 1, "0a0e0a0c0a016112070a050a0378797a");
    value.element_size = 0;
    check_hex(&value, 1, "0a0b0a090a016112040a020a00");
}

static void integers_of_every_size_come_out_right(void) {
    int64_t values[4 * 64 + 300];
    size_t count = 0;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t power = (uint64_t)1 << bit;
        const uint64_t around[] = {power - 1, power, power + 1, ~power};
        for (int i = 0; i < 4; i++)
            values[count++] = (int64_t)around[i];
    }
    fr_value each = ints("k", FR_INT64, values, 1), all = ints("k", FR_INT64, values, count);
    check_against_plain(&each, 1, count);
    check_against_plain(&all, 1, 1);
    uint64_t seed = 1;
    for (int bits = 1; bits <= 64; bits++)
        for (size_t size = 1; size <= 300; size += size < 10 ? 1 : 97) {
            for (size_t i = 0; i < size; i++)
                values[i] = (int64_t)(test_random(&seed) >> (64 - bits));
            all.count = size;
            check_against_plain(&all, 1, 1);
        }
}

static void integers_of_every_type_come_out_right(void) {
    static const fr_dtype dtypes[] = {FR_BOOL, FR_INT8, FR_UINT16, FR_INT32, FR_INT64, FR_UINT64};
    uint8_t bytes[8 * 200 + 1];
    test_fill(bytes, sizeof bytes, 3);
    for (size_t which = 0; which < 6; which++)
        for (size_t shift = 0; shift < 2; shift++) {
            fr_dtype dtype = dtypes[which];
            for (size_t i = 0; i < sizeof bytes; i++)
                if (dtype == FR_BOOL || dtype == FR_UINT64) bytes[i] &= dtype == FR_BOOL ? 1 : 0x7f;
            fr_value value = ints("k", dtype, bytes + shift, 100);
            check_against_plain(&value, 1, 2);
        }
}

/* Feature i of random rows, in blocks that end where the next page begins. */
static void make_value(fr_value *value, size_t rows, uint64_t *seed, test_guarded memory[4]) {
    static const fr_dtype dtypes[] = {FR_BYTES, FR_BYTES, FR_FLOAT32, FR_INT64};
    size_t key_size = test_random(seed) % 20 ? test_random(seed) % 24 : 300;
    uint8_t *key = memory[0].end - key_size;
    test_fill(key, key_size, *seed);
    int64_t *splits = (int64_t *)(void *)memory[1].end - (rows + 1);
    splits[0] = 0;
    for (size_t row = 0; row < rows; row++)
        splits[row + 1] = splits[row] + (int64_t)(test_random(seed) % (row % 3 ? 3 : 140));
    size_t count = (size_t)splits[rows];
    fr_kind kind = (fr_kind)(test_random(seed) % 4);
    *value = (fr_value){.key = {key, key_size}, .kind = kind, .dtype = dtypes[kind]};
    value->splits = splits;
    value->elements = count;
    int64_t *offsets = (int64_t *)(void *)memory[2].end - (count + 1);
    offsets[0] = 0;
    for (size_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + (int64_t)(test_random(seed) % (i % 50 ? 20 : 200));
    size_t size =
        kind == FR_KIND_BYTES ? (size_t)offsets[count] : count * fr_dtype_size(value->dtype);
    if (kind == FR_KIND_BYTES) value->offsets = offsets;
    value->values = memory[3].end - size;
    value->size = size;
    test_fill(memory[3].end - size, size, *seed);
    if (test_random(seed) % 4) return;
    value->splits = NULL;
    value->count = count / rows;
}

static void random_rows_come_out_as_from_a_plain_encoder(uint64_t seed) {
    enum { MOST = 70, ROWS = 4 };
    static test_guarded memory[MOST][4];
    fr_value values[MOST];
    size_t count = test_random(&seed) % 8 ? test_random(&seed) % 8 : MOST;
    for (size_t i = 0; i < count; i++) {
        for (int block = 0; block < 4; block++)
            if (!memory[i][block].begin) memory[i][block] = test_guarded_new(16384);
        make_value(&values[i], ROWS, &seed, memory[i]);
    }
    if (fr_encode_sort(values, count, NULL) == FR_OK) check_against_plain(values, count, ROWS);
}

static void check_float(fr_dtype dtype, const void *value, float expected) {
    fr_value feature = {
        .key = text("f"), .kind = FR_KIND_FLOAT, .dtype = dtype, .values = value, .count = 1};
    fr_buffer out = {0};
    CHECK(fr_encode_rows(&feature, 1, (fr_rows){0, 1, 1}, false, &out, NULL, NULL) == FR_OK);
    uint32_t bits = fr_load_u32(out.data + out.size - 4), want;
    memcpy(&want, &expected, 4);
    if (isnan(expected) && dtype != FR_FLOAT32)
        CHECK((bits & 0x7f800000) == 0x7f800000 && (bits & 0x7fffff));
    else
        CHECK_CASE(bits == want, "%08x is not %08x", bits, want);
    fr_buffer_free(&out);
}

static void floats_become_the_nearest_float32(void) {
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t half = (uint16_t)i;
        int exponent = half >> 10 & 31, fraction = half & 1023;
        float value = exponent == 31  ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)fraction, -24)
                                      : ldexpf((float)(fraction + 1024), exponent - 25);
        check_float(FR_FLOAT16, &half, half & 0x8000 ? -value : value);
    }
    const double doubles[] = {0.1, -0.0, 1e-46, FLT_MAX, FLT_MAX * (1 + 1e-9), -INFINITY, NAN};
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        check_float(FR_FLOAT64, &doubles[i], (float)doubles[i]);
    const uint32_t payloads[] = {0x7f800001, 0xffc12345, 0x7fbfffff};
    for (size_t i = 0; i < 3; i++) {
        float odd;
        memcpy(&odd, &payloads[i], 4);
        check_float(FR_FLOAT32, &odd, odd);
    }
}

static void check_refused(const fr_value *value, size_t rows, int expected, int64_t row) {
    const fr_value both[] = {ints("a", FR_BOOL, "\1\1\1\1", 1), *value};
    fr_buffer out = {0}, offsets = {0};
    fr_error err;
    CHECK(fr_buffer_append(&out, "before", 6, NULL) == FR_OK);
    CHECK(fr_buffer_append(&offsets, "12345678", 8, NULL) == FR_OK);
    int status = fr_encode_rows(both, 2, (fr_rows){0, rows, 1}, true, &out, &offsets, &err);
    CHECK_CASE(status == expected && err.status == expected, "%d, %s", status, err.cause);
    CHECK_CASE(strcmp(err.feature, "k\\x0a") == 0, "%s", err.feature);
    CHECK(err.record == row);
    CHECK(out.size == 6 && memcmp(out.data, "before", 6) == 0 && offsets.size == 8);
    fr_buffer_free(&out);
    fr_buffer_free(&offsets);
}

static void values_that_no_list_holds_are_refused(void) {
    const uint64_t big[] = {1, INT64_MAX, (uint64_t)INT64_MAX + 1};
    const double wide[] = {1, INFINITY, 3.5e38};
    fr_value value = ints("k\n", FR_UINT64, big, 1);
    check_refused(&value, 3, FR_ERR_SCHEMA, 2);
    value = (fr_value){.key = text("k\n"),
                       .kind = FR_KIND_FLOAT,
                       .dtype = FR_FLOAT64,
                       .values = (const uint8_t *)wide,
                       .count = 1,
                       .element_size = 0};
    check_refused(&value, 3, FR_ERR_SCHEMA, 2);
    value.dtype = FR_INT32;
    check_refused(&value, 3, FR_ERR_ARG, -1);
    value = ints("k\n", FR_FLOAT32, wide, 1);
    check_refused(&value, 3, FR_ERR_ARG, -1);
    value.kind = FR_KIND_BYTES;
    check_refused(&value, 3, FR_ERR_ARG, -1);
}

/* None of these bytes exist: sizes are found too large before anything is read. */
static void examples_beyond_2_gib_are_refused(void) {
    const int64_t offsets[] = {0, INT32_MAX / 2, INT32_MAX, (int64_t)1 << 62};
    fr_value value = {.key = text("k\n"), .kind = FR_KIND_BYTES, .dtype = FR_BYTES, .count = 1};
    value.values = (const uint8_t *)"";
    value.element_size = INT32_MAX;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.element_size = SIZE_MAX;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.element_size = 0, value.count = SIZE_MAX / 2;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.offsets = offsets, value.count = 2, value.elements = 3, value.size = SIZE_MAX;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.count = 3;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.kind = FR_KIND_FLOAT, value.dtype = FR_FLOAT32, value.count = INT32_MAX / 4;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);
    value.kind = FR_KIND_INT64, value.dtype = FR_INT64, value.count = SIZE_MAX / 16;
    check_refused(&value, 1, FR_ERR_LIMIT, 0);

    const fr_value one = {.key = text("k"),
                          .kind = FR_KIND_BYTES,
                          .dtype = FR_BYTES,
                          .count = 1,
                          .element_size = 1100000000};
    const fr_value two[] = {one, one};
    fr_error err;
    fr_buffer out = {0};
    CHECK(fr_encode_rows(two, 2, (fr_rows){0, 1, 1}, true, &out, NULL, &err) == FR_ERR_LIMIT);
    CHECK(out.size == 0 && out.data == NULL);
}

/* Splits and offsets that lead out of the values, or back. */
static void what_lies_outside_of_the_values_is_refused(void) {
    static const int64_t bad[][2] = {{0, 4}, {-1, 2}, {2, 1}, {0, (int64_t)1 << 62}, {-2, -1}};
    const int64_t numbers[3] = {1, 2, 3}, whole[] = {0, 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_value value = ints("k\n", FR_INT64, numbers, 0);
        value.splits = bad[i], value.elements = 3, value.size = sizeof numbers;
        check_refused(&value, 1, FR_ERR_ARG, 0);
        value = (fr_value){.key = text("k\n"), .kind = FR_KIND_BYTES, .dtype = FR_BYTES};
        value.values = (const uint8_t *)"abc", value.size = 3, value.elements = 1;
        value.offsets = bad[i], value.count = 1;
        check_refused(&value, 1, FR_ERR_ARG, 0);
        value.offsets = whole, value.splits = bad[i], value.size = 3;
        check_refused(&value, 1, FR_ERR_ARG, 0);
    }
}

/* Every third row, sizes first, and in place: the bytes are the same. */
static void rows_may_be_taken_in_steps_and_put_in_place(void) {
    enum { ROWS = 20 };
    int64_t numbers[ROWS * 3], sizes[ROWS], offsets[ROWS + 1] = {0};
    uint8_t present[ROWS];
    uint64_t seed = 5;
    for (size_t i = 0; i < ROWS * 3; i++)
        numbers[i] = (int64_t)(test_random(&seed) >> (i % 64));
    for (size_t i = 0; i < ROWS; i++)
        present[i] = i % 3 != 1;
    fr_value value = ints("k", FR_INT64, numbers, 3);
    value.present = present;
    for (size_t step = 1; step < 5; step++) {
        const fr_rows rows = {2, ROWS, step};
        const size_t count = fr_rows_count(rows);
        fr_buffer out = {0}, ends = {0};
        CHECK(fr_encode_check(&value, 1, rows, NULL) == FR_OK);
        CHECK(fr_encode_rows(&value, 1, rows, false, &out, &ends, NULL) == FR_OK);
        CHECK(fr_encode_sizes(&value, 1, rows, sizes, NULL) == FR_OK);
        for (size_t i = 0; i < count; i++) {
            offsets[i + 1] = offsets[i] + sizes[i];
            CHECK(offsets[i + 1] == ((const int64_t *)(const void *)ends.data)[i]);
        }
        uint8_t *placed = malloc(out.size);
        CHECK(placed && fr_encode_at(&value, 1, rows, placed, offsets, NULL) == FR_OK);
        CHECK(memcmp(placed, out.data, out.size) == 0);
        offsets[1]++;
        CHECK(fr_encode_at(&value, 1, rows, placed, offsets, NULL) == FR_ERR_STATE);
        free(placed);
        fr_buffer_free(&out);
        fr_buffer_free(&ends);
    }
}

static void a_row_without_a_value_has_a_feature_of_no_kind(void) {
    const int64_t numbers[] = {5, 6};
    const uint8_t none[] = {0, 1};
    fr_value value = ints("a", FR_INT64, numbers, 1);
    value.present = none;
    check_hex(&value, 1, "0a070a050a01611200");
    value.present = none + 1;
    check_hex(&value, 1, "0a0c0a0a0a016112051a030a0105");
}

static void features_are_sorted_by_the_bytes_of_their_keys(void) {
    static const char *const expected[] = {"", "B", "a", "a\x01", "aa", "b", "\xc3\xa9", "\xff"};
    for (uint64_t seed = 0; seed < 50; seed++) {
        fr_value values[8];
        for (size_t i = 0; i < 8; i++)
            values[i] = ints(expected[i], FR_INT64, NULL, 0);
        uint64_t state = seed;
        for (size_t i = 7; i > 0; i--) {
            size_t j = test_random(&state) % (i + 1);
            fr_value swapped = values[i];
            values[i] = values[j];
            values[j] = swapped;
        }
        CHECK(fr_encode_sort(values, 8, NULL) == FR_OK);
        for (size_t i = 0; i < 8; i++)
            CHECK(fr_span_equal(values[i].key, text(expected[i])));
        values[3].key = text("B");
        fr_error err;
        CHECK(fr_encode_sort(values, 8, &err) == FR_ERR_ARG && strcmp(err.feature, "B") == 0);
    }
    CHECK(fr_encode_sort(NULL, 0, NULL) == FR_OK);
}

int main(void) {
    known_examples_have_known_bytes();
    integers_of_every_size_come_out_right();
    integers_of_every_type_come_out_right();
    for (uint64_t seed = 0; seed < 300; seed++)
        random_rows_come_out_as_from_a_plain_encoder(seed);
    floats_become_the_nearest_float32();
    values_that_no_list_holds_are_refused();
    examples_beyond_2_gib_are_refused();
    what_lies_outside_of_the_values_is_refused();
    rows_may_be_taken_in_steps_and_put_in_place();
    a_row_without_a_value_has_a_feature_of_no_kind();
    features_are_sorted_by_the_bytes_of_their_keys();
    printf("encode: ok\n");
    return 0;
}
