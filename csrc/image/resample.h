/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes images row by row. Source rows are summed with the weights of one side (taps.h) and
 * columns with those of the other, in the order and with the rounding of TensorFlow's kernels.
 */
#ifndef FASTREC_RESAMPLE_H
#define FASTREC_RESAMPLE_H

#include "image/taps.h"

/* Pairs of samples with three channels. Each sample covers `taps` consecutive pixels from its place
   on; some have weight 0. */
typedef struct {
    size_t count, taps;
    uint32_t *places; /* count x 2 positions of floats in a row */
    float *weights;   /* count x taps x 8 */
} fr_pixel_pairs;

/* All zeros is a valid resampler, which can only be freed. */
typedef struct {
    fr_taps rows, columns;
    fr_pixel_pairs pairs;           /* pairs of columns; empty where they are no faster */
    size_t first_row, first_column; /* the first source pixel that is needed */
    size_t height, width, channels; /* the size of the region that is needed */
    bool across_first;              /* whether sums along rows come first */
    bool is_lerp;                   /* whether a sample is interpolated from two pixels */
    bool is_copy;                   /* whether each sample is the next pixel, unchanged */
    float factor;                   /* factor of every sum */
    float scale;                    /* factor of bytes, set by the caller; 1 by default */
    float *line;                    /* a source row, or a sum of several, as floats */
    float *lines[2];                /* rows after summing along them */
    size_t held[2];                 /* the source rows of `lines` */
} fr_resampler;

/* Rows of pixels with interleaved channels. `data` points to the first pixel that is needed. */
typedef struct {
    const uint8_t *data;
    size_t row_step; /* bytes */
    bool is_float;   /* float32, otherwise uint8 */
} fr_pixels;

/* Number of floats that fr_resampler_row() may write after a row. */
#define FR_ROW_SLACK 4

/* Initialises a resampler; `mirror` reverses the columns. Returns the errors of fr_taps_init(), and
   FR_ERR_ARG for 0 or more than 65536 channels. */
FR_NODISCARD int fr_resampler_init(fr_resampler *resampler, const fr_interpolation *how,
                                   const fr_sampling *rows, const fr_sampling *columns,
                                   size_t channels, bool mirror, fr_error *err);

/* Starts another source of the same size. */
void fr_resampler_restart(fr_resampler *resampler);

/* Computes row `row` of the result, columns.count x channels floats. Except after the last row, up
   to FR_ROW_SLACK more floats are overwritten. Fastest if rows are requested in order. */
void fr_resampler_row(fr_resampler *resampler, const fr_pixels *source, size_t row, float *out);

/* Computes all rows. */
void fr_resampler_image(fr_resampler *resampler, const fr_pixels *source, float *out);

void fr_resampler_free(fr_resampler *resampler);

#endif
