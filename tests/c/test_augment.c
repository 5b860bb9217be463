/* SPDX-License-Identifier: Apache-2.0 */
/* Images and results lie flush against pages that nobody may touch. */
#include "image/augment.h"

#include <math.h>

#include "format/crc32c.h"
#include "test.h"

static fr_augment random_augment(uint64_t *random) {
    fr_augment a = {.height = 1 + test_random(random) % 12,
                    .width = 1 + test_random(random) % 12,
                    .channels = 1 + test_random(random) % 4,
                    .random_crop = test_random(random) % 2,
                    .flip = test_random(random) % 2,
                    .brightness = test_random(random) % 2 ? 63 : 0,
                    .contrast_low = 1,
                    .contrast_high = 1,
                    .standardize = test_random(random) % 2,
                    .seed = test_random(random)};
    a.out_height = 1 + test_random(random) % (a.random_crop ? a.height : 16);
    a.out_width = 1 + test_random(random) % (a.random_crop ? a.width : 16);
    if (test_random(random) % 2) a.contrast_low = 0.2f, a.contrast_high = 1.8f;
    return a;
}

/* What chance says of one image, in the order in which it is asked. */
typedef struct {
    size_t top, left;
    bool flip;
    double brightness, contrast;
} chance;

static double share(uint32_t word) {
    return (word >> 8) / 16777216.0;
}

static chance draw(const fr_augment *a, uint64_t key) {
    fr_philox philox;
    fr_philox_init(&philox, a->seed, key);
    uint32_t words[5];
    for (int i = 0; i < 5; i++)
        words[i] = fr_philox_next(&philox);
    chance c = {.flip = words[2] >> 31 && a->flip};
    if (a->random_crop) {
        c.top = words[0] * (a->height - a->out_height + 1) >> 32;
        c.left = words[1] * (a->width - a->out_width + 1) >> 32;
    }
    c.brightness = a->brightness * (2 * share(words[3]) - 1);
    c.contrast = a->contrast_low + (a->contrast_high - a->contrast_low) * share(words[4]);
    return c;
}

/* Where in a side of the image something of the cut is from; -1 where there is nothing. */
static ptrdiff_t from(size_t size, size_t out, bool random, size_t begin, size_t at) {
    ptrdiff_t place = (ptrdiff_t)(at + begin);
    if (!random && size >= out) place = (ptrdiff_t)(at + (size - out) / 2);
    if (!random && size < out) place = (ptrdiff_t)at - (ptrdiff_t)((out - size) / 2);
    return place < (ptrdiff_t)size ? place : -1;
}

static uint8_t cut(const fr_augment *a, const chance *c, const uint8_t *image, size_t row,
                   size_t column, size_t channel) {
    if (c->flip) column = a->out_width - 1 - column;
    ptrdiff_t y = from(a->height, a->out_height, a->random_crop, c->top, row);
    ptrdiff_t x = from(a->width, a->out_width, a->random_crop, c->left, column);
    if (x < 0 || y < 0) return 0;
    return image[((size_t)y * a->width + (size_t)x) * a->channels + channel];
}

/* A step at a time, in doubles. */
static void by_formula(const fr_augment *a, uint64_t key, const uint8_t *image, double *out) {
    const chance c = draw(a, key);
    const size_t pixels = a->out_height * a->out_width, size = pixels * a->channels;
    double mean = 0, variance = 0;
    for (size_t channel = 0; channel < a->channels; channel++) {
        double sum = 0;
        for (size_t i = 0; i < pixels; i++) {
            double x = cut(a, &c, image, i / a->out_width, i % a->out_width, channel);
            sum += out[i * a->channels + channel] = x + c.brightness;
        }
        for (size_t i = channel; i < size; i += a->channels)
            out[i] = (out[i] - sum / (double)pixels) * c.contrast + sum / (double)pixels;
    }
    if (!a->standardize) return;
    for (size_t i = 0; i < size; i++)
        mean += out[i] / (double)size;
    for (size_t i = 0; i < size; i++)
        variance += (out[i] - mean) * (out[i] - mean) / (double)size;
    for (size_t i = 0; i < size; i++)
        out[i] = (out[i] - mean) / fmax(sqrt(variance), 1 / sqrt((double)size));
}

enum { IMAGES = 3, MOST = 16 * 16 * 4 };
static const uint64_t keys[IMAGES] = {0, UINT64_MAX, (uint64_t)1 << 40};

static void check_floats(const fr_augment *a, const uint8_t *images, test_guarded room) {
    const size_t in = a->height * a->width * a->channels;
    const size_t size = a->out_height * a->out_width * a->channels;
    double expected[MOST];
    for (size_t count = IMAGES; count > 0; count /= 2) { /* together and alone are the same */
        float *out = (float *)(void *)room.end - count * size;
        CHECK(fr_augment_floats(a, images, keys, count, out, NULL) == FR_OK);
        for (size_t k = 0; k < count; k++) {
            by_formula(a, keys[k], images + k * in, expected);
            for (size_t i = 0; i < size; i++)
                CHECK_CASE(fabs((double)out[k * size + i] - expected[i]) < 2e-3,
                           "image %zu at %zu: %f, not %f", k, i, (double)out[k * size + i],
                           expected[i]);
        }
    }
}

static void check_bytes(const fr_augment *a, const uint8_t *images, test_guarded room) {
    const size_t in = a->height * a->width * a->channels;
    const size_t size = a->out_height * a->out_width * a->channels;
    uint8_t *out = room.end - IMAGES * size;
    fr_augment_bytes(a, images, keys, IMAGES, out);
    for (size_t k = 0; k < IMAGES; k++) {
        const chance c = draw(a, keys[k]);
        for (size_t i = 0; i < size; i++) {
            size_t pixel = i / a->channels;
            CHECK(out[k * size + i] == cut(a, &c, images + k * in, pixel / a->out_width,
                                           pixel % a->out_width, i % a->channels));
        }
    }
}

static void images_become_what_the_formulas_say(void) {
    uint64_t random = 1;
    test_guarded source = test_guarded_new(IMAGES * MOST);
    test_guarded result = test_guarded_new(IMAGES * MOST * sizeof(float));
    for (int i = 0; i < 2000; i++) {
        const fr_augment a = random_augment(&random);
        CHECK(fr_augment_check(&a, NULL) == FR_OK);
        const size_t in = a.height * a.width * a.channels * IMAGES;
        uint8_t *images = source.end - in;
        test_fill(images, in, test_random(&random));
        check_floats(&a, images, result);
        check_bytes(&a, images, result);
    }
    test_guarded_free(&source);
    test_guarded_free(&result);
}

/* Of what the other tests let differ a little: every compiler for every processor does the same. */
static void floats_are_the_same_on_every_machine(void) {
    static uint8_t images[IMAGES * MOST];
    static float out[IMAGES * MOST];
    uint64_t random = 2;
    uint32_t crc = 0;
    for (int i = 0; i < 200; i++) {
        const fr_augment a = random_augment(&random);
        test_fill(images, sizeof images, test_random(&random));
        CHECK(fr_augment_floats(&a, images, keys, IMAGES, out, NULL) == FR_OK);
        const size_t size = IMAGES * a.out_height * a.out_width * a.channels;
        for (size_t k = 0; k < size; k++) {
            uint8_t bits[4];
            uint32_t word;
            memcpy(&word, &out[k], sizeof word);
            fr_store_u32(bits, word);
            crc = fr_crc32c_extend(crc, bits, sizeof bits);
        }
    }
    CHECK_CASE(crc == 0x2fb9a94c, "the floats' checksum is 0x%08x", crc);
}

/* The sums of a column that is as long and as bright as can be. */
static void no_sum_is_too_large(void) {
    enum { TALL = 65536 };
    static uint8_t image[TALL];
    static float out[TALL];
    const fr_augment a = {.height = TALL,
                          .width = 1,
                          .channels = 1,
                          .out_height = TALL,
                          .out_width = 1,
                          .contrast_low = 1,
                          .contrast_high = 1,
                          .standardize = true};
    memset(image, 255, sizeof image);
    CHECK(fr_augment_check(&a, NULL) == FR_OK);
    CHECK(fr_augment_floats(&a, image, keys, 1, out, NULL) == FR_OK);
    for (size_t i = 0; i < TALL; i++)
        CHECK(out[i] == 0);
    image[0] = 0;
    CHECK(fr_augment_floats(&a, image, keys, 1, out, NULL) == FR_OK);
    CHECK(fabs((double)out[0] + 255.9980) < 1e-2 && fabs((double)out[1] - 0.00391) < 1e-4);
}

static void what_cannot_be_is_refused(void) {
    const fr_augment good = {8, 8, 3, 8, 8, true, true, 1, 1, 2, false, 0};
    fr_augment bad[] = {good, good, good, good, good, good, good, good, good, good, good};
    bad[0].height = 0;
    bad[1].width = 65537;
    bad[2].out_height = 9;
    bad[3].out_width = SIZE_MAX;
    bad[4].channels = 0;
    bad[5].channels = 1025;
    bad[6].brightness = -1;
    bad[7].brightness = NAN;
    bad[8].contrast_low = 3;
    bad[9].contrast_high = INFINITY;
    bad[10].contrast_low = NAN;
    CHECK(fr_augment_check(&good, NULL) == FR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_error err;
        CHECK_CASE(fr_augment_check(&bad[i], &err) == FR_ERR_ARG, "case %zu", i);
        CHECK(strlen(err.cause) > 0);
    }
}

int main(void) {
    images_become_what_the_formulas_say();
    floats_are_the_same_on_every_machine();
    no_sum_is_too_large();
    what_cannot_be_is_refused();
    printf("augment: ok\n");
    return 0;
}
