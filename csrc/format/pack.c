/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "format/pack_internal.h"

/* Number of integers that are converted in one step. */
#define CHUNK 256

#define WIDEN(type)                                                                                \
    for (size_t i = 0; i < count; i++) {                                                           \
        type element;                                                                              \
        memcpy(&element, p + i * sizeof element, sizeof element);                                  \
        out[i] = (int64_t)element;                                                                 \
    }                                                                                              \
    return

/* Converts `count` integers of any type to int64; large uint64 values wrap. */
static void widen(int64_t *out, fr_dtype dtype, const uint8_t *p, size_t count) {
    switch (dtype) {
        case FR_BOOL:
            for (size_t i = 0; i < count; i++)
                out[i] = p[i] != 0;
            return;
        case FR_INT8:
            WIDEN(int8_t);
        case FR_UINT8:
            WIDEN(uint8_t);
        case FR_INT16:
            WIDEN(int16_t);
        case FR_UINT16:
            WIDEN(uint16_t);
        case FR_INT32:
            WIDEN(int32_t);
        case FR_UINT32:
            WIDEN(uint32_t);
        default:
            WIDEN(int64_t);
    }
}

static size_t check_ints(const uint8_t *values, size_t count) {
    int64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= (int64_t)fr_pack_load(values, i);
    if (any >= 0) return count;
    size_t i = 0;
    while ((int64_t)fr_pack_load(values, i) >= 0)
        i++;
    return i;
}

static inline double load_double(const uint8_t *values, size_t i) {
    double value;
    memcpy(&value, values + i * sizeof value, sizeof value);
    return value;
}

static inline bool is_beyond(double value) {
    return isinf((float)value) && !isinf(value);
}

static size_t check_doubles(const uint8_t *values, size_t count) {
    int beyond = 0;
    for (size_t i = 0; i < count; i++)
        beyond |= is_beyond(load_double(values, i));
    if (!beyond) return count;
    size_t i = 0;
    while (!is_beyond(load_double(values, i)))
        i++;
    return i;
}

size_t fr_pack_check(fr_dtype dtype, const uint8_t *values, size_t count) {
    if (dtype == FR_UINT64) return check_ints(values, count);
    if (dtype == FR_FLOAT64) return check_doubles(values, count);
    return count;
}

size_t fr_pack_ints_size(fr_dtype dtype, const uint8_t *values, size_t count) {
    const size_t width = fr_dtype_size(dtype);
    if (width == sizeof(int64_t) && count == 1) return fr_pack_size_rest(values, 1);
    if (width == sizeof(int64_t)) return fr_pack_active()->size(values, count);
    int64_t chunk[CHUNK];
    size_t size = 0;
    for (size_t some; count > 0; count -= some, values += some * width) {
        some = count < CHUNK ? count : CHUNK;
        widen(chunk, dtype, values, some);
        size += fr_pack_active()->size((const uint8_t *)chunk, some);
    }
    return size;
}

uint8_t *fr_pack_ints(uint8_t *p, uint8_t *end, fr_dtype dtype, const uint8_t *values,
                      size_t count) {
    const size_t width = fr_dtype_size(dtype);
    if (width == sizeof(int64_t) && count == 1) return fr_pack_put_rest(p, end, values, 1);
    if (width == sizeof(int64_t)) return fr_pack_active()->put(p, end, values, count);
    int64_t chunk[CHUNK];
    for (size_t some; p && count > 0; count -= some, values += some * width) {
        some = count < CHUNK ? count : CHUNK;
        widen(chunk, dtype, values, some);
        p = fr_pack_active()->put(p, end, (const uint8_t *)chunk, some);
    }
    return p;
}

/* Returns the bits of the float32 that equals a float16. */
static uint32_t widen_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0x1f) return sign | 0x7f800000 | fraction << 13;
    if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
    if (fraction == 0) return sign;
    uint32_t shift =
        (uint32_t)__builtin_clz(fraction) - 21; /* moves the leading 1 of a subnormal into place */
    return sign | (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13;
}

static void put_doubles(uint8_t *out, const uint8_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float narrow = (float)load_double(values, i);
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        fr_store_u32(out + i * 4, bits);
    }
}

void fr_pack_floats(uint8_t *out, fr_dtype dtype, const uint8_t *values, size_t count) {
    if (dtype == FR_FLOAT32) {
        fr_dtype_copy(out, values, count, FR_FLOAT32, FR_BIG_ENDIAN);
        return;
    }
    if (dtype == FR_FLOAT64) {
        put_doubles(out, values, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, values + i * sizeof half, sizeof half);
        fr_store_u32(out + i * 4, widen_half(half));
    }
}
