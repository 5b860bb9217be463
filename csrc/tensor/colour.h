/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours of float32 images by hue, saturation and grey, and images mirrored.
 *
 * Colours are 0 to 1, three channels next to each other. Sizes of 0 do nothing.
 */
#ifndef FASTREC_COLOUR_H
#define FASTREC_COLOUR_H

#include "base/bytes.h"

/* Turns the hue of `count` pixels by `delta` of the circle; saturation and value stay. */
void fr_colour_turn_hue(const float *pixels, size_t count, float delta, float *out);

/* Multiplies the saturation of `count` pixels, which ends at 0 and 1; hue and value stay. */
void fr_colour_scale_saturation(const float *pixels, size_t count, float factor, float *out);

/* Makes red, green and blue of hue, saturation and value. */
void fr_colour_from_hsv(const float *pixels, size_t count, float *out);

/* Writes one channel for three, weighted as the eye does. */
void fr_colour_to_grey(const float *pixels, size_t count, float *out);

/* Reverses the pixels of each row. A pixel has `size` bytes of any type. */
void fr_colour_mirror(const uint8_t *source, size_t rows, size_t columns, size_t size,
                      uint8_t *out);

#endif
