/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of typed values -> serialized tf.train.Example messages, framed or bare.
 *
 * The bytes are those of protobuf's deterministic serialization: features by ascending key bytes,
 * lists packed. (upb, which Python's protobuf is built on, puts a key after those that it is a
 * prefix of; C++, Java and pure Python ascend throughout, and so does this.)
 */
#ifndef FASTREC_ENCODE_H
#define FASTREC_ENCODE_H

#include "frame.h"
#include "schema.h"

/*
 * One feature of the rows to encode. Row r has elements
 *     [splits[r], splits[r + 1])        when splits is given,
 *     [r * count, (r + 1) * count)      otherwise.
 * A bytes element i is
 *     values[offsets[i] .. offsets[i + 1])             when offsets is given,
 *     values[i * element_size .. +element_size)        otherwise (raw arrays).
 * All of it is the caller's and is only read. splits and offsets ascend, and end within values.
 */
typedef struct {
    fr_span key;
    fr_kind kind;   /* FR_KIND_NONE: a Feature with no kind set */
    fr_dtype dtype; /* of values, native order: FR_BYTES, or anything that fits the kind */
    const uint8_t *values;
    const int64_t *splits;
    const int64_t *offsets;
    size_t count;
    size_t element_size; /* FR_BYTES without offsets */
} fr_value;

/* Sorts features into the order in which they are written. FR_ERR_ARG on two of one key. */
FR_NODISCARD int fr_encode_sort(fr_value *values, size_t count, fr_error *err);

/*
 * Appends rows [begin, end) of sorted `values` to `out`: as frames when `framed`, bare otherwise.
 * After each row the end of it goes to `offsets` (int64; NULL: not wanted). FR_ERR_SCHEMA, with
 * err->record the row and the key in the message, for a value that its list cannot hold: an
 * integer beyond int64, a finite float beyond float32. On error `out` and `offsets` are as before.
 */
FR_NODISCARD int fr_encode_rows(const fr_value *values, size_t count, size_t begin, size_t end,
                                bool framed, fr_buffer *out, fr_buffer *offsets, fr_error *err);

#endif
