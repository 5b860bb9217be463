/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of many shapes into one shape: padded, or cropped and padded.
 */
#ifndef FASTREC_PAD_CROP_H
#define FASTREC_PAD_CROP_H

#include "example/schema.h"

/*
 * Copies the array of shape `from` at `src` into that of the feature's target shape at `dst`, all
 * of which is written. REQUIRES: the feature has a fit; with FR_FIT_PAD no dimension of `from` is
 * larger than the target's.
 */
void fr_pad_crop_copy(const fr_feature *feature, uint8_t *dst, const uint8_t *src,
                      const size_t *from);

#endif
