/* SPDX-License-Identifier: Apache-2.0 */
#include "example/pad_crop.h"

/* The copied range of one dimension, in the source and in the target. */
typedef struct {
    size_t count, skip_src, skip_dst;
    size_t step_src, step_dst; /* elements from one index to the next */
} axis;

static axis meet(fr_fit fit, size_t from, size_t to) {
    axis a = {from < to ? from : to, 0, 0, 0, 0};
    if (fit == FR_FIT_PAD) return a;
    a.skip_src = from > to ? (from - to) / 2 : 0;
    a.skip_dst = to > from ? (to - from) / 2 : 0;
    return a;
}

/* Computes the axes, with trailing axes that are copied whole merged into one. Returns their
   number. */
static size_t plan(const fr_feature *feature, const size_t *from, axis *axes) {
    size_t step_src = 1, step_dst = 1, rank = feature->rank;
    for (size_t d = rank; d-- > 0;) {
        axes[d] = meet(feature->fit, from[d], feature->target[d]);
        axes[d].step_src = step_src;
        axes[d].step_dst = step_dst;
        step_src *= from[d];
        step_dst *= feature->target[d];
    }
    while (rank > 1 && from[rank - 1] == feature->target[rank - 1]) {
        size_t whole = axes[rank-- - 1].count;
        axes[rank - 1].count *= whole;
        axes[rank - 1].skip_src *= whole;
        axes[rank - 1].skip_dst *= whole;
        axes[rank - 1].step_src = axes[rank - 1].step_dst = 1;
    }
    return rank;
}

/* Clears a range of bytes of dst. */
static void clear(uint8_t *dst, size_t from, size_t to) {
    if (from < to) memset(dst + from, 0, to - from);
}

void fr_pad_crop_copy(const fr_feature *feature, uint8_t *dst, const uint8_t *src,
                      const size_t *from) {
    axis axes[FR_MAX_RANK];
    size_t rank = plan(feature, from, axes), at[FR_MAX_RANK] = {0};
    size_t size = fr_dtype_size(feature->dtype), done = 0; /* bytes of dst that are written */
    bool empty = false;
    for (size_t d = 0; d < feature->rank; d++)
        empty = empty || from[d] == 0 || feature->target[d] == 0;
    while (!empty) {
        size_t p = 0, q = 0, count = axes[rank - 1].count;
        for (size_t d = 0; d < rank; d++) {
            p += (axes[d].skip_src + at[d]) * axes[d].step_src;
            q += (axes[d].skip_dst + at[d]) * axes[d].step_dst;
        }
        clear(dst, done, q * size); /* runs are in ascending order of dst */
        fr_dtype_copy(dst + q * size, src + p * size, count, feature->dtype, feature->swap);
        done = (q + count) * size;
        size_t d = rank - 1; /* the next run: increments all axes except the last */
        while (d > 0 && ++at[d - 1] == axes[d - 1].count)
            at[--d] = 0;
        if (d == 0) break;
    }
    clear(dst, done, feature->count * size);
}
