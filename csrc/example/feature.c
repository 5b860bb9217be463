/* SPDX-License-Identifier: Apache-2.0 */
#include "example/feature.h"

#include <inttypes.h>

#include "example/diagnose.h"
#include "example/feature_internal.h"
#include "format/varint.h"

#define LIST_TAG(kind) FR_TAG(kind, FR_WIRE_SIZED)
#define TAG_SIZED FR_TAG(1, FR_WIRE_SIZED)
#define TAG_VARINT FR_TAG(1, FR_WIRE_VARINT)
#define TAG_FIXED32 FR_TAG(1, FR_WIRE_FIXED32)

static int malformed(const fr_row *row, fr_error *err) {
    return fr_fail_feature(err, FR_ERR_MALFORMED, row->feature->key,
                           "not a valid protobuf message");
}

static int wrong_count(const fr_row *row, size_t expected, const char *what, fr_error *err) {
    fr_fail_feature(err, FR_ERR_SCHEMA, row->feature->key, "expected %zu %s, found %zu", expected,
                    what, row->found);
    if (expected == 1 && row->found > 1)
        fr_add_hint(err, "a RaggedFeature (for images: ragged=True) reads any number");
    return FR_ERR_SCHEMA;
}

static int wrong_kind(const fr_row *row, fr_kind found, fr_error *err) {
    static const char *const ask[] = {"", "bytes", "float32", "int64"};
    return fr_fail_feature(err, FR_ERR_SCHEMA, row->feature->key,
                           "expected %s, found %s (ask for %s)", fr_kind_name(row->feature->kind),
                           fr_kind_name(found), ask[found]);
}

/* Returns memory for the next `count` elements. Sets `*dst` to NULL, with FR_OK, if a fixed-size
   row cannot hold them; they are still counted for the message. */
static int place(fr_row *row, size_t count, uint8_t **dst, fr_error *err) {
    size_t size = fr_dtype_size(row->feature->dtype);
    *dst = NULL;
    if (row->dense) {
        if (row->found <= row->feature->count && count <= row->feature->count - row->found)
            *dst = row->dense + row->found * size;
    } else {
        fr_buffer *values = &row->column->values;
        FR_TRY(fr_buffer_reserve(values, count * size, err));
        *dst = values->data + values->size;
        values->size += count * size;
    }
    row->found += count;
    return FR_OK;
}

/* Decodes through a small block into a column of another integer type. */
static int narrow_ints(const fr_row *row, fr_span run, uint8_t *dst, size_t count, fr_error *err) {
    int64_t block[128];
    fr_dtype dtype = row->feature->dtype;
    const uint8_t *p = run.data, *end = p + run.size;
    while (count) {
        size_t some = count < 128 ? count : 128;
        if (fr_varint_decode(&p, end, block, some) != some) return malformed(row, err);
        if (fr_dtype_from_int64(dst, dtype, block, some, err) != FR_OK) {
            fr_name_feature(err, row->feature->key);
            return FR_ERR_SCHEMA;
        }
        dst += some * fr_dtype_size(dtype);
        count -= some;
    }
    return FR_OK;
}

/* Decodes into a fixed-size row, whose elements need not be counted first. */
static int fill_ints(fr_row *row, fr_span run, fr_error *err) {
    const uint8_t *p = run.data, *end = p + run.size;
    const size_t room = row->found < row->feature->count ? row->feature->count - row->found : 0;
    int64_t *dst = (int64_t *)(void *)row->dense + row->found;
    row->found += fr_varint_decode(&p, end, dst, room);
    if (FR_UNLIKELY(!p)) return malformed(row, err);
    if (FR_UNLIKELY(p < end)) row->found += fr_varint_count((fr_span){p, (size_t)(end - p)});
    return FR_OK;
}

static int put_ints(fr_row *row, fr_span run, fr_error *err) {
    if (run.size == 0) return FR_OK;
    if (run.data[run.size - 1] >= 0x80) return malformed(row, err);
    if (row->dense && row->feature->dtype == FR_INT64) return fill_ints(row, run, err);
    size_t count = run.size == 1 ? 1 : fr_varint_count(run);
    uint8_t *dst;
    FR_TRY(place(row, count, &dst, err));
    if (!dst) return FR_OK;
    if (row->feature->dtype != FR_INT64) return narrow_ints(row, run, dst, count, err);
    const uint8_t *p = run.data;
    if (fr_varint_decode(&p, p + run.size, (int64_t *)(void *)dst, count) == count) return FR_OK;
    return malformed(row, err);
}

static int put_floats(fr_row *row, fr_span run, fr_error *err) {
    if (run.size % 4) return malformed(row, err);
    uint8_t *dst;
    FR_TRY(place(row, run.size / 4, &dst, err));
    if (!dst || run.size == 0) return FR_OK;
    if (row->feature->dtype == FR_FLOAT32 && !FR_BIG_ENDIAN)
        fr_crc32c_copy(&row->intake->run, dst, run.data, run.size);
    else
        fr_dtype_from_float(dst, row->feature->dtype, run.data, run.size / 4);
    return FR_OK;
}

static int put_bytes(fr_row *row, fr_span bytes, fr_error *err) {
    if (row->feature->raw) return fr_feature_put_raw(row, bytes, err);
    row->found++;
    FR_TRY(fr_intake_append(row->intake, &row->column->values, bytes, err));
    int64_t end = (int64_t)row->column->values.size;
    return fr_buffer_append(&row->column->offsets, &end, sizeof end, err);
}

/* Appends one field of a list of `kind`: packed values, one value, or an unknown field. */
static int put_field(fr_row *row, fr_kind kind, const fr_wire_field *field, fr_error *err) {
    if (FR_LIKELY(field->tag == TAG_SIZED)) {
        if (kind == FR_KIND_BYTES) return put_bytes(row, field->bytes, err);
        if (kind == FR_KIND_FLOAT) return put_floats(row, field->bytes, err);
        return put_ints(row, field->bytes, err);
    }
    if (kind == FR_KIND_INT64 && field->tag == TAG_VARINT) return put_ints(row, field->bytes, err);
    if (kind == FR_KIND_FLOAT && field->tag == TAG_FIXED32)
        return put_floats(row, field->bytes, err);
    return FR_OK;
}

static bool varints_valid(fr_span run) {
    const uint8_t *p = run.data, *end = p + run.size;
    uint64_t value;
    while (p && p < end)
        p = fr_wire_varint(p, end, &value);
    return p || run.size == 0;
}

/* Returns whether the bytes are a list of this kind. */
static bool list_valid(fr_kind kind, fr_span list) {
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        if (field.tag != TAG_SIZED) continue;
        if (kind == FR_KIND_FLOAT && field.bytes.size % 4) return false;
        if (kind == FR_KIND_INT64 && !varints_valid(field.bytes)) return false;
    }
    return !fr_wire_malformed(&fields);
}

/* Returns whether a field of a Feature sets its kind. */
static bool is_list(const fr_wire_field *field) {
    return (field->tag & 7) == FR_WIRE_SIZED && field->tag >> 3 <= FR_KIND_INT64;
}

/*
 * Finds the last kind that is set, and its list. If this kind occurs several times in a row, its
 * lists are merged; for repeated fields this means concatenation.
 */
static int assemble(const fr_row *row, fr_span value, fr_buffer *pieces, fr_kind *kind,
                    fr_span *list, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(value);
    fr_wire_field field;
    *kind = FR_KIND_NONE;
    pieces->size = 0;
    FR_TRY(fr_buffer_reserve(pieces, value.size, err));
    while (fr_wire_next(&fields, &field)) {
        if (!is_list(&field)) continue;
        fr_kind next = (fr_kind)(field.tag >> 3);
        if (!list_valid(next, field.bytes)) return malformed(row, err);
        if (next != *kind) pieces->size = 0;
        *kind = next;
        FR_TRY(fr_buffer_append(pieces, field.bytes.data, field.bytes.size, err));
    }
    if (fr_wire_malformed(&fields)) return malformed(row, err);
    *list = (fr_span){pieces->data, pieces->size};
    return FR_OK;
}

/* Nearly every Feature is one list and nothing else. */
static int find_list(const fr_row *row, fr_span value, fr_buffer *pieces, fr_kind *kind,
                     fr_span *list, fr_error *err) {
    if (value.size >= 2 && (value.data[0] & 7) == FR_WIRE_SIZED) {
        const uint8_t *end = value.data + value.size;
        *kind = (fr_kind)(value.data[0] >> 3);
        if (*kind >= FR_KIND_BYTES && *kind <= FR_KIND_INT64 &&
            fr_wire_sized(value.data + 1, end, list) == end)
            return FR_OK;
    }
    return assemble(row, value, pieces, kind, list, err);
}

static int end_row(fr_row *row, fr_error *err) {
    const fr_feature *feature = row->feature;
    if (feature->raw && row->found != 1) return wrong_count(row, 1, "bytes value", err);
    if (!feature->ragged) {
        if (feature->raw || row->found == feature->count) return FR_OK;
        return wrong_count(row, feature->count, feature->count == 1 ? "value" : "values", err);
    }
    const fr_column *column = row->column;
    int64_t end = feature->dtype == FR_BYTES
                      ? (int64_t)(column->offsets.size / sizeof(int64_t)) - 1
                      : (int64_t)(column->values.size / fr_dtype_size(feature->dtype));
    return fr_buffer_append(&row->column->splits, &end, sizeof end, err);
}

static fr_row begin_row(fr_columns *columns, size_t number, fr_intake *intake) {
    const fr_feature *feature = &columns->schema->features[number];
    fr_row row = {columns, feature, &columns->columns[number], intake, NULL, 0};
    if (fr_feature_is_dense(feature)) row.dense = fr_columns_dense_row(columns, number);
    return row;
}

int fr_feature_append(fr_columns *columns, size_t number, fr_span value, fr_intake *intake,
                      fr_error *err) {
    fr_row row = begin_row(columns, number, intake);
    fr_kind kind;
    fr_span list;
    FR_TRY(find_list(&row, value, &intake->pieces, &kind, &list, err));
    if (kind == FR_KIND_NONE) return FR_END;
    if (row.feature->presence) {
        *row.dense = 1;
        return FR_OK;
    }
    if (FR_UNLIKELY(kind != row.feature->kind)) {
        if (!list_valid(kind, list)) return malformed(&row, err);
        int status = wrong_kind(&row, kind, err);
        if (kind == FR_KIND_BYTES) fr_diagnose_bytes(row.feature, list, err);
        return status;
    }
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    while (fr_wire_next_sized(&fields, TAG_SIZED, &field))
        FR_TRY(put_field(&row, kind, &field, err));
    if (FR_UNLIKELY(fr_wire_malformed(&fields))) return malformed(&row, err);
    return end_row(&row, err);
}

int fr_feature_append_empty(fr_columns *columns, size_t number, fr_error *err) {
    fr_row row = begin_row(columns, number, NULL);
    return end_row(&row, err);
}

int fr_feature_append_missing(fr_columns *columns, size_t number, fr_error *err) {
    fr_row row = begin_row(columns, number, NULL);
    if (row.feature->presence) {
        *row.dense = 0;
        return FR_OK;
    }
    if (row.feature->ragged) {
        row.found = 1;
        return end_row(&row, err);
    }
    return fr_fail_feature(err, FR_ERR_SCHEMA, row.feature->key,
                           "it is missing, and has no default");
}

bool fr_feature_valid(fr_span value) {
    fr_wire_fields fields = fr_wire_begin(value);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (is_list(&field) && !list_valid((fr_kind)(field.tag >> 3), field.bytes)) return false;
    return !fr_wire_malformed(&fields);
}
