/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of floats, channels next to each other, written as what a batch holds: scaled and shifted by
 * channel, as uint8, float32, float16 or bfloat16, channels last or first.
 *
 * Numbers are rounded to the nearest, ties to even. uint8 is clamped, and takes no scale or shift.
 */
#ifndef FASTREC_PIXEL_FORMAT_H
#define FASTREC_PIXEL_FORMAT_H

#include "base/bytes.h"

typedef enum {
    FR_PIXEL_UINT8,
    FR_PIXEL_FLOAT32,
    FR_PIXEL_FLOAT16,
    FR_PIXEL_BFLOAT16,
    FR_PIXEL_COUNT
} fr_pixel_type;

#define FR_CHANNELS_MAX 4

typedef struct {
    fr_pixel_type type;
    bool channels_first;
    size_t height, width, channels;                       /* channels at most FR_CHANNELS_MAX */
    float scale[FR_CHANNELS_MAX], shift[FR_CHANNELS_MAX]; /* scale * x + shift */
} fr_pixel_format;

/* Bytes of an image. */
size_t fr_pixel_format_size(const fr_pixel_format *format);

/* Writes numbers one after the other, as they are. */
void fr_pixel_format_store(fr_pixel_type type, const float *row, size_t count, uint8_t *out);

/* Writes `count` numbers of 16 bits in single precision. */
void fr_pixel_format_load_halves(const uint16_t *halves, size_t count, float *out);

/* Writes row `y` of the image at `out`. `row` may be changed. */
void fr_pixel_format_row(const fr_pixel_format *format, float *row, size_t y, uint8_t *out);

#endif
