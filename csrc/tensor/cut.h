/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings cut into parts, and every n-th of them: the fields of a line, and one column of many
 * lines. String i is data[offsets[i]..offsets[i + 1]).
 */
#ifndef FASTREC_CUT_H
#define FASTREC_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct {
    bool is_mark[256]; /* the bytes between parts */
    bool skip_empty;   /* no parts without bytes */
    bool skip_nothing; /* no part of a string without bytes */
} fr_cut;

/*
 * Cuts `count` strings into parts. REQUIRES: `out` holds all their bytes but the marks; `begins`
 * has one element per string and per mark, plus one; `splits` has `count` + 1. String i then has
 * the parts splits[i]..splits[i + 1], part k the bytes out[begins[k]..begins[k + 1]).
 */
void fr_strings_cut(const uint8_t *data, const int64_t *offsets, size_t count, const fr_cut *cut,
                    uint8_t *out, int64_t *begins, int64_t *splits);

/*
 * Where strings 0, `step`, ..., `count` of them, begin once they lie one after the other, into
 * `begins` of `count` + 1; their size altogether.
 */
int64_t fr_strings_every(const int64_t *offsets, size_t step, size_t count, int64_t *begins);

/* Copies these strings to `out`, which holds exactly their bytes. */
void fr_strings_take_every(fr_span data, const int64_t *offsets, size_t step, size_t count,
                           const int64_t *begins, uint8_t *out);

#endif
