/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights of resizing: every sample is a sum of source pixels, along one side and then along the
 * other. Weights, their order and the rounding of each step are those of TensorFlow's kernels,
 * so that float32 results are equal to the bit, where sine and exponential are the same:
 *
 *   antialias, or lanczos3, lanczos5, gaussian, mitchellcubic: ScaleAndTranslate. A kernel as wide
 *       as the reduction, clipped to the source and normalised. Bilinear and bicubic (a = -0.5)
 *       are also those of Pillow, torchvision and torch.nn.functional.interpolate(antialias=True),
 *       but for how these round.
 *   bilinear: ResizeBilinear. As PyTorch's where centers are at half pixels.
 *   bicubic: ResizeBicubic. With half-pixel centers a = -0.5 and what lies outside is left out;
 *       otherwise a = -0.75 and edges are repeated. Weights are rounded to a table of 1,024 steps.
 *   bicubic_torch: PyTorch's without antialias: half-pixel centers, a = -0.75, repeated edges.
 *   area: ResizeArea, each pixel by how much of it lies within the sample.
 *   nearest: ResizeNearestNeighbor.
 */
#ifndef FASTREC_TAPS_H
#define FASTREC_TAPS_H

#include "base/bytes.h"

typedef enum {
    FR_FILTER_NEAREST,
    FR_FILTER_BILINEAR,
    FR_FILTER_BICUBIC,
    FR_FILTER_BICUBIC_TORCH,
    FR_FILTER_AREA,
    FR_FILTER_LANCZOS3,
    FR_FILTER_LANCZOS5,
    FR_FILTER_GAUSSIAN,
    FR_FILTER_MITCHELL,
    FR_FILTER_COUNT
} fr_filter;

typedef struct {
    fr_filter filter;
    bool antialias;      /* bilinear and bicubic; filters after area always follow it */
    bool align_corners;  /* corner pixels meet; without antialias only */
    bool legacy_centers; /* pixels are at whole numbers, not half; without antialias only */
} fr_interpolation;

/* Whether samples are made by a kernel: the first kind above. */
bool fr_interpolation_is_kernel(const fr_interpolation *how);

/* One side: `length` source pixels from `begin` on become `total` samples, of which `count` from
   `first` on are made. Pixels outside of 0 .. size - 1 are never looked at. */
typedef struct {
    size_t size;
    float begin, length; /* 0 and size for the whole side */
    size_t total, first, count;
} fr_sampling;

/* The whole of a side. */
static inline fr_sampling fr_sampling_whole(size_t size, size_t count) {
    return (fr_sampling){size, 0, (float)size, count, 0, count};
}

/* Which pixels samples are made of. All-zero is a valid empty table. */
typedef struct {
    size_t count, reach; /* samples; the most pixels of one */
    float scale;         /* source pixels from one sample to the next */
    uint32_t *used;      /* pixels of each sample */
    uint32_t *places;    /* count x reach */
    float *weights;      /* count x reach */
} fr_taps;

/* FR_ERR_ARG when a size is 0 or above 2^24. `mirror`: samples come from the last to the first. */
FR_NODISCARD int fr_taps_init(fr_taps *taps, const fr_sampling *side, const fr_interpolation *how,
                              bool mirror, fr_error *err);

/* Which source pixels samples of this side need: from `*low` up to and without `*high`. */
void fr_taps_range(const fr_taps *taps, size_t *low, size_t *high);

void fr_taps_free(fr_taps *taps);

#endif
