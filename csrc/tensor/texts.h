/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of strings: parts of each string, joined strings, base64, characters and numbers.
 *
 * Functions that write strings get memory of exactly their size; the caller computes it from the
 * offsets, begins and ends that the function before returned.
 */
#ifndef FASTREC_TEXTS_H
#define FASTREC_TEXTS_H

#include "base/bytes.h"

/* String i is data[offsets[i]..offsets[i + 1]). */
typedef struct {
    const uint8_t *data;
    const int64_t *offsets;
    size_t count;
} fr_texts;

/* Where each string begins and ends without the white space around it. */
void fr_texts_strip(const fr_texts *texts, int64_t *begins, int64_t *ends);

/*
 * Where `size` bytes, or characters of UTF-8, of each string begin and end, from `start` on. A
 * negative start counts from the end of the string, a negative size takes the rest. Return the
 * first string that is too short, or the number of strings.
 */
size_t fr_texts_part(const fr_texts *texts, int64_t start, int64_t size, bool characters,
                     int64_t *begins, int64_t *ends);

/* Copy data[begins[i]..ends[i]) one after the other. */
void fr_texts_copy(const uint8_t *data, const int64_t *begins, const int64_t *ends, size_t count,
                   uint8_t *out);

/* Count the characters of UTF-8 of each string: bytes that do not continue a character. */
void fr_texts_count(const fr_texts *texts, int32_t *counts);

/* Join string i of all columns, for each i below `count`; a column of one string has it in each
   row. */
void fr_texts_join(const fr_texts *columns, size_t column_count, fr_span separator, size_t count,
                   uint8_t *out);

/* Join the strings splits[i] to splits[i + 1], for each of `rows` rows. */
void fr_texts_join_rows(const fr_texts *texts, const int64_t *splits, size_t rows,
                        fr_span separator, uint8_t *out);

/*
 * Number equal strings alike, in the order of their first occurrence. `table` has `slots` entries,
 * a power of two above the number of strings, all -1; `firsts` gets the first string of each
 * number. Return how many differ.
 */
size_t fr_texts_number(const fr_texts *texts, int64_t *table, size_t slots, int64_t *numbers,
                       int64_t *firsts);

/* Encode in web-safe base64: four bytes for each three, then, without `pad`, one more than the rest
   has. */
void fr_texts_encode_base64(const fr_texts *texts, bool pad, uint8_t *out);

/*
 * Decode web-safe base64, with or without padding; `offsets` has count + 1 entries, `out` holds
 * three bytes for each four. Return the first string that is malformed, or the number of
 * strings.
 */
size_t fr_texts_decode_base64(const fr_texts *texts, int64_t *offsets, uint8_t *out);

/*
 * Decode UTF-8 into code points. `points` and `begins` have one entry for each byte (and one more
 * in `begins`, the end); `splits` has count + 1. Return the first string that is malformed, or the
 * number of strings.
 */
size_t fr_texts_decode(const fr_texts *texts, int32_t *points, int64_t *begins, int64_t *splits);

/* Encode rows of valid code points (without surrogates) as UTF-8. `offsets` has
   rows + 1 entries, `out` holds four bytes for each point. */
void fr_texts_encode(const int32_t *points, const int64_t *splits, size_t rows, int64_t *offsets,
                     uint8_t *out);

/* Write integers in decimal. `offsets` has count + 1 entries, `out` holds 20 bytes for each. */
void fr_texts_of_integers(const int64_t *numbers, size_t count, int64_t *offsets, uint8_t *out);

#endif
