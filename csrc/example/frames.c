/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame of the usual form, one packed list or one string, is appended without a call of anything
 * that is not inline. Any other frame, and any that does not fit, goes through
 * fr_feature_append(), which also words the error.
 *
 * Memory is reserved for one piece of the list at a time: for the rows and values that the bytes of
 * the piece can hold.
 */
#include "example/frames.h"

#include <inttypes.h>

#include "format/varint.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)

enum {
    PIECE = 4096,
    /* Bytes of the smallest frame of the usual form, with its tag and size. */
    SMALLEST = 6,
    /* Longer runs of integers are counted before memory is reserved, because one element per byte
       would be far too much memory. */
    SHORT_RUN = 128,
    /* Bytes of one copy in copy_run(), which reads and writes up to this number of bytes beyond the
       end of a run. */
    STEP = 16
};

/* The destination of the rows of one list. */
typedef struct {
    const fr_feature *feature;
    fr_column *column;
    fr_intake *intake;
    size_t item_size;
    const uint8_t *end; /* end of the list */
} target;

/* Reserves memory for the frames of the usual form that begin within the next `size` bytes. */
static int reserve(const target *t, size_t size, fr_error *err) {
    const size_t positions = (size / SMALLEST + 1) * sizeof(int64_t);
    if (t->feature->ragged) FR_TRY(fr_buffer_reserve(&t->column->splits, positions, err));
    if (t->feature->dtype == FR_BYTES)
        FR_TRY(fr_buffer_reserve(&t->column->offsets, positions, err));
    if (t->feature->kind == FR_KIND_INT64)
        size = (size < PIECE + SHORT_RUN ? size : PIECE + SHORT_RUN) * t->item_size;
    if (t->feature->kind == FR_KIND_FLOAT) size = size / 4 * t->item_size;
    return fr_buffer_reserve(&t->column->values, size + STEP, err);
}

/* Finds the values of a Feature that is one list of `kind` with one sized field and nothing
   else. */
static inline bool unwrap(fr_span frame, fr_kind kind, fr_span *run) {
    const uint8_t *p = frame.data, *end = p + frame.size;
    const uint32_t tag = FR_TAG(kind, FR_WIRE_SIZED), size = (uint32_t)frame.size;
    if (FR_LIKELY(frame.size >= 4 && frame.size < 0x80 + 2)) {
        *run = (fr_span){p + 4, frame.size - 4};
        return fr_load_u32(p) == (tag | (size - 2) << 8 | TAG_1 << 16 | (size - 4) << 24);
    }
    fr_span list = {0};
    return p < end && *p == tag && fr_wire_sized(p + 1, end, &list) == end && list.size &&
           list.data[0] == TAG_1 && fr_wire_sized(list.data + 1, end, run) == end;
}

/* Decodes the varints of `run` and returns their number, or 0 if they are malformed. */
static inline size_t decode_ints(fr_span run, const uint8_t *end, int64_t *out) {
    if (FR_LIKELY(run.size <= 8)) {
        uint64_t word = 0;
        if (FR_LIKELY(end - run.data >= 8))
            word = fr_load_u64(run.data);
        else
            for (size_t i = 0; i < run.size; i++)
                word |= (uint64_t)run.data[i] << 8 * i;
        if (fr_wire_is_varint(word, (unsigned)run.size)) {
            *out = (int64_t)fr_wire_gather(word, (unsigned)run.size);
            return 1;
        }
    }
    const uint8_t *p = run.data;
    const size_t count = fr_varint_decode(&p, run.data + run.size, out, run.size);
    return p ? count : 0;
}

static inline size_t take_ints(const target *t, fr_span run, uint8_t *dst) {
    int64_t block[SHORT_RUN];
    if (FR_UNLIKELY(run.size > SHORT_RUN)) return 0;
    if (FR_LIKELY(t->feature->dtype == FR_INT64))
        return decode_ints(run, t->end, (int64_t *)(void *)dst);
    const size_t count = decode_ints(run, t->end, block);
    return fr_dtype_from_int64(dst, t->feature->dtype, block, count, NULL) == FR_OK ? count : 0;
}

/* Copies the bytes of a run. A call of memcpy() would take most of the time of a short one. */
static inline void copy_run(const target *t, uint8_t *dst, fr_span run) {
    if (FR_UNLIKELY(run.size > SHORT_RUN || (size_t)(t->end - run.data) < run.size + STEP)) {
        fr_crc32c_copy(&t->intake->run, dst, run.data, run.size);
        return;
    }
    for (size_t at = 0; at < run.size; at += STEP)
        memcpy(dst + at, run.data + at, STEP);
}

static inline size_t take_floats(const target *t, fr_span run, uint8_t *dst) {
    if (run.size % 4) return 0;
    if (FR_LIKELY(t->feature->dtype == FR_FLOAT32 && !FR_BIG_ENDIAN))
        copy_run(t, dst, run);
    else
        fr_dtype_from_float(dst, t->feature->dtype, run.data, run.size / 4);
    return run.size / 4;
}

static inline void push(fr_buffer *positions, size_t position) {
    const int64_t value = (int64_t)position;
    memcpy(positions->data + positions->size, &value, sizeof value);
    positions->size += sizeof value;
}

/* Appends the row of a frame in the common encoding. Returns false, and appends nothing, for any
   other. */
static inline bool take(const target *t, fr_span frame) {
    const fr_feature *feature = t->feature;
    fr_column *column = t->column;
    fr_buffer *values = &column->values;
    uint8_t *dst = values->data + values->size;
    fr_span run;
    if (!unwrap(frame, feature->kind, &run)) return false;
    if (feature->kind == FR_KIND_BYTES) {
        if (!feature->ragged && feature->count != 1) return false;
        copy_run(t, dst, run);
        values->size += run.size;
        push(&column->offsets, values->size);
        if (feature->ragged) push(&column->splits, column->offsets.size / sizeof(int64_t) - 1);
        return true;
    }
    if (run.size == 0) return false;
    const size_t count =
        feature->kind == FR_KIND_INT64 ? take_ints(t, run, dst) : take_floats(t, run, dst);
    if (count == 0 || (!feature->ragged && count != feature->count)) return false;
    values->size += count * t->item_size;
    if (feature->ragged) push(&column->splits, values->size / t->item_size);
    return true;
}

static int append_any(fr_columns *columns, size_t number, fr_span frame, fr_intake *intake,
                      int64_t count, fr_error *err) {
    int status = fr_feature_append(columns, number, frame, intake, err);
    if (status == FR_END) status = fr_feature_append_empty(columns, number, err);
    if (FR_UNLIKELY(status != FR_OK) && err) err->frame = count;
    return status;
}

int fr_frames_append(fr_columns *columns, size_t number, fr_span list, fr_intake *intake,
                     int64_t *count, fr_error *err) {
    const fr_feature *feature = &columns->schema->features[number];
    const target t = {feature, &columns->columns[number], intake, fr_dtype_size(feature->dtype),
                      list.data + list.size};
    size_t covered = list.size; /* bytes of the list after the piece */
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    while (fr_wire_next_sized(&fields, TAG_1, &field)) {
        if (FR_UNLIKELY(field.tag != TAG_1)) continue;
        const size_t left = (size_t)(fields.end - fields.p);
        if (FR_UNLIKELY(left < covered)) {
            covered = left - (left < PIECE ? left : PIECE);
            FR_TRY(reserve(&t, left - covered + field.bytes.size, err));
        }
        if (FR_UNLIKELY(feature->raw || !take(&t, field.bytes))) {
            FR_TRY(append_any(columns, number, field.bytes, intake, *count, err));
            covered = list.size;
        }
        ++*count;
    }
    if (fr_wire_malformed(&fields))
        return fr_fail(err, FR_ERR_MALFORMED, "not a valid tf.train.SequenceExample");
    return FR_OK;
}
