/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distorts images by given numbers, with TensorFlow's arithmetic: crop, mirror, brightness,
 * contrast, standardisation. Each step is optional, and the order is fixed.
 *
 * Every step rounds to float32, so the result equals that of separate operations, bit for bit. Sums
 * are computed in double precision.
 */
#ifndef FASTREC_IMAGE_OPS_H
#define FASTREC_IMAGE_OPS_H

#include "base/bytes.h"

typedef struct {
    size_t height, width, channels; /* size of the result; all are at least 1 */
    /* Bytes from one pixel or channel of the source to the next; may be negative. */
    int64_t row_step, column_step, channel_step;
    bool bytes; /* whether the source is uint8; otherwise unaligned float32 */
    /* One element per image, or NULL to omit the step. */
    const uint8_t *mirror;   /* nonzero to reverse the columns */
    const float *brightness; /* added to every pixel */
    const float *contrast;   /* factor of the distance from the channel's mean */
    bool standardize;        /* to mean 0 and deviation 1, or less for nearly uniform images */
} fr_image_op;

/* Writes count x height x width x channels floats to `out`. Each image begins `offsets` bytes from
   `source`. REQUIRES: all bytes that the steps address are readable. */
FR_NODISCARD int fr_image_ops_apply(const fr_image_op *distortion, const uint8_t *source,
                                    const int64_t *offsets, size_t count, float *out,
                                    fr_error *err);

/* Computes the mean of each channel of a float image. REQUIRES: all sizes are at least 1. */
FR_NODISCARD int fr_image_ops_means(const float *image, size_t height, size_t width,
                                    size_t channels, float *means, fr_error *err);

#endif
