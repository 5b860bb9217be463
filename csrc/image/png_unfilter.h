/* SPDX-License-Identifier: Apache-2.0 */
/* Undoes the filters of PNG rows. */
#ifndef FASTREC_PNG_UNFILTER_H
#define FASTREC_PNG_UNFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Undoes filter `type` of a row of `count` pixels with `channels` bytes each, 1 to 4. `row` is the
 * filtered row, `before` the row above it; the first row has zeros above. `out` must not overlap
 * either. Returns false for an unknown type.
 */
bool fr_png_unfilter(int type, const uint8_t *row, const uint8_t *before, size_t count,
                     size_t channels, uint8_t *out);

/*
 * Undoes the filters of two adjacent rows, in less time than one by one. Each row begins with its
 * type. Returns false, and writes nothing, if the types or `channels` do not benefit.
 */
bool fr_png_unfilter_pair(const uint8_t *const rows[2], const uint8_t *before, size_t count,
                          size_t channels, uint8_t *const out[2]);

#endif
