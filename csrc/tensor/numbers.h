/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers in texts, with a single rounding. */
#ifndef FASTREC_NUMBERS_H
#define FASTREC_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    FR_NUMBER_FLOAT32 = 0,
    FR_NUMBER_FLOAT64,
    FR_NUMBER_INT32,
    FR_NUMBER_INT64,
    FR_NUMBER_UINT32,
    FR_NUMBER_UINT64
} fr_number_type;

/*
 * Parses `count` texts; text i is data[offsets[i * step]..offsets[i * step + 1]). Accepts decimal
 * numbers and, if the type has them, inf, infinity and nan, surrounded by spaces. REQUIRES: `out`
 * has space for `count` numbers of `type`.
 *
 * Some texts are left to the caller: malformed ones, and those that need more than a few digits to
 * round. Their numbers are written to `left`, which has space for `count`, in ascending order, and
 * their elements of `out` are 0. Returns the number of these texts.
 */
size_t fr_numbers_read(const uint8_t *data, const int64_t *offsets, size_t step, size_t count,
                       fr_number_type type, void *out, int64_t *left);

#endif
