/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C on x86-64.
 *
 * `sse42` (every server since 2010): the crc32 instruction takes 8 bytes, has a latency of 3 cycles
 * and can start every cycle, so three streams run interleaved and PCLMULQDQ combines them. The
 * streams are at most 336 bytes apart. Longer streams are no faster in cache, and two to four times
 * slower on memory that is read for the first time, where three distant streams defeat the
 * prefetcher.
 *
 * `avx512` (Ice Lake, Zen 4 and later): VPCLMULQDQ folds four vectors of 64 bytes at a time, in one
 * linear pass. There is no separate loop for the tail: a masked load reads the odd bytes, or a
 * message shorter than a vector, and a table gives the distance that they must move. No branch
 * depends on size % 64, because it would be mispredicted when record sizes vary.
 *
 * Each function declares the instructions it needs with a target attribute, so the file needs no
 * compiler flags.
 */
#include "format/crc32c_internal.h"

#if defined(FR_CRC32C_X86)

#include <immintrin.h>

#include "base/cpu.h"
#include "format/crc32c_tables.h"

#define SSE42 __attribute__((target("sse4.2,pclmul")))
#define AVX512                                                                                     \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmul,sse4.2,bmi2")))
#define INLINE static inline __attribute__((always_inline))

static bool has(uint32_t features) {
    return (fr_cpu_features() & features) == features;
}

INLINE SSE42 uint32_t step8(uint32_t state, uint64_t word) {
    return (uint32_t)_mm_crc32_u64(state, word);
}

/*
 * Processes the first `odd` bytes (1 to 8), so that whole words remain. They become the last bytes
 * of a word whose other bytes are zero, and the state is XORed in where they begin. If there are
 * fewer than four, the rest of the state extends into the next word; the returned state must be
 * XORed there. REQUIRES: 8 readable bytes at `data`.
 */
INLINE SSE42 uint32_t first_word(uint32_t state, const uint8_t *data, unsigned odd) {
    uint64_t word = fr_load_u64(data) ^ state;
    return step8(0, word << (64 - 8 * odd)) ^ (uint32_t)((uint64_t)state >> 8 >> (8 * odd - 8));
}

/* Processes fewer than 8 bytes. */
INLINE SSE42 uint32_t few(uint32_t state, const uint8_t *data, size_t size) {
    if (size & 4) {
        state = _mm_crc32_u32(state, fr_load_u32(data));
        data += 4;
    }
    if (size & 2) {
        uint16_t half;
        memcpy(&half, data, sizeof half);
        state = _mm_crc32_u16(state, half);
        data += 2;
    }
    if (size & 1) state = _mm_crc32_u8(state, *data);
    return state;
}

/* Processes short data with one chain of crc32 instructions. */
INLINE SSE42 uint32_t chain(uint32_t state, const uint8_t *data, size_t size) {
    if (size < 8) return few(state, data, size);
    unsigned odd = (unsigned)(size - 1) % 8 + 1;
    state = first_word(state, data, odd);
    for (size_t i = odd; i < size; i += 8)
        state = step8(state, fr_load_u64(data + i));
    return state;
}

/* Processes three consecutive streams of `words` words each. Multiplications move the first two
   states to the end of the third stream, where its last step adds them. */
INLINE SSE42 uint32_t three_streams(uint32_t state, const uint8_t *data, size_t words) {
    const uint8_t *a = data, *b = a + 8 * words, *c = b + 8 * words, *last = c + 8 * words - 8;
    uint32_t state_b = 0, state_c = 0;
    for (; c < last; a += 8, b += 8, c += 8) {
        state = step8(state, fr_load_u64(a));
        state_b = step8(state_b, fr_load_u64(b));
        state_c = step8(state_c, fr_load_u64(c));
    }
    state = step8(state, fr_load_u64(a));
    state_b = step8(state_b, fr_load_u64(b));

    const uint32_t *k = fr_crc32c_merge[words];
    __m128i moved_a =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)state), _mm_cvtsi32_si128((int)k[0]), 0x00);
    __m128i moved_b =
        _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)state_b), _mm_cvtsi32_si128((int)k[1]), 0x00);
    uint64_t moved = (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(moved_a, moved_b));
    return step8(state_c, fr_load_u64(c) ^ moved);
}

SSE42 static uint32_t interleave(uint32_t state, const uint8_t *data, size_t size) {
    const size_t block = 24 * FR_CRC32C_STREAM_WORDS;
    for (; size >= block; data += block, size -= block)
        state = three_streams(state, data, FR_CRC32C_STREAM_WORDS);
    if (size >= 192) {
        size_t words = size / 24;
        state = three_streams(state, data, words);
        data += 24 * words, size -= 24 * words;
    }
    return size ? chain(state, data, size) : state;
}

bool fr_crc32c_sse42_supported(void) {
    return has(FR_CPU_SSE42 | FR_CPU_PCLMUL);
}

SSE42 uint32_t fr_crc32c_sse42_extend(uint32_t crc, const uint8_t *data, size_t size) {
    if (size < 192) return ~chain(~crc, data, size);
    return ~interleave(~crc, data, size);
}

uint32_t fr_crc32c_sse42_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size) {
    return fr_crc32c_after_copy(fr_crc32c_sse42_extend, crc, dst, data, size);
}

INLINE AVX512 __m512i every_lane(uint64_t low, uint64_t high) {
    return _mm512_broadcast_i32x4(_mm_set_epi64x((long long)high, (long long)low));
}

/* Returns `z`, moved forward in the message by the distance of `constants`, plus `sum`. */
INLINE AVX512 __m512i fold(__m512i z, __m512i constants, __m512i sum) {
    __m512i low = _mm512_clmulepi64_epi128(z, constants, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(z, constants, 0x11);
    return _mm512_ternarylogic_epi64(low, high, sum, 0x96); /* XOR of three operands */
}

/* Returns `z`, moved forward by `size` bytes (1 to 64), plus `sum`. */
INLINE AVX512 __m512i fold_bytes(__m512i z, size_t size, __m512i sum) {
    const uint64_t *move = fr_crc32c_moves[size % 16][4 - size / 16];
    return fold(z, _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)move)), sum);
}

/* Returns the first `size` bytes at `data` (1 to 64), followed by zeros. Reads only these bytes. */
INLINE AVX512 __m512i load_part(const uint8_t *data, size_t size) {
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), (unsigned)size), data);
}

/* Returns the first `size` bytes of `z` (1 to 64), followed by zeros. */
INLINE AVX512 __m512i first_bytes(__m512i z, size_t size) {
    return _mm512_maskz_mov_epi8(_bzhi_u64(~UINT64_C(0), (unsigned)size), z);
}

INLINE AVX512 __m512i add_state(__m512i z, uint32_t state) {
    return _mm512_xor_si512(z, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
}

/*
 * Returns the state after the first `size` bytes of `z` (0 to 64). Each lane moves, forward or
 * back, to the end of the message. The sum of the lanes has 16 bytes, which the crc32 instruction
 * reduces.
 */
INLINE AVX512 uint32_t reduce(__m512i z, size_t size) {
    const uint64_t *moves = fr_crc32c_moves[size % 16][5 - size / 16];
    __m512i four = fold(z, _mm512_loadu_si512(moves), _mm512_setzero_si512());
    __m256i two =
        _mm256_xor_si256(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));
    __m128i one = _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
    uint32_t state = step8(0, (uint64_t)_mm_cvtsi128_si64(one));
    return step8(state, (uint64_t)_mm_extract_epi64(one, 1));
}

/* Returns the vector at `*i`, copies it if `copy`, and advances `*i`. */
INLINE AVX512 __m512i next(uint8_t *dst, const uint8_t *data, size_t *i, bool copy) {
    __m512i z = _mm512_loadu_si512(data + *i);
    if (copy) _mm512_storeu_si512(dst + *i, z);
    *i += 64;
    return z;
}

/* Folds four vectors at a time onto the next four, and finally the four onto the last one. */
INLINE AVX512 __m512i fold_fours(__m512i z, uint8_t *dst, const uint8_t *data, size_t size,
                                 size_t *i, bool copy) {
    const __m512i by = every_lane(FR_CRC32C_FOLD_2048);
    __m512i y = next(dst, data, i, copy), x = next(dst, data, i, copy);
    __m512i w = next(dst, data, i, copy);
    while (size - *i >= 256) {
        z = fold(z, by, next(dst, data, i, copy));
        y = fold(y, by, next(dst, data, i, copy));
        x = fold(x, by, next(dst, data, i, copy));
        w = fold(w, by, next(dst, data, i, copy));
    }
    w = fold(z, every_lane(FR_CRC32C_FOLD_1536), w);
    w = fold(y, every_lane(FR_CRC32C_FOLD_1024), w);
    return fold_bytes(x, 64, w);
}

/*
 * Processes the odd bytes first, so that whole vectors follow. They are at the front of a vector
 * and move by their own number of bytes, not by 64, to the end of the next vector, their place in
 * the message. REQUIRES: size > 64.
 */
INLINE AVX512 uint32_t fold_all(uint32_t state, uint8_t *dst, const uint8_t *data, size_t size,
                                bool copy) {
    size_t odd = (size - 1) % 64 + 1, i = odd;
    __m512i z =
        _mm512_loadu_si512(data); /* the odd bytes, and some that the next vector includes too */
    if (copy) _mm512_storeu_si512(dst, z);
    z = add_state(first_bytes(z, odd), state);
    z = fold_bytes(z, odd, next(dst, data, &i, copy));
    if (size - i >= 192) z = fold_fours(z, dst, data, size, &i, copy);
    while (i < size)
        z = fold_bytes(z, 64, next(dst, data, &i, copy));
    return reduce(z, 64);
}

bool fr_crc32c_avx512_supported(void) {
    return has(FR_CPU_AVX512 | FR_CPU_VPCLMUL | FR_CPU_PCLMUL | FR_CPU_SSE42 | FR_CPU_BMI2);
}

AVX512 uint32_t fr_crc32c_avx512_extend(uint32_t crc, const uint8_t *data, size_t size) {
    if (size <= 8) return ~chain(~crc, data, size);
    if (size <= 64) return ~reduce(add_state(load_part(data, size), ~crc), size);
    return ~fold_all(~crc, NULL, data, size, false);
}

/* Loads each byte of `data` once, so that the checksum belongs to the copy even if another thread
   writes to `data` meanwhile. */
AVX512 uint32_t fr_crc32c_avx512_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data,
                                             size_t size) {
    if (size > 64) return ~fold_all(~crc, dst, data, size, true);
    __m512i z = load_part(data, size);
    _mm512_mask_storeu_epi8(dst, _bzhi_u64(~UINT64_C(0), (unsigned)size), z);
    if (size > 8) return ~reduce(add_state(z, ~crc), size);
    const uint64_t word = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(z));
    return ~chain(~crc, (const uint8_t *)&word, size);
}

#endif
