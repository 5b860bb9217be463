/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "avx512" (Ice Lake, Zen 4 and later) encodes eight integers at once, each in its 64-bit lane.
 * Three shifts and blends move its seven-bit groups to the starts of their bytes:
 *
 *     28 + 28 bits     ....ffff fffeeeee eeeddddd  cccc.... : halves four bits apart
 *     14 + 14 bits     in each half, two bits apart
 *      7 +  7 bits     in each quarter, one bit apart
 *
 * This leaves stray bits in bit 7 of some bytes, which one AND clears. A byte is part of the varint
 * if it, or a higher byte of the lane, is nonzero, or if it is the first of the lane. It gets the
 * continuation bit if a higher byte is part of the varint too. A byte compression then closes the
 * gaps between lanes. An integer of more than 56 bits does not fit a lane; its group of eight is
 * encoded without vectors.
 */
#include "base/cpu.h"
#include "format/pack_internal.h"

#if defined(FR_PACK_X86)

#include <immintrin.h>

#define AVX512 __attribute__((target("popcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2")))

#define LANES 8
#define FIRSTS UINT64_C(0x0101010101010101)

bool fr_pack_avx512_supported(void) {
    const uint32_t needed = FR_CPU_AVX512 | FR_CPU_AVX512VBMI2;
    return (fr_cpu_features() & needed) == needed;
}

AVX512 static inline __m512i load(const uint8_t *values, size_t i) {
    return _mm512_loadu_si512(values + i * sizeof(int64_t));
}

AVX512 static inline bool is_long(__m512i v) {
    return _mm512_test_epi64_mask(v, _mm512_set1_epi64((int64_t)0xff00000000000000));
}

/* Returns the bits of `v` under `mask`, and those of `v << shift` elsewhere. */
AVX512 static inline __m512i part(__m512i v, unsigned shift, uint64_t mask) {
    __m512i low = _mm512_set1_epi64((int64_t)mask);
    return _mm512_ternarylogic_epi64(low, v, _mm512_slli_epi64(v, shift), 0xca);
}

AVX512 static inline __m512i spread(__m512i v) {
    v = part(v, 4, 0x00000000ffffffff);
    v = part(v, 2, 0x0000ffff0000ffff);
    v = part(v, 1, 0x00ff00ff00ff00ff);
    return _mm512_and_si512(v, _mm512_set1_epi8(0x7f));
}

/* Returns a mask of the bytes that are part of their varint. */
AVX512 static inline uint64_t counting(__m512i v) {
    v = _mm512_or_si512(v, _mm512_srli_epi64(v, 8));
    v = _mm512_or_si512(v, _mm512_srli_epi64(v, 16));
    v = _mm512_or_si512(v, _mm512_srli_epi64(v, 32));
    return _mm512_test_epi8_mask(v, v) | FIRSTS;
}

AVX512 size_t fr_pack_avx512_size(const uint8_t *values, size_t count) {
    size_t size = 0, i = 0;
    for (; count - i >= LANES; i += LANES) {
        __m512i v = load(values, i);
        if (FR_UNLIKELY(is_long(v)))
            size += fr_pack_size_rest(values + i * sizeof(int64_t), LANES);
        else
            size += (size_t)_mm_popcnt_u64(counting(spread(v)));
    }
    return size + fr_pack_size_rest(values + i * sizeof(int64_t), count - i);
}

AVX512 uint8_t *fr_pack_avx512_put(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count) {
    size_t i = 0;
    for (; count - i >= LANES && (size_t)(end - p) >= sizeof(__m512i); i += LANES) {
        __m512i v = load(values, i);
        if (FR_UNLIKELY(is_long(v))) {
            p = fr_pack_put_rest(p, end, values + i * sizeof(int64_t), LANES);
            if (!p) return NULL;
            continue;
        }
        v = spread(v);
        uint64_t bytes = counting(v), more = bytes >> 1 & ~(FIRSTS << 7);
        v = _mm512_or_si512(v, _mm512_maskz_set1_epi8(more, (char)0x80));
        _mm512_storeu_si512(p, _mm512_maskz_compress_epi8(bytes, v));
        p += _mm_popcnt_u64(bytes);
    }
    return fr_pack_put_rest(p, end, values + i * sizeof(int64_t), count - i);
}

#endif
