/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of strings in one block: string i is data[offsets[i]..offsets[i + 1]). */
#ifndef FASTREC_STRINGS_H
#define FASTREC_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Returns whether the offsets of strings 0, `step`, ..., `count` of them, ascend and lie within
   `size`. */
bool fr_strings_valid(const int64_t *offsets, size_t step, size_t count, size_t size);

/*
 * Copies strings `order[0..count)` to `out`; each number must be below the number of strings.
 * `begins` are their positions in `out`, and `begins[count]` is their total size.
 */
void fr_strings_take(const uint8_t *data, const int64_t *offsets, const int64_t *order,
                     size_t count, const int64_t *begins, uint8_t *out);

/*
 * Lays out rows of `width` strings. Row i holds strings splits[i] to splits[i + 1], at most `width`
 * of them, followed by copies of `filler`. `begins` receives rows x width + 1 positions. If `out`
 * is NULL, they are positions in `data` and `filler` must be empty; otherwise the strings are
 * copied to `out`.
 */
void fr_strings_pad(const uint8_t *data, const int64_t *offsets, const int64_t *splits, size_t rows,
                    size_t width, fr_span filler, int64_t *begins, uint8_t *out);

/* Concatenates strings in `out`; `begins` receives count + 1 positions. */
void fr_strings_join(const fr_span *strings, size_t count, int64_t *begins, uint8_t *out);

/* Copies strings to rows of `width` bytes: truncated, or padded with zeros. */
void fr_strings_fit(const fr_span *strings, size_t count, size_t width, uint8_t *out);

#endif
