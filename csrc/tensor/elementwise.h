/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise functions of float arrays, as TensorFlow approximates them in single precision. On
 * x86 the results have the same bits as TensorFlow's, and are up to 6 floats from the nearest one.
 * They are the same on every machine, with three exceptions: functions that use libm; subnormal
 * numbers, which are zeros on x86; and reciprocal roots, which start from the processor's own
 * estimate if it has AVX2.
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
    /* The following are within 8 units in the last place. erf, erfc, elu and selu have TensorFlow's
       bits, except for erfc beyond 1; elu and selu are as inexact near zero. */
    FR_ELEMENTWISE_ERF,
    FR_ELEMENTWISE_ERFC,
    FR_ELEMENTWISE_ERFINV,
    FR_ELEMENTWISE_ERFCINV,
    FR_ELEMENTWISE_NDTRI, /* inverse of the normal distribution */
    FR_ELEMENTWISE_SOFTPLUS,
    FR_ELEMENTWISE_LOG_SIGMOID,
    FR_ELEMENTWISE_SOFTSIGN,
    FR_ELEMENTWISE_SILU,
    FR_ELEMENTWISE_ELU,
    FR_ELEMENTWISE_SELU,
    FR_ELEMENTWISE_GELU,
    FR_ELEMENTWISE_GELU_TANH,
    /* The following have TensorFlow's bits, except for atan beyond 1 and Bessel functions beyond 8.
     */
    FR_ELEMENTWISE_ACOS,
    FR_ELEMENTWISE_ASIN,
    FR_ELEMENTWISE_ATAN,
    FR_ELEMENTWISE_ATANH,
    FR_ELEMENTWISE_I0, /* modified Bessel functions, as the next three */
    FR_ELEMENTWISE_I0E,
    FR_ELEMENTWISE_I1,
    FR_ELEMENTWISE_I1E,
    /* The following use libm, as in TensorFlow. */
    FR_ELEMENTWISE_ACOSH,
    FR_ELEMENTWISE_ASINH,
    FR_ELEMENTWISE_COSH,
    FR_ELEMENTWISE_SINH,
    FR_ELEMENTWISE_TAN,
    FR_ELEMENTWISE_COUNT
} fr_elementwise;

/* Applies one of these functions. `row` is the number of elements in one tensor, and `count` is
   a multiple of it. Like TensorFlow, computes eight elements of a tensor at a time, and the
   remaining ones with libm. `out` may be `x`. */
void fr_elementwise_apply(fr_elementwise function, const float *x, size_t count, size_t row,
                          float *out);

#endif
