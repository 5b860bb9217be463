/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits strings into parts, and selects every n-th part: the fields of a line, and one column of
 * many lines. String i is data[offsets[i]..offsets[i + 1]).
 */
#ifndef FASTREC_CUT_H
#define FASTREC_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct {
    bool is_mark[256]; /* bytes that separate parts */
    bool skip_empty;   /* leave out empty parts */
    bool skip_nothing; /* an empty string has no parts */
} fr_cut;

/*
 * Splits `count` strings into parts. String i then has the parts splits[i]..splits[i + 1], part k
 * has the bytes out[begins[k]..begins[k + 1]).
 *
 * REQUIRES: `out` has space for all bytes that are not marks; `begins` has one element per string
 * and per mark, plus one; `splits` has `count` + 1.
 */
void fr_strings_cut(const uint8_t *data, const int64_t *offsets, size_t count, const fr_cut *cut,
                    uint8_t *out, int64_t *begins, int64_t *splits);

/*
 * Computes the offsets of strings 0, `step`, 2 * `step`, ... (`count` strings) if they are
 * concatenated, in the `count` + 1 elements of `begins`. Returns their total size.
 */
int64_t fr_strings_every(const int64_t *offsets, size_t step, size_t count, int64_t *begins);

/* Copies these strings to `out`, which has exactly their size. */
void fr_strings_take_every(fr_span data, const int64_t *offsets, size_t step, size_t count,
                           const int64_t *begins, uint8_t *out);

#endif
