/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes -> a schema and two records -> columns, which have to make sense.
 *
 * The first byte says how many features there are, four bytes each describe one, and the rest is
 * cut in two. Records are parsed twice by one parser, so that the second time every entry is where
 * it was expected, and as SequenceExamples.
 */
#include "example/sequence.h"
#include "fuzz.h"

#define MOST_FEATURES 6

static const char *const keys[] = {"a", "b", "label", "image", "a key that is rather long", ""};

static void describe(fr_feature *feature, const uint8_t *p, bool frames, size_t number) {
    static const fr_dtype ints[] = {FR_INT64, FR_INT64, FR_INT32, FR_UINT8, FR_BOOL, FR_UINT64};
    static const fr_dtype floats[] = {FR_FLOAT32, FR_FLOAT32, FR_FLOAT16, FR_FLOAT64};
    static const uint8_t fallbacks[][8] = {{0x1a, 3, 0x0a, 1, 7}, {0x0a, 3, 0x0a, 1, 'x'}};
    const char *key = keys[p[0] % (sizeof keys / sizeof *keys)];
    *feature = (fr_feature){.key = {(const uint8_t *)key, strlen(key)}, .frames = frames};
    feature->kind = (fr_kind)(1 + p[1] % 3);
    feature->ragged = p[1] & 16;
    feature->count = p[2] % 5;
    feature->dtype = FR_BYTES;
    if (feature->kind == FR_KIND_INT64) feature->dtype = ints[p[3] % 6];
    if (feature->kind == FR_KIND_FLOAT) feature->dtype = floats[p[3] % 4];
    if (p[1] & 32 && !feature->ragged) feature->fallback = (fr_span){fallbacks[p[3] >> 7], 5};
    if (frames && feature->fallback.data) feature->fallback.size = 0;
    if (feature->kind != FR_KIND_BYTES || !(p[1] & 64)) return;
    feature->raw = true;
    feature->swap = p[3] & 64;
    feature->dtype = (fr_dtype)(p[3] % FR_BYTES);
    if (frames || feature->ragged || number == 0 || p[2] < 128) return;
    feature->fit = p[2] & 64 ? FR_FIT_PAD : FR_FIT_CROP_OR_PAD;
    feature->rank = 2;
    feature->target[0] = p[2] % 4;
    feature->target[1] = p[2] / 4 % 4;
    feature->count = feature->target[0] * feature->target[1];
}

/* Dimensions come from the first feature, where that is a ragged one of integers. */
static void link_extents(fr_feature *features, size_t count) {
    bool possible = count && features[0].ragged && !features[0].frames &&
                    (features[0].dtype == FR_INT64 || features[0].dtype == FR_INT32);
    for (size_t i = 0; i < count; i++) {
        if (features[i].fit == FR_FIT_NONE) continue;
        if (!possible) features[i].fit = FR_FIT_NONE;
        features[i].extent[0] = (fr_extent){i % 2 ? FR_EXTENT_ALL : FR_EXTENT_ONE, 0};
        features[i].extent[1] = (fr_extent){FR_EXTENT_FIXED, 2};
    }
}

static void check_positions(const fr_buffer *buffer, size_t end) {
    const int64_t *at = (const int64_t *)(const void *)buffer->data;
    size_t count = buffer->size / sizeof *at;
    CHECK(count >= 1 && at[0] == 0 && (size_t)at[count - 1] == end);
    for (size_t i = 1; i < count; i++)
        CHECK(at[i - 1] <= at[i]);
}

static size_t positions(const fr_buffer *buffer) {
    return buffer->size / sizeof(int64_t) - 1;
}

static void check_column(const fr_columns *columns, size_t number) {
    const fr_feature *feature = &columns->schema->features[number];
    const fr_column *column = &columns->columns[number];
    if (fr_feature_is_dense(feature)) return;
    size_t elements = column->values.size / fr_dtype_size(feature->dtype), rows = columns->rows;
    if (feature->dtype == FR_BYTES) {
        elements = positions(&column->offsets);
        check_positions(&column->offsets, column->values.size);
    }
    if (feature->frames) {
        check_positions(&column->frames, feature->ragged       ? positions(&column->splits)
                                         : feature->count == 0 ? 0
                                                               : elements / feature->count);
        rows = positions(&column->frames) == columns->rows && feature->ragged
                   ? positions(&column->splits)
                   : rows;
        CHECK(positions(&column->frames) == columns->rows);
    }
    if (feature->ragged) {
        CHECK(positions(&column->splits) == rows);
        check_positions(&column->splits, elements);
    } else if (!feature->frames) {
        CHECK(elements == rows * feature->count);
    }
}

static void check_error(int status, const fr_error *err) {
    CHECK(status == FR_ERR_MALFORMED || status == FR_ERR_SCHEMA);
    CHECK(err->status == status && err->record >= 0);
    size_t length = strlen(err->cause);
    CHECK(length > 0 && length < sizeof err->cause);
    for (size_t i = 0; i < length; i++)
        CHECK(err->cause[i] >= 0x20 && err->cause[i] < 0x7f);
}

static void parse_examples(const fr_feature *features, size_t count, const fr_span *records) {
    fr_schema schema;
    fr_error err;
    fr_parser parser;
    fr_columns columns = {0};
    int first = FR_OK;
    CHECK(fr_schema_init(&schema, features, count, &err) == FR_OK);
    CHECK(fr_parser_init(&parser, &schema, &err) == FR_OK);
    for (int round = 0; round < 2; round++) {
        CHECK(fr_columns_begin(&columns, &schema, 2, &err) == FR_OK);
        int status = fr_parse_rows(&parser, records, 2, &columns, &err);
        if (status != FR_OK) check_error(status, &err);
        if (round == 0) first = status;
        CHECK(status == first);
        for (size_t i = 0; status == FR_OK && i < count; i++)
            check_column(&columns, i);
    }
    fr_columns_free(&columns);
    fr_parser_free(&parser);
    fr_schema_free(&schema);
}

static void parse_sequences(const fr_feature *features, size_t count, const fr_feature *framed,
                            const fr_span *records) {
    fr_schema schemas[2];
    fr_error err;
    fr_sequence_parser parser;
    fr_columns context = {0}, lists = {0};
    CHECK(fr_schema_init(&schemas[0], features, count, &err) == FR_OK);
    CHECK(fr_schema_init(&schemas[1], framed, count, &err) == FR_OK);
    CHECK(fr_sequence_parser_init(&parser, &schemas[0], &schemas[1], &err) == FR_OK);
    CHECK(fr_columns_begin(&context, &schemas[0], 2, &err) == FR_OK);
    CHECK(fr_columns_begin(&lists, &schemas[1], 2, &err) == FR_OK);
    int status = fr_sequence_parse_rows(&parser, records, 2, &context, &lists, &err);
    if (status != FR_OK) check_error(status, &err);
    for (size_t i = 0; status == FR_OK && i < count; i++) {
        check_column(&context, i);
        if (framed[i].ragged || framed[i].count) check_column(&lists, i);
    }
    fr_columns_free(&context);
    fr_columns_free(&lists);
    fr_sequence_parser_free(&parser);
    fr_schema_free(&schemas[0]);
    fr_schema_free(&schemas[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t count = data[0] % (MOST_FEATURES + 1), cut = data[1];
    data += 2, size -= 2;
    if (size < 4 * count) return 0;
    fr_feature features[MOST_FEATURES], framed[MOST_FEATURES];
    for (size_t i = 0; i < count; i++) {
        describe(&features[i], data + 4 * i, false, i);
        describe(&framed[i], data + 4 * i, true, i);
    }
    link_extents(features, count);
    data += 4 * count, size -= 4 * count;
    cut = cut < size ? cut : size;
    /* Blocks of their own, so that a byte too many is seen. */
    uint8_t *one = malloc(cut + 1), *two = malloc(size - cut + 1);
    CHECK(one && two);
    memcpy(one + 1, data, cut);
    memcpy(two + 1, data + cut, size - cut);
    const fr_span records[2] = {{one + 1, cut}, {two + 1, size - cut}};
    parse_examples(features, count, records);
    parse_sequences(features, count, framed, records);
    free(one);
    free(two);
    return 0;
}
