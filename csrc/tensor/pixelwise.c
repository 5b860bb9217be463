/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pixelwise.h"

#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "image/image_ops.h"
#include "tensor/colour.h"

#define CHANNELS_MAX 64
#define RUN 512 /* pixels of three channels that stay in the first-level cache */
#define LANES 8

int fr_pixel_steps_check(const fr_pixel_steps *steps, fr_error *err) {
    if (steps->channels < 1 || steps->channels > CHANNELS_MAX)
        return fr_fail(err, FR_ERR_ARG, "channels must be 1 to %d, got %zu", CHANNELS_MAX,
                       steps->channels);
    for (size_t i = 0; i < steps->count; i++) {
        const uint8_t change = steps->changes[i];
        if (change >= FR_PIXEL_CHANGE_COUNT)
            return fr_fail(err, FR_ERR_ARG, "change %u is out of range (0 to %d)", change,
                           FR_PIXEL_CHANGE_COUNT - 1);
        if ((change == FR_PIXEL_HUE || change == FR_PIXEL_SATURATION) && steps->channels != 3)
            return fr_fail(err, FR_ERR_ARG, "channels must be 3, got %zu", steps->channels);
    }
    return FR_OK;
}

#define INLINE __attribute__((always_inline)) static inline

static inline float least(float a, float b) {
    return a < b || isnan(a) ? a : b;
}

static inline float most(float a, float b) {
    return a > b || isnan(a) ? a : b;
}

/* Applies an expression to each number with a pattern of `period` values, a multiple of LANES. */
#define EACH(expression)                                                                           \
    for (; count - i >= period; i += period)                                                       \
        for (size_t j = 0; j < period; j++) {                                                      \
            const float a = x[i + j], b = by[j];                                                   \
            x[i + j] = (expression);                                                               \
        }                                                                                          \
    for (size_t j = 0; i + j < count; j++) {                                                       \
        const float a = x[i + j], b = by[j];                                                       \
        x[i + j] = (expression);                                                                   \
    }                                                                                              \
    break

INLINE void arithmetic(fr_pixel_change change, const float *restrict by, size_t period,
                       size_t count, float *restrict x) {
    size_t i = 0;
    switch (change) {
        case FR_PIXEL_ADD:
            EACH(a + b);
        case FR_PIXEL_SUBTRACT:
            EACH(a - b);
        case FR_PIXEL_MULTIPLY:
            EACH(a * b);
        case FR_PIXEL_DIVIDE:
            EACH(a / b);
        case FR_PIXEL_MINIMUM:
            EACH(least(a, b));
        case FR_PIXEL_MAXIMUM:
            EACH(most(a, b));
        default:
            break;
    }
}

INLINE void by_period(fr_pixel_change change, const float *by, size_t period, size_t count,
                      float *x) {
    if (period == LANES)
        arithmetic(change, by, LANES, count, x);
    else if (period == 3 * LANES)
        arithmetic(change, by, 3 * LANES, count, x);
    else
        arithmetic(change, by, period, count, x);
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static void by_period_wide(fr_pixel_change change, const float *by, size_t period,
                                size_t count, float *x) {
    by_period(change, by, period, count, x);
}
#else
#define by_period_wide by_period
#endif

/* Applies a change. `values` has one number for all channels, or one for each. */
static void calculate(fr_pixel_change change, const float *values, size_t channels, size_t count,
                      float *x) {
    float by[LANES * CHANNELS_MAX];
    bool alike = true;
    for (size_t c = 1; c < channels; c++)
        alike &= memcmp(&values[c], &values[0], sizeof *values) == 0;
    if (alike) channels = 1;
    for (size_t i = 0; i < LANES * channels; i++)
        by[i] = values[i % channels];
    if (fr_cpu_features() & FR_CPU_AVX2)
        by_period_wide(change, by, LANES * channels, count, x);
    else
        by_period(change, by, LANES * channels, count, x);
}

/* Runs the steps from number `from` until one needs more than a single pixel, and returns its
   number. */
static size_t run(const fr_pixel_steps *s, size_t from, float *pixels, size_t count) {
    size_t step = from;
    for (; step < s->count && s->changes[step] != FR_PIXEL_CONTRAST; step++) {
        const fr_pixel_change change = s->changes[step];
        const float *values = s->values + step * s->channels;
        if (change == FR_PIXEL_HUE)
            fr_colour_turn_hue(pixels, count, values[0], pixels);
        else if (change == FR_PIXEL_SATURATION)
            fr_colour_scale_saturation(pixels, count, values[0], pixels);
        else
            calculate(change, values, s->channels, count * s->channels, pixels);
    }
    return step;
}

static size_t run_all(const fr_pixel_steps *s, size_t from, float *pixels, size_t count) {
    size_t step = from;
    for (size_t i = 0; i < count; i += RUN)
        step = run(s, from, pixels + i * s->channels, count - i < RUN ? count - i : RUN);
    return step;
}

/* Runs the steps from number `from`. That step, if it exists, needs the whole image. */
static int finish(const fr_pixel_steps *s, size_t from, size_t height, size_t width, float *image,
                  fr_error *err) {
    float means[CHANNELS_MAX], factors[CHANNELS_MAX], values[3 * CHANNELS_MAX];
    const uint8_t changes[3] = {FR_PIXEL_SUBTRACT, FR_PIXEL_MULTIPLY, FR_PIXEL_ADD};
    const size_t channels = s->channels;
    for (size_t step = from; step < s->count;) {
        FR_TRY(fr_image_ops_means(image, height, width, channels, means, err));
        for (size_t c = 0; c < channels; c++)
            factors[c] = s->values[step * channels];
        memcpy(values, means, channels * sizeof *values);
        memcpy(values + channels, factors, channels * sizeof *values);
        memcpy(values + 2 * channels, means, channels * sizeof *values);
        const fr_pixel_steps contrast = {changes, values, 3, channels};
        const size_t next = step + 1;
        for (size_t i = 0; i < height * width; i += RUN) {
            const size_t count = height * width - i < RUN ? height * width - i : RUN;
            run(&contrast, 0, image + i * channels, count);
            step = run(s, next, image + i * channels, count);
        }
    }
    return FR_OK;
}

/* Loads a row as floats. */
static void load(const fr_pixel_source *source, size_t row, size_t channels, float *out) {
    const fr_pixels *p = &source->pixels;
    const uint8_t *from = p->data + row * p->row_step;
    const size_t count = source->width * channels;
    if (p->is_float && source->mirror) {
        fr_colour_mirror(from, 1, source->width, channels * sizeof *out, (uint8_t *)out);
    } else if (p->is_float) {
        memcpy(out, from, count * sizeof *out);
    } else if (source->mirror) {
        for (size_t i = 0; i < source->width; i++)
            for (size_t c = 0; c < channels; c++)
                out[i * channels + c] = from[(source->width - 1 - i) * channels + c];
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = from[i];
    }
}

int fr_pixelwise_change(const fr_pixel_steps *steps, const fr_pixel_source *source, float *out,
                        fr_error *err) {
    const size_t pitch = source->width * steps->channels;
    size_t step = 0;
    for (size_t row = 0; row < source->height; row++) {
        load(source, row, steps->channels, out + row * pitch);
        step = run_all(steps, 0, out + row * pitch, source->width);
    }
    return finish(steps, step, source->height, source->width, out, err);
}

int fr_pixelwise_resize(const fr_pixel_steps *steps, fr_resampler *resampler,
                        const fr_pixels *source, float *out, fr_error *err) {
    const size_t width = resampler->columns.count, height = resampler->rows.count;
    size_t step = 0;
    fr_resampler_restart(resampler);
    for (size_t row = 0; row < height; row++) {
        float *line = out + row * width * steps->channels;
        fr_resampler_row(resampler, source, row, line);
        step = run_all(steps, 0, line, width);
    }
    return finish(steps, step, height, width, out, err);
}

/* Copies of a size that the compiler knows are moves. */
#define SPREAD(n)                                                                                  \
    case n:                                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            memcpy(out + i * pitch, source + i * (n), n);                                          \
        break

void fr_pixels_spread(const uint8_t *source, size_t count, size_t size, size_t pitch,
                      uint8_t *out) {
    switch (size) {
        SPREAD(1);
        SPREAD(3);
        SPREAD(4);
        SPREAD(12);
        SPREAD(16);
        default:
            for (size_t i = 0; i < count; i++)
                memcpy(out + i * pitch, source + i * size, size);
    }
}
