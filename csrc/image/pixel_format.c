/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pixel_format.h"

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

static void store(fr_pixel_type type, const float *restrict row, size_t count,
                  uint8_t *restrict out) {
    uint16_t *halves = (uint16_t *)(void *)out;
    switch (type) {
        case FR_PIXEL_UINT8:
            for (size_t i = 0; i < count; i++)
                out[i] = to_byte(row[i]);
            break;
        case FR_PIXEL_FLOAT16:
            for (size_t i = 0; i < count; i++)
                halves[i] = to_half(row[i]);
            break;
        case FR_PIXEL_BFLOAT16:
            for (size_t i = 0; i < count; i++)
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
        for (size_t i = 0; i < count; i++)
            plane[i] = row[(x + i) * step];
        store(f->type, plane, count, out + x * size);
    }
}

static void scale_row(const fr_pixel_format *f, float *restrict row) {
    if (f->channels == 3) {
        for (size_t x = 0; x < f->width; x++)
            for (size_t c = 0; c < 3; c++)
                row[3 * x + c] = row[3 * x + c] * f->scale[c] + f->shift[c];
        return;
    }
    for (size_t x = 0; x < f->width; x++)
        for (size_t c = 0; c < f->channels; c++)
            row[f->channels * x + c] = row[f->channels * x + c] * f->scale[c] + f->shift[c];
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
