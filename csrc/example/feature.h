/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts one serialized tf.train.Feature to one row of one column.
 *
 *     Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
 *                            Int64List int64_list = 3; } }
 */
#ifndef FASTREC_FEATURE_H
#define FASTREC_FEATURE_H

#include "example/columns.h"
#include "format/crc32c.h"
#include "format/wire.h"

/* Scratch memory for reading the values of a record. All zeros is valid. */
typedef struct {
    fr_buffer pieces;  /* a list that occurs in several parts */
    fr_crc32c_run run; /* the checksum of the record, if it is requested */
} fr_intake;

/* Appends bytes as fr_buffer_append() does. The bytes may belong to the record. */
FR_NODISCARD static inline int fr_intake_append(fr_intake *intake, fr_buffer *buffer, fr_span bytes,
                                                fr_error *err) {
    FR_TRY(fr_buffer_reserve(buffer, bytes.size, err));
    if (bytes.size)
        fr_crc32c_copy(&intake->run, buffer->data + buffer->size, bytes.data, bytes.size);
    buffer->size += bytes.size;
    return FR_OK;
}

/*
 * Appends the values in `value` to column `number` as the next row.
 *
 * Returns FR_END, and appends nothing, if no kind is set. Returns FR_ERR_MALFORMED if the bytes are
 * not a Feature, and FR_ERR_SCHEMA, naming the feature, for values of another kind, number or
 * range.
 */
FR_NODISCARD int fr_feature_append(fr_columns *columns, size_t number, fr_span value,
                                   fr_intake *intake, fr_error *err);

/* Appends the row of a Feature without values; returns FR_ERR_SCHEMA if values are required. */
FR_NODISCARD int fr_feature_append_empty(fr_columns *columns, size_t number, fr_error *err);

/* Appends the row of a record that lacks a feature without a fallback: empty if ragged, false if it
   is a presence, FR_ERR_SCHEMA otherwise. */
FR_NODISCARD int fr_feature_append_missing(fr_columns *columns, size_t number, fr_error *err);

/*
 * Stores the one value of a Feature in its common encoding. `p` is the start of the Feature, `size`
 * its size, and `end` the end of the readable bytes. Returns false, and stores nothing, for any
 * other encoding, which is not an error. REQUIRES: the feature is that scalar.
 */
static inline bool fr_feature_take_scalar(fr_scalar scalar, const uint8_t *p, size_t size,
                                          const uint8_t *end, uint8_t *dst) {
    uint8_t last[12]; /* a value at the end of the readable bytes, followed by zeros */
    if (size < 5 || size > sizeof last) return false;
    if (FR_UNLIKELY((size_t)(end - p) < sizeof last)) {
        memset(last, 0, sizeof last);
        p = memcpy(last, p, size);
    }
    if (scalar == FR_SCALAR_FLOAT32) {
        /* 12 06 0a 04, little-endian */
        if (size != 8 || fr_load_u32(p) != 0x040a0612) return false;
        uint32_t bits = fr_load_u32(p + 4);
        memcpy(dst, &bits, sizeof bits);
        return true;
    }
    /* 1a size-2 0a size-4 */
    if (fr_load_u32(p) !=
        0x000a001a + ((uint32_t)size - 2) * 0x100 + ((uint32_t)size - 4) * 0x1000000)
        return false;
    uint64_t word = fr_load_u64(p + 4), value = word & 0x7f;
    if (!fr_wire_is_varint(word, (unsigned)size - 4)) return false;
    if (size > 5) value = fr_wire_gather(word, (unsigned)size - 4);
    memcpy(dst, &value, sizeof value);
    return true;
}

/* Returns whether the bytes are a Feature. */
bool fr_feature_valid(fr_span value);

#endif
