/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images cut, mirrored, brightened and standardised, each by random numbers of its own: what
 * becomes of an image is a function of the seed and of its key.
 *
 * The arithmetic is TensorFlow's: a random crop, or one around the middle with zeros where the
 * image is too small; random_flip_left_right; random_brightness; random_contrast, around the mean
 * of each channel; per_image_standardization.
 */
#ifndef FASTREC_AUGMENT_H
#define FASTREC_AUGMENT_H

#include "base/bytes.h"
#include "base/philox.h"

typedef struct {
    size_t height, width, channels; /* of the images, uint8 in C order */
    size_t out_height, out_width;
    bool random_crop; /* otherwise around the middle */
    bool flip;
    float brightness;                  /* up to so much is added or taken away */
    float contrast_low, contrast_high; /* a factor between them; both 1: left alone */
    bool standardize;
    uint64_t seed;
} fr_augment;

/* FR_ERR_ARG when a size is 0 or too large, a random crop larger than the image, or a number not
   one that can be. */
FR_NODISCARD int fr_augment_check(const fr_augment *augment, fr_error *err);

/* Images into `out`, count x out_height x out_width x channels floats. `keys`: one an image. */
FR_NODISCARD int fr_augment_floats(const fr_augment *augment, const uint8_t *images,
                                   const uint64_t *keys, size_t count, float *out, fr_error *err);

/* The same for crops and flips alone, into bytes: what changes values is not looked at. */
void fr_augment_bytes(const fr_augment *augment, const uint8_t *images, const uint64_t *keys,
                      size_t count, uint8_t *out);

#endif
