/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     Example  { Features features = 1; }
 *     Features { map<string, Feature> feature = 1; }   as { repeated Entry feature = 1; }
 *     Entry    { string key = 1; Feature value = 2; }
 *
 * A record is read in two passes. The first walks the entries and notes the location of each wanted
 * feature's value; a later entry with the same key replaces an earlier one, as in every protobuf
 * map. The second decodes the values into the row, so decoded values never have to be removed.
 *
 * Most records of one file contain the same features in the same order. The first pass therefore
 * predicts that entry i is the same feature as in the record before, and compares the bytes up to
 * its value; only a wrong prediction costs a hash lookup. If the prediction is right and the
 * feature is a scalar, which can be overwritten, it is decoded immediately: a record of scalars
 * needs only one pass.
 */
#include "example/parse.h"

#include <stdlib.h>

#include "example/diagnose.h"
#include "format/wire.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)
#define TAG_2 FR_TAG(2, FR_WIRE_SIZED)

/* Entries beyond this number are looked up each time. */
#define MIN_PREDICTED 64

int fr_parser_init(fr_parser *parser, const fr_schema *schema, fr_error *err) {
    *parser = (fr_parser){.schema = schema, .valid = fr_feature_valid};
    if (schema->count == 0) return FR_OK;
    parser->predicted_count = 2 * schema->count + MIN_PREDICTED;
    parser->values = calloc(schema->count, sizeof *parser->values);
    parser->predicted = calloc(parser->predicted_count, sizeof *parser->predicted);
    if (parser->values && parser->predicted) return FR_OK;
    fr_parser_free(parser);
    return fr_fail_nomem(err, (uint64_t)schema->count * sizeof *parser->values);
}

void fr_parser_free(fr_parser *parser) {
    free(parser->values);
    free(parser->predicted);
    fr_buffer_free(&parser->merged);
    fr_buffer_free(&parser->intake.pieces);
    *parser = (fr_parser){0};
}

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid tf.train.Example");
}

/* Reads an entry that is not simply a key followed by a value. As in protobuf, fields may have any
   order, the last key counts, and values are merged. */
static bool read_odd_entry(fr_parser *parser, fr_span entry, fr_span *key, fr_span *value,
                           int *status, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(entry);
    fr_wire_field field;
    fr_buffer *merged = &parser->merged;
    size_t start = merged->size;
    *key = *value = (fr_span){fields.end, 0};
    while (fr_wire_next(&fields, &field)) {
        if (field.tag == TAG_1) {
            *key = field.bytes;
        } else if (field.tag == TAG_2) {
            if (!parser->valid(field.bytes)) return false;
            *status = fr_buffer_append(merged, field.bytes.data, field.bytes.size, err);
            if (*status != FR_OK) return true;
            *value = (fr_span){merged->data + start, merged->size - start};
        }
    }
    return !fr_wire_malformed(&fields);
}

static inline bool read_plain_entry(fr_span entry, fr_span *key, fr_span *value) {
    const uint8_t *p = entry.data, *end = p + entry.size;
    if (p == end || *p != TAG_1 || !(p = fr_wire_sized(p + 1, end, key))) return false;
    return p < end && *p == TAG_2 && fr_wire_sized(p + 1, end, value) == end;
}

/* Returns the feature that the key of entry number `position` names, or -1. */
static ptrdiff_t find(fr_parser *parser, size_t position, fr_span key) {
    ptrdiff_t number = fr_schema_find(parser->schema, key);
    if (number < 0) return number;
    fr_schema_note_seen(parser->schema,
                        (size_t)number); /* the feature is predicted only after this */
    if (position < parser->predicted_count) parser->predicted[position] = (uint32_t)number + 1;
    return number;
}

/* Marks the value of a feature that is already in the row. */
static const uint8_t in_row;

/* The parts of merged values are parts of the record, each appended once. With memory for as many
   bytes as the record has, noted values never move. */
static int note_any_entry(fr_parser *parser, size_t position, fr_span entry, fr_error *err) {
    fr_span key, value;
    if (FR_UNLIKELY(!read_plain_entry(entry, &key, &value))) {
        int status = FR_OK;
        FR_TRY(fr_buffer_reserve(&parser->merged, parser->message.size - parser->merged.size, err));
        if (!read_odd_entry(parser, entry, &key, &value, &status, err)) return malformed(err);
        FR_TRY(status);
    }
    ptrdiff_t number = find(parser, position, key);
    if (number < 0) return FR_OK;
    fr_span *noted = &parser->values[number];
    if (noted->data == &in_row)
        parser->taken--;
    else if (noted->data && !parser->valid(*noted))
        return malformed(err);
    *noted = value;
    return FR_OK;
}

/* Returns whether two runs of the same size, at least 4, are equal. */
static inline bool same(const uint8_t *a, const uint8_t *b, size_t size) {
    if (size < 8) {
        uint32_t head = fr_load_u32(a) ^ fr_load_u32(b);
        return (head | (fr_load_u32(a + size - 4) ^ fr_load_u32(b + size - 4))) == 0;
    }
    uint64_t tail = fr_load_u64(a + size - 8) ^ fr_load_u64(b + size - 8);
    for (size_t i = 0; i + 8 < size; i += 8)
        tail |= fr_load_u64(a + i) ^ fr_load_u64(b + i);
    return tail == 0;
}

/* Stores into a column of another type. Returns false also if the value does not fit; the general
   path then reports why. */
__attribute__((noinline)) static bool take_as(const fr_parser *parser, size_t feature,
                                              fr_span value, const uint8_t *end, uint8_t *dst) {
    const fr_scalar scalar = parser->schema->plans[feature].scalar;
    const fr_dtype dtype = parser->schema->features[feature].dtype;
    int64_t number;
    uint8_t *kept = (uint8_t *)(void *)&number;
    if (scalar == FR_SCALAR_INT_AS)
        return fr_feature_take_scalar(FR_SCALAR_INT64, value.data, value.size, end, kept) &&
               fr_dtype_from_int64(dst, dtype, &number, 1, NULL) == FR_OK;
    if (!fr_feature_take_scalar(FR_SCALAR_FLOAT32, value.data, value.size, end, kept)) return false;
    fr_dtype_from_float(dst, dtype, value.data + value.size - 4, 1);
    return true;
}

/* Finds the value at the end of an entry, whose size is at `at`, inside the entry. */
static inline bool read_rest(fr_span entry, size_t at, fr_span *value) {
    const uint8_t *p = entry.data + at, *end = entry.data + entry.size;
    *value = (fr_span){p + 1, (size_t)(end - p) - 1};
    if (FR_LIKELY(value->size < 0x80)) return *p == value->size;
    return fr_wire_sized(p, end, value) == end;
}

/* Returns whether the value was a scalar in the common encoding; it is then in the row. */
static inline bool take(const fr_parser *parser, size_t number, fr_span value, const uint8_t *end,
                        fr_columns *columns) {
    const fr_scalar scalar = parser->schema->plans[number].scalar;
    if (scalar == FR_SCALAR_NONE) return false;
    uint8_t *dst = fr_columns_dense_row(columns, number);
    if (FR_UNLIKELY(scalar >= FR_SCALAR_INT_AS)) return take_as(parser, number, value, end, dst);
    return fr_feature_take_scalar(scalar, value.data, value.size, end, dst);
}

/* Handles an entry that matches the prediction. Returns false for any other entry. */
static inline bool note_predicted(fr_parser *parser, size_t position, fr_span entry,
                                  const uint8_t *end, fr_columns *columns) {
    if (position >= parser->predicted_count || parser->predicted[position] == 0) return false;
    size_t number = parser->predicted[position] - 1;
    const fr_span prefix = parser->schema->plans[number].prefix;
    if (prefix.size < 4 || entry.size <= prefix.size) return false;
    fr_span value, *noted = &parser->values[number];
    if (noted->data || !same(entry.data, prefix.data, prefix.size) ||
        !read_rest(entry, prefix.size, &value))
        return false;
    if (take(parser, number, value, end, columns)) {
        noted->data = &in_row;
        parser->taken++;
    } else {
        *noted = value;
    }
    return true;
}

int fr_parser_note(fr_parser *parser, fr_span map, fr_columns *columns, fr_error *err) {
    const uint8_t *message_end = parser->message.data + parser->message.size;
    fr_wire_fields fields = fr_wire_begin(map);
    fr_wire_field field;
    while (fr_wire_next_sized(&fields, TAG_1, &field)) {
        if (FR_UNLIKELY(field.tag != TAG_1)) continue;
        size_t position = parser->position++;
        if (FR_UNLIKELY(!note_predicted(parser, position, field.bytes, message_end, columns)))
            FR_TRY(note_any_entry(parser, position, field.bytes, err));
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

static int note_example(fr_parser *parser, fr_columns *columns, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(parser->message);
    fr_wire_field field;
    while (fr_wire_next_sized(&fields, TAG_1, &field))
        if (FR_LIKELY(field.tag == TAG_1))
            FR_TRY(fr_parser_note(parser, field.bytes, columns, err));
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

void fr_parser_begin(fr_parser *parser, fr_span message) {
    parser->message = message;
    parser->position = 0;
    parser->taken = 0;
    parser->merged.size = 0;
    if (parser->schema->count)
        memset(parser->values, 0, parser->schema->count * sizeof *parser->values);
}

int fr_parser_fill(fr_parser *parser, fr_columns *columns, fr_error *err) {
    const fr_schema *schema = parser->schema;
    for (size_t i = 0; parser->taken < schema->count && i < schema->count; i++) {
        fr_span value = parser->values[schema->plans[i].source];
        if (value.data == &in_row) continue;
        int status = FR_END;
        if (FR_LIKELY(value.data))
            status = fr_feature_append(columns, i, value, &parser->intake, err);
        if (status == FR_END && schema->features[i].fallback.data)
            status =
                fr_feature_append(columns, i, schema->features[i].fallback, &parser->intake, err);
        if (status == FR_END) {
            status = fr_feature_append_missing(columns, i, err);
            if (status == FR_ERR_SCHEMA)
                fr_diagnose_key(parser->message, schema->features[i].key, err);
        }
        if (FR_UNLIKELY(status != FR_OK)) return status;
    }
    columns->rows++;
    return FR_OK;
}

/* Appends a record for a schema of whole records. */
static int append_record(fr_parser *parser, fr_columns *columns, fr_span record, fr_error *err) {
    fr_column *column = &columns->columns[0];
    FR_TRY(fr_intake_append(&parser->intake, &column->values, record, err));
    int64_t end = (int64_t)column->values.size;
    FR_TRY(fr_buffer_append(&column->offsets, &end, sizeof end, err));
    columns->rows++;
    return FR_OK;
}

int fr_parse_row(fr_parser *parser, fr_span record, fr_columns *columns, fr_error *err) {
    const fr_schema *schema = parser->schema;
    parser->bytes += record.size;
    if (schema->count == 1 && schema->features[0].kind == FR_KIND_NONE)
        return append_record(parser, columns, record, err);
    if (record.size > INT32_MAX)
        return fr_fail(err, FR_ERR_MALFORMED, "%zu bytes are more than a protobuf message can have",
                       record.size);
    fr_parser_begin(parser, record);
    int status = note_example(parser, columns, err);
    if (FR_LIKELY(status == FR_OK)) return fr_parser_fill(parser, columns, err);
    if (status == FR_ERR_MALFORMED) fr_diagnose_format(record, err);
    return status;
}

int fr_parse_rows(fr_parser *parser, const fr_span *records, size_t count, fr_columns *columns,
                  fr_error *err) {
    const size_t before = fr_columns_records(columns);
    for (size_t i = 0; i < count; i++) {
        int status = fr_parse_row(parser, records[i], columns, err);
        if (FR_LIKELY(status == FR_OK)) continue;
        if (err) err->record = (int64_t)i;
        FR_TRY(fr_columns_leave_out(columns, before + i, status, err));
    }
    return FR_OK;
}
