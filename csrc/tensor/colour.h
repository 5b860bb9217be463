/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hue, saturation and grey of float32 images, and mirrored images.
 *
 * Colours are 0 to 1. The three channels of a pixel are adjacent. Sizes of 0 are allowed.
 */
#ifndef FASTREC_COLOUR_H
#define FASTREC_COLOUR_H

#include "base/bytes.h"

/* Turns the hue of `count` pixels by `delta` of the circle. Saturation and value are unchanged. */
void fr_colour_turn_hue(const float *pixels, size_t count, float delta, float *out);

/* Multiplies the saturation of `count` pixels and clips it to [0, 1]. Hue and value are
   unchanged. */
void fr_colour_scale_saturation(const float *pixels, size_t count, float factor, float *out);

/* Converts hue, saturation and value to red, green and blue. */
void fr_colour_from_hsv(const float *pixels, size_t count, float *out);

/* Converts three channels to one, weighted by the sensitivity of the eye. */
void fr_colour_to_grey(const float *pixels, size_t count, float *out);

/* Reverses the pixels of each row. A pixel has `size` bytes of any type. */
void fr_colour_mirror(const uint8_t *source, size_t rows, size_t columns, size_t size,
                      uint8_t *out);

#endif
