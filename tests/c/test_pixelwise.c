/* SPDX-License-Identifier: Apache-2.0 */
/* Steps together against each by itself; sources and results between pages not to be touched. */
#include "tensor/pixelwise.h"

#include <math.h>

#include "image/image_ops.h"
#include "tensor/colour.h"
#include "test.h"

enum { SIDE = 40, CHANNELS = 5, STEPS = 6, MOST = SIDE * SIDE * CHANNELS };

typedef struct {
    uint8_t changes[STEPS];
    float values[STEPS * CHANNELS];
    fr_pixel_steps steps;
    size_t height, width;
} program;

static void random_program(uint64_t *random, program *p) {
    p->steps = (fr_pixel_steps){p->changes, p->values, test_random(random) % (STEPS + 1),
                                1 + test_random(random) % CHANNELS};
    p->height = 1 + test_random(random) % SIDE, p->width = 1 + test_random(random) % SIDE;
    for (size_t i = 0; i < p->steps.count; i++) {
        const uint64_t one = test_random(random);
        p->changes[i] = (uint8_t)(one % FR_PIXEL_CHANGE_COUNT);
        const bool coloured = p->changes[i] == FR_PIXEL_HUE || p->changes[i] == FR_PIXEL_SATURATION;
        if (coloured && p->steps.channels != 3) p->changes[i] = FR_PIXEL_ADD;
        for (size_t c = 0; c < p->steps.channels; c++) /* one for all channels, or one each */
            p->values[i * p->steps.channels + c] =
                (float)((one >> 8 & 1 ? test_random(random) : one >> 9) % 64) / 16 - 1;
    }
}

/* One step of one number. */
static float stepped(const program *p, size_t i, const float *means, size_t c, float x) {
    const float by = p->values[i * p->steps.channels + c];
    const float factor = p->values[i * p->steps.channels];
    switch (p->changes[i]) {
        case FR_PIXEL_ADD:
            return x + by;
        case FR_PIXEL_SUBTRACT:
            return x - by;
        case FR_PIXEL_MULTIPLY:
            return x * by;
        case FR_PIXEL_DIVIDE:
            return x / by;
        case FR_PIXEL_MINIMUM:
            return isnan(x) ? x : fminf(x, by);
        case FR_PIXEL_MAXIMUM:
            return isnan(x) ? x : fmaxf(x, by);
        case FR_PIXEL_CONTRAST:
            return (x - means[c]) * factor + means[c];
        default:
            return x;
    }
}

static void by_steps(const program *p, float *image) {
    const size_t count = p->height * p->width, channels = p->steps.channels;
    float means[CHANNELS];
    for (size_t i = 0; i < p->steps.count; i++) {
        const float first = p->values[i * channels];
        CHECK(fr_image_ops_means(image, p->height, p->width, channels, means, NULL) == FR_OK);
        if (p->changes[i] == FR_PIXEL_HUE) fr_colour_turn_hue(image, count, first, image);
        if (p->changes[i] == FR_PIXEL_SATURATION)
            fr_colour_scale_saturation(image, count, first, image);
        for (size_t k = 0; k < count * channels; k++)
            image[k] = stepped(p, i, means, k % channels, image[k]);
    }
}

static bool same(const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))) return false;
    return true;
}

static void steps_together_are_each_by_itself(void) {
    static float expected[MOST];
    uint64_t random = 5;
    test_guarded from = test_guarded_new(MOST * sizeof(float));
    test_guarded to = test_guarded_new(MOST * sizeof(float));
    for (int trial = 0; trial < 3000; trial++) {
        program p;
        random_program(&random, &p);
        CHECK(fr_pixel_steps_check(&p.steps, NULL) == FR_OK);
        const bool is_float = test_random(&random) % 2, mirror = test_random(&random) % 2;
        const size_t channels = p.steps.channels, size = p.height * p.width * channels;
        uint8_t *pixels = from.end - size * (is_float ? sizeof(float) : 1);
        for (size_t k = 0; k < size; k++) {
            const size_t row = k / channels / p.width, column = k / channels % p.width;
            const size_t at = row * p.width + (mirror ? p.width - 1 - column : column);
            const uint8_t byte = (uint8_t)test_random(&random);
            const float x = is_float && byte == 0 ? NAN : byte;
            if (is_float)
                memcpy(pixels + k * sizeof x, &x, sizeof x);
            else
                pixels[k] = byte;
            expected[at * channels + k % channels] = x;
        }
        by_steps(&p, expected);
        const fr_pixel_source source = {
            {pixels, p.width * channels * (is_float ? sizeof(float) : 1), is_float},
            p.height,
            p.width,
            mirror};
        float *out = (float *)(void *)to.end - size;
        CHECK(fr_pixelwise_change(&p.steps, &source, out, NULL) == FR_OK);
        CHECK_CASE(same(out, expected, size), "trial %d", trial);
    }
    test_guarded_free(&from);
    test_guarded_free(&to);
}

static void resized_images_are_changed_row_by_row(void) {
    static float expected[MOST];
    static uint8_t pixels[MOST];
    uint64_t random = 6;
    test_fill(pixels, sizeof pixels, 7);
    test_guarded to = test_guarded_new(MOST * sizeof(float));
    for (int trial = 0; trial < 1000; trial++) {
        program p;
        random_program(&random, &p);
        const fr_interpolation how = {.filter =
                                          (fr_filter)(test_random(&random) % FR_FILTER_COUNT)};
        const fr_sampling rows = fr_sampling_whole(1 + test_random(&random) % SIDE, p.height);
        const fr_sampling columns = fr_sampling_whole(1 + test_random(&random) % SIDE, p.width);
        const size_t channels = p.steps.channels, size = p.height * p.width * channels;
        fr_resampler r;
        CHECK(fr_resampler_init(&r, &how, &rows, &columns, channels, false, NULL) == FR_OK);
        float *out = (float *)(void *)to.end - size;
        const size_t step = columns.size * channels;
        fr_pixels source = {pixels + r.first_row * step + r.first_column * channels, step, false};
        fr_resampler_image(&r, &source, out);
        memcpy(expected, out, size * sizeof *out);
        by_steps(&p, expected);
        CHECK(fr_pixelwise_resize(&p.steps, &r, &source, out, NULL) == FR_OK);
        CHECK_CASE(same(out, expected, size), "trial %d", trial);
        fr_resampler_free(&r);
    }
    test_guarded_free(&to);
}

/* Bytes that a resampler scales are floats that were scaled before. */
static void scaled_bytes_are_scaled_floats(void) {
    enum { SIZE = 48 * 48 * 3 };
    static uint8_t bytes[SIZE];
    static float floats[SIZE], one[SIZE], other[SIZE];
    test_fill(bytes, sizeof bytes, 8);
    for (size_t i = 0; i < SIZE; i++)
        floats[i] = (float)bytes[i] * (1.0f / 255);
    for (int filter = 0; filter < FR_FILTER_COUNT; filter++)
        for (size_t to = 3; to <= 48; to += 9) {
            const fr_interpolation how = {.filter = (fr_filter)filter};
            const fr_sampling side = fr_sampling_whole(48, to);
            fr_resampler r;
            CHECK(fr_resampler_init(&r, &how, &side, &side, 3, false, NULL) == FR_OK);
            const size_t at = (r.first_row * 48 + r.first_column) * 3;
            const fr_pixels raw = {(const uint8_t *)(const void *)(floats + at),
                                   48 * 3 * sizeof(float), true};
            fr_resampler_image(&r, &raw, one);
            const fr_pixels small = {bytes + at, (size_t)48 * 3, false};
            r.scale = 1.0f / 255;
            fr_resampler_image(&r, &small, other);
            CHECK_CASE(same(one, other, to * to * 3), "filter %d to %zu", filter, to);
            fr_resampler_free(&r);
        }
}

static void wrong_steps_are_refused(void) {
    const uint8_t hue = FR_PIXEL_HUE, none = FR_PIXEL_CHANGE_COUNT;
    const float values[65] = {0};
    fr_error err;
    CHECK(fr_pixel_steps_check(&(fr_pixel_steps){&hue, values, 1, 4}, &err) == FR_ERR_ARG);
    CHECK(fr_pixel_steps_check(&(fr_pixel_steps){&none, values, 1, 3}, &err) == FR_ERR_ARG);
    CHECK(fr_pixel_steps_check(&(fr_pixel_steps){NULL, NULL, 0, 0}, &err) == FR_ERR_ARG);
    CHECK(fr_pixel_steps_check(&(fr_pixel_steps){NULL, NULL, 0, 65}, &err) == FR_ERR_ARG);
    CHECK(fr_pixel_steps_check(&(fr_pixel_steps){&hue, values, 1, 3}, &err) == FR_OK);
}

static void pixels_are_spread(void) {
    uint8_t source[20 * 17], out[20 * 40];
    test_fill(source, sizeof source, 9);
    for (size_t size = 1; size <= 17; size++) {
        memset(out, 0, sizeof out);
        fr_pixels_spread(source, 20, size, 40, out + 3);
        for (size_t i = 0; i < 20; i++)
            CHECK(memcmp(out + 3 + i * 40, source + i * size, size) == 0);
        CHECK(out[0] == 0 && out[2] == 0 && out[3 + size] == 0);
    }
}

int main(void) {
    steps_together_are_each_by_itself();
    resized_images_are_changed_row_by_row();
    scaled_bytes_are_scaled_floats();
    wrong_steps_are_refused();
    pixels_are_spread();
    puts("pixelwise: ok");
    return 0;
}
