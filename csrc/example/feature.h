/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One serialized tf.train.Feature -> one row of one column.
 *
 *     Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
 *                            Int64List int64_list = 3; } }
 */
#ifndef FASTREC_FEATURE_H
#define FASTREC_FEATURE_H

#include "example/columns.h"
#include "format/crc32c.h"
#include "format/wire.h"

/* Scratch memory for reading the values of a record. All-zero is valid. */
typedef struct {
    fr_buffer pieces;  /* a list that came in pieces */
    fr_crc32c_run run; /* of the record, where somebody wants its checksum */
} fr_intake;

/* As fr_buffer_append() of bytes that may be the record's. */
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
 * FR_END, and nothing appended, when no kind is set. FR_ERR_MALFORMED when the bytes are no
 * Feature; FR_ERR_SCHEMA, naming the feature, on values of another kind, number or range.
 */
FR_NODISCARD int fr_feature_append(fr_columns *columns, size_t number, fr_span value,
                                   fr_intake *intake, fr_error *err);

/* Appends the row of a Feature with no values; FR_ERR_SCHEMA where there have to be some. */
FR_NODISCARD int fr_feature_append_empty(fr_columns *columns, size_t number, fr_error *err);

/* Appends the row of a record that lacks the feature and has no fallback for it: empty when
   ragged, FR_ERR_SCHEMA otherwise. */
FR_NODISCARD int fr_feature_append_missing(fr_columns *columns, size_t number, fr_error *err);

/*
 * Stores the one value of a Feature that is written as nearly all are, `p` being where it begins,
 * `size` its size, and `end` the end of what may be read. False, and nothing stored, for any other:
 * that is no error. REQUIRES: the feature is that scalar.
 */
static inline bool fr_feature_take_scalar(fr_scalar scalar, const uint8_t *p, size_t size,
                                          const uint8_t *end, uint8_t *dst) {
    uint8_t last[12]; /* a value at the end of what may be read, and zeros behind it */
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

/* Whether the bytes are a Feature. */
bool fr_feature_valid(fr_span value);

#endif
