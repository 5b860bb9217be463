/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes rows of floats with interleaved channels in the format of a batch: scaled and shifted by
 * channel, as uint8, float32, float16 or bfloat16, channels last or first.
 *
 * Numbers are rounded to nearest, ties to even. uint8 values are clamped and are neither scaled nor
 * shifted.
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
    size_t height, width, channels;                       /* channels <= FR_CHANNELS_MAX */
    float scale[FR_CHANNELS_MAX], shift[FR_CHANNELS_MAX]; /* result: scale * x + shift */
} fr_pixel_format;

/* Returns the size of an image in bytes. */
size_t fr_pixel_format_size(const fr_pixel_format *format);

/* Converts and writes `count` numbers, without scale and shift. */
void fr_pixel_format_store(fr_pixel_type type, const float *row, size_t count, uint8_t *out);

/* Converts `count` numbers of 16 bits to single precision. */
void fr_pixel_format_load_halves(const uint16_t *halves, size_t count, float *out);

/* Writes row `y` of the image at `out`. May modify `row`. */
void fr_pixel_format_row(const fr_pixel_format *format, float *row, size_t y, uint8_t *out);

#endif
