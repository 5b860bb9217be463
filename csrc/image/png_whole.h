/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNGs that need no conversion, inflated whole and not row by row, as libpng does.
 *
 * These are images of 8 bits without a palette, a transparent colour or interlacing, with as many
 * channels as are wanted. Everything else, and whatever is damaged, is left to libpng, which says
 * what that is. Built without zlib (no FASTREC_HAVE_ZLIB) all of them are.
 */
#ifndef FASTREC_PNG_WHOLE_H
#define FASTREC_PNG_WHOLE_H

#include "image/png.h"

/* Decodes as fr_png_decode() does. False for what is left to libpng; some of `out` may have been
   written, then. */
FR_NODISCARD bool fr_png_whole(fr_span data, const fr_png_header *header,
                               const fr_png_format *format, uint8_t *out, size_t row_step);

#endif
