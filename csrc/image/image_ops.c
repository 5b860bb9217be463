/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each image is loaded into its place in the result and processed there while it is in the nearest
 * cache. All passes go along rows, with one number per column and channel, which vectorises for any
 * number of channels.
 */
#include "image/image_ops.h"

#include <math.h>
#include <stdlib.h>

static void load_run(const uint8_t *from, size_t count, bool bytes, float *restrict out) {
    if (!bytes) {
        memcpy(out, from, count * sizeof *out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = from[i];
}

/* Loads one channel of a row. */
static void load_steps(const uint8_t *from, int64_t step, size_t count, bool bytes, size_t out_step,
                       float *restrict out) {
    if (bytes) {
        for (size_t i = 0; i < count; i++)
            out[i * out_step] = from[(int64_t)i * step];
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(&out[i * out_step], from + (int64_t)i * step, sizeof *out);
}

static void load(const fr_image_op *d, const uint8_t *from, bool mirrored, float *out) {
    const int64_t size = d->bytes ? 1 : sizeof(float);
    const size_t pitch = d->width * d->channels;
    const bool dense = d->channel_step == size && d->column_step == size * (int64_t)d->channels;
    const int64_t step = mirrored ? -d->column_step : d->column_step;
    if (mirrored) from += (int64_t)(d->width - 1) * d->column_step;
    for (size_t row = 0; row < d->height; row++, from += d->row_step, out += pitch) {
        if (dense && !mirrored) {
            load_run(from, pitch, d->bytes, out);
            continue;
        }
        for (size_t c = 0; c < d->channels; c++)
            load_steps(from + (int64_t)c * d->channel_step, step, d->width, d->bytes, d->channels,
                       out + c);
    }
}

static void brighten(float *x, size_t count, float delta) {
    for (size_t i = 0; i < count; i++)
        x[i] += delta;
}

/* Computes the mean of each channel. `sums` has one element per column and channel. */
static void channel_means(const float *x, size_t height, size_t width, size_t channels,
                          double *restrict sums, float *restrict means) {
    const size_t pitch = width * channels;
    memset(sums, 0, pitch * sizeof *sums);
    for (size_t row = 0; row < height; row++, x += pitch)
        for (size_t i = 0; i < pitch; i++)
            sums[i] += (double)x[i];
    for (size_t c = 0; c < channels; c++) {
        double sum = 0;
        for (size_t i = c; i < pitch; i += channels)
            sum += sums[i];
        means[c] = (float)(sum / ((double)width * (double)height));
    }
}

int fr_image_ops_means(const float *image, size_t height, size_t width, size_t channels,
                       float *means, fr_error *err) {
    const size_t bytes = width * channels * sizeof(double);
    double *sums = malloc(bytes);
    if (!sums) return fr_fail_nomem(err, bytes);
    channel_means(image, height, width, channels, sums, means);
    free(sums);
    return FR_OK;
}

static void change_contrast(const fr_image_op *d, float factor, const float *restrict means,
                            float *x) {
    const size_t pitch = d->width * d->channels;
    for (size_t row = 0; row < d->height; row++, x += pitch)
        for (size_t i = 0; i < pitch; i++)
            x[i] = (x[i] - means[i]) * factor + means[i];
}

#define LANES 8

static double total(const double *lanes) {
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

static double mean_of(const float *x, size_t count) {
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; count - i >= LANES; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += (double)x[i + k];
    for (; i < count; i++)
        lanes[i % LANES] += (double)x[i];
    return total(lanes) / (double)count;
}

static double mean_square_of(const float *x, size_t count) {
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; count - i >= LANES; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < count; i++)
        lanes[i % LANES] += (double)x[i] * (double)x[i];
    return total(lanes) / (double)count;
}

static void standardize(float *x, size_t count) {
    const float mean = (float)mean_of(x, count);
    for (size_t i = 0; i < count; i++)
        x[i] -= mean;
    const float deviation = sqrtf((float)mean_square_of(x, count));
    const float least = 1 / sqrtf((float)count);
    const float divisor = deviation < least ? least : deviation; /* NaN stays NaN */
    for (size_t i = 0; i < count; i++)
        x[i] /= divisor;
}

int fr_image_ops_apply(const fr_image_op *distortion, const uint8_t *source, const int64_t *offsets,
                       size_t count, float *out, fr_error *err) {
    const fr_image_op *d = distortion;
    const size_t pitch = d->width * d->channels, size = d->height * pitch;
    double *sums = malloc(pitch * (sizeof *sums + sizeof(float)));
    if (!sums) return fr_fail_nomem(err, pitch * (sizeof *sums + sizeof(float)));
    float *means = (float *)(void *)(sums + pitch);
    for (size_t i = 0; i < count; i++, out += size) {
        load(d, source + offsets[i], d->mirror && d->mirror[i], out);
        if (d->brightness) brighten(out, size, d->brightness[i]);
        if (d->contrast) {
            channel_means(out, d->height, d->width, d->channels, sums, means);
            for (size_t k = d->channels; k < pitch; k++)
                means[k] = means[k - d->channels]; /* repeats the means for each column of a row */
            change_contrast(d, d->contrast[i], means, out);
        }
        if (d->standardize) standardize(out, size);
    }
    free(sums);
    return FR_OK;
}
