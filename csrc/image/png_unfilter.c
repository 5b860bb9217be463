/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pixel depends on the pixel to its left, so its channels are the lanes of a vector, and a row
 * takes as long as the chain of operations from one pixel to the next. The chains are kept short:
 *
 * Average. With ~x = -x - 1, ~(r + floor((a + b) / 2)) = ceil((~a + ~b) / 2) - r, which takes two
 * operations if the complements are kept.
 *
 * Paeth. With a, b, c to the left, above and above left, let low and high be the smaller and the
 * larger of a and b, and t = 3c - a - b. The predictor is low if t >= high, otherwise high if
 * t <= low, otherwise c. 3c - b, r + b and r + c do not depend on the pixel to the left.
 *
 * Two rows that both have such a chain are restored together, the second one pixel behind the
 * first: the processor works on both chains at the same time.
 */
#include "image/png_unfilter.h"

#include <stdlib.h>
#include <string.h>

enum { NONE, SUB, UP, AVERAGE, PAETH };

static void up(const uint8_t *row, const uint8_t *before, size_t size, uint8_t *out) {
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(row[i] + before[i]);
}

static inline uint8_t predict(int a, int b, int c) {
    const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    if (pa <= pb && pa <= pc) return (uint8_t)a;
    return (uint8_t)(pb <= pc ? b : c);
}

/* Undoes the filters that depend on the pixel to the left, byte by byte. */
static inline void bytewise(int type, const uint8_t *row, const uint8_t *before, size_t size,
                            size_t channels, uint8_t *out) {
    uint8_t left[4] = {0}, corner[4] = {0};
    for (size_t i = 0; i < size; i += channels)
        for (size_t k = 0; k < channels; k++) {
            const uint8_t above = before[i + k];
            uint8_t guess = left[k];
            if (type == AVERAGE) guess = (uint8_t)((left[k] + above) / 2);
            if (type == PAETH) guess = predict(left[k], above, corner[k]);
            left[k] = out[i + k] = (uint8_t)(row[i + k] + guess);
            corner[k] = above;
        }
}

#if defined(__SSE2__)

#include <emmintrin.h>

#define INLINE static inline __attribute__((always_inline))

/* Stores the first `size` bytes (3 or 4) of a pixel, because the last pixel must not overrun the
   row. */
static inline void store(uint8_t *out, __m128i pixel, size_t size) {
    const uint32_t bytes = (uint32_t)_mm_cvtsi128_si32(pixel);
    memcpy(out, &bytes, size);
}

static inline __m128i load(const uint8_t *p, size_t size) {
    uint32_t bytes = 0;
    memcpy(&bytes, p, size);
    return _mm_cvtsi32_si128((int)bytes);
}

static inline __m128i sub_pixel(__m128i *left, __m128i r) {
    return *left = _mm_add_epi8(*left, r);
}

/* `left` holds the complement of the pixel. */
static inline __m128i average_pixel(__m128i *left, __m128i r, __m128i above) {
    const __m128i ones = _mm_set1_epi8(-1);
    *left = _mm_sub_epi8(_mm_avg_epu8(*left, _mm_xor_si128(above, ones)), r);
    return _mm_xor_si128(*left, ones);
}

typedef struct {
    __m128i left, corner; /* 16 bits per channel */
} paeth;

static inline __m128i paeth_pixel(paeth *p, __m128i row, __m128i before) {
    const __m128i zero = _mm_setzero_si128(), a = p->left, c = p->corner;
    const __m128i r = _mm_unpacklo_epi8(row, zero), b = _mm_unpacklo_epi8(before, zero);
    const __m128i low = _mm_min_epi16(a, b), high = _mm_max_epi16(a, b);
    const __m128i sum = _mm_sub_epi16(_mm_add_epi16(_mm_add_epi16(c, c), c), b);
    /* The saturating operation keeps the compiler from adding a and b first. */
    const __m128i t = _mm_subs_epi16(sum, a);
    const __m128i not_low = _mm_cmpgt_epi16(high, t), not_high = _mm_cmpgt_epi16(t, low);
    const __m128i from_low = _mm_andnot_si128(not_low, _mm_add_epi8(r, low));
    const __m128i from_high = _mm_andnot_si128(not_high, _mm_add_epi8(r, high));
    const __m128i corner = _mm_and_si128(_mm_and_si128(not_low, _mm_add_epi8(r, c)), not_high);
    p->corner = b;
    p->left = _mm_or_si128(_mm_or_si128(from_low, from_high), corner);
    return _mm_packus_epi16(p->left, p->left);
}

/* A row in progress. */
typedef struct {
    int type; /* SUB, AVERAGE or PAETH */
    const uint8_t *row;
    uint8_t *out;
    __m128i left; /* the pixel, or its complement for AVERAGE */
    paeth paeth;
} chain;

INLINE chain begin(int type, const uint8_t *row, uint8_t *out) {
    const __m128i zero = _mm_setzero_si128();
    return (chain){type, row, out, type == AVERAGE ? _mm_set1_epi8(-1) : zero, {zero, zero}};
}

/* Restores pixel `i`, given the pixel above it, and returns it. It reads and writes `some` bytes:
   4, or the size of a pixel for the last one. */
INLINE __m128i step(chain *c, size_t i, size_t size, size_t some, __m128i above) {
    const __m128i r = load(c->row + i * size, some);
    __m128i pixel;
    if (c->type == SUB)
        pixel = sub_pixel(&c->left, r);
    else if (c->type == AVERAGE)
        pixel = average_pixel(&c->left, r, above);
    else
        pixel = paeth_pixel(&c->paeth, r, above);
    store(c->out + i * size, pixel, some);
    return pixel;
}

static inline void pixelwise(int type, const uint8_t *row, const uint8_t *before, size_t count,
                             size_t size, uint8_t *out) {
    chain c = begin(type, row, out);
    if (count == 0) return;
    for (size_t i = 0; i + 1 < count; i++)
        step(&c, i, size, 4, load(before + i * size, 4));
    step(&c, count - 1, size, size, load(before + (count - 1) * size, size));
}

INLINE void pairwise(int type, int next_type, const uint8_t *const rows[2], const uint8_t *before,
                     size_t count, size_t size, uint8_t *const out[2]) {
    chain c = begin(type, rows[0], out[0]), d = begin(next_type, rows[1], out[1]);
    __m128i above = _mm_setzero_si128(); /* the pixel of the first row that the second needs */
    for (size_t i = 0; i + 1 < count; i++) {
        const __m128i pixel = step(&c, i, size, 4, load(before + i * size, 4));
        if (i) step(&d, i - 1, size, 4, above);
        above = pixel;
    }
    const __m128i pixel = step(&c, count - 1, size, size, load(before + (count - 1) * size, size));
    if (count > 1) step(&d, count - 2, size, 4, above);
    step(&d, count - 1, size, size, pixel);
}

/* Returns false for rows that are restored one by one. The filters are constants in each case, so
   that the compiler selects the operations outside of the loops. */
static bool pair(int type, int next_type, const uint8_t *const rows[2], const uint8_t *before,
                 size_t count, size_t channels, uint8_t *const out[2]) {
#define PAIR(a, b)                                                                                 \
    case 8 * (a) + (b):                                                                            \
        if (channels == 3)                                                                         \
            pairwise(a, b, rows, before, count, 3, out);                                           \
        else                                                                                       \
            pairwise(a, b, rows, before, count, 4, out);                                           \
        return true;
    if (channels < 3 || count == 0) return false;
    switch (8 * type + next_type) {
        PAIR(SUB, AVERAGE)
        PAIR(SUB, PAETH)
        PAIR(AVERAGE, SUB)
        PAIR(AVERAGE, AVERAGE)
        PAIR(AVERAGE, PAETH)
        PAIR(PAETH, SUB)
        PAIR(PAETH, AVERAGE)
        PAIR(PAETH, PAETH)
        default:
            return false;
    }
}

#else

static inline void pixelwise(int type, const uint8_t *row, const uint8_t *before, size_t count,
                             size_t size, uint8_t *out) {
    bytewise(type, row, before, count * size, size, out);
}

static bool pair(int type, int next_type, const uint8_t *const rows[2], const uint8_t *before,
                 size_t count, size_t channels, uint8_t *const out[2]) {
    (void)type, (void)next_type, (void)rows, (void)before, (void)count, (void)channels, (void)out;
    return false;
}

#endif

bool fr_png_unfilter(int type, const uint8_t *row, const uint8_t *before, size_t count,
                     size_t channels, uint8_t *out) {
    const size_t size = count * channels;
    if (type < NONE || type > PAETH) return false;
    if (type == NONE)
        memcpy(out, row, size);
    else if (type == UP)
        up(row, before, size, out);
    else if (channels == 1)
        bytewise(type, row, before, size, 1, out);
    else if (channels == 2)
        bytewise(type, row, before, size, 2, out);
    else if (channels == 3)
        pixelwise(type, row, before, count, 3, out);
    else
        pixelwise(type, row, before, count, 4, out);
    return true;
}

bool fr_png_unfilter_pair(const uint8_t *const rows[2], const uint8_t *before, size_t count,
                          size_t channels, uint8_t *const out[2]) {
    const uint8_t *const pixels[2] = {rows[0] + 1, rows[1] + 1};
    return pair(rows[0][0], rows[1][0], pixels, before, count, channels, out);
}
