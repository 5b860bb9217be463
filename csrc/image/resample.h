/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images resized, row by row: source rows are summed by the weights of one side (taps.h) and
 * columns by those of the other, in the order and with the rounding of TensorFlow's kernels.
 */
#ifndef FASTREC_RESAMPLE_H
#define FASTREC_RESAMPLE_H

#include "image/taps.h"

/* Samples of three channels, two at a time, each of `taps` pixels in a row from its place on. Some
   of those are of no weight. */
typedef struct {
    size_t count, taps;
    uint32_t *places; /* count x 2, of floats in a row */
    float *weights;   /* count x taps x 8 */
} fr_pixel_pairs;

/* All-zero is a valid resampler that can only be freed. */
typedef struct {
    fr_taps rows, columns;
    fr_pixel_pairs pairs;           /* of columns; none where that is not faster */
    size_t first_row, first_column; /* of the source pixels that are needed, ... */
    size_t height, width, channels; /* ... and how many those are */
    bool across_first;              /* sums go along a row first */
    bool is_lerp;                   /* two pixels, and the distance from the first */
    bool is_copy;                   /* every sample is the next pixel */
    float factor;                   /* of every sum */
    float scale;                    /* bytes are so many times as much, for callers to set: 1 */
    float *line;                    /* a source row, or the sum of several, as floats */
    float *lines[2];                /* rows that are summed across ... */
    size_t held[2];                 /* ... and which they are */
} fr_resampler;

/* Pixels in rows, channels next to each other; `data` is at the first that is needed. */
typedef struct {
    const uint8_t *data;
    size_t row_step; /* bytes */
    bool is_float;   /* float32, otherwise uint8 */
} fr_pixels;

/* Floats that fr_resampler_row() may write beyond a row. */
#define FR_ROW_SLACK 4

/* FR_ERR_ARG as fr_taps_init(), and for channels of 0 or above 65536. `mirror`: columns come from
 * the last to the first. */
FR_NODISCARD int fr_resampler_init(fr_resampler *resampler, const fr_interpolation *how,
                                   const fr_sampling *rows, const fr_sampling *columns,
                                   size_t channels, bool mirror, fr_error *err);

/* Begins another source of the same size. */
void fr_resampler_restart(fr_resampler *resampler);

/* Row `row` of the result, columns.count x channels floats and, but for the last row, FR_ROW_SLACK
   more that are undefined. Fastest from the first row to the last. */
void fr_resampler_row(fr_resampler *resampler, const fr_pixels *source, size_t row, float *out);

/* All rows, one after the other. */
void fr_resampler_image(fr_resampler *resampler, const fr_pixels *source, float *out);

void fr_resampler_free(fr_resampler *resampler);

#endif
