/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes in images: non-maximum suppression, and crops scaled to one size.
 *
 * A box has four floats: y and x of a corner, then y and x of the opposite corner.
 */
#ifndef FASTREC_BOXES_H
#define FASTREC_BOXES_H

#include "base/bytes.h"

typedef struct {
    const float *boxes;    /* count x 4; NULL if `overlaps` is set */
    const float *overlaps; /* count x count, or NULL */
    const float *scores;
    size_t count, most; /* number of boxes, and greatest number of boxes to keep */
    float limit;        /* a greater overlap suppresses the box with the lower score */
    float least;        /* only boxes with a greater score are kept */
    float sigma;        /* if above 0, an overlap lowers the score instead (soft suppression) */
} fr_suppression;

/* A box that may be kept. It has been compared with the first `begin` kept boxes. */
typedef struct {
    float score;
    uint32_t number, begin;
} fr_candidate;

/*
 * Keeps the boxes with the highest scores that do not overlap a kept box too much, as TensorFlow's
 * NonMaxSuppressionV5 does. Equal scores are kept in the order of the boxes. Returns the number of
 * kept boxes.
 *
 * REQUIRES: `count` is below 2**31. `candidates` has `count` entries, `corners` 5 * min(count,
 * most) floats, `kept` and `kept_scores` min(count, most) each.
 */
size_t fr_boxes_suppress(const fr_suppression *suppression, fr_candidate *candidates,
                         float *corners, int32_t *kept, float *kept_scores);

typedef struct {
    size_t height, width, channels; /* size of the image */
    size_t out_height, out_width;
    bool is_bytes; /* the image has uint8, not float */
    bool nearest;  /* use the nearest pixel instead of interpolating */
    float outside; /* value of pixels outside the image */
} fr_crop;

/* The source columns of a column of the result. */
typedef struct {
    uint32_t left, right;
    float share; /* weight of the right column; negative if the column is outside */
} fr_crop_column;

/*
 * Scales the part of an image within `box`, whose corners are fractions of the image, as
 * TensorFlow's CropAndResize does. REQUIRES: the sides of the image are below 2**31. `columns` has
 * `out_width` entries, `out` has out_height x out_width x channels floats.
 */
void fr_boxes_crop(const fr_crop *crop, const void *image, const float *box,
                   fr_crop_column *columns, float *out);

/*
 * Draws the outline of a box, whose corners are fractions of the image, on an image of floats.
 * `colour` has `channels` floats. Parts outside the image are left out.
 */
void fr_boxes_outline(float *image, size_t height, size_t width, size_t channels, const float *box,
                      const float *colour);

#endif
