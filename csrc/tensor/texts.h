/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of strings: substrings, joined strings, base64, characters and numbers.
 *
 * Functions that write strings get memory of exactly the required size. The caller computes it from
 * the offsets, begins and ends that a previous function wrote.
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

/* Finds where each string begins and ends without its surrounding white space. */
void fr_texts_strip(const fr_texts *texts, int64_t *begins, int64_t *ends);

/*
 * Finds where the substring of `size` bytes, or UTF-8 characters, from `start` begins and ends in
 * each string. A negative start counts from the end of the string, a negative size takes the rest.
 * Returns the first string that is too short, or the number of strings.
 */
size_t fr_texts_part(const fr_texts *texts, int64_t start, int64_t size, bool characters,
                     int64_t *begins, int64_t *ends);

/* Copies data[begins[i]..ends[i]) contiguously. */
void fr_texts_copy(const uint8_t *data, const int64_t *begins, const int64_t *ends, size_t count,
                   uint8_t *out);

/* Counts the UTF-8 characters of each string, which are the bytes that do not continue a
   character. */
void fr_texts_count(const fr_texts *texts, int32_t *counts);

/* Joins string i of all columns, for each i below `count`. A column of one string has it in each
   row. */
void fr_texts_join(const fr_texts *columns, size_t column_count, fr_span separator, size_t count,
                   uint8_t *out);

/* Joins the strings splits[i] to splits[i + 1], for each of `rows` rows. */
void fr_texts_join_rows(const fr_texts *texts, const int64_t *splits, size_t rows,
                        fr_span separator, uint8_t *out);

/*
 * Assigns numbers to strings in the order of their first occurrence. Equal strings get the same
 * number. Sets `firsts` to the first string with each number. Returns how many strings differ.
 * REQUIRES: `table` has `slots` entries, a power of two above the number of strings, all -1.
 */
size_t fr_texts_number(const fr_texts *texts, int64_t *table, size_t slots, int64_t *numbers,
                       int64_t *firsts);

/* Encodes web-safe base64: four bytes for every three. Without `pad`, a remainder of n bytes
   becomes n + 1. */
void fr_texts_encode_base64(const fr_texts *texts, bool pad, uint8_t *out);

/*
 * Decodes web-safe base64, with or without padding. Returns the first string that is malformed, or
 * the number of strings. REQUIRES: `offsets` has count + 1 entries, `out` has three bytes for every
 * four.
 */
size_t fr_texts_decode_base64(const fr_texts *texts, int64_t *offsets, uint8_t *out);

/*
 * Decodes UTF-8 to code points. Returns the first string that is malformed, or the number of
 * strings. REQUIRES: `points` has one entry for each byte, `begins` one more for the end, and
 * `splits` count + 1.
 */
size_t fr_texts_decode(const fr_texts *texts, int32_t *points, int64_t *begins, int64_t *splits);

/* Encodes rows of valid code points (without surrogates) as UTF-8. REQUIRES: `offsets` has rows
   + 1 entries, `out` has four bytes for each code point. */
void fr_texts_encode(const int32_t *points, const int64_t *splits, size_t rows, int64_t *offsets,
                     uint8_t *out);

/* Writes integers in decimal. REQUIRES: `offsets` has count + 1 entries, `out` has 20 bytes for
   each integer. */
void fr_texts_of_integers(const int64_t *numbers, size_t count, int64_t *offsets, uint8_t *out);

#endif
