/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the common form of PNG: samples of 8 bits, not interlaced, without transparency to apply,
 * with chunks in order and undamaged. libdeflate inflates the whole image in one call, in half the
 * time of zlib.
 *
 * Any other file is left to libpng (png.h), which also reports errors.
 *
 * Built without libdeflate (no FASTREC_HAVE_DEFLATE), no file is decoded here.
 */
#ifndef FASTREC_PNG_PLAIN_H
#define FASTREC_PNG_PLAIN_H

#include "image/png.h"

/* Decodes a PNG of the common form exactly as fr_png_decode() does. Returns false for any other
   file, with the content of `out` undefined. */
bool fr_png_plain_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                         uint8_t *out, size_t row_step);

#endif
