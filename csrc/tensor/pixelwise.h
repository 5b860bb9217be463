/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of images, several in one pass over the pixels: a few of them at a time go through all
 * steps while they are in the nearest cache. Every step rounds to float32, so that one after the
 * other gives what all at once does, to the bit.
 */
#ifndef FASTREC_PIXELWISE_H
#define FASTREC_PIXELWISE_H

#include "image/resample.h"

typedef enum {
    FR_PIXEL_ADD,
    FR_PIXEL_SUBTRACT,
    FR_PIXEL_MULTIPLY,
    FR_PIXEL_DIVIDE,
    FR_PIXEL_MINIMUM, /* what is no number stays none */
    FR_PIXEL_MAXIMUM,
    FR_PIXEL_HUE,        /* fr_colour_turn_hue(): of three channels, by the first value */
    FR_PIXEL_SATURATION, /* fr_colour_scale_saturation() */
    FR_PIXEL_CONTRAST,   /* the distance from the mean of the channel, times the first value */
    FR_PIXEL_CHANGE_COUNT
} fr_pixel_change;

typedef struct {
    const uint8_t *changes; /* count of fr_pixel_change */
    const float *values;    /* count x channels */
    size_t count, channels;
} fr_pixel_steps;

/* An image of bytes or floats, whose rows are dense. */
typedef struct {
    fr_pixels pixels;
    size_t height, width;
    bool mirror; /* columns are taken from the last to the first */
} fr_pixel_source;

/* FR_ERR_ARG for a change that there is not, for hue or saturation of other than three channels,
   and for channels of 0 or above 64. */
FR_NODISCARD int fr_pixel_steps_check(const fr_pixel_steps *steps, fr_error *err);

/* The image into `out`, height x width x channels floats. Steps have to have been checked. */
FR_NODISCARD int fr_pixelwise_change(const fr_pixel_steps *steps, const fr_pixel_source *source,
                                     float *out, fr_error *err);

/* The image as `resampler` gives it into `out`. `source` is as for fr_resampler_image(). */
FR_NODISCARD int fr_pixelwise_resize(const fr_pixel_steps *steps, fr_resampler *resampler,
                                     const fr_pixels *source, float *out, fr_error *err);

/* Pixels of `size` bytes, one after the other, to places `pitch` bytes apart. */
void fr_pixels_spread(const uint8_t *source, size_t count, size_t size, size_t pitch, uint8_t *out);

#endif
