/* SPDX-License-Identifier: Apache-2.0 */
/* Every step against its formula in doubles; sources and results between pages not to be touched.
 */
#include "image/image_ops.h"

#include <math.h>

#include "test.h"

enum { IMAGES = 3, SIDE = 9, CHANNELS = 4, MOST = SIDE * SIDE * CHANNELS };

typedef struct {
    fr_image_op how;
    uint8_t mirror[IMAGES];
    float brightness[IMAGES], contrast[IMAGES];
    int64_t offsets[IMAGES];
    size_t height, width; /* of the source */
} distortion;

/* Steps of pixels that lie one after the other, or of planes of a channel each. */
static void lay_out(distortion *d, bool planar) {
    const int64_t size = d->how.bytes ? 1 : sizeof(float);
    const int64_t width = (int64_t)d->width, channels = (int64_t)d->how.channels;
    d->how.channel_step = planar ? (int64_t)d->height * width * size : size;
    d->how.column_step = planar ? size : channels * size;
    d->how.row_step = width * d->how.column_step;
}

static distortion random_distortion(uint64_t *random) {
    distortion d = {.height = 1 + test_random(random) % SIDE,
                    .width = 1 + test_random(random) % SIDE,
                    .how = {.channels = 1 + test_random(random) % CHANNELS,
                            .bytes = test_random(random) % 2,
                            .standardize = test_random(random) % 2}};
    d.how.height = 1 + test_random(random) % d.height;
    d.how.width = 1 + test_random(random) % d.width;
    lay_out(&d, test_random(random) % 2);
    const int64_t size = d.how.bytes ? 1 : sizeof(float);
    const int64_t image = (int64_t)(d.height * d.width * d.how.channels) * size;
    for (int64_t i = 0; i < IMAGES; i++) {
        const size_t top = test_random(random) % (d.height - d.how.height + 1);
        const size_t left = test_random(random) % (d.width - d.how.width + 1);
        d.offsets[i] =
            i * image + (int64_t)top * d.how.row_step + (int64_t)left * d.how.column_step;
        d.mirror[i] = test_random(random) % 2;
        d.brightness[i] = (float)(test_random(random) % 1000) / 8 - 60;
        d.contrast[i] = (float)(test_random(random) % 1000) / 500;
    }
    return d;
}

static double pixel(const distortion *d, const uint8_t *source, size_t k, size_t i) {
    const size_t channels = d->how.channels, width = d->how.width;
    size_t row = i / channels / width, column = i / channels % width;
    if (d->how.mirror && d->how.mirror[k]) column = width - 1 - column;
    const uint8_t *at = source + d->offsets[k] + (int64_t)row * d->how.row_step +
                        (int64_t)column * d->how.column_step +
                        (int64_t)(i % channels) * d->how.channel_step;
    float single;
    if (d->how.bytes) return *at;
    memcpy(&single, at, sizeof single);
    return (double)single;
}

static void by_formula(const distortion *d, const uint8_t *source, size_t k, double *out) {
    const size_t channels = d->how.channels, size = d->how.height * d->how.width * channels;
    for (size_t c = 0; c < channels; c++) {
        double sum = 0, count = (double)(size / channels);
        for (size_t i = c; i < size; i += channels) {
            out[i] = pixel(d, source, k, i);
            if (d->how.brightness) out[i] += (double)d->how.brightness[k];
            sum += out[i];
        }
        for (size_t i = c; i < size && d->how.contrast; i += channels)
            out[i] = (out[i] - sum / count) * (double)d->how.contrast[k] + sum / count;
    }
    if (!d->how.standardize) return;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < size; i++)
        mean += out[i] / (double)size;
    for (size_t i = 0; i < size; i++)
        variance += (out[i] - mean) * (out[i] - mean) / (double)size;
    for (size_t i = 0; i < size; i++)
        out[i] = (out[i] - mean) / fmax(sqrt(variance), 1 / sqrt((double)size));
}

static void check(const distortion *d, const uint8_t *source, test_guarded room) {
    const size_t size = d->how.height * d->how.width * d->how.channels;
    double expected[MOST];
    float *out = (float *)(void *)room.end - IMAGES * size;
    CHECK(fr_image_ops_apply(&d->how, source, d->offsets, IMAGES, out, NULL) == FR_OK);
    for (size_t k = 0; k < IMAGES; k++) {
        by_formula(d, source, k, expected);
        for (size_t i = 0; i < size; i++)
            CHECK_CASE(fabs((double)out[k * size + i] - expected[i]) < 2e-3,
                       "image %zu at %zu: %f, not %f", k, i, (double)out[k * size + i],
                       expected[i]);
    }
}

/* The same to the bit, by a call a step. */
static void check_steps(const distortion *d, const uint8_t *source, const float *whole) {
    const size_t size = d->how.height * d->how.width * d->how.channels;
    static float at_once[IMAGES * MOST], out[IMAGES * MOST];
    int64_t offsets[IMAGES];
    fr_image_op dense = d->how, cut = d->how;
    dense.bytes = false, dense.mirror = NULL;
    dense.channel_step = sizeof(float);
    dense.column_step = (int64_t)(d->how.channels * sizeof(float));
    dense.row_step = (int64_t)d->how.width * dense.column_step;
    for (size_t k = 0; k < IMAGES; k++)
        offsets[k] = (int64_t)(k * size * sizeof(float));
    cut.brightness = cut.contrast = NULL, cut.standardize = false;
    CHECK(fr_image_ops_apply(&cut, source, d->offsets, IMAGES, out, NULL) == FR_OK);
    for (int step = 0; step < 3; step++) {
        fr_image_op one = dense;
        if (step != 0) one.brightness = NULL;
        if (step != 1) one.contrast = NULL;
        one.standardize = step == 2 && dense.standardize;
        memcpy(at_once, out, sizeof at_once);
        const uint8_t *from = (const uint8_t *)(const void *)at_once;
        CHECK(fr_image_ops_apply(&one, from, offsets, IMAGES, out, NULL) == FR_OK);
    }
    CHECK(memcmp(out, whole, IMAGES * size * sizeof *out) == 0);
}

static void images_become_what_the_formulas_say(void) {
    uint64_t random = 1;
    test_guarded room = test_guarded_new(IMAGES * MOST * sizeof(float));
    test_guarded result = test_guarded_new(IMAGES * MOST * sizeof(float));
    for (int i = 0; i < 3000; i++) {
        distortion d = random_distortion(&random);
        const size_t count = d.height * d.width * d.how.channels * IMAGES;
        uint8_t *source = room.end - count * (d.how.bytes ? 1 : sizeof(float));
        for (size_t k = 0; k < count; k++) {
            const float single = (float)(test_random(&random) % 2048) / 8;
            if (d.how.bytes)
                source[k] = (uint8_t)single;
            else
                memcpy(source + k * sizeof single, &single, sizeof single);
        }
        d.how.mirror = test_random(&random) % 2 ? d.mirror : NULL;
        d.how.brightness = test_random(&random) % 2 ? d.brightness : NULL;
        d.how.contrast = test_random(&random) % 2 ? d.contrast : NULL;
        check(&d, source, result);
        const size_t size = d.how.height * d.how.width * d.how.channels;
        check_steps(&d, source, (float *)(void *)result.end - IMAGES * size);
    }
    test_guarded_free(&room);
    test_guarded_free(&result);
}

static void flat_images_and_no_numbers_stay_what_they_are(void) {
    float flat[12], out[12];
    const int64_t offset = 0;
    const fr_image_op how = {.height = 2,
                             .width = 2,
                             .channels = 3,
                             .row_step = 24,
                             .column_step = 12,
                             .channel_step = 4,
                             .standardize = true};
    for (int i = 0; i < 12; i++)
        flat[i] = 0.1f;
    const uint8_t *source = (const uint8_t *)(const void *)flat;
    CHECK(fr_image_ops_apply(&how, source, &offset, 1, out, NULL) == FR_OK);
    for (int i = 0; i < 12; i++)
        CHECK(out[i] == 0);
    flat[5] = NAN;
    CHECK(fr_image_ops_apply(&how, source, &offset, 1, out, NULL) == FR_OK);
    for (int i = 0; i < 12; i++)
        CHECK(isnan(out[i]));
}

int main(void) {
    images_become_what_the_formulas_say();
    flat_images_and_no_numbers_stay_what_they_are();
    printf("distort: ok\n");
    return 0;
}
