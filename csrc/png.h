/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of PNG (ISO/IEC 15948, clause 9): what stands between the samples of a line and the
 * bytes that are deflated. Inflating, and chunks, are others' business.
 */
#ifndef FASTREC_PNG_H
#define FASTREC_PNG_H

#include <stddef.h>

#include "status.h"

/* A picture's lines. */
typedef struct {
    size_t height;
    size_t pitch; /* bytes of a line, without the filter's */
    size_t pixel; /* bytes of a pixel, at least 1 and no more than `pitch` */
} fr_png_lines;

/* `filtered`, height x (1 + pitch) bytes, as pixels behind one line of zeros: `pixels` has room for
   1 + height lines, of which the first is written, too. FR_ERR_MALFORMED for a filter that there
   is not. */
FR_NODISCARD int fr_png_unfilter(const fr_png_lines *lines, const uint8_t *filtered,
                                 uint8_t *pixels, fr_error *err);

/* The way back, each line with the filter that leaves the smallest numbers. `pixels` has height
   lines behind one of zeros; `filtered` has room for one line more, to try filters in. */
void fr_png_filter(const fr_png_lines *lines, const uint8_t *pixels, uint8_t *filtered);

#endif
