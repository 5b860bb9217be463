/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes brightness, contrast, saturation and hue as torchvision's ColorJitter does, on floats
 * from 0 to 255. Factors are drawn uniformly and applied in a random order; each step clamps its
 * result.
 */
#ifndef FASTREC_COLOR_JITTER_H
#define FASTREC_COLOR_JITTER_H

#include <stddef.h>

#include "base/philox.h"

/* Ranges of the factors. A property with both bounds 1 (hue: 0) does not change. */
typedef struct {
    double brightness[2], contrast[2], saturation[2];
    double hue[2]; /* in turns, -0.5 to 0.5 */
} fr_color_jitter;

/* The drawn factors. */
typedef struct {
    float brightness, contrast, saturation, hue;
    int order[4]; /* 0 brightness, 1 contrast, 2 saturation, 3 hue */
} fr_color_change;

fr_color_change fr_color_jitter_draw(const fr_color_jitter *jitter, fr_philox *philox);

/* Changes `count` RGB pixels, three floats each. */
void fr_color_change_apply(const fr_color_change *change, float *pixels, size_t count);

#endif
