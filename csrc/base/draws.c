/* SPDX-License-Identifier: Apache-2.0 */
#include "base/draws.h"

#include <math.h>
#include <string.h>

#define BLOCK_SIZE 16
#define AT_ONCE 64 /* blocks, which are in the nearest cache when they are used */
#define LEAST 1.0e-7
#define TAU 6.283185307179586476925286766559

/* The numbers of one block. */
typedef union {
    float floats[4];
    double doubles[2];
    uint32_t words[4];
    uint64_t wide[2];
} numbers;

static float to_float(uint32_t word) {
    const uint32_t bits = (word & 0x7FFFFF) | 0x3F800000;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x - 1.0f;
}

static double to_double(uint32_t high, uint32_t low) {
    const uint64_t bits = (uint64_t)((high & 0xFFFFF) | 0x3FF00000) << 32 | low;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x - 1.0;
}

/* Box and Muller's transformation of two uniform numbers to two normal ones. */
static void transform(float share, float turn, float *out) {
    const float least = (float)LEAST, u = share < least ? least : share;
    const float radius = sqrtf(-2.0f * logf(u));
    const float angle = (float)(TAU * (double)turn);
    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
}

static void transform_double(double share, double turn, double *out) {
    const double radius = sqrt(-2.0 * log(share < LEAST ? LEAST : share));
    out[0] = sin(TAU * turn) * radius;
    out[1] = cos(TAU * turn) * radius;
}

static void uniform(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out) {
    (void)draw;
    for (size_t i = 0; i < blocks; i++, words += 4)
        for (int k = 0; k < 4; k++)
            out[i].floats[k] = to_float(words[k]);
}

static void uniform_double(const uint32_t *words, size_t blocks, const fr_draw *draw,
                           numbers *out) {
    (void)draw;
    for (size_t i = 0; i < blocks; i++, words += 4)
        for (int k = 0; k < 2; k++)
            out[i].doubles[k] = to_double(words[2 * k], words[2 * k + 1]);
}

static void normal(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out) {
    (void)draw;
    for (size_t i = 0; i < blocks; i++, words += 4) {
        transform(to_float(words[0]), to_float(words[1]), out[i].floats);
        transform(to_float(words[2]), to_float(words[3]), out[i].floats + 2);
    }
}

static void normal_double(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out) {
    (void)draw;
    for (size_t i = 0; i < blocks; i++, words += 4)
        transform_double(to_double(words[0], words[1]), to_double(words[2], words[3]),
                         out[i].doubles);
}

static void integers(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out) {
    const uint32_t low = (uint32_t)draw->low, range = (uint32_t)draw->range;
    for (size_t i = 0; i < blocks; i++, words += 4)
        for (int k = 0; k < 4; k++)
            out[i].words[k] = low + (range ? words[k] % range : words[k]);
}

static void integers64(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out) {
    for (size_t i = 0; i < blocks; i++, words += 4)
        for (int k = 0; k < 2; k++) {
            const uint64_t word = words[2 * k] | (uint64_t)words[2 * k + 1] << 32;
            out[i].wide[k] = draw->low + (draw->range ? word % draw->range : word);
        }
}

typedef void converter(const uint32_t *words, size_t blocks, const fr_draw *draw, numbers *out);

/* `size` bytes of numbers, of which a block gives BLOCK_SIZE. */
static void fill(const fr_draw *draw, fr_philox at, converter *convert, size_t size, uint8_t *out) {
    uint32_t words[4 * AT_ONCE];
    numbers made[AT_ONCE];
    while (size) {
        const size_t left = size / BLOCK_SIZE + (size % BLOCK_SIZE != 0);
        const size_t blocks = left < AT_ONCE ? left : AT_ONCE;
        const size_t taken = size < blocks * BLOCK_SIZE ? size : blocks * BLOCK_SIZE;
        fr_philox_blocks(&at, 1, blocks, words);
        fr_philox_skip(&at, blocks);
        convert(words, blocks, draw, made);
        memcpy(out, made, taken);
        out += taken, size -= taken;
    }
}

static size_t keep(const fr_draw *draw, const numbers *drawn, size_t have, numbers *out) {
    for (int k = 0; k < (draw->wide ? 2 : 4); k++)
        if (draw->wide && have < 2 && fabs(drawn->doubles[k]) < 2)
            out->doubles[have++] = drawn->doubles[k];
        else if (!draw->wide && have < 4 && fabsf(drawn->floats[k]) < 2)
            out->floats[have++] = drawn->floats[k];
    return have;
}

/* The numbers that would be one block's draw on from a place of their own. */
static void fill_truncated(const fr_draw *draw, fr_philox at, size_t size, uint8_t *out) {
    converter *const convert = draw->wide ? normal_double : normal;
    const size_t wanted = draw->wide ? 2 : 4;
    const uint64_t stride = wanted * FR_DRAW_BLOCKS / 4;
    uint32_t words[4 * AT_ONCE];
    numbers drawn[AT_ONCE], more;
    while (size) {
        const size_t left = size / BLOCK_SIZE + (size % BLOCK_SIZE != 0);
        const size_t blocks = left < AT_ONCE ? left : AT_ONCE;
        fr_philox_blocks(&at, stride, blocks, words);
        convert(words, blocks, draw, drawn);
        for (size_t i = 0; i < blocks; i++, fr_philox_skip(&at, stride)) {
            numbers kept;
            size_t have = keep(draw, &drawn[i], 0, &kept);
            for (fr_philox on = at; have < wanted; have = keep(draw, &more, have, &kept)) {
                fr_philox_skip(&on, 1);
                fr_philox_blocks(&on, 1, 1, words);
                convert(words, 1, draw, &more);
            }
            const size_t taken = size < BLOCK_SIZE ? size : BLOCK_SIZE;
            memcpy(out, &kept, taken);
            out += taken, size -= taken;
        }
    }
}

static void fill_order(fr_philox at, size_t count, int64_t *out) {
    uint32_t words[4 * AT_ONCE];
    for (size_t i = 0; i < count; i++)
        out[i] = (int64_t)i;
    for (size_t i = 0; i + 1 < count; i++) {
        if (i % (4 * AT_ONCE) == 0) {
            const size_t left = (count - i) / 4 + 1;
            fr_philox_blocks(&at, 1, left < AT_ONCE ? left : AT_ONCE, words);
            fr_philox_skip(&at, AT_ONCE);
        }
        const size_t j = i + words[i % (4 * AT_ONCE)] % (count - i);
        const int64_t moved = out[i];
        out[i] = out[j];
        out[j] = moved;
    }
}

void fr_draw_numbers(const fr_draw *draw, const fr_philox *philox, size_t count, void *out) {
    static converter *const converters[][2] = {
        [FR_DRAW_UNIFORM] = {uniform, uniform_double},
        [FR_DRAW_NORMAL] = {normal, normal_double},
        [FR_DRAW_INTEGER] = {integers, integers64},
    };
    const size_t size = count * (draw->wide ? 8 : 4);
    if (draw->distribution == FR_DRAW_TRUNCATED)
        fill_truncated(draw, *philox, size, out);
    else if (draw->distribution == FR_DRAW_ORDER)
        fill_order(*philox, count, out);
    else
        fill(draw, *philox, converters[draw->distribution][draw->wide], size, out);
}
