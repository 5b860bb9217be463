/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of any numbers, and filters against their definition; between pages not to be
   touched. */
#include "tensor/warp.h"

#include <math.h>

#include "test.h"

enum { MOST = 12, TRIALS = 20000 };
#define PAGE_FLOATS 16384

static float random_float(uint64_t *random) {
    const uint64_t kind = test_random(random) % 8;
    const uint32_t bits = (uint32_t)test_random(random);
    float x;
    if (kind) return (float)(bits % 4000) / 1000 - 2;
    memcpy(&x, &bits, sizeof x);
    return isnan(x) ? NAN : x;
}

static size_t random_size(uint64_t *random, size_t least, size_t most) {
    return least + test_random(random) % (most - least + 1);
}

static float *of(const test_guarded *memory, size_t count) {
    return (float *)(void *)memory->end - count;
}

/* What is made is a pixel of the source, or the fill; of mixed ones, far away, places are rounded.
 */
static void pixels_are_those_of_the_source(void) {
    uint64_t random = 1;
    test_guarded from = test_guarded_new(PAGE_FLOATS * sizeof(float));
    test_guarded to = test_guarded_new(PAGE_FLOATS * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++) {
        float transform[8], fill[3] = {-7, -7, -7};
        for (size_t i = 0; i < 8; i++)
            transform[i] = random_float(&random) * (i % 3 == 2 ? 10 : 1);
        const fr_warp warp = {
            .transform = transform,
            .height = random_size(&random, 1, MOST),
            .width = random_size(&random, 1, MOST),
            .out_height = random_size(&random, 1, MOST),
            .out_width = random_size(&random, 1, MOST),
            .mode = (fr_warp_mode)(trial % FR_WARP_MODES),
        };
        const size_t channels = random_size(&random, 1, 3);
        const size_t size = warp.height * warp.width * channels;
        const size_t out_size = warp.out_height * warp.out_width * channels;
        float *source = of(&from, size), *out = of(&to, out_size);
        for (size_t i = 0; i < size; i++)
            source[i] = (float)(i / channels);
        fr_warp_nearest(&warp, (const uint8_t *)source, channels * sizeof(float),
                        (const uint8_t *)fill, (uint8_t *)out);
        const float last = (float)(warp.height * warp.width - 1);
        for (size_t i = 0; i < out_size; i++)
            CHECK(out[i] == -7 || (out[i] >= 0 && out[i] <= last && out[i] == floorf(out[i])));
        fr_warp_bilinear(&warp, source, channels, -7, out);
        for (size_t i = 0; i < out_size; i++)
            CHECK(!(fabsf(out[i]) > 4 * (last + 7)));
    }
    test_guarded_free(&from);
    test_guarded_free(&to);
}

static float filtered(const fr_depthwise *f, const float *source, size_t height, size_t width,
                      size_t row, size_t column, size_t channel, size_t copy) {
    float sum = 0;
    for (size_t y = 0; y < f->rows; y++) {
        for (size_t x = 0; x < f->columns; x++) {
            const size_t at_y = row * f->stride_y + y * f->step_y - f->top;
            const size_t at_x = column * f->stride_x + x * f->step_x - f->left;
            if (at_y >= height || at_x >= width) continue; /* also what is before the first */
            const float pixel = source[(at_y * width + at_x) * f->channels + channel];
            const float weight =
                f->weights[((y * f->columns + x) * f->channels + channel) * f->multiplier + copy];
            sum = (float)((double)pixel * (double)weight + (double)sum);
        }
    }
    return sum;
}

static void filters_are_sums_of_products(void) {
    uint64_t random = 2;
    test_guarded from = test_guarded_new(PAGE_FLOATS * sizeof(float));
    test_guarded by = test_guarded_new(PAGE_FLOATS * sizeof(float));
    test_guarded over = test_guarded_new(PAGE_FLOATS * sizeof(float));
    test_guarded to = test_guarded_new(PAGE_FLOATS * sizeof(float));
    for (int trial = 0; trial < TRIALS / 10; trial++) {
        fr_depthwise f = {
            .rows = random_size(&random, 1, 5),
            .columns = random_size(&random, 1, 5),
            .channels = random_size(&random, 1, 4),
            .multiplier = random_size(&random, 1, 2),
            .stride_y = random_size(&random, 1, 3),
            .stride_x = random_size(&random, 1, 3),
            .step_y = random_size(&random, 1, 3),
            .step_x = random_size(&random, 1, 3),
            .top = random_size(&random, 0, 6),
            .left = random_size(&random, 0, 6),
        };
        const size_t height = random_size(&random, 1, MOST), width = random_size(&random, 1, MOST);
        const size_t rows = random_size(&random, 1, MOST), columns = random_size(&random, 1, MOST);
        const size_t each = f.channels * f.multiplier, taps = f.rows * f.columns * each;
        float *source = of(&from, height * width * f.channels), *weights = of(&by, taps);
        float *scratch = of(&over, 2 * columns * each), *out = of(&to, rows * columns * each);
        for (size_t i = 0; i < height * width * f.channels; i++)
            source[i] = (float)(test_random(&random) % 4000) / 1000 - 2;
        for (size_t i = 0; i < taps; i++)
            weights[i] = (float)(test_random(&random) % 4000) / 1000 - 2;
        f.weights = weights;
        fr_depthwise_filter(&f, source, height, width, rows, columns, scratch, out);
        for (size_t i = 0; i < rows * columns * each; i++) {
            const size_t pixel = i / each, channel = i % each / f.multiplier;
            CHECK(out[i] == filtered(&f, source, height, width, pixel / columns, pixel % columns,
                                     channel, i % f.multiplier));
        }
    }
    test_guarded_free(&from);
    test_guarded_free(&by);
    test_guarded_free(&over);
    test_guarded_free(&to);
}

int main(void) {
    pixels_are_those_of_the_source();
    filters_are_sums_of_products();
    puts("warp: ok");
    return 0;
}
