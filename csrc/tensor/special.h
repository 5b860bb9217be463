/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise special functions, as exact as the type of the results: gamma, beta and related
 * functions, zeta functions, and modified Bessel functions.
 */
#ifndef FASTREC_SPECIAL_H
#define FASTREC_SPECIAL_H

#include "base/bytes.h"

typedef enum {
    FR_SPECIAL_LGAMMA,
    FR_SPECIAL_DIGAMMA,
    FR_SPECIAL_ERF,
    FR_SPECIAL_ERFC,
    FR_SPECIAL_I0, /* modified Bessel functions, as the next three */
    FR_SPECIAL_I0E,
    FR_SPECIAL_I1,
    FR_SPECIAL_I1E,
    FR_SPECIAL_IGAMMA, /* functions of two numbers start here */
    FR_SPECIAL_IGAMMAC,
    FR_SPECIAL_ZETA,
    FR_SPECIAL_POLYGAMMA,
    FR_SPECIAL_BETAINC, /* function of three numbers */
    FR_SPECIAL_COUNT
} fr_special;

/* An operand: an array of floats or doubles. With step 0 it has one number for all elements. */
typedef struct {
    const void *numbers;
    size_t step; /* 0 or 1 */
} fr_special_operand;

/* Returns the number of operands of a function. */
size_t fr_special_operands(fr_special function);

void fr_special_apply(fr_special function, bool are_floats, const fr_special_operand *operands,
                      size_t count, void *out);

#endif
