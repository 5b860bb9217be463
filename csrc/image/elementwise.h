/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of each number of an array of floats.
 *
 * They are calculated in double precision and rounded once, so that a result is the nearest float
 * but for one in some thousands, which is the second nearest; and the same on every machine with
 * the exception of numbers that are left to libm: angles above 2^20, and powers of what is negative
 * or not finite. `out` may be `x`.
 */
#ifndef FASTREC_ELEMENTWISE_H
#define FASTREC_ELEMENTWISE_H

#include "base/bytes.h"

typedef enum {
    FR_ELEMENTWISE_EXP,
    FR_ELEMENTWISE_LOG,
    FR_ELEMENTWISE_LOG1P,
    FR_ELEMENTWISE_TANH,
    FR_ELEMENTWISE_SIGMOID,
    FR_ELEMENTWISE_SIN,
    FR_ELEMENTWISE_COS,
    FR_ELEMENTWISE_COUNT
} fr_elementwise;

/* `function` is one of those above. */
void fr_elementwise_apply(fr_elementwise function, const float *x, size_t count, float *out);

/* Each number to the power of the one at its place, or all to that of one, as pow() has it. */
void fr_elementwise_power(const float *x, const float *powers, bool one_power, size_t count,
                          float *out);

#endif
