/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of Taylor, of as many terms as leave less than 2^-40 of the result out, a few numbers
 * at a time, without branches.
 */
#include "image/elementwise.h"

#include <math.h>

#include "base/cpu.h"

#define RUN 128
#define INLINE __attribute__((always_inline)) static inline

/* Passed by pointers: how vectors are passed by value depends on the processor. */
#define LANES 4
typedef float singles __attribute__((vector_size(4 * LANES)));
typedef double reals __attribute__((vector_size(8 * LANES)));
typedef uint64_t words __attribute__((vector_size(8 * LANES)));
typedef int64_t mask __attribute__((vector_size(8 * LANES)));

/* Added to a number below 2^51 it leaves its integer part in the lowest bits, rounded. */
#define TO_INTEGER 0x1.8p52

#define LN2 0.69314718055994530942
#define LN2_HIGH 0x1.62e42feep-1 /* of 32 bits, so that products with small integers are exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define HALF_PI_HIGH 0x1.921fb544p0
#define HALF_PI_LOW 0x1.0b4611a626331p-34
#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define ONE_BITS UINT64_C(0x3ff0000000000000)
#define FRACTION_BITS UINT64_C(0x000fffffffffffff)
#define TWO_52_BITS UINT64_C(0x4330000000000000)
#define SIGN_BIT (UINT64_C(1) << 63)
#define EXP_MAX 200 /* more is beyond every float */
#define ANGLE_MAX 0x1p20f

#define ALL(x) ((reals){0} + (x))
#define PICK(where, a, b) ((reals)(((where) & (mask)(a)) | (~(where) & (mask)(b))))
#define SIZE(x) ((reals)((words)(x) & ~SIGN_BIT))

INLINE void to_exp(reals *value) {
    reals x = *value;
    x = PICK(x < -EXP_MAX, ALL(-EXP_MAX), x);
    x = PICK(x > EXP_MAX, ALL(EXP_MAX), x); /* what is no number stays none */
    const reals shifted = x * (1 / LN2) + TO_INTEGER, n = shifted - TO_INTEGER;
    const reals r = x - n * LN2_HIGH - n * LN2_LOW;
    reals sum = r * (1.0 / 3628800) + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    *value = sum * (reals)(((words)shifted + 1023) << 52);
}

/* By log(m) = 2 artanh((m - 1) / (m + 1)), for m between the roots of 1/2 and of 2. */
INLINE void to_log(reals *value) {
    const reals x = *value;
    const words shifted = (words)x + (ONE_BITS - SQRT_HALF_BITS);
    const reals n = (reals)(shifted >> 52 | TWO_52_BITS) - (0x1p52 + 1023);
    const reals m = (reals)((shifted & FRACTION_BITS) + SQRT_HALF_BITS);
    const reals s = (m - 1) / (m + 1), z = s * s;
    reals sum = z * (1.0 / 15) + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    sum = sum * z + 1;
    const reals found = n * LN2 + 2 * s * sum;
    const reals edge = PICK(x == 0, ALL(-INFINITY), ALL(NAN));
    const reals large = PICK(x < INFINITY, found, x);
    *value = PICK(x > 0, large, edge);
}

INLINE void to_log1p(reals *value) {
    const reals x = *value;
    const reals near = x * (1 - x * (0.5 - x * (1.0 / 3 - x * 0.25)));
    reals far = 1 + x;
    to_log(&far);
    *value = PICK(SIZE(x) < 0x1p-11, near, far);
}

INLINE void to_tanh(reals *value) {
    const reals x = *value;
    const reals z = x * x, near = x * (1 - z * (1.0 / 3 - z * (2.0 / 15)));
    reals power = 2 * x;
    to_exp(&power);
    const reals far = 1 - 2 / (power + 1);
    *value = PICK(SIZE(x) < 0x1p-9, near, far);
}

INLINE void to_sigmoid(reals *value) {
    reals power = -*value;
    to_exp(&power);
    *value = 1 / (1 + power);
}

/* The sine of x plus so many right angles, for small x. */
INLINE void to_sine(reals *value, uint64_t turns) {
    const reals x = *value;
    const reals shifted = x * (1 / (HALF_PI_HIGH + HALF_PI_LOW)) + TO_INTEGER;
    const reals n = shifted - TO_INTEGER, r = x - n * HALF_PI_HIGH - n * HALF_PI_LOW, z = r * r;
    const words quadrant = (words)shifted + turns;
    reals sine = z * (1.0 / 6227020800) - 1.0 / 39916800;
    reals cosine = z * (-1.0 / 87178291200) + 1.0 / 479001600;
    sine = sine * z + 1.0 / 362880, cosine = cosine * z - 1.0 / 3628800;
    sine = sine * z - 1.0 / 5040, cosine = cosine * z + 1.0 / 40320;
    sine = sine * z + 1.0 / 120, cosine = cosine * z - 1.0 / 720;
    sine = sine * z - 1.0 / 6, cosine = cosine * z + 1.0 / 24;
    sine = sine * z * r + r, cosine = cosine * z - 0.5;
    cosine = cosine * z + 1;
    const reals found = PICK((quadrant & 1) != 0, cosine, sine);
    *value = (reals)((words)found ^ (quadrant & 2) << 62);
}

INLINE void load(const float *x, reals *out) {
    singles few;
    memcpy(&few, x, sizeof few);
    *out = __builtin_convertvector(few, reals);
}

INLINE void store(const reals *x, float *out) {
    const singles few = __builtin_convertvector(*x, singles);
    memcpy(out, &few, sizeof few);
}

#define EACH(change)                                                                               \
    for (size_t i = 0; i < count; i += LANES) {                                                    \
        reals a;                                                                                   \
        load(x + i, &a);                                                                           \
        change;                                                                                    \
        store(&a, out + i);                                                                        \
    }                                                                                              \
    break

/* `count` is a multiple of LANES. */
INLINE void apply(fr_elementwise function, const float *x, size_t count, float *out) {
    switch (function) {
        case FR_ELEMENTWISE_EXP:
            EACH(to_exp(&a));
        case FR_ELEMENTWISE_LOG:
            EACH(to_log(&a));
        case FR_ELEMENTWISE_LOG1P:
            EACH(to_log1p(&a));
        case FR_ELEMENTWISE_TANH:
            EACH(to_tanh(&a));
        case FR_ELEMENTWISE_SIGMOID:
            EACH(to_sigmoid(&a));
        case FR_ELEMENTWISE_SIN:
            EACH(to_sine(&a, 0));
        case FR_ELEMENTWISE_COS:
            EACH(to_sine(&a, 1));
        default:
            break;
    }
}

INLINE void power(const float *x, const float *powers, size_t count, float *out) {
    for (size_t i = 0; i < count; i += LANES) {
        reals base, by;
        load(x + i, &base), load(powers + i, &by);
        to_log(&base);
        base *= by;
        to_exp(&base);
        store(&base, out + i);
    }
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

AVX2 static void apply_wide(fr_elementwise function, const float *x, size_t count, float *out) {
    apply(function, x, count, out);
}

AVX2 static void power_wide(const float *x, const float *powers, size_t count, float *out) {
    power(x, powers, count, out);
}
#else
#define apply_wide apply
#define power_wide power
#endif

static bool are_angles(const float *x) {
    int all = 1; /* as wide as the numbers, for which it vectorises */
    for (size_t i = 0; i < RUN; i++)
        all &= fabsf(x[i]) <= ANGLE_MAX;
    return all;
}

/* Whether logarithms are the way to their powers. */
static bool are_bases(const float *x, const float *powers) {
    int all = 1;
    for (size_t i = 0; i < RUN; i++)
        all &= (x[i] >= 0) & (x[i] < INFINITY) & (fabsf(powers[i]) < INFINITY) &
               ((x[i] > 0) | (powers[i] > 0));
    return all;
}

static void apply_run(fr_elementwise function, const float *x, float *out) {
    const bool turns = function == FR_ELEMENTWISE_SIN || function == FR_ELEMENTWISE_COS;
    if (turns && !are_angles(x))
        for (size_t i = 0; i < RUN; i++)
            out[i] = function == FR_ELEMENTWISE_SIN ? sinf(x[i]) : cosf(x[i]);
    else if (fr_cpu_features() & FR_CPU_AVX2)
        apply_wide(function, x, RUN, out);
    else
        apply(function, x, RUN, out);
}

static void power_run(const float *x, const float *powers, float *out) {
    if (!are_bases(x, powers))
        for (size_t i = 0; i < RUN; i++)
            out[i] = powf(x[i], powers[i]);
    else if (fr_cpu_features() & FR_CPU_AVX2)
        power_wide(x, powers, RUN, out);
    else
        power(x, powers, RUN, out);
}

/* What is left behind the last run is brought up to one by ones. */
static const float *filled(const float *x, size_t count, float *room) {
    for (size_t i = 0; i < RUN; i++)
        room[i] = i < count ? x[i] : 1;
    return room;
}

void fr_elementwise_apply(fr_elementwise function, const float *x, size_t count, float *out) {
    float room[RUN];
    for (; count >= RUN; count -= RUN, x += RUN, out += RUN)
        apply_run(function, x, out);
    if (!count) return;
    apply_run(function, filled(x, count, room), room);
    memcpy(out, room, count * sizeof *out);
}

void fr_elementwise_power(const float *x, const float *powers, bool one_power, size_t count,
                          float *out) {
    const size_t step = one_power ? 0 : RUN;
    float room[RUN], by[RUN];
    for (size_t i = 0; one_power && i < RUN; i++)
        by[i] = powers[0];
    if (one_power) powers = by;
    for (; count >= RUN; count -= RUN, x += RUN, powers += step, out += RUN)
        power_run(x, powers, out);
    if (!count) return;
    if (!one_power) powers = filled(powers, count, by);
    power_run(filled(x, count, room), powers, room);
    memcpy(out, room, count * sizeof *out);
}
