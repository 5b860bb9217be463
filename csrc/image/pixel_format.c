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

/* Converts without branches, so that it vectorises. Below 2^-14 the addition rounds. */
static inline uint16_t to_half(float x) {
    const uint32_t sign = bits_of(x) >> 16 & 0x8000, u = bits_of(x) & 0x7fffffff;
    const uint32_t small = bits_of(float_of(u) + 0.5f) - 0x3f000000;
    const uint32_t normal = (u + 0xc8000fffu + (u >> 13 & 1)) >> 13;
    const uint32_t large = u > 0x7f800000 ? 0x7e00 : 0x7c00;
    const uint32_t found = u < 0x38800000 ? small : u >= 0x477ff000 ? large : normal;
    return (uint16_t)(sign | found);
}

/* The product adjusts the exponent, also of subnormals; an exponent of all ones stays. */
static inline float from_half(uint16_t half) {
    const uint32_t u = half & 0x7fffu, sign = (half & 0x8000u) << 16;
    const uint32_t finite = bits_of(float_of(u << 13) * 0x1p112f);
    return float_of(sign | (u < 0x7c00 ? finite : u << 13 | 0x7f800000));
}

static inline uint16_t to_bfloat(float x) {
    const uint32_t u = bits_of(x);
    const uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16 | 0x40) : rounded);
}

/* Adding 1.5 * 2^23 rounds x to an integer, which the low bits of the sum then contain. */
static inline uint8_t to_byte(float x) {
    return (uint8_t)bits_of((x < 0 ? 0 : x > 255 ? 255 : x) + 0x1.8p23f);
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,f16c")))
#define AVX2_INLINE __attribute__((target("avx2,f16c"), always_inline)) static inline

AVX2_INLINE __m128i bfloats_of(__m256 x) {
    const __m256i u = _mm256_castps_si256(x), high = _mm256_srli_epi32(u, 16);
    const __m256i tie = _mm256_and_si256(high, _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(u, _mm256_add_epi32(tie, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i found = _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16), quiet, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
}

AVX2_INLINE __m128i bytes_of(__m256 x) { /* packing clamps */
    const __m256i ints = _mm256_cvtps_epi32(x);
    const __m128i shorts =
        _mm_packs_epi32(_mm256_castsi256_si128(ints), _mm256_extracti128_si256(ints, 1));
    return _mm_packus_epi16(shorts, shorts);
}

AVX2_INLINE void store_eight(fr_pixel_type type, __m256 x, uint8_t *out) {
    if (type == FR_PIXEL_UINT8)
        _mm_storel_epi64((void *)out, bytes_of(x));
    else if (type == FR_PIXEL_FLOAT32)
        _mm256_storeu_ps((float *)(void *)out, x);
    else if (type == FR_PIXEL_FLOAT16)
        _mm_storeu_si128((void *)out, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    else
        _mm_storeu_si128((void *)out, bfloats_of(x));
}

AVX2_INLINE size_t store_eights(fr_pixel_type type, const float *restrict row, size_t count,
                                uint8_t *restrict out) {
    size_t i = 0;
    for (; count - i >= 8; i += 8)
        store_eight(type, _mm256_loadu_ps(row + i), out + i * size_of(type));
    return i;
}

/* Gathers one channel of eight pixels. Each input vector holds part of it, in different lanes. */
#define CHANNEL(v, second, third, ...)                                                             \
    _mm256_permutevar8x32_ps(                                                                      \
        _mm256_blend_ps(_mm256_blend_ps((v)[0], (v)[1], second), (v)[2], third),                   \
        _mm256_setr_epi32(__VA_ARGS__))

AVX2_INLINE void to_planes(__m256 v[3]) {
    const __m256 red = CHANNEL(v, 0x92, 0x24, 0, 3, 6, 1, 4, 7, 2, 5);
    const __m256 green = CHANNEL(v, 0x24, 0x49, 1, 4, 7, 2, 5, 0, 3, 6);
    const __m256 blue = CHANNEL(v, 0x49, 0x92, 2, 5, 0, 3, 6, 1, 4, 7);
    v[0] = red, v[1] = green, v[2] = blue;
}

/* Scales and stores three channels, eight pixels at a time; the vectors are `step` bytes apart. */
AVX2_INLINE size_t store_pixels(const fr_pixel_format *f, fr_pixel_type type, const float *row,
                                uint8_t *out, size_t step) {
    const size_t advance = (f->channels_first ? 8 : 24) * size_of(type);
    __m256 scale[3], shift[3];
    size_t x = 0;
    for (int i = 0; i < 3; i++) {
        float scales[8], shifts[8];
        for (int lane = 0; lane < 8; lane++) {
            const int channel = f->channels_first ? i : (8 * i + lane) % 3;
            scales[lane] = f->scale[channel], shifts[lane] = f->shift[channel];
        }
        scale[i] = _mm256_loadu_ps(scales), shift[i] = _mm256_loadu_ps(shifts);
    }
    for (; f->width - x >= 8; x += 8, row += 24, out += advance) {
        __m256 v[3] = {_mm256_loadu_ps(row), _mm256_loadu_ps(row + 8), _mm256_loadu_ps(row + 16)};
        if (f->channels_first) to_planes(v);
        for (int i = 0; i < 3; i++) {
            if (type != FR_PIXEL_UINT8)
                v[i] = _mm256_add_ps(_mm256_mul_ps(v[i], scale[i]), shift[i]);
            store_eight(type, v[i], out + (size_t)i * step);
        }
    }
    return x;
}

/* Returns how many numbers, or pixels, were stored with AVX2. */
AVX2 static size_t store_wide(fr_pixel_type type, const float *row, size_t count, uint8_t *out) {
    if (!(fr_cpu_features() & FR_CPU_AVX2)) return 0;
    switch (type) {
        case FR_PIXEL_UINT8:
            return store_eights(FR_PIXEL_UINT8, row, count, out);
        case FR_PIXEL_FLOAT16:
            return store_eights(FR_PIXEL_FLOAT16, row, count, out);
        case FR_PIXEL_BFLOAT16:
            return store_eights(FR_PIXEL_BFLOAT16, row, count, out);
        default:
            return 0;
    }
}

AVX2 static size_t load_wide(const uint16_t *halves, size_t count, float *out) {
    size_t i = 0;
    if (!(fr_cpu_features() & FR_CPU_AVX2)) return 0;
    for (; count - i >= 8; i += 8) {
        const __m128i eight = _mm_loadu_si128((const void *)(halves + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(eight));
    }
    return i;
}

AVX2 static size_t store_pixels_wide(const fr_pixel_format *f, const float *row, uint8_t *out,
                                     size_t step) {
    if (f->channels != 3 || !(fr_cpu_features() & FR_CPU_AVX2)) return 0;
    switch (f->type) {
        case FR_PIXEL_UINT8:
            return store_pixels(f, FR_PIXEL_UINT8, row, out, step);
        case FR_PIXEL_FLOAT32:
            return store_pixels(f, FR_PIXEL_FLOAT32, row, out, step);
        case FR_PIXEL_FLOAT16:
            return store_pixels(f, FR_PIXEL_FLOAT16, row, out, step);
        default:
            return store_pixels(f, FR_PIXEL_BFLOAT16, row, out, step);
    }
}
#else
static size_t store_wide(fr_pixel_type type, const float *row, size_t count, uint8_t *out) {
    (void)type, (void)row, (void)count, (void)out;
    return 0;
}

static size_t load_wide(const uint16_t *halves, size_t count, float *out) {
    (void)halves, (void)count, (void)out;
    return 0;
}

static size_t store_pixels_wide(const fr_pixel_format *f, const float *row, uint8_t *out,
                                size_t step) {
    (void)f, (void)row, (void)out, (void)step;
    return 0;
}
#endif

void fr_pixel_format_store(fr_pixel_type type, const float *row, size_t count, uint8_t *out) {
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

void fr_pixel_format_load_halves(const uint16_t *halves, size_t count, float *out) {
    for (size_t i = load_wide(halves, count, out); i < count; i++)
        out[i] = from_half(halves[i]);
}

#define PLANE 64 /* numbers of one channel that are gathered in one step */

static void store_channel(const fr_pixel_format *f, const float *restrict row, size_t width,
                          uint8_t *out) {
    const size_t step = f->channels, size = size_of(f->type);
    float plane[PLANE];
    for (size_t x = 0; x < width; x += PLANE) {
        const size_t count = width - x < PLANE ? width - x : PLANE;
        if (step == 3)
            for (size_t i = 0; i < count; i++)
                plane[i] = row[(x + i) * 3];
        else
            for (size_t i = 0; i < count; i++)
                plane[i] = row[(x + i) * step];
        fr_pixel_format_store(f->type, plane, count, out + x * size);
    }
}

/* A multiple of every number of channels and of the vector size. */
#define PERIOD 12

static void scale_numbers(const fr_pixel_format *f, float *restrict row, size_t count) {
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
    const size_t size = size_of(f->type), pixel = f->channels_first ? size : f->channels * size;
    const size_t plane = f->channels_first ? f->height * f->width * size : 8 * size;
    out += y * f->width * pixel;
    const size_t done = store_pixels_wide(f, row, out, plane), left = f->width - done;
    if (left == 0) return;
    row += done * f->channels, out += done * pixel;
    if (f->type != FR_PIXEL_UINT8) scale_numbers(f, row, left * f->channels);
    if (!f->channels_first)
        fr_pixel_format_store(f->type, row, left * f->channels, out);
    else
        for (size_t c = 0; c < f->channels; c++)
            store_channel(f, row + c, left, out + c * plane);
}
