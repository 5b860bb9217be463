/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All changes of values are affine in each channel, so they are combined before they are applied.
 * One integer pass over the cropped image sums each channel and the squares of all values.
 * Brightness d and contrast f turn x into
 *
 *     f * x + (1 - f) * mean + d
 *
 * whose mean and variance follow from those of x. A second pass writes scale * x + shift. Both
 * passes go along rows, with one shift per column and channel, which vectorises for any number of
 * channels.
 *
 * No operation is fused with another (the build sets -ffp-contract=off), and the square root is the
 * only library function, so the floats are the same on every machine.
 */
#include "image/augment.h"

#include <math.h>
#include <stdlib.h>

#define SIDE_MAX 65536
#define CHANNELS_MAX 1024
#define ROWS_SUMMED 257       /* rows whose sums of 255 fit in 16 bits */
#define SQUARES_SUMMED 65536u /* values whose sums of 255 * 255 fit in 32 bits */

int fr_augment_check(const fr_augment *augment, fr_error *err) {
    const fr_augment *a = augment;
    const size_t sides[] = {a->height, a->width, a->out_height, a->out_width};
    for (int i = 0; i < 4; i++)
        if (sides[i] < 1 || sides[i] > SIDE_MAX)
            return fr_fail(err, FR_ERR_ARG, "the sides of an image must be 1 to %d, got %zu",
                           SIDE_MAX, sides[i]);
    if (a->channels < 1 || a->channels > CHANNELS_MAX)
        return fr_fail(err, FR_ERR_ARG, "images must have 1 to %d channels, got %zu", CHANNELS_MAX,
                       a->channels);
    if (a->random_crop && (a->out_height > a->height || a->out_width > a->width))
        return fr_fail(err, FR_ERR_ARG, "a crop of %zu x %zu does not fit in an image of %zu x %zu",
                       a->out_height, a->out_width, a->height, a->width);
    if (!(a->brightness >= 0 && a->brightness < INFINITY))
        return fr_fail(err, FR_ERR_ARG, "brightness must be at least 0");
    if (!(a->contrast_low >= 0 && a->contrast_high >= a->contrast_low &&
          a->contrast_high < INFINITY))
        return fr_fail(err, FR_ERR_ARG, "contrast must be two ascending numbers");
    return FR_OK;
}

typedef struct {
    size_t top, left; /* position of a random crop */
    bool flip;
    float brightness, contrast;
} chance;

static size_t below(fr_philox *philox, size_t count) {
    return (size_t)((uint64_t)fr_philox_next(philox) * count >> 32);
}

static float between(fr_philox *philox, float low, float high) {
    return low + (high - low) * (float)(fr_philox_next(philox) >> 8) * 0x1p-24f;
}

/* Draws all numbers, also those of disabled steps, so that disabling one does not change the
   others. */
static chance draw(const fr_augment *a, uint64_t key) {
    fr_philox philox;
    fr_philox_init(&philox, a->seed, key);
    size_t rows = a->random_crop ? a->height - a->out_height + 1 : 1;
    size_t columns = a->random_crop ? a->width - a->out_width + 1 : 1;
    chance drawn = {.top = below(&philox, rows)};
    drawn.left = below(&philox, columns);
    drawn.flip = fr_philox_next(&philox) >> 31 && a->flip;
    drawn.brightness = between(&philox, -a->brightness, a->brightness);
    drawn.contrast = between(&philox, a->contrast_low, a->contrast_high);
    return drawn;
}

/* One side of a crop: `count` pixels of the image, starting at `from`, go to `to` in the crop. */
typedef struct {
    size_t from, to, count;
} span;

static span cut_side(size_t size, size_t out, bool random, size_t at) {
    if (random) return (span){at, 0, out};
    if (size >= out) return (span){(size - out) / 2, 0, out};
    return (span){0, (out - size) / 2, size};
}

/* Moves a whole pixel at a time where `channels` is a constant after inlining. */
static inline __attribute__((always_inline)) void mirror(const uint8_t *restrict row, size_t width,
                                                         size_t channels, uint8_t *restrict out) {
    for (size_t i = 0; i < width; i++)
        for (size_t c = 0; c < channels; c++)
            out[i * channels + c] = row[(width - 1 - i) * channels + c];
}

static void mirror_row(const uint8_t *row, size_t width, size_t channels, uint8_t *out) {
    if (channels == 3)
        mirror(row, width, 3, out);
    else if (channels == 1)
        mirror(row, width, 1, out);
    else
        mirror(row, width, channels, out);
}

static void cut(const fr_augment *a, const chance *drawn, const uint8_t *image, uint8_t *out) {
    const span rows = cut_side(a->height, a->out_height, a->random_crop, drawn->top);
    const span columns = cut_side(a->width, a->out_width, a->random_crop, drawn->left);
    const size_t pitch = a->width * a->channels, out_pitch = a->out_width * a->channels;
    const size_t left = drawn->flip ? a->out_width - columns.to - columns.count : columns.to;
    if (rows.count < a->out_height || columns.count < a->out_width)
        memset(out, 0, a->out_height * out_pitch);
    for (size_t row = 0; row < rows.count; row++) {
        const uint8_t *from = image + (rows.from + row) * pitch + columns.from * a->channels;
        uint8_t *to = out + (rows.to + row) * out_pitch + left * a->channels;
        if (drawn->flip)
            mirror_row(from, columns.count, a->channels, to);
        else
            memcpy(to, from, columns.count * a->channels);
    }
}

/* Scratch memory for one image. */
typedef struct {
    double *means;  /* one per channel */
    float *shift;   /* one per column and channel */
    uint16_t *sums; /* one per column and channel */
    uint8_t *image;
} scratch;

static void add_row(uint16_t *restrict sums, const uint8_t *restrict x, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = (uint16_t)(sums[i] + x[i]);
}

static void find_means(const fr_augment *a, const scratch *s) {
    const size_t pitch = a->out_width * a->channels;
    for (size_t c = 0; c < a->channels; c++)
        s->means[c] = 0; /* integers below 2^53 until the division */
    for (size_t row = 0; row < a->out_height;) {
        const size_t left = a->out_height - row;
        const size_t stop = row + (left < ROWS_SUMMED ? left : ROWS_SUMMED);
        memset(s->sums, 0, pitch * sizeof *s->sums);
        for (; row < stop; row++)
            add_row(s->sums, s->image + row * pitch, pitch);
        for (size_t i = 0; i < pitch; i += a->channels)
            for (size_t c = 0; c < a->channels; c++)
                s->means[c] += s->sums[i + c];
    }
    for (size_t c = 0; c < a->channels; c++)
        s->means[c] /= (double)a->out_width * (double)a->out_height;
}

static uint64_t squares(const uint8_t *x, size_t count) {
    uint64_t total = 0;
    while (count) {
        const size_t some = count < SQUARES_SUMMED ? count : SQUARES_SUMMED;
        uint32_t sum = 0;
        for (size_t i = 0; i < some; i++)
            sum += (uint32_t)x[i] * x[i];
        total += sum;
        x += some;
        count -= some;
    }
    return total;
}

/* Computes the shift of each column, and returns the scale of all columns. */
static float plan(const fr_augment *a, const chance *drawn, const scratch *s) {
    const size_t pitch = a->out_width * a->channels;
    const double values = (double)a->out_height * (double)pitch, channels = (double)a->channels;
    const double f = drawn->contrast, d = drawn->brightness;
    double mean = 0, between_channels = 0, scale = 1, centre = 0;
    find_means(a, s);
    for (size_t c = 0; c < a->channels; c++) {
        mean += s->means[c] / channels;
        between_channels += s->means[c] * s->means[c] / channels;
    }
    if (a->standardize) {
        const double all = (double)squares(s->image, a->out_height * pitch) / values;
        const double variance = f * f * (all - between_channels) + between_channels - mean * mean;
        scale = 1 / fmax(sqrt(fmax(variance, 0)), 1 / sqrt(values));
        centre = mean + d;
    }
    for (size_t c = 0; c < a->channels; c++)
        s->shift[c] = (float)(((1 - f) * s->means[c] + d - centre) * scale);
    for (size_t i = a->channels; i < pitch; i++)
        s->shift[i] = s->shift[i - a->channels];
    return (float)(f * scale);
}

static void write_floats(const fr_augment *a, const scratch *s, float scale, float *restrict out) {
    const size_t pitch = a->out_width * a->channels;
    const float *restrict shift = s->shift;
    for (size_t row = 0; row < a->out_height; row++, out += pitch) {
        const uint8_t *restrict x = s->image + row * pitch;
        for (size_t i = 0; i < pitch; i++)
            out[i] = (float)x[i] * scale + shift[i];
    }
}

int fr_augment_floats(const fr_augment *augment, const uint8_t *images, const uint64_t *keys,
                      size_t count, float *out, fr_error *err) {
    const fr_augment *a = augment;
    const size_t pitch = a->out_width * a->channels, size = a->out_height * pitch;
    const size_t means = a->channels * sizeof(double), shift = pitch * sizeof(float);
    const size_t total = means + shift + pitch * sizeof(uint16_t) + size;
    uint8_t *room = malloc(total);
    if (!room) return fr_fail_nomem(err, total);
    const scratch s = {(double *)(void *)room, (float *)(void *)(room + means),
                       (uint16_t *)(void *)(room + means + shift), room + total - size};
    for (size_t i = 0; i < count; i++) {
        chance drawn = draw(a, keys[i]);
        cut(a, &drawn, images + i * a->height * a->width * a->channels, s.image);
        const float scale = plan(a, &drawn, &s);
        write_floats(a, &s, scale, out + i * size);
    }
    free(room);
    return FR_OK;
}

void fr_augment_bytes(const fr_augment *augment, const uint8_t *images, const uint64_t *keys,
                      size_t count, uint8_t *out) {
    const fr_augment *a = augment;
    const size_t size = a->out_height * a->out_width * a->channels;
    for (size_t i = 0; i < count; i++) {
        chance drawn = draw(a, keys[i]);
        cut(a, &drawn, images + i * a->height * a->width * a->channels, out + i * size);
    }
}
