/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNGs of the usual form: samples of 8 bits, not interlaced, no transparency to apply, chunks in
 * order and undamaged. libdeflate inflates the whole image at once, in half the time of zlib.
 *
 * Any other file is refused without a verdict: libpng decides about it (png.h).
 *
 * Built without libdeflate (no FASTREC_HAVE_DEFLATE) every file is refused.
 */
#ifndef FASTREC_PNG_PLAIN_H
#define FASTREC_PNG_PLAIN_H

#include "image/png.h"

/* Decodes such a file to what fr_png_decode() makes of it. False for any other file; what `out`
   has is undefined then. */
bool fr_png_plain_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                         uint8_t *out, size_t row_step);

#endif
