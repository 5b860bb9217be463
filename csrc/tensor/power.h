/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Powers of floats, computed in double precision and rounded once. A result is the nearest float,
 * except for about one in some thousands, which is the second nearest. Results are the same on
 * every machine, except for powers of negative or non-finite numbers, which use libm.
 */
#ifndef FASTREC_POWER_H
#define FASTREC_POWER_H

#include "base/bytes.h"

/* Raises each number to its own power, or all numbers to one power, with the special cases of
   pow(). `out` may be `x`. */
void fr_power(const float *x, const float *powers, bool one_power, size_t count, float *out);

#endif
