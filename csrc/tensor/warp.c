/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/warp.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

#define FAR 0x1p40f /* farther than any pixel; replaces NaN and infinity, too */

/* Maps a position to a source of `size` pixels, at least one. Multiples of the size are
   subtracted as integers. */
static float mapped(fr_warp_mode mode, float at, size_t size) {
    if (mode == FR_WARP_CONSTANT) return at;
    const float last = (float)(size - 1);
    if (!(fabsf(at) < FAR)) return at > 0 ? last : 0;
    if (mode != FR_WARP_NEAREST && (at < 0 || at > last)) {
        const float length = (float)size;
        if (size == 1) {
            at = 0;
        } else if (mode == FR_WARP_WRAP) {
            if (at < 0)
                at += length * (float)((int64_t)(-at / last) + 1);
            else
                at -= length * (float)(int64_t)(at / last);
        } else if (at < 0) {
            const float twice = 2 * length;
            if (at < twice) at = twice * (float)(int64_t)(-at / twice) + at;
            at = at < -length ? at + twice : -at - 1;
        } else {
            const float twice = 2 * length;
            at -= twice * (float)(int64_t)(at / twice);
            if (at >= length) at = twice - at - 1;
        }
    }
    return at < 0 ? 0 : at > last ? last : at;
}

/* Gets the source position of a pixel. Returns false if it is at infinity. */
static bool place_of(const fr_warp *w, size_t row, size_t column, float *y, float *x) {
    const float *t = w->transform, at_y = (float)row, at_x = (float)column;
    const float depth = t[6] * at_x + t[7] * at_y + 1.0f;
    if (depth == 0) return false;
    *x = mapped(w->mode, (t[0] * at_x + t[1] * at_y + t[2]) / depth, w->width);
    *y = mapped(w->mode, (t[3] * at_x + t[4] * at_y + t[5]) / depth, w->height);
    return true;
}

static bool is_inside(float y, float x, size_t height, size_t width) {
    return y >= 0 && x >= 0 && y < (float)height && x < (float)width;
}

void fr_warp_nearest(const fr_warp *warp, const uint8_t *source, size_t size, const uint8_t *fill,
                     uint8_t *out) {
    for (size_t row = 0; row < warp->out_height; row++) {
        for (size_t column = 0; column < warp->out_width; column++, out += size) {
            float y, x;
            const uint8_t *pixel = fill;
            if (place_of(warp, row, column, &y, &x)) {
                y = roundf(y), x = roundf(x);
                if (is_inside(y, x, warp->height, warp->width))
                    pixel = source + ((size_t)y * warp->width + (size_t)x) * size;
            }
            if (size == 3)
                memcpy(out, pixel, 3);
            else
                memcpy(out, pixel, size);
        }
    }
}

static const float *pixel_at(const fr_warp *w, const float *source, size_t channels, float y,
                             float x) {
    if (!is_inside(y, x, w->height, w->width)) return NULL;
    return source + ((size_t)y * w->width + (size_t)x) * channels;
}

void fr_warp_bilinear(const fr_warp *warp, const float *source, size_t channels, float fill,
                      float *out) {
    for (size_t row = 0; row < warp->out_height; row++) {
        for (size_t column = 0; column < warp->out_width; column++, out += channels) {
            float y, x;
            if (!place_of(warp, row, column, &y, &x)) {
                for (size_t c = 0; c < channels; c++)
                    out[c] = fill;
                continue;
            }
            const float above = floorf(y), below = above + 1, left = floorf(x), right = left + 1;
            const float *const pixels[4] = {
                pixel_at(warp, source, channels, above, left),
                pixel_at(warp, source, channels, above, right),
                pixel_at(warp, source, channels, below, left),
                pixel_at(warp, source, channels, below, right),
            };
            for (size_t c = 0; c < channels; c++) {
                float p[4];
                for (size_t i = 0; i < 4; i++)
                    p[i] = pixels[i] ? pixels[i][c] : fill;
                const float up = (right - x) * p[0] + (x - left) * p[1];
                const float down = (right - x) * p[2] + (x - left) * p[3];
                out[c] = (below - y) * up + (y - above) * down;
            }
        }
    }
}

/* The product of two floats is exact in double. */
#define ADD_PRODUCTS(weights, period)                                                              \
    for (size_t i = 0; i < count; i++)                                                             \
    out[i] = (float)((double)pixels[i] * (double)(weights)[period] + (double)out[i])

static void add_all(const float *pixels, const float *weights, size_t count, float *out) {
    ADD_PRODUCTS(weights, i);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_wide(const float *pixels, const float *weights,
                                                     size_t count, float *out) {
    ADD_PRODUCTS(weights, i);
}
#else
#define add_wide add_all
#endif

/* Gets the columns of the result, from `*first` to before `*end`, whose source column exists. */
static void columns_of(const fr_depthwise *f, size_t column, size_t width, size_t out_width,
                       size_t *first, size_t *end) {
    const size_t ahead = column * f->step_x;
    *first = ahead < f->left ? (f->left - ahead + f->stride_x - 1) / f->stride_x : 0;
    *end = width + f->left > ahead ? (width + f->left - ahead - 1) / f->stride_x + 1 : 0;
    if (*end > out_width) *end = out_width;
}

/* Repeats `size` numbers up to `count` numbers. REQUIRES: `count` is a multiple of `size`. */
static void repeat(const float *numbers, size_t size, size_t count, float *out) {
    memcpy(out, numbers, size * sizeof *out);
    for (size_t done = size; done < count;) {
        const size_t more = count - done < done ? count - done : done;
        memcpy(out + done, out, more * sizeof *out);
        done += more;
    }
}

static void filter_row(const fr_depthwise *f, const float *source, const float *weights,
                       size_t width, size_t out_width, float *scratch, float *out) {
    const size_t each = f->channels * f->multiplier;
    const bool wide = fr_cpu_features() & FR_CPU_AVX2;
    for (size_t column = 0; column < f->columns; column++, weights += each) {
        size_t first, end;
        columns_of(f, column, width, out_width, &first, &end);
        if (first >= end) continue;
        const size_t count = (end - first) * each, at = first * f->stride_x + column * f->step_x;
        const float *pixels = source + (at - f->left) * f->channels;
        float *const spread = scratch, *const copies = scratch + out_width * each;
        repeat(weights, each, count, spread);
        if (f->stride_x != 1 || f->multiplier != 1) {
            for (size_t i = 0; i < end - first; i++)
                for (size_t c = 0; c < each; c++)
                    copies[i * each + c] =
                        pixels[i * f->stride_x * f->channels + c / f->multiplier];
            pixels = copies;
        }
        (wide ? add_wide : add_all)(pixels, spread, count, out + first * each);
    }
}

void fr_depthwise_filter(const fr_depthwise *filter, const float *source, size_t height,
                         size_t width, size_t out_height, size_t out_width, float *scratch,
                         float *out) {
    const size_t each = filter->channels * filter->multiplier;
    for (size_t row = 0; row < out_height; row++, out += out_width * each) {
        for (size_t i = 0; i < out_width * each; i++)
            out[i] = 0;
        for (size_t tap = 0; tap < filter->rows; tap++) {
            const size_t at = row * filter->stride_y + tap * filter->step_y;
            if (at < filter->top || at - filter->top >= height) continue;
            filter_row(filter, source + (at - filter->top) * width * filter->channels,
                       filter->weights + tap * filter->columns * each, width, out_width, scratch,
                       out);
        }
    }
}
