/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <math.h>

#include "wire.h"

/* Integers converted and encoded at a time. */
#define CHUNK 128

#define WIDEN(type)                                                                                \
    for (size_t i = 0; i < count; i++) {                                                           \
        type element;                                                                              \
        memcpy(&element, p + i * sizeof element, sizeof element);                                  \
        out[i] = (int64_t)element;                                                                 \
    }                                                                                              \
    return

/* `count` integers of any type as int64; those of uint64 wrap. */
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

/* Writes the varints of values below 2^28, and up to 3 bytes of anything after them. */
static uint8_t *put_varints_28(uint8_t *p, const int64_t *values, size_t count) {
    uint32_t words[CHUNK], sizes[CHUNK];
    for (size_t i = 0; i < count; i++) {
        int32_t v = (int32_t)values[i];
        uint32_t two = v >= 1 << 7, three = v >= 1 << 14, four = v >= 1 << 21;
        uint32_t x = (uint32_t)v;
        x = (x & 0x3fff) | (x & 0x0fffc000) << 2;
        x = (x & 0x007f007f) | (x & 0x3f803f80) << 1;
        words[i] = x | two << 7 | three << 15 | four << 23;
        sizes[i] = 1 + two + three + four;
    }
    for (size_t i = 0; i < count; i++) {
        fr_store_u32(p, words[i]);
        p += sizes[i];
    }
    return p;
}

/* Below 2^56, up to 7 bytes after it. */
static inline uint8_t *put_varint_56(uint8_t *p, uint64_t v) {
    size_t more = fr_wire_varint_size(v) - 1;
    v = (v & 0x000000000fffffff) | (v & 0x00fffffff0000000) << 4;
    v = (v & 0x00003fff00003fff) | (v & 0x0fffc0000fffc000) << 2;
    v = (v & 0x007f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
    fr_store_u64(p, v | (0x8080808080808080 & (((uint64_t)1 << 8 * more) - 1)));
    return p + more + 1;
}

/* Sizes that vary from one value to the next cannot be predicted, so a block of values that have
   the same bound takes the same steps for each. */
static uint8_t *put_varints(uint8_t *p, const int64_t *values, size_t count) {
    if (count == 1) return fr_wire_put_varint(p, (uint64_t)*values);
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= (uint64_t)values[i];
    if (any < 1u << 7) {
        for (size_t i = 0; i < count; i++)
            p[i] = (uint8_t)values[i];
        return p + count;
    }
    if (any < 1u << 28) return put_varints_28(p, values, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = (uint64_t)values[i];
        if (any >> 56 == 0)
            p = put_varint_56(p, value);
        else
            p = fr_wire_put_varint(p, value);
    }
    return p;
}

int fr_pack_ints(fr_buffer *out, fr_dtype dtype, const uint8_t *values, size_t count,
                 fr_pack_fault *fault, fr_error *err) {
    const size_t width = fr_dtype_size(dtype);
    int64_t chunk[CHUNK];
    int64_t any = 0;
    while (count > 0) {
        size_t some = count < CHUNK ? count : CHUNK;
        widen(chunk, dtype, values, some);
        if (dtype == FR_UINT64)
            for (size_t i = 0; i < some; i++)
                any |= chunk[i];
        FR_TRY(fr_buffer_reserve(out, some * FR_VARINT_MAX + 8, err));
        uint8_t *end = put_varints(out->data + out->size, chunk, some);
        out->size = (size_t)(end - out->data);
        values += some * width;
        count -= some;
    }
    *fault = any < 0 ? "an integer is beyond int64" : NULL;
    return FR_OK;
}

/* The bits of a float32 of the same value as a float16. */
static uint32_t widen_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    if (exponent == 0x1f) return sign | 0x7f800000 | fraction << 13;
    if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
    if (fraction == 0) return sign;
    uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21; /* of a subnormal: to a leading 1 */
    return sign | (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13;
}

static fr_pack_fault put_doubles(uint8_t *out, const uint8_t *values, size_t count) {
    bool beyond = false;
    for (size_t i = 0; i < count; i++) {
        double wide;
        memcpy(&wide, values + i * sizeof wide, sizeof wide);
        float narrow = (float)wide;
        beyond |= isinf(narrow) && !isinf(wide);
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        fr_store_u32(out + i * 4, bits);
    }
    return beyond ? "a finite value is beyond float32" : NULL;
}

fr_pack_fault fr_pack_floats(uint8_t *out, fr_dtype dtype, const uint8_t *values, size_t count) {
    if (dtype == FR_FLOAT64) return put_doubles(out, values, count);
    if (dtype == FR_FLOAT32) {
        fr_raw_copy(out, values, count, FR_FLOAT32, FR_BIG_ENDIAN);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, values + i * sizeof half, sizeof half);
        fr_store_u32(out + i * 4, widen_half(half));
    }
    return NULL;
}
