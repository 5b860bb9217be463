/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest or least number along one dimension of an array, or its place, where loops along
 * that dimension are short, or go from row to row.
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

/* An array of `outer` x `count` x `inner` numbers of `type`; none of these is 0, and `count` is
   below 2**31. */
typedef struct {
    const void *numbers;
    fr_extreme_type type;
    size_t outer, count, inner;
} fr_extreme_source;

/* `outer` x `inner` of the numbers themselves; what is no number wins. Of equals the first wins. */
void fr_extreme_values(const fr_extreme_source *source, bool greatest, void *out);

/* Where along `count` they are. What is no number never wins; where none is above the least finite
   number, or below the greatest, it is the first. */
void fr_extreme_places(const fr_extreme_source *source, bool greatest, int64_t *out);

/*
 * The `most` largest numbers of each of `outer` rows of `count` numbers, in descending order, and
 * their places in the row. The first of equal numbers is the larger; NaN is larger than all others.
 *
 * REQUIRES: `inner` is 1, and `most` is from 1 to `count`.
 */
void fr_extreme_top(const fr_extreme_source *source, size_t most, void *values, int32_t *places);

/* Windows of an image of `height` x `width` x `channels` floats. */
typedef struct {
    size_t height, width, channels;
    size_t rows, columns;         /* of a window */
    size_t stride_y, stride_x;    /* from one window to the next */
    size_t top, left;             /* how far the first window begins beyond the image */
    size_t out_height, out_width; /* windows */
} fr_windows;

/* The largest number of each window and channel; NaN is passed over, and the least finite number
   is the result of a window without numbers. `scratch` has width x channels floats. */
void fr_extreme_pool(const fr_windows *windows, const float *image, float *scratch, float *out);

#endif
