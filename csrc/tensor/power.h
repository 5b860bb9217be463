/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Powers of floats, calculated in double precision and rounded once, so that a result is the
 * nearest float but for one in some thousands, which is the second nearest; and the same on every
 * machine but for powers of what is negative or not finite, which are left to libm.
 */
#ifndef FASTREC_POWER_H
#define FASTREC_POWER_H

#include "base/bytes.h"

/* Each number to the power of the one at its place, or all to that of one, as pow() has it. `out`
   may be `x`. */
void fr_power(const float *x, const float *powers, bool one_power, size_t count, float *out);

#endif
