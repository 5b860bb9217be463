/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups rows by segment id: combines them, counts them, or sorts them into partitions.
 */
#ifndef FASTREC_SEGMENTS_H
#define FASTREC_SEGMENTS_H

#include "base/bytes.h"

typedef enum {
    FR_SEGMENT_SUM,
    FR_SEGMENT_PROD,
    FR_SEGMENT_MAX,
    FR_SEGMENT_MIN,
    FR_SEGMENT_KINDS
} fr_segment_kind;

typedef enum {
    FR_SEGMENT_FLOAT32,
    FR_SEGMENT_FLOAT64,
    FR_SEGMENT_INT32,
    FR_SEGMENT_INT64,
    FR_SEGMENT_TYPES
} fr_segment_type;

typedef struct {
    const void *values; /* `count` ids */
    bool are_wide;      /* int64, otherwise int32 */
    size_t count;
    size_t limit; /* the number of segments; rows of other ids are dropped */
} fr_segment_ids;

/* Returns the index of the first id that is negative or at least the limit, or `count` if all are
   valid. With `allow_negative`, negative ids are valid. */
size_t fr_segments_check(const fr_segment_ids *ids, bool allow_negative);

/*
 * Combines rows of `width` numbers, one row for each id, into the rows of `out`, which must contain
 * the neutral number of `kind`. NaN is both maximum and minimum.
 *
 * REQUIRES: `out` has `limit` rows.
 */
void fr_segments_combine(const fr_segment_ids *ids, fr_segment_kind kind, fr_segment_type type,
                         const void *rows, size_t width, void *out);

/* Adds the number of rows of each segment to `counts`, which has `limit` elements. */
void fr_segments_count(const fr_segment_ids *ids, int64_t *counts);

/*
 * Copies rows of `size` bytes, sorted by segment. Rows of the same segment keep their order. On
 * return, starts[i] is the row after the last of segment i.
 *
 * REQUIRES: segment i begins at row starts[i] of `out`, which has room for all rows.
 */
void fr_segments_sort(const fr_segment_ids *ids, const uint8_t *rows, size_t size, int64_t *starts,
                      uint8_t *out);

/* Counts numbers in `bins` bins of equal width from `low` to `high`. Numbers outside count in
   the first or the last bin, NaN in the first. `type` is any of the four. */
void fr_segments_histogram(const void *numbers, fr_segment_type type, size_t count, double low,
                           double high, size_t bins, int64_t *counts);

#endif
