/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "bmi2" (Haswell, Excavator and later, except AMD processors whose PEXT is microcode): the top
 * bits of 32 bytes form a mask of the ends of varints. Each varint then takes one load and one
 * PEXT, which gathers the low seven bits of its bytes. No load waits for the varint before it.
 *
 * "avx512" (Ice Lake, Zen 4 and later) decodes all varints of 64 bytes together. The mask of the
 * starts of varints compresses the block to their first bytes, side by side. The same mask, applied
 * to the block one byte later and limited to varints with a second byte, compresses it to their
 * second bytes, and so on, up to the longest varint of the block:
 *
 *     block      a0 b0 b1 c0 d0 d1 d2       first    a0 b0 c0 d0
 *     begins      x  x     x  x             second    . b1  . d1
 *                                           third     .  .  . d2
 *
 * A byte permutation then places the bytes of eight varints in the 64-bit lanes of a register. Two
 * multiply-adds close the gaps between seven-bit groups: first to groups of 14 bits, then of 28.
 */
#include "base/cpu.h"
#include "format/varint_internal.h"

#if defined(FR_VARINT_X86)

#include <immintrin.h>

#include "format/wire.h"

#define SEVENS UINT64_C(0x7f7f7f7f7f7f7f7f)

#define BMI2 __attribute__((target("bmi,bmi2,avx2,popcnt")))
#define AVX512                                                                                     \
    __attribute__((                                                                                \
        target("bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,"                       \
               "avx512vbmi2")))

bool fr_varint_bmi2_supported(void) {
    const uint32_t needed = FR_CPU_AVX2 | FR_CPU_BMI2 | FR_CPU_FAST_PEXT;
    return (fr_cpu_features() & needed) == needed;
}

BMI2 static inline uint32_t ends_of_32(const uint8_t *p) {
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

BMI2 size_t fr_varint_bmi2_count(fr_span run) {
    const uint8_t *p = run.data;
    size_t left = run.size, count = 0;
    for (; left >= 32; p += 32, left -= 32)
        count += (size_t)_mm_popcnt_u32(ends_of_32(p));
    for (; left; p++, left--)
        count += *p < 0x80;
    return count;
}

BMI2 static inline void widen_32(const uint8_t *at, int64_t *out) {
    for (int i = 0; i < 32; i += 4) {
        int four;
        memcpy(&four, at + i, sizeof four);
        __m256i wide = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), wide);
    }
}

/* Decodes the varints that end within the 32 bytes at `at`, as many as fit. Returns the start of
   the next, or NULL if a varint is too long. Reads 39 bytes. */
BMI2 static inline const uint8_t *take_32(const uint8_t *at, uint32_t ends, int64_t *out,
                                          size_t room, size_t *done) {
    unsigned begin = 0;
    size_t taken = 0;
    for (; ends && taken < room; ends &= ends - 1) {
        unsigned next = (unsigned)__builtin_ctz(ends) + 1, size = next - begin;
        uint64_t value = 0;
        if (FR_LIKELY(size <= 8))
            value = _pext_u64(fr_load_u64(at + begin), SEVENS >> (64 - 8 * size));
        else if (!fr_wire_varint_slow(at + begin, at + next, &value))
            return NULL;
        out[taken++] = (int64_t)value;
        begin = next;
    }
    *done += taken;
    return begin ? at + begin : NULL;
}

BMI2 size_t fr_varint_bmi2_decode(const uint8_t **p, const uint8_t *end, int64_t *out,
                                  size_t count) {
    const uint8_t *at = *p;
    size_t done = 0;
    while (at && done < count && end - at >= 40) {
        uint32_t ends = ends_of_32(at);
        if (ends == UINT32_MAX && count - done >= 32) {
            widen_32(at, out + done);
            at += 32;
            done += 32;
        } else {
            at = take_32(at, ends, out + done, count - done, &done);
        }
    }
    *p = at;
    if (!at) return done;
    return done + fr_varint_decode_rest(p, end, out + done, count - done);
}

bool fr_varint_avx512_supported(void) {
    const uint32_t needed = FR_CPU_AVX512 | FR_CPU_AVX512VBMI2 | FR_CPU_BMI2;
    return (fr_cpu_features() & needed) == needed;
}

AVX512 static inline uint64_t low_bits(size_t count) {
    return count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
}

AVX512 size_t fr_varint_avx512_count(fr_span run) {
    size_t count = 0;
    for (size_t at = 0; at < run.size; at += 64) {
        uint64_t here = low_bits(run.size - at);
        __m512i block = _mm512_maskz_loadu_epi8(here, run.data + at);
        count += (size_t)_mm_popcnt_u64(~_mm512_movepi8_mask(block) & here);
    }
    return count;
}

/* Source of bytes 0 and 1 of varint i: one in the first register, one in the second. */
#define LANE(i) (INT64_C(0x4000400040004000) + (i) * INT64_C(0x0101010101010101))

/* A block of up to 64 bytes, `here`, and the varints that end in it. */
typedef struct {
    const uint8_t *at;
    uint64_t begins;
    uint64_t more; /* top bits of the bytes up to the end of the last varint */
    size_t count;  /* number of varints */
    size_t room;   /* number of integers that may be written, at least `count` */
} fr_varint_block;

/* Sets bytes[k] to byte k of each varint, without its top bit; zero for shorter varints. */
AVX512 static inline void compress(const fr_varint_block *block, __m512i *bytes, int longest) {
    uint64_t there = block->begins; /* starts of the varints that are longer than k */
    for (int k = 0; k < longest; k++) {
        __m512i shifted = _mm512_maskz_loadu_epi8(there, block->at + k);
        __m512i byte = _mm512_and_si512(shifted, _mm512_set1_epi8(0x7f));
        bytes[k] = _mm512_maskz_compress_epi8(block->begins, byte);
        there &= block->more >> k;
    }
    if (longest & 1) bytes[longest] = _mm512_setzero_si512();
}

/* Returns eight lanes, each with bytes 2k and 2k + 1 of one varint at their places. */
AVX512 static inline __m512i deal(const __m512i *bytes, int k, __m512i which) {
    const __mmask64 places = UINT64_C(0x0303030303030303) << (2 * k);
    return _mm512_maskz_permutex2var_epi8(places, bytes[2 * k], which, bytes[2 * k + 1]);
}

AVX512 static inline __m512i close_gaps(__m512i lanes, int longest) {
    lanes = _mm512_maddubs_epi16(_mm512_set1_epi16(INT16_MIN + 1),
                                 lanes); /* multiplies bytes by 1 and 128 */
    if (longest > 2) lanes = _mm512_madd_epi16(lanes, _mm512_set1_epi32(0x40000001));
    if (longest > 4) {
        const __m512i low = _mm512_set1_epi64(0x0fffffff);
        lanes = _mm512_or_si512(_mm512_and_si512(low, lanes),
                                _mm512_andnot_si512(low, _mm512_srli_epi64(lanes, 4)));
    }
    return lanes;
}

/* REQUIRES: `longest` is 2, 3, 4 or 8, a constant after inlining. */
AVX512 static inline __attribute__((always_inline)) void take_block(const fr_varint_block *block,
                                                                    int64_t *out, int longest) {
    __m512i bytes[8];
    compress(block, bytes, longest);
    __m512i which =
        _mm512_set_epi64(LANE(7), LANE(6), LANE(5), LANE(4), LANE(3), LANE(2), LANE(1), LANE(0));
    for (size_t i = 0; i < block->count; i += 8) {
        __m512i lanes = deal(bytes, 0, which);
        for (int k = 1; 2 * k < longest; k++)
            lanes = _mm512_or_si512(lanes, deal(bytes, k, which));
        lanes = close_gaps(lanes, longest);
        if (FR_LIKELY(i + 8 <= block->room))
            _mm512_storeu_si512(out + i, lanes);
        else
            _mm512_mask_storeu_epi64(out + i, (__mmask8)low_bits(block->room - i), lanes);
        which = _mm512_add_epi8(which, _mm512_set1_epi8(8));
    }
}

/* Decodes a block of `size` bytes. Returns false if a varint is too long: a run of set bits in
   `more` is as long as the bytes of a varint before its last. */
AVX512 static inline bool take_varints(const fr_varint_block *block, size_t size, int64_t *out) {
    uint64_t more = block->more, two = more & more >> 1, three = two & more >> 2;
    uint64_t four = two & two >> 2, eight = four & four >> 4;
    if (!two) {
        take_block(block, out, 2);
    } else if (!three) {
        take_block(block, out, 3);
    } else if (!four) {
        take_block(block, out, 4);
    } else if (FR_LIKELY(!eight)) {
        take_block(block, out, 8);
    } else {
        const uint8_t *p = block->at;
        return fr_varint_decode_rest(&p, p + size, out, block->count) == block->count;
    }
    return true;
}

AVX512 size_t fr_varint_avx512_decode(const uint8_t **p, const uint8_t *end, int64_t *out,
                                      size_t count) {
    const uint8_t *at = *p;
    size_t done = 0;
    while (done < count && at < end) {
        fr_varint_block block = {at, 0, 0, 0, count - done};
        uint64_t here = low_bits((size_t)(end - at));
        uint64_t more = (uint64_t)_mm512_movepi8_mask(_mm512_maskz_loadu_epi8(here, at));
        uint64_t ends = ~more & here;
        block.count = (size_t)_mm_popcnt_u64(ends);
        if (FR_UNLIKELY(block.count > block.room)) {
            ends = _pdep_u64(low_bits(block.room), ends);
            block.count = block.room;
        }
        size_t size = 64 - (size_t)_lzcnt_u64(ends);
        block.begins = (ends << 1 | 1) & low_bits(size);
        block.more = more & low_bits(size);
        at = NULL;
        if (FR_UNLIKELY(!ends || !take_varints(&block, size, out + done))) break;
        at = block.at + size;
        done += block.count;
    }
    *p = at;
    return done;
}

#endif
