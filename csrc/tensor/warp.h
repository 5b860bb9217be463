/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images turned, sheared and moved by a projective transform, and filtered channel by channel.
 *
 * Pixels are contiguous; the caller has checked that the sizes fit the memory.
 */
#ifndef FASTREC_WARP_H
#define FASTREC_WARP_H

#include "base/bytes.h"

/* What lies around an image. */
typedef enum {
    FR_WARP_CONSTANT, /* the fill pixel */
    FR_WARP_REFLECT,  /* the image mirrored, its border twice */
    FR_WARP_WRAP,     /* its other side */
    FR_WARP_NEAREST,  /* its border over and over */
    FR_WARP_MODES
} fr_warp_mode;

typedef struct {
    const float *transform; /* eight numbers: where the pixel of (x, y) is taken from */
    size_t height, width;   /* of the source */
    size_t out_height, out_width;
    fr_warp_mode mode;
} fr_warp;

/* Pixels of `size` bytes, each the one that is nearest. `fill` is a pixel. */
void fr_warp_nearest(const fr_warp *warp, const uint8_t *source, size_t size, const uint8_t *fill,
                     uint8_t *out);

/* Pixels of `channels` floats, each mixed of the four around. */
void fr_warp_bilinear(const fr_warp *warp, const float *source, size_t channels, float fill,
                      float *out);

typedef struct {
    const float *weights; /* rows x columns x channels x multiplier */
    size_t rows, columns, channels, multiplier;
    size_t stride_y, stride_x;
    size_t step_y, step_x; /* from one weight to the next, in pixels */
    size_t top, left;      /* zeros around the source */
} fr_depthwise;

/*
 * Each channel weighted by its own filters, with one rounding for each product and sum, as of a
 * fused operation. `scratch` has 2 * out_width * channels * multiplier floats.
 */
void fr_depthwise_filter(const fr_depthwise *filter, const float *source, size_t height,
                         size_t width, size_t out_height, size_t out_width, float *scratch,
                         float *out);

#endif
