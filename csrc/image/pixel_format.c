/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pixel_format.h"

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static size_t size_of(fr_pixel_type type) {
    static const size_t sizes[FR_PIXEL_COUNT] = {1, 4, 2, 2};
    return sizes[type];
}

size_t fr_pixel_format_size(const fr_pixel_format *format) {
    return format->height * format->width * format->channels * size_of(format->type);
}

static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Without branches, so that it vectorises. Below 2^-14 the addition does the rounding. */
static inline uint16_t to_half(float x) {
    const uint32_t sign = bits_of(x) >> 16 & 0x8000, u = bits_of(x) & 0x7fffffff;
    const uint32_t small = bits_of(float_of(u) + 0.5f) - 0x3f000000;
    const uint32_t normal = (u + 0xc8000fffu + (u >> 13 & 1)) >> 13;
    const uint32_t large = u > 0x7f800000 ? 0x7e00 : 0x7c00;
    const uint32_t found = u < 0x38800000 ? small : u >= 0x477ff000 ? large : normal;
    return (uint16_t)(sign | found);
}

static inline uint16_t to_bfloat(float x) {
    const uint32_t u = bits_of(x);
    const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16 | 0x40) : rounded);
}

/* The addition leaves no bits below one, and rounds as it does so. */
static inline uint8_t to_byte(float x) {
    return (uint8_t)bits_of((x < 0 ? 0 : x > 255 ? 255 : x) + 0x1.8p23f);
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,f16c")))

AVX2 static size_t store_halves(const float *restrict row, size_t count, uint8_t *restrict out) {
    size_t i = 0;
    for (; count - i >= 8; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(row + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((void *)(out + 2 * i), halves);
    }
    return i;
}

AVX2 static size_t store_bytes(const float *restrict row, size_t count, uint8_t *restrict out) {
    size_t i = 0;
    for (; count - i >= 8; i += 8) { /* packing clamps */
        const __m256i ints = _mm256_cvtps_epi32(_mm256_loadu_ps(row + i));
        const __m128i shorts =
            _mm_packs_epi32(_mm256_castsi256_si128(ints), _mm256_extracti128_si256(ints, 1));
        _mm_storel_epi64((void *)(out + i), _mm_packus_epi16(shorts, shorts));
    }
    return i;
}

/* How many of the numbers were stored by instructions that not every processor has. */
static size_t store_wide(fr_pixel_type type, const float *row, size_t count, uint8_t *out) {
    if (!(fr_cpu_features() & FR_CPU_AVX2)) return 0; /* each of which has F16C, too */
    if (type == FR_PIXEL_UINT8) return store_bytes(row, count, out);
    return type == FR_PIXEL_FLOAT16 ? store_halves(row, count, out) : 0;
}
#else
static size_t store_wide(fr_pixel_type type, const float *row, size_t count, uint8_t *out) {
    (void)type, (void)row, (void)count, (void)out;
    return 0;
}
#endif

static void store(fr_pixel_type type, const float *restrict row, size_t count,
                  uint8_t *restrict out) {
    uint16_t *halves = (uint16_t *)(void *)out;
    size_t i = store_wide(type, row, count, out);
    switch (type) {
        case FR_PIXEL_UINT8:
            for (; i < count; i++)
                out[i] = to_byte(row[i]);
            break;
        case FR_PIXEL_FLOAT16:
            for (; i < count; i++)
                halves[i] = to_half(row[i]);
            break;
        case FR_PIXEL_BFLOAT16:
            for (; i < count; i++)
                halves[i] = to_bfloat(row[i]);
            break;
        default:
            memcpy(out, row, count * sizeof *row);
    }
}

#define PLANE 64 /* numbers of one channel that are brought together */

static void store_channel(const fr_pixel_format *f, const float *restrict row, uint8_t *out) {
    const size_t step = f->channels, size = size_of(f->type);
    float plane[PLANE];
    for (size_t x = 0; x < f->width; x += PLANE) {
        const size_t count = f->width - x < PLANE ? f->width - x : PLANE;
        if (step == 3)
            for (size_t i = 0; i < count; i++)
                plane[i] = row[(x + i) * 3];
        else
            for (size_t i = 0; i < count; i++)
                plane[i] = row[(x + i) * step];
        store(f->type, plane, count, out + x * size);
    }
}

/* As many numbers as a whole number of pixels and of vectors have, whatever the channels. */
#define PERIOD 12

static void scale_row(const fr_pixel_format *f, float *restrict row) {
    const size_t count = f->width * f->channels;
    float scale[PERIOD], shift[PERIOD];
    size_t i = 0;
    for (; i < PERIOD; i++)
        scale[i] = f->scale[i % f->channels], shift[i] = f->shift[i % f->channels];
    for (i = 0; count - i >= PERIOD; i += PERIOD)
        for (size_t k = 0; k < PERIOD; k++)
            row[i + k] = row[i + k] * scale[k] + shift[k];
    for (size_t k = 0; i < count; i++, k++)
        row[i] = row[i] * scale[k] + shift[k];
}

void fr_pixel_format_row(const fr_pixel_format *format, float *row, size_t y, uint8_t *out) {
    const fr_pixel_format *f = format;
    const size_t size = size_of(f->type), count = f->width * f->channels;
    if (f->type != FR_PIXEL_UINT8) scale_row(f, row);
    if (!f->channels_first) {
        store(f->type, row, count, out + y * count * size);
        return;
    }
    for (size_t c = 0; c < f->channels; c++)
        store_channel(f, row + c, out + (c * f->height + y) * f->width * size);
}
