/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies several changes to images in one pass over the pixels: each run of pixels goes through
 * all steps while it is in the first-level cache. Every step rounds to float32, so that the results
 * have the same bits as those of separate changes.
 */
#ifndef FASTREC_PIXELWISE_H
#define FASTREC_PIXELWISE_H

#include "image/resample.h"

typedef enum {
    FR_PIXEL_ADD,
    FR_PIXEL_SUBTRACT,
    FR_PIXEL_MULTIPLY,
    FR_PIXEL_DIVIDE,
    FR_PIXEL_MINIMUM, /* NaN stays NaN */
    FR_PIXEL_MAXIMUM,
    FR_PIXEL_HUE,        /* fr_colour_turn_hue() by the first value; for three channels */
    FR_PIXEL_SATURATION, /* fr_colour_scale_saturation(); for three channels */
    FR_PIXEL_CONTRAST,   /* multiplies the distance from the channel's mean by the first value */
    FR_PIXEL_CHANGE_COUNT
} fr_pixel_change;

typedef struct {
    const uint8_t *changes; /* count of fr_pixel_change */
    const float *values;    /* count x channels */
    size_t count, channels;
} fr_pixel_steps;

/* An image of bytes or floats with dense rows. */
typedef struct {
    fr_pixels pixels;
    size_t height, width;
    bool mirror; /* read columns from last to first */
} fr_pixel_source;

/* Returns FR_ERR_ARG for unknown changes, for hue or saturation of images without three
   channels, and for 0 or more than 64 channels. */
FR_NODISCARD int fr_pixel_steps_check(const fr_pixel_steps *steps, fr_error *err);

/* Writes the changed image, height x width x channels floats, to `out`. REQUIRES: the steps have
   been checked. */
FR_NODISCARD int fr_pixelwise_change(const fr_pixel_steps *steps, const fr_pixel_source *source,
                                     float *out, fr_error *err);

/* Writes the changed image, resized by `resampler`, to `out`. `source` is as for
   fr_resampler_image(). */
FR_NODISCARD int fr_pixelwise_resize(const fr_pixel_steps *steps, fr_resampler *resampler,
                                     const fr_pixels *source, float *out, fr_error *err);

/* Copies contiguous pixels of `size` bytes to positions that are `pitch` bytes apart. */
void fr_pixels_spread(const uint8_t *source, size_t count, size_t size, size_t pitch, uint8_t *out);

#endif
