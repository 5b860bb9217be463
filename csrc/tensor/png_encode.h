/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes PNGs by libpng, from 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 channels of 8 or 16 bits,
 * with TensorFlow's settings. Never exits or prints.
 *
 * If built without libpng (no FASTREC_HAVE_PNG), encoding returns FR_ERR_STATE.
 */
#ifndef FASTREC_PNG_ENCODE_H
#define FASTREC_PNG_ENCODE_H

#include "image/png.h"

/* Encodes an image with contiguous rows, and appends it to `out`. `level` is the compression
   level of zlib: 0 to 9, or -1 for its default. */
FR_NODISCARD int fr_png_encode(const uint8_t *pixels, size_t height, size_t width,
                               const fr_png_format *format, int level, fr_buffer *out,
                               fr_error *err);

#endif
