/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that changes values is affine in each channel, so it is worked out before it is done: one
 * pass over the cut picture finds sum and sum of squares by channel, in integers; brightness d and
 * contrast f make of x
 *
 *     f * x + (1 - f) * mean + d
 *
 * whose mean and variance follow from those of x; and one pass writes scale * x + shift. Both
 * passes go along rows, every column with its channel's numbers, which vectorises for any number of
 * channels.
 */
#include "augment.h"

#include <math.h>
#include <stdlib.h>

#define SIDE_MAX 65536 /* sums of squares of a column fit 32 bits: 255 * 255 * 65536 < 2^32 */
#define CHANNELS_MAX 1024

int fr_augment_check(const fr_augment *augment, fr_error *err) {
    const fr_augment *a = augment;
    const size_t sides[] = {a->height, a->width, a->out_height, a->out_width};
    for (int i = 0; i < 4; i++)
        if (sides[i] < 1 || sides[i] > SIDE_MAX)
            return fr_fail(err, FR_ERR_ARG, "a picture has a side of %zu, it has to be 1 to %d",
                           sides[i], SIDE_MAX);
    if (a->channels < 1 || a->channels > CHANNELS_MAX)
        return fr_fail(err, FR_ERR_ARG, "pictures have 1 to %d channels, not %zu", CHANNELS_MAX,
                       a->channels);
    if (a->random_crop && (a->out_height > a->height || a->out_width > a->width))
        return fr_fail(err, FR_ERR_ARG,
                       "a crop of %zu x %zu does not fit in a picture of %zu x %zu", a->out_height,
                       a->out_width, a->height, a->width);
    if (!(a->brightness >= 0 && a->brightness < INFINITY))
        return fr_fail(err, FR_ERR_ARG, "brightness is changed by up to a number of at least 0");
    if (!(a->contrast_low >= 0 && a->contrast_high >= a->contrast_low &&
          a->contrast_high < INFINITY))
        return fr_fail(err, FR_ERR_ARG, "contrast is a factor between two ascending numbers");
    return FR_OK;
}

typedef struct {
    size_t top, left; /* of a random crop */
    bool flip;
    float brightness, contrast;
} chance;

static size_t below(fr_philox *philox, size_t count) {
    return (size_t)((uint64_t)fr_philox_next(philox) * count >> 32);
}

static float between(fr_philox *philox, float low, float high) {
    return low + (high - low) * (float)(fr_philox_next(philox) >> 8) * 0x1p-24f;
}

/* All are drawn always, so that what is switched off does not change the rest. */
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

/* Along one side: `count` of the picture's from `from` on come to `to` in the cut. */
typedef struct {
    size_t from, to, count;
} span;

static span cut_side(size_t size, size_t out, bool random, size_t at) {
    if (random) return (span){at, 0, out};
    if (size >= out) return (span){(size - out) / 2, 0, out};
    return (span){0, (out - size) / 2, size};
}

static void mirror_row(uint8_t *row, size_t width, size_t channels) {
    for (size_t i = 0, j = width - 1; i < j; i++, j--)
        for (size_t c = 0; c < channels; c++) {
            uint8_t swapped = row[i * channels + c];
            row[i * channels + c] = row[j * channels + c];
            row[j * channels + c] = swapped;
        }
}

static void cut(const fr_augment *a, const chance *drawn, const uint8_t *picture, uint8_t *out) {
    const span rows = cut_side(a->height, a->out_height, a->random_crop, drawn->top);
    const span columns = cut_side(a->width, a->out_width, a->random_crop, drawn->left);
    const size_t pitch = a->width * a->channels, out_pitch = a->out_width * a->channels;
    if (rows.count < a->out_height || columns.count < a->out_width)
        memset(out, 0, a->out_height * out_pitch);
    for (size_t row = 0; row < rows.count; row++) {
        uint8_t *to = out + (rows.to + row) * out_pitch;
        memcpy(to + columns.to * a->channels,
               picture + (rows.from + row) * pitch + columns.from * a->channels,
               columns.count * a->channels);
        if (drawn->flip) mirror_row(to, a->out_width, a->channels);
    }
}

/* Room to work on one picture; each has one entry a column of the cut and channel. */
typedef struct {
    uint8_t *picture;
    uint32_t *sums, *squares;
    float *scale, *shift;
} scratch;

static void add_up(const fr_augment *a, const scratch *s) {
    const size_t pitch = a->out_width * a->channels;
    memset(s->sums, 0, pitch * sizeof *s->sums);
    memset(s->squares, 0, pitch * sizeof *s->squares);
    for (size_t row = 0; row < a->out_height; row++) {
        const uint8_t *restrict x = s->picture + row * pitch;
        uint32_t *restrict sums = s->sums, *restrict squares = s->squares;
        for (size_t i = 0; i < pitch; i++) {
            sums[i] += x[i];
            squares[i] += (uint32_t)x[i] * x[i];
        }
    }
}

typedef struct {
    double mean, variance;
} moments;

static moments channel_moments(const fr_augment *a, const scratch *s, size_t channel) {
    uint64_t sum = 0, square = 0;
    for (size_t i = channel; i < a->out_width * a->channels; i += a->channels) {
        sum += s->sums[i];
        square += s->squares[i];
    }
    double count = (double)a->out_width * (double)a->out_height;
    double mean = (double)sum / count;
    return (moments){mean, (double)square / count - mean * mean};
}

/* The factor and the addend of each column. */
static void plan(const fr_augment *a, const chance *drawn, const scratch *s) {
    const double f = drawn->contrast, channels = (double)a->channels;
    double mean = 0, within = 0, between_channels = 0;
    add_up(a, s);
    for (size_t c = 0; c < a->channels; c++) {
        moments m = channel_moments(a, s, c);
        s->shift[c] = (float)((1 - f) * m.mean + (double)drawn->brightness);
        mean += m.mean / channels;
        within += m.variance / channels;
        between_channels += m.mean * m.mean / channels;
    }
    double scale = 1, centre = 0;
    if (a->standardize) {
        double pixels = (double)a->out_height * (double)a->out_width * channels;
        double variance = f * f * within + between_channels - mean * mean;
        scale = 1 / fmax(sqrt(fmax(variance, 0)), 1 / sqrt(pixels));
        centre = mean + (double)drawn->brightness;
    }
    for (size_t i = a->out_width * a->channels; i-- > 0;) {
        s->shift[i] = (float)(((double)s->shift[i % a->channels] - centre) * scale);
        s->scale[i] = (float)(f * scale);
    }
}

static void write_floats(const fr_augment *a, const scratch *s, float *restrict out) {
    const size_t pitch = a->out_width * a->channels;
    const float *restrict scale = s->scale, *restrict shift = s->shift;
    for (size_t row = 0; row < a->out_height; row++, out += pitch) {
        const uint8_t *restrict x = s->picture + row * pitch;
        for (size_t i = 0; i < pitch; i++)
            out[i] = (float)x[i] * scale[i] + shift[i];
    }
}

int fr_augment_floats(const fr_augment *augment, const uint8_t *pictures, const uint64_t *keys,
                      size_t count, float *out, fr_error *err) {
    const fr_augment *a = augment;
    const size_t pitch = a->out_width * a->channels, size = a->out_height * pitch;
    uint8_t *room = malloc(size + 4 * pitch * sizeof(float) + sizeof(float));
    if (!room) return fr_fail_nomem(err, size);
    const size_t aligned = (size + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    uint32_t *words = (uint32_t *)(void *)(room + aligned);
    const scratch s = {room, words, words + pitch, (float *)(void *)(words + 2 * pitch),
                       (float *)(void *)(words + 3 * pitch)};
    for (size_t i = 0; i < count; i++) {
        chance drawn = draw(a, keys[i]);
        cut(a, &drawn, pictures + i * a->height * a->width * a->channels, s.picture);
        plan(a, &drawn, &s);
        write_floats(a, &s, out + i * size);
    }
    free(room);
    return FR_OK;
}

void fr_augment_bytes(const fr_augment *augment, const uint8_t *pictures, const uint64_t *keys,
                      size_t count, uint8_t *out) {
    const fr_augment *a = augment;
    const size_t size = a->out_height * a->out_width * a->channels;
    for (size_t i = 0; i < count; i++) {
        chance drawn = draw(a, keys[i]);
        cut(a, &drawn, pictures + i * a->height * a->width * a->channels, out + i * size);
    }
}
