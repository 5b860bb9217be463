/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows grouped by a segment id: combined, counted, and sorted into partitions.
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
    bool are_wide;      /* int64, not int32 */
    size_t count;
} fr_segment_ids;

/* The place of the first id that is negative or at least `limit`; `count` where all are valid.
   Negative ids are valid with `allow_negative`. */
size_t fr_segments_check(const fr_segment_ids *ids, size_t limit, bool allow_negative);

/*
 * Combine rows of `width` numbers, one for each id, into the rows of `out`, which hold the neutral
 * number of `kind`. A negative id drops its row. NaN is the maximum and the minimum.
 *
 * REQUIRES: each id is below the number of rows of `out`.
 */
void fr_segments_combine(const fr_segment_ids *ids, fr_segment_kind kind, fr_segment_type type,
                         const void *rows, size_t width, void *out);

/* Add the number of rows of each segment to `counts`. Ids that are negative or at least `limit`
   are not counted. */
void fr_segments_count(const fr_segment_ids *ids, size_t limit, int64_t *counts);

/*
 * Copy rows of `size` bytes, sorted by segment; rows of a segment keep their order.
 *
 * REQUIRES: each id is valid; segment i begins at row starts[i] of `out`. On return
 * starts[i] is the row after its last.
 */
void fr_segments_sort(const fr_segment_ids *ids, const uint8_t *rows, size_t size, int64_t *starts,
                      uint8_t *out);

/* Count numbers in `bins` parts of equal width from `low` to `high`; numbers beyond count in the
   first and the last bin, NaN in the first. `type` is any of the four. */
void fr_segments_histogram(const void *numbers, fr_segment_type type, size_t count, double low,
                           double high, size_t bins, int64_t *counts);

#endif
