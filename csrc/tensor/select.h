/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects each number from one of two arrays by an array of conditions.
 */
#ifndef FASTREC_SELECT_H
#define FASTREC_SELECT_H

#include "base/bytes.h"

/* Selects `count` numbers of `width` bytes (1, 2, 4 or 8): from `x` where the condition is not
   0, otherwise from `y`. With a step of 0 an array has one number for all conditions, with a
   step of 1 it has one for each. */
void fr_select(const uint8_t *conditions, const void *x, size_t x_step, const void *y,
               size_t y_step, size_t width, size_t count, void *out);

#endif
