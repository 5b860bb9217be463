/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses Taylor series with enough terms for a truncation error below 2^-40 of the result. Processes
 * LANES numbers at a time, without branches.
 */
#include "tensor/power.h"

#include <math.h>

#include "base/cpu.h"

#define RUN 128
#define INLINE __attribute__((always_inline)) static inline

/* Vectors are passed by pointer, because the ABI for vectors passed by value depends on the
   processor. */
#define LANES 4
typedef float singles __attribute__((vector_size(4 * LANES)));
typedef double reals __attribute__((vector_size(8 * LANES)));
typedef uint64_t words __attribute__((vector_size(8 * LANES)));
typedef int64_t mask __attribute__((vector_size(8 * LANES)));

/* Added to a number below 2^51, leaves the rounded integer in the lowest bits. */
#define TO_INTEGER 0x1.8p52

#define LN2 0.69314718055994530942
#define LN2_HIGH 0x1.62e42feep-1 /* 32 bits, so that products with small integers are exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define ONE_BITS UINT64_C(0x3ff0000000000000)
#define FRACTION_BITS UINT64_C(0x000fffffffffffff)
#define TWO_52_BITS UINT64_C(0x4330000000000000)
#define EXP_MAX 200 /* a greater exponent overflows every float */

#define ALL(x) ((reals){0} + (x))
#define PICK(where, a, b) ((reals)(((where) & (mask)(a)) | (~(where) & (mask)(b))))

INLINE void to_exp(reals *value) {
    reals x = *value;
    x = PICK(x < -EXP_MAX, ALL(-EXP_MAX), x);
    x = PICK(x > EXP_MAX, ALL(EXP_MAX), x); /* NaN stays NaN */
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

/* Uses log(m) = 2 artanh((m - 1) / (m + 1)), for m between the roots of 1/2 and of 2. */
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

INLINE void load(const float *x, reals *out) {
    singles few;
    memcpy(&few, x, sizeof few);
    *out = __builtin_convertvector(few, reals);
}

INLINE void store(const reals *x, float *out) {
    const singles few = __builtin_convertvector(*x, singles);
    memcpy(out, &few, sizeof few);
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

AVX2 static void power_wide(const float *x, const float *powers, size_t count, float *out) {
    power(x, powers, count, out);
}
#else
#define power_wide power
#endif

/* Returns true if the powers of these numbers can be computed by logarithms. */
static bool are_bases(const float *x, const float *powers) {
    int all = 1;
    for (size_t i = 0; i < RUN; i++)
        all &= (x[i] >= 0) & (x[i] < INFINITY) & (fabsf(powers[i]) < INFINITY) &
               ((x[i] > 0) | (powers[i] > 0));
    return all;
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

/* Returns the last numbers, filled up to a full run with ones. */
static const float *filled(const float *x, size_t count, float *room) {
    for (size_t i = 0; i < RUN; i++)
        room[i] = i < count ? x[i] : 1;
    return room;
}

void fr_power(const float *x, const float *powers, bool one_power, size_t count, float *out) {
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
