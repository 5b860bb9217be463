/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of an image is taken, and how large it becomes: a function of the image's size, the
 * options, the seed and the image's key.
 *
 *   FR_CROP_WHOLE: all of it, to out_height x out_width.
 *   FR_CROP_EXACT: all of it, which has to be of that size already.
 *   FR_CROP_PAD: the middle, rounded down, and zeros where there is nothing: TensorFlow's
 *       resize_with_crop_or_pad.
 *   FR_CROP_CENTER: the shorter side becomes `shorter` (0: stays as it is), the longer one keeps
 *       the aspect ratio, rounded down; then the middle, zeros where there is nothing:
 *       torchvision's Resize and CenterCrop.
 *   FR_CROP_RANDOM: a place drawn from all where it fits; FR_ERR_SCHEMA where it does not.
 *   FR_CROP_RESIZED: a share of the area and the logarithm of an aspect ratio drawn evenly, ten
 *       attempts, then the largest middle: torchvision's RandomResizedCrop.
 *   FR_CROP_DISTORTED: an aspect ratio, then a height drawn evenly, a hundred attempts, then all:
 *       TensorFlow's sample_distorted_bounding_box around a box that is the whole image.
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
    double area_low, area_high;   /* shares of the image's area, above 0 */
    double ratio_low, ratio_high; /* width / height, above 0 */
} fr_crop_options;

/* A rectangle of an image. */
typedef struct {
    size_t top, left, height, width;
} fr_rect;

/* Draws FR_CROP_RESIZED or FR_CROP_DISTORTED from where `philox` stands. */
fr_rect fr_crop_draw(const fr_crop_options *options, fr_philox *philox, size_t height,
                     size_t width);

/* A number evenly distributed in [low, high), or low where they are equal. */
double fr_draw_between(fr_philox *philox, double low, double high);

/* A number below `count`, which is at most 2^32. */
size_t fr_draw_below(fr_philox *philox, size_t count);

#endif
