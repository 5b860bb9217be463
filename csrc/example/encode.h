/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of typed values -> serialized tf.train.Example messages, framed or bare; and one
 * tf.train.SequenceExample.
 *
 * The bytes are those of protobuf's deterministic serialization: features by ascending key bytes,
 * lists packed. (upb, which Python's protobuf is built on, puts a key after those that it is a
 * prefix of; C++, Java and pure Python ascend throughout, and so does this.)
 *
 * Values are only read, and everything that says where others are (splits, offsets) is checked as
 * it is read. So when another thread changes them meanwhile, what is written may be a mixture, or
 * the call fails with FR_ERR_STATE; but memory is safe, and a frame's checksum is that of its data.
 */
#ifndef FASTREC_ENCODE_H
#define FASTREC_ENCODE_H

#include "example/schema.h"
#include "format/frame.h"

/*
 * One feature of the rows to encode. Row r has elements
 *     [splits[r], splits[r + 1])        when splits is given,
 *     [r * count, (r + 1) * count)      otherwise.
 * A bytes element i is
 *     values[offsets[i] .. offsets[i + 1])             when offsets is given,
 *     values[i * element_size .. +element_size)        otherwise (raw arrays).
 */
typedef struct {
    fr_span key;
    fr_kind kind;   /* FR_KIND_NONE: a Feature with no kind set */
    fr_dtype dtype; /* of values, native order: FR_BYTES, or anything that fits the kind */
    const uint8_t *values;
    const int64_t *splits;
    const int64_t *offsets;
    size_t count;
    size_t element_size;    /* FR_BYTES without offsets */
    size_t size;            /* bytes of values */
    size_t elements;        /* with splits or offsets: all there are */
    const uint8_t *present; /* a byte a row: 0 where its Feature has no kind set; NULL: none */
} fr_value;

/* Resets everything but the key. */
static inline void fr_value_clear(fr_value *value) {
    *value = (fr_value){.key = value->key};
}

/* Rows begin, begin + step, ..., all below `end`; step is at least 1. */
typedef struct {
    size_t begin, end, step;
} fr_rows;

static inline size_t fr_rows_count(fr_rows rows) {
    return rows.begin < rows.end ? (rows.end - rows.begin - 1) / rows.step + 1 : 0;
}

/* Sorts features into the order in which they are written. FR_ERR_ARG on two of one key. */
FR_NODISCARD int fr_encode_sort(fr_value *values, size_t count, fr_error *err);

/*
 * The functions below take sorted values. They fail with err->record the row, and the key in the
 * message: FR_ERR_SCHEMA for a value that its list cannot hold (an integer beyond int64, a finite
 * float beyond float32), FR_ERR_LIMIT for a message that protobuf would not read, FR_ERR_ARG for
 * splits and offsets that do not ascend or leave the values.
 */

/* Finds out whether rows can be encoded, at less than the cost of doing it. */
FR_NODISCARD int fr_encode_check(const fr_value *values, size_t count, fr_rows rows, fr_error *err);

/* Appends rows to `out`: as frames when `framed`, bare otherwise. After each row the end of it
   goes to `offsets` (int64; NULL: not wanted). On error both are as before. */
FR_NODISCARD int fr_encode_rows(const fr_value *values, size_t count, fr_rows rows, bool framed,
                                fr_buffer *out, fr_buffer *offsets, fr_error *err);

/* The size of each row, bare. */
FR_NODISCARD int fr_encode_sizes(const fr_value *values, size_t count, fr_rows rows, int64_t *sizes,
                                 fr_error *err);

/* Row i of `rows`, bare, to data[offsets[i] .. offsets[i + 1]), which has to be its size. */
FR_NODISCARD int fr_encode_at(const fr_value *values, size_t count, fr_rows rows, uint8_t *data,
                              const int64_t *offsets, fr_error *err);

/* Appends a SequenceExample. Its context is row 0 of `context`; feature list i has the rows
   [0, steps[i]) of lists[i] as its features. Both sorted. */
FR_NODISCARD int fr_encode_sequence(const fr_value *context, size_t context_count,
                                    const fr_value *lists, const size_t *steps, size_t list_count,
                                    fr_buffer *out, fr_error *err);

#endif
