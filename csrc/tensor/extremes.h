/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest or smallest number along one dimension of an array, or its index, for cases where
 * loops along that dimension are short or stride from row to row.
 */
#ifndef FASTREC_EXTREMES_H
#define FASTREC_EXTREMES_H

#include "base/bytes.h"

typedef enum {
    FR_EXTREME_FLOAT32,
    FR_EXTREME_FLOAT64,
    FR_EXTREME_INT32,
    FR_EXTREME_INT64,
    FR_EXTREME_UINT8,
    FR_EXTREME_TYPE_COUNT
} fr_extreme_type;

/* An array of `outer` x `count` x `inner` numbers of `type`. None of these is 0, and `count` is
   below 2**31. */
typedef struct {
    const void *numbers;
    fr_extreme_type type;
    size_t outer, count, inner;
} fr_extreme_source;

/* Writes `outer` x `inner` extreme values. If a value is NaN, the result is NaN. Among equal
   numbers, the first is written. */
void fr_extreme_values(const fr_extreme_source *source, bool greatest, void *out);

/* Writes the indices of the extremes along `count`. NaN is skipped. If no number is above the
   least finite number (or below the greatest, respectively), the index is 0. */
void fr_extreme_places(const fr_extreme_source *source, bool greatest, int64_t *out);

/*
 * Writes the `most` largest numbers of each of `outer` rows of `count` numbers, in descending
 * order, and their indices in the row. Among equal numbers, the one with the lower index comes
 * first. NaN is greater than all other numbers.
 *
 * REQUIRES: `inner` is 1, and `most` is from 1 to `count`.
 */
void fr_extreme_top(const fr_extreme_source *source, size_t most, void *values, int32_t *places);

/* Windows of an image of `height` x `width` x `channels` floats. */
typedef struct {
    size_t height, width, channels;
    size_t rows, columns;         /* size of a window */
    size_t stride_y, stride_x;    /* distance between windows */
    size_t top, left;             /* distance that the first window begins before the image */
    size_t out_height, out_width; /* numbers of windows */
} fr_windows;

/* Writes the largest number of each window and channel. NaN is skipped. A window without numbers
   gives the least finite number. REQUIRES: `scratch` has width x channels floats. */
void fr_extreme_pool(const fr_windows *windows, const float *image, float *scratch, float *out);

#endif
