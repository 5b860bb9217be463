/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/draws.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"

#define BLOCK_SIZE 16
#define AT_ONCE 64 /* blocks drawn together, so that they are used from the first-level cache */
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

/* Transforms two uniform numbers to two normal ones (Box and Muller). */
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

/* Writes `size` bytes of numbers. A block gives BLOCK_SIZE bytes. */
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

/* Writes truncated normal numbers. The numbers of an output block are drawn again, from the
   following blocks of its own range, until all are within the limit. */
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

#define LANES 4
#define ROUNDER 0x1.8p52 /* added to a number below 2^51, puts the integer in the lowest bits */
#define LOG2_E 1.4426950408889634074
#define LN2_FRONT 0.693145751953125
#define LN2_REST 1.42860682030941723212e-6
#define EXP_LOWEST (-708.0) /* below, results are subnormal, and too small to be drawn */
#define INLINE __attribute__((always_inline)) static inline

/* Passed by pointer, because the ABI for vectors passed by value depends on the processor. */
typedef double reals __attribute__((vector_size(8 * LANES)));
typedef int64_t words __attribute__((vector_size(8 * LANES)));

/* Computes TensorFlow's approximation of exp(x) for x up to 0. */
INLINE void to_exp(reals *value) {
    const reals given = *value, shifted = given * LOG2_E + 0.5;
    const reals near = (shifted + ROUNDER) - ROUNDER;
    const reals power = near - (reals)((near > shifted) & (words)((reals){0} + 1));
    const reals x = (given - power * LN2_FRONT) - power * LN2_REST, z = x * x;
    reals p = z * 1.26177193074810590878e-4 + 3.02994407707441961300e-2;
    p = (p * z + 9.99999999999999999910e-1) * x;
    reals q = z * 3.00198505138664455042e-6 + 2.52448340349684104192e-3;
    q = (q * z + 2.27265548208155028766e-1) * z + 2;
    const reals found = p / (q - p) * 2 + 1;
    const reals scaled = found * (reals)(((words)(power + ROUNDER) + 1023) << 52);
    *value = (reals)((words)scaled & (given >= EXP_LOWEST));
}

#define FINITE(x) ((x) - (x) == 0)

INLINE void to_larger(const double *x, reals *most) {
    reals few;
    memcpy(&few, x, sizeof few);
    const words larger = FINITE(few) & (few > *most);
    *most = (reals)(((words)few & larger) | ((words)*most & ~larger));
}

/* Gives 0 for numbers that are not finite. */
INLINE void to_probability(double *x, double most) {
    reals few;
    memcpy(&few, x, sizeof few);
    const words finite = FINITE(few);
    few -= most;
    to_exp(&few);
    few = (reals)((words)few & finite);
    memcpy(x, &few, sizeof few);
}

INLINE void to_probabilities(double *x, size_t count) {
    const size_t whole = count / LANES * LANES;
    reals larger = (reals){0} - DBL_MAX;
    double most = -DBL_MAX, rest[LANES];
    for (size_t i = 0; i < LANES; i++)
        rest[i] = whole + i < count ? x[whole + i] : -DBL_MAX;
    for (size_t i = 0; i < whole; i += LANES)
        to_larger(x + i, &larger);
    to_larger(rest, &larger);
    for (int i = 0; i < LANES; i++)
        most = larger[i] > most ? larger[i] : most;
    for (size_t i = 0; i < whole; i += LANES)
        to_probability(x + i, most);
    to_probability(rest, most);
    memcpy(x + whole, rest, (count - whole) * sizeof *x);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void to_probabilities_wide(double *x, size_t count) {
    to_probabilities(x, count);
}
#else
#define to_probabilities_wide to_probabilities
#endif

void fr_draw_edges(double *edges, size_t classes) {
    double sum = 0;
    if (fr_cpu_features() & FR_CPU_AVX2)
        to_probabilities_wide(edges, classes);
    else
        to_probabilities(edges, classes);
    for (size_t i = 0; i < classes; i++)
        edges[i] = sum += edges[i];
}

/* Returns the index of the first edge above `wanted`. */
static size_t class_of(const double *edges, size_t classes, double wanted) {
    const double *at = edges;
    while (classes > 1) {
        const size_t half = classes / 2;
        at += half & -(size_t)(at[half - 1] <= wanted); /* branchless */
        classes -= half;
    }
    return (size_t)(at - edges) + (classes == 1 && at[0] <= wanted);
}

void fr_draw_classes(const double *edges, size_t rows, size_t classes, size_t count,
                     const fr_philox *philox, int64_t *out) {
    const fr_draw uniform = {.distribution = FR_DRAW_UNIFORM, .wide = true};
    const size_t total = rows * count;
    fr_philox at = *philox;
    double shares[2 * AT_ONCE];
    for (size_t done = 0, drawn = 0, row = 0, in_row = 0; done < total; done += drawn) {
        drawn = total - done < 2 * AT_ONCE ? total - done : 2 * AT_ONCE;
        fr_draw_numbers(&uniform, &at, drawn, shares);
        fr_philox_skip(&at, AT_ONCE);
        for (size_t i = 0; i < drawn; i++) {
            const double *own = edges + row * classes;
            *out++ = (int64_t)class_of(own, classes, shares[i] * own[classes - 1]);
            if (++in_row == count) in_row = 0, row++;
        }
    }
}

/* The random numbers for one draw from a gamma distribution. Uniform and normal numbers come
   from separate blocks. A block has two numbers, which are used in reverse order before the next
   block is taken. */
typedef struct {
    fr_philox at;
    numbers uniform, normal;
    unsigned uniforms, normals; /* numbers left in the block */
} gamma_source;

static void take_block(fr_philox *at, converter *convert, numbers *out) {
    uint32_t words[4];
    fr_philox_blocks(at, 1, 1, words);
    fr_philox_skip(at, 1);
    convert(words, 1, NULL, out);
}

static double next_uniform(gamma_source *source) {
    if (source->uniforms == 0) {
        take_block(&source->at, uniform_double, &source->uniform);
        source->uniforms = 2;
    }
    return source->uniform.doubles[--source->uniforms];
}

static double next_normal(gamma_source *source) {
    if (source->normals == 0) {
        take_block(&source->at, normal_double, &source->normal);
        source->normals = 2;
    }
    return source->normal.doubles[--source->normals];
}

static double gamma_of(double shape, gamma_source *source) {
    const double d = shape + (shape < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    if (shape == 1) return -log1p(-next_uniform(source));
    if (!(d > 0)) return NAN;
    for (;;) {
        const double x = next_normal(source), root = 1 + c * x, v = root * root * root;
        if (!(root > 0)) continue;
        const double u = next_uniform(source);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return d * v * (shape < 1 ? pow(next_uniform(source), 1 / shape) : 1);
    }
}

void fr_draw_gammas(const double *shapes, size_t sets, size_t count, const fr_philox *philox,
                    double *out) {
    fr_philox at = *philox;
    for (size_t set = 0; set < sets; set++)
        for (size_t i = 0; i < count; i++, fr_philox_skip(&at, FR_DRAW_BLOCKS)) {
            gamma_source source = {.at = at};
            out[i * sets + set] = gamma_of(shapes[set], &source);
        }
}
