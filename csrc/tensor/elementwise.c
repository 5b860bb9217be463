/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The approximations are polynomials and quotients of polynomials, with TensorFlow's order of
 * operations and without fused multiplications, so that each step rounds as in TensorFlow.
 */
#include "tensor/elementwise.h"

#include <float.h>
#include <math.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PACKET 8 /* floats in one of TensorFlow's vectors */
#define RUN 128
#define PI 3.14159265358979323846
#define HALF_PI (PI / 2)
#define ROUNDER 0x1.8p23f /* added to a number below 2^22, puts the integer in the lowest bits */
#define LOG2_E 1.44269504088896341f
#define LN2_FRONT 0.693359375f /* the leading 9 bits, then the remainder */
#define LN2_REST 2.12194440e-4f
#define EXP_LOWEST (-104.0f)
#define EXP_HIGHEST 88.723f
#define SIGMOID_HIGHEST 16.6355324f /* the result is 1 from here on */
#define ERFC_HIGHEST 11.0f          /* erfc is 0 from here on */
#define ROOT_2 1.41421356237309504880f
#define SELU_SCALE 1.0507009873554804934193349852946f
#define SELU_ALPHA 1.6732632423543772848170429916717f
#define TANH_HIGHEST 7.90738964080810547f

/* The bytes of 1 / (2 pi); the first four are before the binary point. */
static const uint8_t TURNS[] = {0,    0,    0,    0,    0x28, 0xbe, 0x60, 0xdb, 0x93, 0x91,
                                0x05, 0x4a, 0x7f, 0x09, 0xd5, 0xf4, 0x7d, 0x4d, 0x37, 0x70,
                                0x36, 0xd8, 0xa5, 0x66, 0x4f, 0x10, 0xe4, 0x10, 0,    0};

/* Reduces a large angle to the nearest quadrant, by the method of M. Payne and R. Hanek: bytes
   of TURNS that contribute only whole turns are skipped, and the next twelve are used. */
static float reduced(float angle, int32_t *quadrant) {
    uint32_t bits;
    uint64_t turns = 0;
    unsigned __int128 product;
    memcpy(&bits, &angle, sizeof bits);
    const uint32_t exponent = (bits >> 23) - 118; /* exponent of the lowest bit, plus 8 * 4 */
    const uint64_t digits = (uint64_t)((bits & 0x007fffff) | 0x00800000) << (exponent & 7);
    const uint8_t *bytes = TURNS + (exponent >> 3);
    for (int i = 0; i < 8; i++)
        turns = turns << 8 | bytes[i];
    product = (unsigned __int128)turns * digits;
    turns = 0;
    for (int i = 8; i < 12; i++)
        turns = turns << 8 | bytes[i];
    turns = (uint64_t)product + (turns * digits >> 32);
    const uint64_t whole = (turns + (UINT64_C(1) << 61)) >> 62;
    *quadrant = (int32_t)whole;
    return (float)((double)(int64_t)(turns - (whole << 62)) * (HALF_PI * 0x1p-62));
}

#define TIER(name) name##_portable
#define TARGET
#define LANES 4
#include "tensor/elementwise_packets.h"

#if defined(__x86_64__)
#define TIER(name) name##_avx2
#define TARGET __attribute__((target("avx2")))
#define LANES 8
#define LESSER(a, b) ((packet)_mm256_min_ps((__m256)(b), (__m256)(a)))
#define GREATER(a, b) ((packet)_mm256_max_ps((__m256)(b), (__m256)(a)))
#define ROUNDED_DOWN(x) ((packet)_mm256_floor_ps((__m256)(x)))
#define GUESSED_ROOT(x) ((packet)_mm256_rsqrt_ps((__m256)(x)))
#define ROOT(x) ((packet)_mm256_sqrt_ps((__m256)(x)))
#define IS_ANY(where) (_mm256_movemask_ps((__m256)(where)) != 0)
#include "tensor/elementwise_packets.h"

#define TIER(name) name##_avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define LANES 16
#define LESSER(a, b) ((packet)_mm512_min_ps((__m512)(b), (__m512)(a)))
#define GREATER(a, b) ((packet)_mm512_max_ps((__m512)(b), (__m512)(a)))
#define ROUNDED_DOWN(x) ((packet)_mm512_roundscale_ps((__m512)(x), _MM_FROUND_TO_NEG_INF))
#define SCALED(x, power) ((packet)_mm512_scalef_ps((__m512)(x), (__m512)(power)))
#define ROOT(x) ((packet)_mm512_sqrt_ps((__m512)(x)))
#define IS_ANY(where) (_mm512_movepi32_mask((__m512i)(where)) != 0)
#include "tensor/elementwise_packets.h"
#endif

/* REQUIRES: `count` is a multiple of PACKET. */
__attribute__((noinline)) static void apply_packets(fr_elementwise function, const float *x,
                                                    size_t count, float *out) {
#if defined(__x86_64__)
    const uint32_t features = fr_cpu_features();
    size_t done = 0;
    if (features & FR_CPU_AVX512 && function != FR_ELEMENTWISE_RSQRT)
        apply_avx512(function, x, done = count / 16 * 16, out);
    if (features & FR_CPU_AVX2)
        apply_avx2(function, x + done, count - done, out + done);
    else
        apply_portable(function, x, count, out);
#else
    apply_portable(function, x, count, out);
#endif
}

static float (*const OF_LIBM[])(float) = {acoshf, asinhf, coshf, sinhf, tanf};

/* Computes a number that is not in a full packet. Like TensorFlow, uses libm except for tangents
   and signs. */
__attribute__((noinline)) static float apply_alone(fr_elementwise function, float x) {
    switch (function) {
        case FR_ELEMENTWISE_EXP:
            return expf(x);
        case FR_ELEMENTWISE_LOG:
            return logf(x);
        case FR_ELEMENTWISE_LOG1P:
            return log1pf(x);
        case FR_ELEMENTWISE_EXPM1:
            return expm1f(x);
        case FR_ELEMENTWISE_SIGMOID:
            x = expf(x > SIGMOID_HIGHEST ? SIGMOID_HIGHEST : x);
            return x / (1 + x);
        case FR_ELEMENTWISE_SIN:
            return sinf(x);
        case FR_ELEMENTWISE_COS:
            return cosf(x);
        case FR_ELEMENTWISE_RSQRT:
            return 1 / sqrtf(x);
        case FR_ELEMENTWISE_ELU:
            return x < 0 ? expf(x) - 1 : x;
        case FR_ELEMENTWISE_SELU:
            return x < 0 ? (expf(x) - 1) * (SELU_SCALE * SELU_ALPHA) : x * SELU_SCALE;
        case FR_ELEMENTWISE_ACOS:
            return acosf(x);
        case FR_ELEMENTWISE_ASIN:
            return asinf(x);
        case FR_ELEMENTWISE_ATAN:
            return atanf(x);
        case FR_ELEMENTWISE_ATANH:
            return atanhf(x);
        default: { /* the approximation, for one number */
            float packet[PACKET] = {x};
            apply_portable(function, packet, PACKET, packet);
            return packet[0];
        }
    }
}

/* TensorFlow's kernels treat subnormal inputs as zeros, and replace subnormal results by zeros. */
#if defined(__x86_64__)
#define FLUSH_TO_ZERO 0x8040 /* flush to zero, and denormals are zeros */

static unsigned flush_subnormals(void) {
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | FLUSH_TO_ZERO);
    return mode;
}

#define keep_subnormals _mm_setcsr
#else
static unsigned flush_subnormals(void) {
    return 0;
}

static void keep_subnormals(unsigned mode) {
    (void)mode;
}
#endif

void fr_elementwise_apply(fr_elementwise function, const float *x, size_t count, size_t row,
                          float *out) {
    if (function >= FR_ELEMENTWISE_ACOSH) {
        for (size_t i = 0; i < count; i++)
            out[i] = OF_LIBM[function - FR_ELEMENTWISE_ACOSH](x[i]);
        return;
    }
    const unsigned mode = flush_subnormals();
    const size_t rest = row % PACKET;
    if (rest == 0) row = count;
    for (; count; count -= row, x += row, out += row) {
        const size_t packed = row - rest;
        apply_packets(function, x, packed, out);
        for (size_t i = packed; i < row; i++)
            out[i] = apply_alone(function, x[i]);
    }
    keep_subnormals(mode);
}
