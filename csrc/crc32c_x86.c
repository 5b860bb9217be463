/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C on x86-64.
 *
 * `sse42` (every server since 2010): the crc32 instruction takes 8 bytes, has a latency of 3 cycles
 * and can start every cycle, so three streams run interleaved and PCLMULQDQ joins them. The streams
 * lie at most 336 bytes apart. Longer ones are no faster in cache, and two to four times slower on
 * memory that is read for the first time, where three distant streams defeat the prefetcher.
 *
 * `avx512` (Ice Lake, Zen 4 and later): VPCLMULQDQ folds four vectors of 64 bytes at a time,
 * walking linearly. The odd bytes come first, in one vector, right-aligned behind zeros by a masked
 * load; the rest are whole vectors. A message of up to 64 bytes is a chain of crc32 instructions.
 *
 * Each function says what it needs with a target attribute, so that the file needs no flags.
 */
#include "crc32c_internal.h"

#if defined(FR_CRC32C_X86)

#include <immintrin.h>

#include "cpu.h"
#include "crc32c_tables.h"

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
 * Takes the first `odd` bytes (1 to 8), so that whole words are left. They become
 * the last bytes of a word of which the others are zero. The state goes where they begin; of fewer
 * than four bytes its rest reaches into the next word, which is where the returned state is added.
 * REQUIRES: size >= 8.
 */
INLINE SSE42 uint32_t first_word(uint32_t state, const uint8_t *data, unsigned odd) {
    uint64_t word = fr_load_u64(data) ^ state;
    return step8(0, word << (64 - 8 * odd)) ^ (uint32_t)((uint64_t)state >> 8 >> (8 * odd - 8));
}

/* Fewer than 8 bytes. */
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

/* One chain of crc32 instructions, for what is too short for anything else. */
INLINE SSE42 uint32_t chain(uint32_t state, const uint8_t *data, size_t size) {
    if (size < 8) return few(state, data, size);
    unsigned odd = (unsigned)(size - 1) % 8 + 1;
    state = first_word(state, data, odd);
    for (size_t i = odd; i < size; i += 8)
        state = step8(state, fr_load_u64(data + i));
    return state;
}

/* Three streams of `words` words each, one behind the other. The first two move to the end of the
   third by a multiplication, and meet it in its last step. */
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
    return fr_crc32c_then_copy(fr_crc32c_sse42_extend, crc, dst, data, size);
}

/* Constants of fold(), for one 128-bit lane. */
static const uint64_t by_512[2] = {FR_CRC32C_FOLD_512};
static const uint64_t by_1024[2] = {FR_CRC32C_FOLD_1024};
static const uint64_t by_1536[2] = {FR_CRC32C_FOLD_1536};
static const uint64_t by_2048[2] = {FR_CRC32C_FOLD_2048};
/* ... and for four, to bring the first three onto the last. */
static const uint64_t onto_last[8] = {FR_CRC32C_FOLD_384, FR_CRC32C_FOLD_256, FR_CRC32C_FOLD_128};

INLINE AVX512 __m512i every_lane(const uint64_t constants[2]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)constants));
}

/* `z` moved to the left by as much as the constants say, added to `sum`. */
INLINE AVX512 __m512i fold(__m512i z, __m512i constants, __m512i sum) {
    __m512i low = _mm512_clmulepi64_epi128(z, constants, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(z, constants, 0x11);
    return _mm512_ternarylogic_epi64(low, high, sum, 0x96); /* XOR of the three */
}

/* The state after 64 bytes that the state before has been added to. */
INLINE AVX512 uint32_t reduce(__m512i z) {
    __m512i last = _mm512_maskz_mov_epi64(0xC0, z);
    __m512i four = fold(z, _mm512_loadu_si512(onto_last), last);
    __m256i two =
        _mm256_xor_si256(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));
    __m128i one = _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
    uint32_t state = step8(0, (uint64_t)_mm_cvtsi128_si64(one));
    return step8(state, (uint64_t)_mm_extract_epi64(one, 1));
}

/*
 * The first ((size - 1) & 63) + 1 bytes at the end of a vector of zeros, with the state added where
 * they begin. Of fewer than four bytes, the rest of the state goes to `*spilled`, for the vector
 * that follows. The masked load reads nothing in front of `data`.
 */
INLINE AVX512 __m512i first_vector(uint32_t state, const uint8_t *data, unsigned odd,
                                   __m512i *spilled) {
    unsigned zeros = 64 - odd;
    /* Rotated so that byte `zeros` of the repeated state is the first of the state. */
    __m512i states = _mm512_set1_epi32(
        (int)(state << 8 * (zeros % 4) | (uint64_t)state >> (32 - 8 * (zeros % 4))));
    *spilled = _mm512_maskz_mov_epi8(UINT64_C(0xF) >> 1 >> (odd - 1), states);
    __m512i added = _mm512_maskz_mov_epi8(UINT64_C(0xF) << zeros, states);
    const void *from = (const void *)((uintptr_t)data - zeros);
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(~UINT64_C(0) << zeros, from), added);
}

INLINE AVX512 __m512i load(const uint8_t *data) {
    return _mm512_loadu_si512(data);
}

/* The vector at `*i`, which moves behind it. */
INLINE AVX512 __m512i next(uint8_t *dst, const uint8_t *data, size_t *i, bool copy) {
    __m512i z = load(data + *i);
    if (copy) _mm512_storeu_si512(dst + *i, z);
    *i += 64;
    return z;
}

/* REQUIRES: size > 64. */
INLINE AVX512 uint32_t fold_all(uint32_t state, uint8_t *dst, const uint8_t *data, size_t size,
                                bool copy) {
    unsigned odd = (unsigned)(size - 1) % 64 + 1;
    if (copy) _mm512_storeu_si512(dst, load(data)); /* the odd bytes, and more that come again */
    __m512i spilled, z = first_vector(state, data, odd, &spilled);
    size_t i = odd;
    __m512i y = _mm512_xor_si512(next(dst, data, &i, copy), spilled);
    if (size - i >= 128) {
        __m512i x = next(dst, data, &i, copy), w = next(dst, data, &i, copy),
                by = every_lane(by_2048);
        while (size - i >= 256) {
            z = fold(z, by, next(dst, data, &i, copy));
            y = fold(y, by, next(dst, data, &i, copy));
            x = fold(x, by, next(dst, data, &i, copy));
            w = fold(w, by, next(dst, data, &i, copy));
        }
        z = fold(z, every_lane(by_1536), w);
        z = fold(y, every_lane(by_1024), z);
        z = fold(x, every_lane(by_512), z);
    } else {
        z = fold(z, every_lane(by_512), y);
    }
    while (i < size)
        z = fold(z, every_lane(by_512), next(dst, data, &i, copy));
    return reduce(z);
}

bool fr_crc32c_avx512_supported(void) {
    return has(FR_CPU_AVX512 | FR_CPU_VPCLMUL | FR_CPU_PCLMUL | FR_CPU_SSE42 | FR_CPU_BMI2);
}

AVX512 uint32_t fr_crc32c_avx512_extend(uint32_t crc, const uint8_t *data, size_t size) {
    if (size <= 64) return ~chain(~crc, data, size);
    return ~fold_all(~crc, NULL, data, size, false);
}

AVX512 uint32_t fr_crc32c_avx512_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data,
                                             size_t size) {
    if (size > 64) return ~fold_all(~crc, dst, data, size, true);
    __mmask64 all = _bzhi_u64(~UINT64_C(0), (unsigned)size);
    _mm512_mask_storeu_epi8(dst, all, _mm512_maskz_loadu_epi8(all, data));
    return ~chain(~crc, data, size);
}

#endif
