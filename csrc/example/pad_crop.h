/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies arrays of varying shape to one shape: padded, or cropped and padded.
 */
#ifndef FASTREC_PAD_CROP_H
#define FASTREC_PAD_CROP_H

#include "example/schema.h"

/*
 * Copies the array of shape `from` at `src` to an array of the feature's target shape at `dst`, and
 * writes all of it. REQUIRES: the feature has a fit; with FR_FIT_PAD, no dimension of `from`
 * exceeds the target's.
 */
void fr_pad_crop_copy(const fr_feature *feature, uint8_t *dst, const uint8_t *src,
                      const size_t *from);

#endif
