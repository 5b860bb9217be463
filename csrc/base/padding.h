/* SPDX-License-Identifier: Apache-2.0 */
/* Copies arrays of varying shape to the rows of one array. Each array starts at the beginning of
   its row, and the fill element takes up the remainder. */
#ifndef FASTREC_PADDING_H
#define FASTREC_PADDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t rank;          /* number of dimensions of each array, at least 1 */
    const int64_t *sizes; /* sizes of a row, `rank` of them */
    const size_t *steps;  /* bytes from one index to the next, `rank` of them */
    const uint8_t *fill;  /* the fill element */
    size_t item;          /* bytes of one element */
} fr_padding;

/*
 * Returns whether `shapes`, `rank` sizes for each of `rows` arrays, are within `sizes`, and the
 * elements of each array, starting at its number in `begins`, are within `count`.
 */
bool fr_padding_valid(const fr_padding *padding, const int64_t *begins, const int64_t *shapes,
                      size_t rows, size_t count);

/* Writes `rows` rows to `out`, which has the size of all rows. `src` holds the elements. */
void fr_padding_fill(const fr_padding *padding, const uint8_t *src, const int64_t *begins,
                     const int64_t *shapes, size_t rows, uint8_t *out);

#endif
