/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes rows of typed values as serialized tf.train.Example messages, framed or bare, and one
 * tf.train.SequenceExample.
 *
 * The bytes equal protobuf's deterministic serialization: features in ascending order of key bytes,
 * packed lists. (upb, on which Python's protobuf is built, places a key after longer keys that
 * begin with it; C++, Java and pure Python use ascending order throughout, as this code does.)
 *
 * Values are only read, and everything that locates other values (splits, offsets) is checked when
 * it is read. If another thread changes them during the call, the output may be a mixture, or the
 * call fails with FR_ERR_STATE; but memory accesses stay valid, and a frame's checksum matches its
 * data.
 */
#ifndef FASTREC_ENCODE_H
#define FASTREC_ENCODE_H

#include "example/schema.h"
#include "format/frame.h"

/*
 * One feature of the rows to encode. Row r has elements
 *     [splits[r], splits[r + 1])        if splits is set,
 *     [r * count, (r + 1) * count)      otherwise.
 * A bytes element i is
 *     values[offsets[i] .. offsets[i + 1])             if offsets is set,
 *     values[i * element_size .. +element_size)        otherwise (raw arrays).
 */
typedef struct {
    fr_span key;
    fr_kind kind;   /* FR_KIND_NONE: a Feature without a kind */
    fr_dtype dtype; /* dtype of values, native order: FR_BYTES, or any type that fits the kind */
    const uint8_t *values;
    const int64_t *splits;
    const int64_t *offsets;
    size_t count;
    size_t element_size; /* for FR_BYTES without offsets */
    size_t size;         /* bytes of values */
    size_t elements;     /* with splits or offsets: total number */
    const uint8_t
        *present; /* one byte per row: 0 where the Feature has no kind; NULL: all have one */
} fr_value;

/* Resets everything except the key. */
static inline void fr_value_clear(fr_value *value) {
    *value = (fr_value){.key = value->key};
}

/* Rows begin, begin + step, ..., below `end`; step is at least 1. */
typedef struct {
    size_t begin, end, step;
} fr_rows;

static inline size_t fr_rows_count(fr_rows rows) {
    return rows.begin < rows.end ? (rows.end - rows.begin - 1) / rows.step + 1 : 0;
}

/* Sorts features into the order of writing. Returns FR_ERR_ARG if two have the same key. */
FR_NODISCARD int fr_encode_sort(fr_value *values, size_t count, fr_error *err);

/*
 * The functions below take sorted values. On failure, err->record is the row, and the message
 * contains the key. FR_ERR_SCHEMA: a value does not fit its list (an integer beyond int64, a finite
 * float beyond float32). FR_ERR_LIMIT: the message is larger than protobuf reads. FR_ERR_ARG:
 * splits or offsets do not ascend, or exceed the values.
 */

/* Checks whether rows can be encoded, at less than the cost of encoding. */
FR_NODISCARD int fr_encode_check(const fr_value *values, size_t count, fr_rows rows, fr_error *err);

/* Appends rows to `out`, as frames if `framed`. Appends the end of each row to `offsets` (int64)
   unless it is NULL. On error both are unchanged. */
FR_NODISCARD int fr_encode_rows(const fr_value *values, size_t count, fr_rows rows, bool framed,
                                fr_buffer *out, fr_buffer *offsets, fr_error *err);

/* Computes the size of each row, without its frame. */
FR_NODISCARD int fr_encode_sizes(const fr_value *values, size_t count, fr_rows rows, int64_t *sizes,
                                 fr_error *err);

/* Writes row i of `rows`, without its frame, to data[offsets[i] .. offsets[i + 1]), which must have
   its size. */
FR_NODISCARD int fr_encode_at(const fr_value *values, size_t count, fr_rows rows, uint8_t *data,
                              const int64_t *offsets, fr_error *err);

/* Appends a SequenceExample. Its context is row 0 of `context`. The features of feature list i are
   rows [0, steps[i]) of lists[i]. REQUIRES: both are sorted. */
FR_NODISCARD int fr_encode_sequence(const fr_value *context, size_t context_count,
                                    const fr_value *lists, const size_t *steps, size_t list_count,
                                    fr_buffer *out, fr_error *err);

#endif
