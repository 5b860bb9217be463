/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "format/pack_internal.h"

/* Number of integers that are encoded in one step. */
#define BLOCK 128

static bool sw_supported(void) {
    return true;
}

/* Writes the varints of values below 2^28. May overwrite up to 3 bytes after them. */
static uint8_t *put_28(uint8_t *p, const uint8_t *values, size_t count) {
    uint32_t words[BLOCK], sizes[BLOCK];
    for (size_t i = 0; i < count; i++) {
        int32_t v = (int32_t)fr_pack_load(values, i);
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

/* Writes the varints of values below 2^56. May overwrite up to 7 bytes after them. */
static uint8_t *put_56(uint8_t *p, const uint8_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t v = fr_pack_load(values, i);
        size_t more = fr_wire_varint_size(v) - 1;
        v = (v & 0x000000000fffffff) | (v & 0x00fffffff0000000) << 4;
        v = (v & 0x00003fff00003fff) | (v & 0x0fffc0000fffc000) << 2;
        v = (v & 0x007f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
        fr_store_u64(p, v | (0x8080808080808080 & (((uint64_t)1 << 8 * more) - 1)));
        p += more + 1;
    }
    return p;
}

static uint8_t *put_7(uint8_t *p, const uint8_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        p[i] = (uint8_t)fr_pack_load(values, i);
    return p + count;
}

/* A branch on the size of each value would be mispredicted, so a block of values with a common
   bound takes the same steps for each value. */
static uint8_t *put_block(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count) {
    const size_t room = (size_t)(end - p);
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= fr_pack_load(values, i);
    if (any < 1u << 7 && room >= count) return put_7(p, values, count);
    if (any < 1u << 28 && room >= count * 4) return put_28(p, values, count);
    if (any >> 56 == 0 && room >= count * 8) return put_56(p, values, count);
    return fr_pack_put_rest(p, end, values, count);
}

static uint8_t *sw_put(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count) {
    for (size_t done = 0; p && done < count; done += BLOCK) {
        size_t some = count - done < BLOCK ? count - done : BLOCK;
        p = put_block(p, end, values + done * sizeof(int64_t), some);
    }
    return p;
}

const fr_pack_impl fr_pack_impls[] = {
#if defined(FR_PACK_X86)
    {"avx512", fr_pack_avx512_supported, fr_pack_avx512_size, fr_pack_avx512_put},
#endif
    {"sw", sw_supported, fr_pack_size_rest, sw_put},
    {NULL, NULL, NULL, NULL},
};

/* Threads that arrive here together choose the same implementation. Relaxed order suffices because
   the implementation is constant. */
const fr_pack_impl *fr_pack_active(void) {
    static const fr_pack_impl *_Atomic resolved;
    const fr_pack_impl *impl = atomic_load_explicit(&resolved, memory_order_relaxed);
    if (FR_UNLIKELY(!impl)) {
        impl = fr_pack_impls;
        while (!impl->supported())
            impl++;
        atomic_store_explicit(&resolved, impl, memory_order_relaxed);
    }
    return impl;
}
