/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images distorted by numbers that are given, with TensorFlow's arithmetic: cut out, mirrored,
 * made brighter, given more or less contrast, standardised; each of these or not, in this order.
 *
 * Every step rounds to float32, so that one after the other gives what all at once does, to the
 * bit. Sums are of doubles.
 */
#ifndef FASTREC_IMAGE_OPS_H
#define FASTREC_IMAGE_OPS_H

#include "base/bytes.h"

typedef struct {
    size_t height, width, channels; /* of what comes out; none of them 0 */
    /* Bytes from one pixel or channel of the source to the next; of any sign. */
    int64_t row_step, column_step, channel_step;
    bool bytes; /* the source is uint8, otherwise float32 of any alignment */
    /* One an image, or NULL for a step that is left out. */
    const uint8_t *mirror;   /* not 0 where columns come from the last to the first */
    const float *brightness; /* added to every pixel */
    const float *contrast;   /* times the distance from the mean of the channel */
    bool standardize;        /* to mean 0 and deviation 1, or less where all pixels are alike */
} fr_image_op;

/* Images into `out`, count x height x width x channels floats. Each begins `offsets` bytes from
   `source`, where all that the steps lead to has to be readable. */
FR_NODISCARD int fr_image_ops_apply(const fr_image_op *distortion, const uint8_t *source,
                                    const int64_t *offsets, size_t count, float *out,
                                    fr_error *err);

/* The mean of each channel of an image of floats, none of whose sizes is 0. */
FR_NODISCARD int fr_image_ops_means(const float *image, size_t height, size_t width,
                                    size_t channels, float *means, fr_error *err);

#endif
