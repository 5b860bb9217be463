/* SPDX-License-Identifier: Apache-2.0 */
#include "image/crop.h"

#include <math.h>

#define ATTEMPTS 10
#define DISTORTED_ATTEMPTS 100

double fr_draw_between(fr_philox *philox, double low, double high) {
    return low + (high - low) * ((double)fr_philox_next(philox) * 0x1p-32);
}

size_t fr_draw_below(fr_philox *philox, size_t count) {
    return (size_t)((uint64_t)fr_philox_next(philox) * count >> 32);
}

/* Returns e^x for |x| < 32 without a library, so that crops are the same on every machine. */
static double exponential(double x) {
    double sum = 1;
    x /= 1024;
    for (int k = 8; k > 0; k--)
        sum = 1 + sum * x / k;
    for (int k = 0; k < 10; k++)
        sum *= sum;
    return sum;
}

static double logarithm(double x) {
    double y = 0; /* Newton's iteration, starting from the power of two below the result */
    for (; x >= 2; x /= 2)
        y += 0.69314718055994530942;
    for (; x < 1; x *= 2)
        y -= 0.69314718055994530942;
    double z = x - 1;
    for (int k = 0; k < 6; k++)
        z += x / exponential(z) - 1;
    return y + z;
}

static fr_rect middle(size_t height, size_t width, size_t h, size_t w) {
    return (fr_rect){(height - h) / 2, (width - w) / 2, h, w};
}

/* Returns the largest central rectangle with an allowed aspect ratio. */
static fr_rect fallback(const fr_crop_options *o, size_t height, size_t width) {
    const double ratio = (double)width / (double)height;
    size_t h = height, w = width;
    if (ratio < o->ratio_low)
        h = (size_t)rint((double)width / o->ratio_low);
    else if (ratio > o->ratio_high)
        w = (size_t)rint((double)height * o->ratio_high);
    if (h < 1) h = 1;
    if (w < 1) w = 1;
    return middle(height, width, h > height ? height : h, w > width ? width : w);
}

static fr_rect draw_resized(const fr_crop_options *o, fr_philox *philox, size_t height,
                            size_t width) {
    const double area = (double)height * (double)width;
    const double low = logarithm(o->ratio_low), high = logarithm(o->ratio_high);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const double target = area * fr_draw_between(philox, o->area_low, o->area_high);
        const double ratio = exponential(fr_draw_between(philox, low, high));
        const double w = rint(sqrt(target * ratio)), h = rint(sqrt(target / ratio));
        if (!(w >= 1 && w <= (double)width && h >= 1 && h <= (double)height)) continue;
        fr_rect found = {.height = (size_t)h, .width = (size_t)w};
        found.top = fr_draw_below(philox, height - found.height + 1);
        found.left = fr_draw_below(philox, width - found.width + 1);
        return found;
    }
    return fallback(o, height, width);
}

/* Makes one attempt. Returns false if no height fits the aspect ratio. */
static bool distort(const fr_crop_options *o, fr_philox *philox, size_t height, size_t width,
                    float ratio, fr_rect *found) {
    const float area = (float)height * (float)width;
    const float least = (float)o->area_low * area, most = (float)o->area_high * area;
    int64_t h = lrintf(sqrtf(least / ratio)), max = lrintf(sqrtf(most / ratio));
    if (lrintf((float)max * ratio) > (long)width) {
        max = (int64_t)(((float)width + 0.5f - 1e-7f) / ratio);
        if (lrintf((float)max * ratio) > (long)width) max--;
    }
    if (max > (int64_t)height) max = (int64_t)height;
    if (h >= max)
        h = max;
    else
        h += (int64_t)fr_draw_below(philox, (size_t)(max - h + 1));
    int64_t w = lrintf((float)h * ratio);
    if ((float)(w * h) < least) w = lrintf((float)++h * ratio);
    if ((float)(w * h) > most) w = lrintf((float)--h * ratio);
    if ((float)(w * h) < least || (float)(w * h) > most || w < 1 || h < 1 || w > (int64_t)width ||
        h > (int64_t)height)
        return false;
    *found = (fr_rect){.height = (size_t)h, .width = (size_t)w};
    if (found->height < height) found->top = fr_draw_below(philox, height - found->height);
    if (found->width < width) found->left = fr_draw_below(philox, width - found->width);
    return true;
}

fr_rect fr_crop_draw(const fr_crop_options *options, fr_philox *philox, size_t height,
                     size_t width) {
    if (options->kind == FR_CROP_RESIZED) return draw_resized(options, philox, height, width);
    for (int attempt = 0; attempt < DISTORTED_ATTEMPTS; attempt++) {
        fr_rect found = {0};
        const double ratio = fr_draw_between(philox, options->ratio_low, options->ratio_high);
        if (distort(options, philox, height, width, (float)ratio, &found)) return found;
    }
    return (fr_rect){0, 0, height, width};
}
