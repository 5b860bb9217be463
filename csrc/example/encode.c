/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of an Example, and the order in which it is written.
 *
 * Protobuf writes the size of every message before the message, and an Example is nested messages:
 *
 *     0a features                        Example.features
 *        0a entry                        Features.feature, once per feature
 *           0a key                       entry.key
 *           12 feature                   entry.value
 *              1a list                   Feature.int64_list; 12 float_list, 0a bytes_list
 *                 0a 96 01 07 ...        Int64List.value, packed; FloatList alike
 *                 0a value  0a value     BytesList.value, one by one
 *
 * Each name stands for a size, as a varint, followed by that many bytes. The first size depends on
 * everything after it. Writing backwards, from the last byte to the first, would make each size
 * known in time, but it also reverses the rows of a batch, or moves each of them once more.
 * Therefore sizes are computed first, from the inside out,
 *
 *     list = the sum of its values, with their tags
 *     feature = 1 + varint(list) + list
 *     entry = 1 + varint(key) + key + 1 + varint(feature) + feature
 *     features = the sum over entries of 1 + varint(entry) + entry
 *
 * and then one pass writes the bytes from the outside in, into memory that was reserved once. The
 * size of a list of floats or bytes follows from its count or its offsets, without reading the
 * values; if every row has the same count, it is computed once for all rows. Integers must be read,
 * which takes a third of a nanosecond each. They are therefore read twice instead of storing them
 * encoded. The second pass also computes a frame's checksum: for long values during the copy, and
 * for the bytes between them while they are still in the first-level cache.
 *
 * Special cases follow protobuf: an empty list has no value field; a Feature without a kind is an
 * empty message; an entry contains its key and its value even if they are empty.
 */
#include <stdlib.h>

#include "example/encode_internal.h"

static int compare_keys(const void *left, const void *right) {
    const fr_span a = ((const fr_value *)left)->key, b = ((const fr_value *)right)->key;
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

int fr_encode_sort(fr_value *values, size_t count, fr_error *err) {
    if (count) qsort(values, count, sizeof *values, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (compare_keys(&values[i - 1], &values[i]) == 0)
            return fr_fail_feature(err, FR_ERR_ARG, values[i].key, "given twice");
    return FR_OK;
}

static bool fits(fr_kind kind, fr_dtype dtype) {
    switch (kind) {
        case FR_KIND_NONE:
            return true;
        case FR_KIND_BYTES:
            return dtype == FR_BYTES;
        case FR_KIND_FLOAT:
            return dtype >= FR_FLOAT16 && dtype <= FR_FLOAT64;
        case FR_KIND_INT64:
            return dtype <= FR_UINT64;
    }
    return false;
}

/* Measures the common case, one integer per row, whose sizes are short sums. */
static inline void measure_scalar(const fr_value *value, size_t row, fr_measured *part) {
    uint64_t number;
    memcpy(&number, value->values + row * sizeof number, sizeof number);
    part->begin = row, part->count = 1;
    part->kind = FR_KIND_INT64;
    part->body = (uint32_t)fr_wire_varint_size(number);
    part->list = part->body + 2;
    part->feature = part->list + 2;
    part->entry = (uint32_t)fr_sized(value->key.size) + part->feature + 2;
}

static bool is_scalar(const fr_value *value) {
    return value->kind == FR_KIND_INT64 && value->dtype == FR_INT64 && value->count == 1 &&
           !value->splits && !value->present && value->key.size < FR_MESSAGE_MAX / 2;
}

/* Returns whether a value has the same sizes in every row. */
static bool is_fixed(const fr_value *value) {
    if (value->splits || value->offsets || value->present) return false;
    if (value->dtype == FR_FLOAT64) return false;
    return value->kind != FR_KIND_INT64;
}

static int measure_value(const fr_value *value, size_t row, bool roughly, fr_measured *part,
                         fr_error *err) {
    FR_TRY(fr_measure_feature(value, row, roughly, part, err));
    uint64_t entry = fr_sized(value->key.size) + fr_sized(part->feature);
    if (entry > FR_MESSAGE_MAX) return fr_fail_long(value, err);
    part->entry = (uint32_t)entry;
    return FR_OK;
}

static int begin_parts(fr_encoder *e, fr_error *err) {
    for (size_t i = 0; i < e->count; i++) {
        const fr_value *value = &e->values[i];
        if (!fits(value->kind, value->dtype))
            return fr_fail_feature(err, FR_ERR_ARG, value->key,
                                   "a list of its kind holds no such type");
        e->parts[i].fixed = is_fixed(value);
        e->parts[i].scalar = is_scalar(value);
        if (!e->parts[i].fixed) continue;
        int status = measure_value(value, 0, false, &e->parts[i], err);
        if (status != FR_OK && err) err->record = 0;
        FR_TRY(status);
    }
    return FR_OK;
}

int fr_encoder_init(fr_encoder *e, const fr_value *values, size_t count, fr_error *err) {
    const size_t few = sizeof e->few / sizeof *e->few;
    e->values = values;
    e->count = count;
    e->more = count <= few ? NULL : calloc(count, sizeof *e->more);
    e->parts = e->more ? e->more : e->few;
    if (count > few && !e->more) return fr_fail_nomem(err, (uint64_t)count * sizeof *e->more);
    int status = begin_parts(e, err);
    if (status != FR_OK) fr_encoder_free(e);
    return status;
}

void fr_encoder_free(fr_encoder *e) {
    free(e->more);
    e->more = NULL;
}

int fr_encoder_measure(fr_encoder *e, size_t row, bool roughly, fr_error *err) {
    uint64_t features = 0;
    for (size_t i = 0; i < e->count; i++) {
        fr_measured *part = &e->parts[i];
        if (part->fixed)
            part->begin = row * part->count;
        else if (part->scalar)
            measure_scalar(&e->values[i], row, part);
        else
            FR_TRY(measure_value(&e->values[i], row, roughly, part, err));
        features += fr_sized(part->entry);
        if (features > FR_MESSAGE_MAX - 6) return fr_fail_long(&e->values[i], err);
    }
    e->features = features;
    return FR_OK;
}

int fr_encoder_put(const fr_encoder *e, fr_put *at, fr_error *err) {
    for (size_t i = 0; i < e->count; i++) {
        const fr_value *value = &e->values[i];
        const fr_measured *part = &e->parts[i];
        fr_put_size(at, 1, part->entry);
        fr_put_size(at, 1, value->key.size);
        fr_put_copy(at, value->key.data, value->key.size);
        fr_put_size(at, 2, part->feature);
        FR_TRY(fr_put_feature(at, value, part, err));
    }
    return FR_OK;
}

/* Writes the measured row: `size` bytes, and the frame around them. */
static int put_row(const fr_encoder *e, uint8_t *p, size_t size, bool framed, fr_error *err) {
    if (framed) {
        fr_frame_put_header(p, size);
        p += FR_HEADER_SIZE;
    }
    fr_put at = {.p = p, .end = p + size, .summed = p, .framed = framed};
    fr_put_size(&at, 1, e->features);
    FR_TRY(fr_encoder_put(e, &at, err));
    if (!framed) return FR_OK;
    uint32_t crc = fr_crc32c_extend(at.crc, at.summed, (size_t)(at.p - at.summed));
    fr_store_u32(at.p, fr_crc_mask(crc));
    return FR_OK;
}

static int append_row(fr_encoder *e, size_t row, bool framed, fr_buffer *out, fr_error *err) {
    FR_TRY(fr_encoder_measure(e, row, false, err));
    const size_t size = (size_t)fr_sized(e->features);
    const size_t whole = size + (framed ? FR_FRAME_OVERHEAD : 0);
    FR_TRY(fr_buffer_reserve(out, whole, err));
    FR_TRY(put_row(e, out->data + out->size, size, framed, err));
    out->size += whole;
    return FR_OK;
}

static int append_rows(fr_encoder *e, fr_rows rows, bool framed, fr_buffer *out, fr_buffer *offsets,
                       size_t *row, fr_error *err) {
    for (*row = rows.begin; *row < rows.end; *row += rows.step) {
        FR_TRY(append_row(e, *row, framed, out, err));
        int64_t at = (int64_t)out->size;
        if (offsets) FR_TRY(fr_buffer_append(offsets, &at, sizeof at, err));
    }
    return FR_OK;
}

/* Ends a function on rows: adds the number of the row to an error. */
static int finish(fr_encoder *e, int status, size_t row, fr_error *err) {
    fr_encoder_free(e);
    if (status != FR_OK && err) err->record = (int64_t)row;
    return status;
}

int fr_encode_rows(const fr_value *values, size_t count, fr_rows rows, bool framed, fr_buffer *out,
                   fr_buffer *offsets, fr_error *err) {
    fr_encoder e;
    size_t row;
    FR_TRY(fr_encoder_init(&e, values, count, err));
    const size_t out_size = out->size, offsets_size = offsets ? offsets->size : 0;
    int status = append_rows(&e, rows, framed, out, offsets, &row, err);
    if (status != FR_OK) {
        out->size = out_size;
        if (offsets) offsets->size = offsets_size;
    }
    return finish(&e, status, row, err);
}

/* Returns whether encoding a row can still fail after the fixed parts were checked. */
static bool may_fail(const fr_encoder *e) {
    uint64_t most = 0;
    for (size_t i = 0; i < e->count; i++) {
        const fr_value *value = &e->values[i];
        if (value->splits || value->offsets) return true;
        if (value->dtype == FR_FLOAT64 || value->dtype == FR_UINT64) return true;
        if (value->count > FR_MESSAGE_MAX / (2 * FR_VARINT_MAX)) return true;
        most += e->parts[i].fixed ? fr_sized(e->parts[i].entry)
                                  : value->key.size + value->count * FR_VARINT_MAX + 64;
        if (most > FR_MESSAGE_MAX / 2) return true;
    }
    return false;
}

int fr_encode_check(const fr_value *values, size_t count, fr_rows rows, fr_error *err) {
    fr_encoder e;
    FR_TRY(fr_encoder_init(&e, values, count, err));
    int status = FR_OK;
    size_t row = rows.begin;
    if (may_fail(&e))
        for (; status == FR_OK && row < rows.end; row += rows.step)
            status = fr_encoder_measure(&e, row, true, err);
    return finish(&e, status, row - rows.step, err);
}

int fr_encode_sizes(const fr_value *values, size_t count, fr_rows rows, int64_t *sizes,
                    fr_error *err) {
    fr_encoder e;
    FR_TRY(fr_encoder_init(&e, values, count, err));
    int status = FR_OK;
    size_t row = rows.begin;
    for (; status == FR_OK && row < rows.end; row += rows.step) {
        status = fr_encoder_measure(&e, row, false, err);
        *sizes++ = (int64_t)fr_sized(e.features);
    }
    return finish(&e, status, row - rows.step, err);
}

int fr_encode_at(const fr_value *values, size_t count, fr_rows rows, uint8_t *data,
                 const int64_t *offsets, fr_error *err) {
    fr_encoder e;
    FR_TRY(fr_encoder_init(&e, values, count, err));
    int status = FR_OK;
    size_t row = rows.begin;
    for (; status == FR_OK && row < rows.end; row += rows.step, offsets++) {
        const size_t size = (size_t)(offsets[1] - offsets[0]);
        status = fr_encoder_measure(&e, row, false, err);
        if (status == FR_OK && size != fr_sized(e.features))
            status = fr_fail(err, FR_ERR_STATE, "the values changed while they were encoded");
        if (status == FR_OK) status = put_row(&e, data + offsets[0], size, false, err);
    }
    return finish(&e, status, row - rows.step, err);
}
