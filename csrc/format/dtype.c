/* SPDX-License-Identifier: Apache-2.0 */
#include "format/dtype.h"

#include <inttypes.h>

static const struct {
    const char *name;
    uint8_t size;
    uint8_t part; /* bytes of the unit to which the byte order applies */
} dtypes[] = {
    [FR_BOOL] = {"bool", 1, 1},           [FR_INT8] = {"int8", 1, 1},
    [FR_UINT8] = {"uint8", 1, 1},         [FR_INT16] = {"int16", 2, 2},
    [FR_UINT16] = {"uint16", 2, 2},       [FR_INT32] = {"int32", 4, 4},
    [FR_UINT32] = {"uint32", 4, 4},       [FR_INT64] = {"int64", 8, 8},
    [FR_UINT64] = {"uint64", 8, 8},       [FR_FLOAT16] = {"float16", 2, 2},
    [FR_FLOAT32] = {"float32", 4, 4},     [FR_FLOAT64] = {"float64", 8, 8},
    [FR_COMPLEX64] = {"complex64", 8, 4}, [FR_COMPLEX128] = {"complex128", 16, 8},
    [FR_BYTES] = {"bytes", 1, 1},
};

size_t fr_dtype_size(fr_dtype dtype) {
    return dtypes[dtype].size;
}

const char *fr_dtype_name(fr_dtype dtype) {
    return dtypes[dtype].name;
}

static void copy_swapped(uint8_t *dst, const uint8_t *src, size_t size, size_t part) {
    for (size_t i = 0; i < size; i += part)
        for (size_t j = 0; j < part; j++)
            dst[i + j] = src[i + part - 1 - j];
}

/* Any nonzero byte is true, and a bool in memory must be 0 or 1. */
static void copy_bools(uint8_t *dst, const uint8_t *src, size_t count) {
    for (size_t i = 0; i < count; i++)
        dst[i] = src[i] != 0;
}

bool fr_dtype_is_plain(fr_dtype dtype, bool swap) {
    return dtype != FR_BOOL && !(swap && dtypes[dtype].part > 1);
}

void fr_dtype_copy(uint8_t *dst, const uint8_t *src, size_t count, fr_dtype dtype, bool swap) {
    size_t size = count * dtypes[dtype].size;
    if (size == 0) return;
    if (fr_dtype_is_plain(dtype, swap))
        memcpy(dst, src, size);
    else if (dtype == FR_BOOL)
        copy_bools(dst, src, count);
    else
        copy_swapped(dst, src, size, dtypes[dtype].part);
}

/* Collects the bits of a value that its type cannot hold. A signed value is first shifted up by
   half the range, so that these bits are zero exactly if it fits. The loop has no early exit, so
   the compiler can vectorise it. */
#define STORE(name, type, offset, bits)                                                            \
    static bool name(uint8_t *dst, const int64_t *values, size_t count) {                          \
        uint64_t beyond = 0;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            type narrow = (type)values[i];                                                         \
            memcpy(dst + i * sizeof narrow, &narrow, sizeof narrow);                               \
            beyond |= ((uint64_t)values[i] + (offset)) >> (bits);                                  \
        }                                                                                          \
        return beyond == 0;                                                                        \
    }
STORE(store_bool, uint8_t, 0, 1)
STORE(store_i8, int8_t, 0x80, 8)
STORE(store_u8, uint8_t, 0, 8)
STORE(store_i16, int16_t, 0x8000, 16)
STORE(store_u16, uint16_t, 0, 16)
STORE(store_i32, int32_t, UINT64_C(0x80000000), 32)
STORE(store_u32, uint32_t, 0, 32)
STORE(store_u64, uint64_t, 0, 63)

static bool store(uint8_t *dst, fr_dtype dtype, const int64_t *values, size_t count) {
    switch (dtype) {
        case FR_BOOL:
            return store_bool(dst, values, count);
        case FR_INT8:
            return store_i8(dst, values, count);
        case FR_UINT8:
            return store_u8(dst, values, count);
        case FR_INT16:
            return store_i16(dst, values, count);
        case FR_UINT16:
            return store_u16(dst, values, count);
        case FR_INT32:
            return store_i32(dst, values, count);
        case FR_UINT32:
            return store_u32(dst, values, count);
        case FR_UINT64:
            return store_u64(dst, values, count);
        default:
            break;
    }
    if (count) memcpy(dst, values, count * 8);
    return true;
}

int fr_dtype_from_int64(uint8_t *dst, fr_dtype dtype, const int64_t *values, size_t count,
                        fr_error *err) {
    if (FR_LIKELY(store(dst, dtype, values, count))) return FR_OK;
    size_t bad = 0;
    while (bad + 1 < count &&
           store(dst, dtype, values + bad, 1)) /* another thread may write to values */
        bad++;
    return fr_fail(err, FR_ERR_SCHEMA, "value %" PRId64 " does not fit %s", values[bad],
                   fr_dtype_name(dtype));
}

/* Converts IEEE 754 binary32 to binary16, rounding to nearest, ties to even. */
static uint16_t half_of(uint32_t bits) {
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000) return sign | 0x7c00;
    if (bits < 0x33000001) return sign;
    uint32_t exponent = bits >> 23, mantissa = (bits & 0x7fffff) | 0x800000;
    unsigned shift = exponent < 113 ? 126 - exponent : 13;
    uint32_t half =
        exponent < 113 ? mantissa >> shift : ((exponent - 112) << 10) + ((mantissa >> 13) & 0x3ff);
    uint32_t rest = mantissa & ((1u << shift) - 1), tie = 1u << (shift - 1);
    half += rest > tie || (rest == tie && (half & 1));
    return (uint16_t)(sign | half);
}

void fr_dtype_from_float(uint8_t *dst, fr_dtype dtype, const uint8_t *values, size_t count) {
    if (count == 0) return;
    if (dtype == FR_FLOAT32) {
        fr_dtype_copy(dst, values, count, FR_FLOAT32, FR_BIG_ENDIAN);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = fr_load_u32(values + 4 * i);
        if (dtype == FR_FLOAT16) {
            uint16_t half = half_of(bits);
            memcpy(dst + 2 * i, &half, sizeof half);
        } else {
            float single;
            memcpy(&single, &bits, sizeof single);
            double wide = single;
            memcpy(dst + 8 * i, &wide, sizeof wide);
        }
    }
}
