/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that texts spell, each rounded once. */
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
 * Reads `count` texts, text i being data[offsets[i * step]..offsets[i * step + 1]): decimal numbers
 * and, for a type that has them, inf, infinity and nan, between spaces. `out` has room for `count`
 * numbers of `type`.
 *
 * The numbers of texts that are wrong, and of those that take more than a few digits to round, go
 * to `left`, with room for `count`, in ascending order, and 0 to their places in `out`. Returns how
 * many these are.
 */
size_t fr_numbers_read(const uint8_t *data, const int64_t *offsets, size_t step, size_t count,
                       fr_number_type type, void *out, int64_t *left);

#endif
