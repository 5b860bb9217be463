/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of each number of an array of floats, as TensorFlow approximates them in single
 * precision: on x86 its numbers to the bit, up to 6 floats beside the nearest. They are the same on
 * every machine with three exceptions: what is left to libm, subnormal numbers, which are zeros on
 * x86, and reciprocal roots, which begin with the processor's own estimate where it has AVX2.
 */
#ifndef FASTREC_ELEMENTWISE_H
#define FASTREC_ELEMENTWISE_H

#include "base/bytes.h"

typedef enum {
    FR_ELEMENTWISE_EXP,
    FR_ELEMENTWISE_LOG,
    FR_ELEMENTWISE_LOG1P,
    FR_ELEMENTWISE_EXPM1,
    FR_ELEMENTWISE_TANH,
    FR_ELEMENTWISE_SIGMOID,
    FR_ELEMENTWISE_SIN,
    FR_ELEMENTWISE_COS,
    FR_ELEMENTWISE_RSQRT,
    FR_ELEMENTWISE_SIGN,
    /* Approximations of fastrec's own, within 8 units in the last place. */
    FR_ELEMENTWISE_ERF,
    FR_ELEMENTWISE_ERFC,
    FR_ELEMENTWISE_ERFINV,
    FR_ELEMENTWISE_ERFCINV,
    FR_ELEMENTWISE_NDTRI, /* the inverse of the normal distribution */
    FR_ELEMENTWISE_SOFTPLUS,
    FR_ELEMENTWISE_LOG_SIGMOID,
    FR_ELEMENTWISE_SOFTSIGN,
    FR_ELEMENTWISE_SILU,
    FR_ELEMENTWISE_ELU,
    FR_ELEMENTWISE_SELU,
    FR_ELEMENTWISE_GELU,
    FR_ELEMENTWISE_GELU_TANH,
    /* Those that TensorFlow leaves to libm. */
    FR_ELEMENTWISE_ACOSH,
    FR_ELEMENTWISE_ASINH,
    FR_ELEMENTWISE_COSH,
    FR_ELEMENTWISE_SINH,
    FR_ELEMENTWISE_TAN,
    FR_ELEMENTWISE_COUNT
} fr_elementwise;

/* `function` is one of those above. `count` is a multiple of `row`, the numbers of one tensor;
   those that are left over from its packets of eight are calculated by libm. `out` may be `x`. */
void fr_elementwise_apply(fr_elementwise function, const float *x, size_t count, size_t row,
                          float *out);

#endif
