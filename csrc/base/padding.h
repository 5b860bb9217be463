/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of many shapes, one after the other, as the rows of one array: each at the start of its
   own, whose rest is filled. */
#ifndef FASTREC_PADDING_H
#define FASTREC_PADDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t rank;          /* of each array, at least 1 */
    const int64_t *sizes; /* of a row, `rank` of them */
    const size_t *steps;  /* bytes from one index to the next, `rank` of them */
    const uint8_t *fill;  /* one element */
    size_t item;          /* bytes of an element */
} fr_padding;

/*
 * Whether `shapes`, `rank` numbers for each of `rows`, lie within `sizes`, and the elements of each
 * array, from that with the number in `begins` on, within `count`.
 */
bool fr_padding_valid(const fr_padding *padding, const int64_t *begins, const int64_t *shapes,
                      size_t rows, size_t count);

/* Writes all of `rows` rows. `src` has the elements, `out` is as large as the rows are. */
void fr_padding_fill(const fr_padding *padding, const uint8_t *src, const int64_t *begins,
                     const int64_t *shapes, size_t rows, uint8_t *out);

#endif
