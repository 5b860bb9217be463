/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brightness, contrast, saturation and hue changed as torchvision's ColorJitter defines it, on
 * floats from 0 to 255: factors drawn evenly, applied in an order that is drawn, each step clamped.
 */
#ifndef FASTREC_COLOR_JITTER_H
#define FASTREC_COLOR_JITTER_H

#include <stddef.h>

#include "base/philox.h"

/* Ranges that factors are drawn from; both 1 (hue: both 0) leaves a property alone. */
typedef struct {
    double brightness[2], contrast[2], saturation[2];
    double hue[2]; /* of a whole turn, -0.5 to 0.5 */
} fr_color_jitter;

/* What was drawn. */
typedef struct {
    float brightness, contrast, saturation, hue;
    int order[4]; /* 0 brightness, 1 contrast, 2 saturation, 3 hue */
} fr_color_change;

fr_color_change fr_color_jitter_draw(const fr_color_jitter *jitter, fr_philox *philox);

/* Changes `count` RGB pixels, three floats each. */
void fr_color_change_apply(const fr_color_change *change, float *pixels, size_t count);

#endif
