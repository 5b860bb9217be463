/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that lie one after the other: string i is data[offsets[i]..offsets[i + 1]). */
#ifndef FASTREC_STRINGS_H
#define FASTREC_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Whether strings 0, `step`, ..., `count` of them, do not descend and lie within `size` bytes. */
bool fr_strings_valid(const int64_t *offsets, size_t step, size_t count, size_t size);

/*
 * Copies strings `order[0..count)`, each less than the number of strings. `begins` are where they
 * go in `out`, `begins[count]` their size altogether.
 */
void fr_strings_take(const uint8_t *data, const int64_t *offsets, const int64_t *order,
                     size_t count, const int64_t *begins, uint8_t *out);

/*
 * Lays out rows of `width` strings: row i has strings splits[i] to splits[i + 1], no more than
 * `width`; copies of `filler` fill up the row. `begins` gets rows x width + 1 positions. Without
 * `out` they are positions in `data`, and `filler` must be empty; otherwise the strings are copied
 * to `out`.
 */
void fr_strings_pad(const uint8_t *data, const int64_t *offsets, const int64_t *splits, size_t rows,
                    size_t width, fr_span filler, int64_t *begins, uint8_t *out);

/* Copies strings one after the other to `out`; `begins` gets count + 1 positions. */
void fr_strings_join(const fr_span *strings, size_t count, int64_t *begins, uint8_t *out);

/* Copies strings to rows of `width` bytes: the first `width` of each, or all and then zeros. */
void fr_strings_fit(const fr_span *strings, size_t count, size_t width, uint8_t *out);

#endif
