/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes of images: non-maximum suppression, and parts of images scaled to one size.
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
    size_t count, most; /* boxes, and boxes to keep at most */
    float limit;        /* a larger overlap suppresses the box of the lower score */
    float least;        /* only boxes with a score above it are kept */
    float sigma;        /* above 0: an overlap lowers the score instead (soft suppression) */
} fr_suppression;

/* A box that may still be kept; `begin` counts the kept boxes that it has been compared with. */
typedef struct {
    float score;
    uint32_t number, begin;
} fr_candidate;

/*
 * Keep the boxes with the highest scores that do not overlap a kept box too much, as TensorFlow's
 * NonMaxSuppressionV5 does. Equal scores are kept in the order of the boxes.
 *
 * `count` is below 2**31. `candidates` holds `count` entries, `corners` 5 * min(count,
 * most) floats, `kept` and `kept_scores` min(count, most) each. Return the number of kept boxes.
 */
size_t fr_boxes_suppress(const fr_suppression *suppression, fr_candidate *candidates,
                         float *corners, int32_t *kept, float *kept_scores);

typedef struct {
    size_t height, width, channels; /* of the image */
    size_t out_height, out_width;
    bool is_bytes; /* the image has uint8, not float */
    bool nearest;  /* take the nearest pixel, do not interpolate */
    float outside; /* value of pixels beyond the image */
} fr_crop;

/* Where a column of the result is taken from. */
typedef struct {
    uint32_t left, right;
    float share; /* of the right column; negative where the column is outside */
} fr_crop_column;

/*
 * Scale the part of an image within `box`, whose corners are fractions of the image, as
 * TensorFlow's CropAndResize does. The sides of the image are below 2**31. `columns` holds
 * `out_width` entries, `out` for out_height x out_width x channels floats.
 */
void fr_boxes_crop(const fr_crop *crop, const void *image, const float *box,
                   fr_crop_column *columns, float *out);

/*
 * Draw the outline of a box, whose corners are fractions of the image, into an image of floats.
 * `colour` has `channels` floats. Parts beyond the image are left out.
 */
void fr_boxes_outline(float *image, size_t height, size_t width, size_t channels, const float *box,
                      const float *colour);

#endif
