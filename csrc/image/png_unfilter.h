/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of PNG rows, undone. */
#ifndef FASTREC_PNG_UNFILTER_H
#define FASTREC_PNG_UNFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Undoes filter `type` of a row of `count` pixels of `channels` bytes, 1 to 4. `row` is the
 * filtered row, `before` the row above, of zeros above the first. `out` overlaps neither. False for
 * an unknown type.
 */
bool fr_png_unfilter(int type, const uint8_t *row, const uint8_t *before, size_t count,
                     size_t channels, uint8_t *out);

#endif
