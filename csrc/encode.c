/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an Example is laid out, and in which order it is written.
 *
 * Protobuf puts the size of every message before it, and an Example is messages in messages:
 *
 *     0a features                        Example.features
 *        0a entry                        Features.feature, once a feature
 *           0a key                       entry.key
 *           12 feature                   entry.value
 *              1a list                   Feature.int64_list; 12 float_list, 0a bytes_list
 *                 0a 96 01 07 ...        Int64List.value, packed; FloatList alike
 *                 0a value  0a value     BytesList.value, one by one
 *
 * where each name stands for a size, a varint, and then that many bytes. The first size depends on
 * everything after it. One can write backwards, from the last byte to the first, so that each size
 * is known when its turn comes; but that writes the rows of a batch in the wrong order too, or
 * moves each of them once more. So sizes come first here: they add up from the inside out,
 *
 *     list = the sum of its values, with their tags
 *     feature = 1 + varint(list) + list
 *     entry = 1 + varint(key) + key + 1 + varint(feature) + feature
 *     features = the sum over entries of 1 + varint(entry) + entry
 *
 * and then one pass writes the bytes from the outside in, into room that was reserved once. Of
 * floats and bytes the size of a list needs no look at the values, or only at the offsets. Of
 * integers it takes the value of each, which is most of the work of encoding it: so lists of
 * integers are encoded while they are measured, into a side buffer that the second pass copies
 * from. Copying a list is twenty times as fast as encoding it.
 *
 * Corners, as protobuf has them: an empty list has no value field at all; a Feature of no kind is
 * an empty message; an entry names its key and its value even when they are empty.
 */
#include "encode.h"

#include <stdlib.h>

#include "pack.h"
#include "wire.h"

/* Protobuf reads no message that is longer. */
#define MAX_MESSAGE ((uint64_t)INT32_MAX)

/* Features for which a call needs no memory of its own. */
#define FEW 64

/* What the first pass finds out about one value of a row. */
typedef struct {
    size_t begin, count; /* its elements */
    size_t varints;      /* integers: where they lie in the side buffer */
    uint32_t body;       /* bytes of the list's elements, packed ones without their tag and size */
    uint32_t list, feature, entry;
} part;

typedef struct {
    const fr_value *values;
    size_t count;
    part *parts; /* one a value */
    part few[FEW];
    fr_buffer varints;
    uint32_t features; /* sizes of the row's messages */
    uint64_t message;
} encoder;

static int fail_value(fr_error *err, int status, const fr_value *value, const char *what) {
    char key[FR_KEY_TEXT_SIZE];
    fr_key_text(value->key, key);
    return fr_fail(err, status, "feature '%s': %s", key, what);
}

/* ---- First pass: sizes ---------------------------------------------------------------------- */

/* A tag, the size, and that many bytes. Most are short, and so is guessing that. */
static inline uint64_t sized(uint64_t size) {
    return 1 + (FR_LIKELY(size < 0x80) ? 1 : fr_wire_varint_size(size)) + size;
}

static int too_long(const fr_value *value, fr_error *err) {
    return fail_value(err, FR_ERR_LIMIT, value, "an Example holds less than 2 GiB");
}

static int measure_bytes(const fr_value *value, part *part, fr_error *err) {
    uint64_t size = 0;
    if (!value->offsets) {
        if (value->element_size > MAX_MESSAGE) return too_long(value, err);
        uint64_t each = sized(value->element_size);
        if (part->count > MAX_MESSAGE / each) return too_long(value, err);
        size = part->count * each;
    } else {
        const int64_t *offsets = value->offsets + part->begin;
        for (size_t i = 0; i < part->count; i++) {
            uint64_t element = (uint64_t)(offsets[i + 1] - offsets[i]);
            if (element > MAX_MESSAGE - size) return too_long(value, err);
            size += sized(element);
        }
    }
    if (size > MAX_MESSAGE) return too_long(value, err);
    part->body = part->list = (uint32_t)size;
    return FR_OK;
}

static int measure_ints(encoder *e, const fr_value *value, part *part, fr_error *err) {
    const uint8_t *first = value->values + part->begin * fr_dtype_size(value->dtype);
    fr_pack_fault fault;
    part->varints = e->varints.size;
    FR_TRY(fr_pack_ints(&e->varints, value->dtype, first, part->count, &fault, err));
    return fault ? fail_value(err, FR_ERR_SCHEMA, value, fault) : FR_OK;
}

static int measure_list(encoder *e, const fr_value *value, part *part, fr_error *err) {
    part->body = part->list = 0;
    if (value->kind == FR_KIND_BYTES) return measure_bytes(value, part, err);
    if (part->count == 0 || value->kind == FR_KIND_NONE) return FR_OK;
    if (part->count > MAX_MESSAGE / 4) return too_long(value, err);
    uint64_t body = part->count * 4;
    if (value->kind == FR_KIND_INT64) {
        FR_TRY(measure_ints(e, value, part, err));
        body = e->varints.size - part->varints;
    }
    if (sized(body) > MAX_MESSAGE) return too_long(value, err);
    part->body = (uint32_t)body;
    part->list = (uint32_t)sized(body);
    return FR_OK;
}

static int measure_row(encoder *e, size_t row, fr_error *err) {
    uint64_t features = 0;
    e->varints.size = 0;
    for (size_t i = 0; i < e->count; i++) {
        const fr_value *value = &e->values[i];
        part *part = &e->parts[i];
        part->begin = value->splits ? (size_t)value->splits[row] : row * value->count;
        part->count =
            value->splits ? (size_t)(value->splits[row + 1] - value->splits[row]) : value->count;
        FR_TRY(measure_list(e, value, part, err));
        uint64_t feature = value->kind == FR_KIND_NONE ? 0 : sized(part->list);
        uint64_t entry = sized(value->key.size) + sized(feature);
        features += sized(entry);
        if (features > MAX_MESSAGE) return too_long(value, err);
        part->feature = (uint32_t)feature;
        part->entry = (uint32_t)entry;
    }
    e->features = (uint32_t)features;
    e->message = sized(features);
    if (e->message > MAX_MESSAGE)
        return fr_fail(err, FR_ERR_LIMIT, "an Example holds less than 2 GiB");
    return FR_OK;
}

/* ---- Second pass: bytes --------------------------------------------------------------------- */

static inline uint8_t *put_sized(uint8_t *p, unsigned field, uint64_t size) {
    *p++ = (uint8_t)FR_TAG(field, FR_WIRE_SIZED);
    return fr_wire_put_varint(p, size);
}

/* memcpy() of what is mostly a key or a number, where the call would cost more than the copy. */
static inline void copy_short(uint8_t *p, const uint8_t *data, size_t size) {
    if (size > 16) {
        memcpy(p, data, size);
    } else if (size >= 8) {
        uint64_t first = fr_load_u64(data), last = fr_load_u64(data + size - 8);
        fr_store_u64(p, first);
        fr_store_u64(p + size - 8, last);
    } else if (size >= 4) {
        uint32_t first = fr_load_u32(data), last = fr_load_u32(data + size - 4);
        fr_store_u32(p, first);
        fr_store_u32(p + size - 4, last);
    } else {
        for (size_t i = 0; i < size; i++)
            p[i] = data[i];
    }
}

static inline uint8_t *put_bytes(uint8_t *p, unsigned field, const uint8_t *data, size_t size) {
    p = put_sized(p, field, size);
    copy_short(p, data, size);
    return p + size;
}

static uint8_t *put_strings(uint8_t *p, const fr_value *value, const part *part) {
    for (size_t i = part->begin; i < part->begin + part->count; i++) {
        size_t begin = value->offsets ? (size_t)value->offsets[i] : i * value->element_size;
        size_t size = value->offsets ? (size_t)value->offsets[i + 1] - begin : value->element_size;
        p = put_bytes(p, 1, value->values + begin, size);
    }
    return p;
}

static int put_list(const encoder *e, uint8_t *p, const fr_value *value, const part *part,
                    fr_error *err) {
    if (value->kind == FR_KIND_BYTES) {
        put_strings(p, value, part);
        return FR_OK;
    }
    if (part->count == 0) return FR_OK;
    p = put_sized(p, 1, part->body);
    if (value->kind == FR_KIND_INT64) {
        copy_short(p, e->varints.data + part->varints, part->body);
        return FR_OK;
    }
    const uint8_t *first = value->values + part->begin * fr_dtype_size(value->dtype);
    fr_pack_fault fault = fr_pack_floats(p, value->dtype, first, part->count);
    return fault ? fail_value(err, FR_ERR_SCHEMA, value, fault) : FR_OK;
}

/* Writes the e->message bytes of a row. */
static int put_row(const encoder *e, uint8_t *p, fr_error *err) {
    p = put_sized(p, 1, e->features);
    for (size_t i = 0; i < e->count; i++) {
        const fr_value *value = &e->values[i];
        const part *part = &e->parts[i];
        p = put_sized(p, 1, part->entry);
        p = put_bytes(p, 1, value->key.data, value->key.size);
        p = put_sized(p, 2, part->feature);
        if (value->kind == FR_KIND_NONE) continue;
        p = put_sized(p, value->kind, part->list);
        FR_TRY(put_list(e, p, value, part, err));
        p += part->list;
    }
    return FR_OK;
}

static int encode_row(encoder *e, size_t row, bool framed, fr_buffer *out, fr_error *err) {
    FR_TRY(measure_row(e, row, err));
    size_t size = (size_t)e->message;
    FR_TRY(fr_buffer_reserve(out, size + FR_FRAME_OVERHEAD, err));
    uint8_t *p = out->data + out->size;
    if (!framed) {
        FR_TRY(put_row(e, p, err));
        out->size += size;
        return FR_OK;
    }
    fr_frame_put_header(p, size);
    p += FR_HEADER_SIZE;
    FR_TRY(put_row(e, p, err));
    fr_store_u32(p + size, fr_crc_mask(fr_crc32c(p, size)));
    out->size += size + FR_FRAME_OVERHEAD;
    return FR_OK;
}

/* ---- Public --------------------------------------------------------------------------------- */

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
            return fail_value(err, FR_ERR_ARG, &values[i], "is given twice");
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

static int encoder_init(encoder *e, const fr_value *values, size_t count, fr_error *err) {
    for (size_t i = 0; i < count; i++)
        if (!fits(values[i].kind, values[i].dtype))
            return fail_value(err, FR_ERR_ARG, &values[i], "a list of its kind holds no such type");
    e->values = values;
    e->count = count;
    e->parts = count <= FEW ? e->few : calloc(count, sizeof *e->parts);
    e->varints = (fr_buffer){0};
    return e->parts ? FR_OK : fr_fail_nomem(err, (uint64_t)count * sizeof *e->parts);
}

static void encoder_free(encoder *e) {
    if (e->parts != e->few) free(e->parts);
    fr_buffer_free(&e->varints);
}

static int encode_rows(encoder *e, size_t begin, size_t end, bool framed, fr_buffer *out,
                       fr_buffer *offsets, fr_error *err) {
    for (size_t row = begin; row < end; row++) {
        int status = encode_row(e, row, framed, out, err);
        if (status != FR_OK) {
            if (err) err->record = (int64_t)row;
            return status;
        }
        int64_t at = (int64_t)out->size;
        if (offsets) FR_TRY(fr_buffer_append(offsets, &at, sizeof at, err));
    }
    return FR_OK;
}

int fr_encode_rows(const fr_value *values, size_t count, size_t begin, size_t end, bool framed,
                   fr_buffer *out, fr_buffer *offsets, fr_error *err) {
    encoder e;
    FR_TRY(encoder_init(&e, values, count, err));
    const size_t out_size = out->size, offsets_size = offsets ? offsets->size : 0;
    int status = encode_rows(&e, begin, end, framed, out, offsets, err);
    if (status != FR_OK) {
        out->size = out_size;
        if (offsets) offsets->size = offsets_size;
    }
    encoder_free(&e);
    return status;
}
