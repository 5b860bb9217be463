/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crops, mirrors, brightens and standardises images with random numbers. The result is a function
 * of the image, the seed, and the image's key.
 *
 * The arithmetic is TensorFlow's: a random crop, or a central one padded with zeros;
 * random_flip_left_right; random_brightness; random_contrast, around the mean of each channel;
 * per_image_standardization.
 */
#ifndef FASTREC_AUGMENT_H
#define FASTREC_AUGMENT_H

#include "base/bytes.h"
#include "base/philox.h"

typedef struct {
    size_t height, width, channels; /* size of the images, which are uint8 in C order */
    size_t out_height, out_width;
    bool random_crop; /* otherwise a central crop */
    bool flip;
    float brightness;                  /* largest amount that is added or subtracted */
    float contrast_low, contrast_high; /* range of the factor; no change if both are 1 */
    bool standardize;
    uint64_t seed;
} fr_augment;

/* Returns FR_ERR_ARG if a size is 0 or too large, a random crop is larger than the image, or a
   number is out of range. */
FR_NODISCARD int fr_augment_check(const fr_augment *augment, fr_error *err);

/* Writes count x out_height x out_width x channels floats to `out`. `keys` holds one key per
   image. */
FR_NODISCARD int fr_augment_floats(const fr_augment *augment, const uint8_t *images,
                                   const uint64_t *keys, size_t count, float *out, fr_error *err);

/* Does the same for crops and flips alone, into bytes. Options that change values are ignored. */
void fr_augment_bytes(const fr_augment *augment, const uint8_t *images, const uint64_t *keys,
                      size_t count, uint8_t *out);

#endif
