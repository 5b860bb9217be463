/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each number of one of two arrays, as an array of conditions says.
 */
#ifndef FASTREC_SELECT_H
#define FASTREC_SELECT_H

#include "base/bytes.h"

/* `count` numbers of `width` bytes, which are 1, 2, 4 or 8: those of `x` where the condition is not
   0, and of `y` elsewhere. With a step of 0 the first is for all, with 1 each is its own. */
void fr_select(const uint8_t *conditions, const void *x, size_t x_step, const void *y,
               size_t y_step, size_t width, size_t count, void *out);

#endif
