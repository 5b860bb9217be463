/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images and results lie flush against pages that nobody may touch; weights sum up to one and stay
 * inside of the source; numbers are rounded as the compiler's types round them.
 */
#include "image/preprocess.h"

#include <math.h>

#include "test.h"

static fr_sampling random_side(uint64_t *random, size_t size) {
    fr_sampling side = fr_sampling_whole(size, 1 + test_random(random) % 40);
    if (test_random(random) % 2) {
        side.first = test_random(random) % side.total;
        side.count = 1 + test_random(random) % (side.total - side.first);
    }
    if (test_random(random) % 4 == 0) side.begin = 0.25f, side.length -= 0.5f;
    return side;
}

static void test_taps(uint64_t *random) {
    for (int trial = 0; trial < 3000; trial++) {
        const fr_interpolation how = {.filter = (fr_filter)(test_random(random) % FR_FILTER_COUNT),
                                      .antialias = test_random(random) % 2,
                                      .align_corners = test_random(random) % 2,
                                      .legacy_centers = test_random(random) % 2};
        const fr_sampling side = random_side(random, 1 + test_random(random) % 60);
        fr_taps taps;
        fr_error err;
        CHECK(fr_taps_init(&taps, &side, &how, test_random(random) % 2, &err) == FR_OK);
        for (size_t i = 0; i < taps.count; i++) {
            double sum = 0;
            CHECK(taps.used[i] <= taps.reach);
            for (size_t k = 0; k < taps.used[i]; k++) {
                CHECK(taps.places[i * taps.reach + k] < side.size);
                sum += (double)taps.weights[i * taps.reach + k];
            }
            if (how.filter == FR_FILTER_AREA) sum /= (double)taps.scale;
            const bool whole = side.begin == 0 && !how.align_corners;
            if (whole) CHECK_CASE(fabs(sum - 1) < 1e-3, "filter %d: %g", (int)how.filter, sum);
        }
        fr_taps_free(&taps);
    }
}

static void test_resample(uint64_t *random) {
    for (int trial = 0; trial < 2000; trial++) {
        const size_t rows = 1 + test_random(random) % 20, columns = 1 + test_random(random) % 20;
        const size_t channels = 1 + test_random(random) % 5;
        const bool is_float = test_random(random) % 2;
        const size_t pixel = channels * (is_float ? sizeof(float) : 1);
        const fr_interpolation how = {.filter = (fr_filter)(test_random(random) % FR_FILTER_COUNT),
                                      .antialias = test_random(random) % 2};
        const fr_sampling down = random_side(random, rows), across = random_side(random, columns);
        fr_resampler r;
        fr_error err;
        CHECK(fr_resampler_init(&r, &how, &down, &across, channels, trial % 2, &err) == FR_OK);
        const size_t bytes = r.height * r.width * pixel;
        const size_t floats = down.count * across.count * channels;
        test_guarded from = test_guarded_new(bytes);
        test_guarded to = test_guarded_new(floats * sizeof(float));
        memset(from.end - bytes, 0, bytes);
        const fr_pixels source = {from.end - bytes, r.width * pixel, is_float};
        float *out = (float *)(void *)(to.end - floats * sizeof(float));
        fr_resampler_image(&r, &source, out);
        for (size_t i = 0; i < floats; i++)
            CHECK(out[i] == 0);
        fr_resampler_free(&r);
        test_guarded_free(&from);
        test_guarded_free(&to);
    }
}

/* An image resized, one float a channel and pixel. */
static float *resized(const fr_interpolation *how, const fr_sampling *down,
                      const fr_sampling *across, const uint8_t *pixels, size_t channels,
                      size_t step, bool mirror) {
    fr_resampler r;
    fr_error err;
    CHECK(fr_resampler_init(&r, how, down, across, channels, mirror, &err) == FR_OK);
    float *out = malloc(down->count * across->count * channels * sizeof *out);
    CHECK(out);
    const fr_pixels source = {pixels + r.first_row * step + r.first_column * channels, step, false};
    fr_resampler_image(&r, &source, out);
    fr_resampler_free(&r);
    return out;
}

/* Pixels of three channels, which are vectors, and each channel by itself: the same bits. */
static void test_channels(uint64_t *random) {
    for (int trial = 0; trial < 3000; trial++) {
        const size_t rows = 1 + test_random(random) % 30, columns = 1 + test_random(random) % 30;
        const fr_interpolation how = {.filter = (fr_filter)(test_random(random) % FR_FILTER_COUNT),
                                      .antialias = test_random(random) % 2,
                                      .legacy_centers = test_random(random) % 4 == 0};
        const fr_sampling down = random_side(random, rows), across = random_side(random, columns);
        const size_t count = down.count * across.count;
        uint8_t pixels[3 * 30 * 30], plane[30 * 30];
        test_fill(pixels, sizeof pixels, trial);
        float *all = resized(&how, &down, &across, pixels, 3, 3 * columns, trial % 2);
        for (size_t channel = 0; channel < 3; channel++) {
            for (size_t i = 0; i < rows * columns; i++)
                plane[i] = pixels[3 * i + channel];
            float *one = resized(&how, &down, &across, plane, 1, columns, trial % 2);
            for (size_t i = 0; i < count; i++)
                CHECK_CASE(memcmp(&one[i], &all[3 * i + channel], sizeof *one) == 0,
                           "filter %d: %a, in threes %a", (int)how.filter, (double)one[i],
                           (double)all[3 * i + channel]);
            free(one);
        }
        free(all);
    }
}

/* The same of formats, flush against a page on both sides. */
static void test_formats(uint64_t *random) {
    for (int trial = 0; trial < 3000; trial++) {
        const size_t width = 1 + test_random(random) % 40, height = 1 + test_random(random) % 3;
        const fr_pixel_type type = (fr_pixel_type)(test_random(random) % FR_PIXEL_COUNT);
        const fr_pixel_format f = {type, trial % 2, height, width, 3, {0.5f, 3, -1}, {-1, 7, 0}};
        const size_t size = fr_pixel_format_size(&f), number = size / (3 * width * height);
        test_guarded to = test_guarded_new(size), from = test_guarded_new(12 * width);
        uint8_t *out = to.end - size;
        float *row = (float *)(void *)(from.end - 12 * width), rows[3][3 * 40];
        for (size_t y = 0; y < height; y++) {
            for (size_t i = 0; i < 3 * width; i++)
                row[i] = rows[y][i] = (float)(test_random(random) % 30000) / 100 - 20;
            if (type != FR_PIXEL_UINT8 && trial % 5 == 0) row[0] = rows[y][0] = NAN;
            fr_pixel_format_row(&f, row, y, out);
        }
        for (size_t i = 0; i < 3 * width * height; i++) {
            const size_t c = i % 3, x = i / 3 % width, y = i / 3 / width;
            const fr_pixel_format alone = {type, false, 1, 1, 1, {f.scale[c]}, {f.shift[c]}};
            uint8_t expected[4];
            fr_pixel_format_row(&alone, &rows[y][3 * x + c], 0, expected);
            const size_t at = f.channels_first ? (c * height + y) * width + x : i;
            CHECK(memcmp(out + at * number, expected, number) == 0);
        }
        test_guarded_free(&to);
        test_guarded_free(&from);
    }
}

static fr_preprocess_options random_options(uint64_t *random) {
    fr_preprocess_options o = {.seed = test_random(random)};
    o.crop = (fr_crop_options){.kind = (fr_crop_kind)(test_random(random) % FR_CROP_COUNT),
                               .out_height = 1 + test_random(random) % 24,
                               .out_width = 1 + test_random(random) % 24,
                               .area_low = 0.01,
                               .area_high = 1,
                               .ratio_low = 0.25,
                               .ratio_high = 4};
    if (test_random(random) % 2) o.crop.shorter = 24;
    o.interpolation.filter = (fr_filter)(test_random(random) % FR_FILTER_COUNT);
    o.interpolation.antialias = test_random(random) % 2;
    o.mirror = 0.5;
    o.format = (fr_pixel_format){.type = (fr_pixel_type)(test_random(random) % FR_PIXEL_COUNT),
                                 .channels_first = test_random(random) % 2,
                                 .height = o.crop.out_height,
                                 .width = o.crop.out_width,
                                 .channels = test_random(random) % 2 ? 1 : 3,
                                 .scale = {1, 1, 1}};
    o.has_jitter = o.format.channels == 3 && test_random(random) % 2;
    o.jitter = (fr_color_jitter){{0.5, 1.5}, {0.5, 1.5}, {0.5, 1.5}, {-0.5, 0.5}};
    return o;
}

static void test_pixels(uint64_t *random) {
    for (int trial = 0; trial < 3000; trial++) {
        const fr_preprocess_options o = random_options(random);
        const size_t height = 1 + test_random(random) % 40, width = 1 + test_random(random) % 40;
        const size_t bytes = height * width * o.format.channels;
        const size_t size = fr_pixel_format_size(&o.format);
        test_guarded from = test_guarded_new(bytes), to = test_guarded_new(size);
        test_fill(from.end - bytes, bytes, trial);
        fr_preprocessor *p;
        fr_error err;
        CHECK(fr_preprocessor_new(&o, &p, &err) == FR_OK);
        const int status = fr_preprocessor_pixels(p, from.end - bytes, height, width,
                                                  test_random(random), to.end - size, &err);
        const bool may_fail = o.crop.kind == FR_CROP_EXACT || o.crop.kind == FR_CROP_RANDOM;
        CHECK(status == FR_OK || (status == FR_ERR_SCHEMA && may_fail));
        fr_preprocessor_free(p);
        test_guarded_free(&from);
        test_guarded_free(&to);
    }
}

static void test_crops(uint64_t *random) {
    for (int trial = 0; trial < 100000; trial++) {
        fr_crop_options o = {.kind = trial % 2 ? FR_CROP_RESIZED : FR_CROP_DISTORTED};
        o.area_low = 0.01 + (double)(test_random(random) % 50) / 100;
        o.area_high = o.area_low + (double)(test_random(random) % 49) / 100;
        o.ratio_low = 0.1 + (double)(test_random(random) % 30) / 10;
        o.ratio_high = o.ratio_low * (1 + (double)(test_random(random) % 5));
        const size_t height = 1 + test_random(random) % 600, width = 1 + test_random(random) % 600;
        fr_philox philox;
        fr_preprocess_stream(1, (uint64_t)trial, FR_DRAW_CROP, &philox);
        const fr_rect box = fr_crop_draw(&o, &philox, height, width);
        CHECK(box.height >= 1 && box.width >= 1);
        CHECK(box.top <= height - box.height && box.left <= width - box.width);
    }
}

/* Every half, and numbers around the middle of two. */
static void test_halves(void) {
#if defined(__FLT16_MAX__)
    const fr_pixel_format f = {
        .type = FR_PIXEL_FLOAT16, .height = 1, .width = 1, .channels = 1, .scale = {1}};
    for (uint32_t bits = 0; bits < 65536; bits++)
        for (int away = -1; away <= 1; away++) {
            const uint16_t half = (uint16_t)bits;
            _Float16 value, next;
            memcpy(&value, &half, 2);
            const uint16_t above = (uint16_t)(half + 1);
            memcpy(&next, &above, 2);
            float middle = ((float)value + (float)next) / 2;
            if (isnan(middle)) middle = (float)value;
            float x = away ? nextafterf(middle, away * INFINITY) : middle;
            const _Float16 expected = (_Float16)x;
            uint16_t found, wanted;
            memcpy(&wanted, &expected, 2);
            const bool is_nan = isnan(x);
            fr_pixel_format_row(&f, (float[]){x, 0, 0, 0, 0}, 0, (uint8_t *)&found);
            if (!is_nan) CHECK_CASE(found == wanted, "%a: %x %x", (double)x, found, wanted);
            if (is_nan) CHECK((found & 0x7c00) == 0x7c00 && (found & 0x3ff));
        }
#endif
}

int main(void) {
    uint64_t random = 1;
    test_taps(&random);
    test_resample(&random);
    test_channels(&random);
    test_formats(&random);
    test_pixels(&random);
    test_crops(&random);
    test_halves();
    return 0;
}
