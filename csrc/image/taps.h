/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights for resizing. Every sample is a weighted sum of source pixels along one side, and then
 * along the other. Weights, their order, and the rounding of each step follow TensorFlow's kernels,
 * so that float32 results are equal bit for bit where sine and exponential are:
 *
 *   antialias, or lanczos3, lanczos5, gaussian, mitchellcubic: ScaleAndTranslate. The kernel is as
 *   wide
 *       as the reduction, clipped to the source and normalised. Bilinear and bicubic (a = -0.5)
 *       equal those of Pillow, torchvision and torch.nn.functional.interpolate(antialias=True) up
 *       to rounding.
 *   bilinear: ResizeBilinear. Equals PyTorch's with half-pixel centers. bicubic: ResizeBicubic.
 *   With half-pixel centers, a = -0.5 and pixels outside are left out; otherwise
 *       a = -0.75 and edges are repeated. Weights are rounded to a table of 1,024 steps.
 *   bicubic_torch: PyTorch's without antialias: half-pixel centers, a = -0.75, repeated edges.
 *   area: ResizeArea, which weights each pixel by its overlap with the sample.
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
    bool antialias;      /* for bilinear and bicubic; filters after area always use it */
    bool align_corners;  /* the centers of corner pixels coincide; only without antialias */
    bool legacy_centers; /* pixel centers are at integers instead of halves; only without antialias
                          */
} fr_interpolation;

/* Returns whether samples come from a kernel, the first kind above. */
bool fr_interpolation_is_kernel(const fr_interpolation *how);

/* One side: `length` source pixels from `begin` on become `total` samples, of which `count` samples
   from `first` on are computed. Pixels outside 0 .. size - 1 are never read. */
typedef struct {
    size_t size;
    float begin, length; /* 0 and size for the whole side */
    size_t total, first, count;
} fr_sampling;

/* Returns the sampling of a whole side. */
static inline fr_sampling fr_sampling_whole(size_t size, size_t count) {
    return (fr_sampling){size, 0, (float)size, count, 0, count};
}

/* The source pixels and weights of each sample. All zeros is a valid empty table. */
typedef struct {
    size_t count, reach; /* number of samples; largest number of pixels per sample */
    float scale;         /* source pixels from one sample to the next */
    uint32_t *used;      /* number of pixels of each sample */
    uint32_t *places;    /* count x reach */
    float *weights;      /* count x reach */
} fr_taps;

/* Builds the table; `mirror` reverses the samples. Returns FR_ERR_ARG if a size is 0 or above
   2^24. */
FR_NODISCARD int fr_taps_init(fr_taps *taps, const fr_sampling *side, const fr_interpolation *how,
                              bool mirror, fr_error *err);

/* Sets the range of source pixels that the samples need: from `*low` up to but excluding
   `*high`. */
void fr_taps_range(const fr_taps *taps, size_t *low, size_t *high);

void fr_taps_free(fr_taps *taps);

#endif
