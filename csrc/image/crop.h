/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the region of an image and the size of the result, as a function of the image's size, the
 * options, the seed and the image's key.
 *
 *   FR_CROP_WHOLE: the whole image, resized to out_height x out_width.
 *   FR_CROP_EXACT: the whole image, which must already have that size.
 *   FR_CROP_PAD: the central region, rounded down, padded with zeros: TensorFlow's
 *       resize_with_crop_or_pad.
 *   FR_CROP_CENTER: the shorter side is resized to `shorter` (0: unchanged) and the longer side
 *   keeps
 *       the aspect ratio, rounded down; then the central region, padded with zeros: torchvision's
 *       Resize and CenterCrop.
 *   FR_CROP_RANDOM: a random position among all that fit; FR_ERR_SCHEMA if the crop is larger.
 *   FR_CROP_RESIZED: the fraction of the area and the logarithm of the aspect ratio are drawn
 *   uniformly
 *       in up to ten attempts; then the largest central region: torchvision's RandomResizedCrop.
 *   FR_CROP_DISTORTED: the aspect ratio and then the height are drawn uniformly in up to a hundred
 *       attempts; then the whole image: TensorFlow's sample_distorted_bounding_box for a box that
 *       covers the image.
 */
#ifndef FASTREC_CROP_H
#define FASTREC_CROP_H

#include "base/bytes.h"
#include "base/philox.h"

typedef enum {
    FR_CROP_WHOLE,
    FR_CROP_EXACT,
    FR_CROP_PAD,
    FR_CROP_CENTER,
    FR_CROP_RANDOM,
    FR_CROP_RESIZED,
    FR_CROP_DISTORTED,
    FR_CROP_COUNT
} fr_crop_kind;

typedef struct {
    fr_crop_kind kind;
    size_t out_height, out_width;
    size_t shorter;
    double area_low, area_high;   /* fractions of the image's area, above 0 */
    double ratio_low, ratio_high; /* width / height, above 0 */
} fr_crop_options;

/* A rectangle within an image. */
typedef struct {
    size_t top, left, height, width;
} fr_rect;

/* Draws a region for FR_CROP_RESIZED or FR_CROP_DISTORTED from the next numbers of `philox`. */
fr_rect fr_crop_draw(const fr_crop_options *options, fr_philox *philox, size_t height,
                     size_t width);

/* Returns a number distributed uniformly in [low, high), or low if both are equal. */
double fr_draw_between(fr_philox *philox, double low, double high);

/* Returns a random number below `count`, which is at most 2^32. */
size_t fr_draw_below(fr_philox *philox, size_t count);

#endif
