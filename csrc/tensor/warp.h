/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Projective transforms of images (rotation, shear, translation), and depthwise filters.
 *
 * Pixels are contiguous. REQUIRES: the caller has checked that the sizes fit the memory.
 */
#ifndef FASTREC_WARP_H
#define FASTREC_WARP_H

#include "base/bytes.h"

/* The values of pixels outside an image. */
typedef enum {
    FR_WARP_CONSTANT, /* the fill pixel */
    FR_WARP_REFLECT,  /* the image mirrored; border pixels occur twice */
    FR_WARP_WRAP,     /* the image repeated */
    FR_WARP_NEAREST,  /* the nearest border pixel */
    FR_WARP_MODES
} fr_warp_mode;

typedef struct {
    const float *transform; /* eight numbers that map (x, y) to its source position */
    size_t height, width;   /* size of the source */
    size_t out_height, out_width;
    fr_warp_mode mode;
} fr_warp;

/* Writes the nearest source pixel, of `size` bytes, for each pixel. `fill` is a pixel. */
void fr_warp_nearest(const fr_warp *warp, const uint8_t *source, size_t size, const uint8_t *fill,
                     uint8_t *out);

/* Interpolates each pixel of `channels` floats from the four source pixels around it. */
void fr_warp_bilinear(const fr_warp *warp, const float *source, size_t channels, float fill,
                      float *out);

typedef struct {
    const float *weights; /* rows x columns x channels x multiplier */
    size_t rows, columns, channels, multiplier;
    size_t stride_y, stride_x;
    size_t step_y, step_x; /* distance between weights, in pixels */
    size_t top, left;      /* rows and columns of zeros before the source */
} fr_depthwise;

/*
 * Filters each channel with its own weights. Each product with its sum is rounded once, as in a
 * fused operation. REQUIRES: `scratch` has 2 * out_width * channels * multiplier floats.
 */
void fr_depthwise_filter(const fr_depthwise *filter, const float *source, size_t height,
                         size_t width, size_t out_height, size_t out_width, float *scratch,
                         float *out);

#endif
