/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C on 64-bit Arm: the crc32c instructions in three interleaved streams, at most 336 bytes
 * apart, combined by PMULL. crc32c_x86.c explains the same method for its `sse42`. A processor
 * without PMULL (Raspberry Pi 4) runs one stream.
 *
 * The instructions are written as assembly because clang before 16 hides their intrinsics unless
 * the whole file is compiled for a processor that has them.
 */
#include "format/crc32c_internal.h"

#if defined(FR_CRC32C_ARM64)

#include <arm_neon.h>

#include "base/cpu.h"
#include "format/crc32c_tables.h"

static inline uint32_t step8(uint32_t state, uint64_t word) {
    uint32_t next;
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w1, %x2" : "=r"(next) : "r"(state), "r"(word));
    return next;
}

static inline uint32_t step1(uint32_t state, uint32_t byte) {
    uint32_t next;
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w1, %w2" : "=r"(next) : "r"(state), "r"(byte));
    return next;
}

/* Returns the carry-less product of two 32-bit polynomials. */
static inline uint64_t multiply(uint32_t a, uint32_t b) {
    uint64x2_t va = vdupq_n_u64(a), vb = vdupq_n_u64(b), product;
    __asm__(".arch_extension aes\n\tpmull %0.1q, %1.1d, %2.1d" : "=w"(product) : "w"(va), "w"(vb));
    return vgetq_lane_u64(product, 0);
}

/* Processes one stream. The odd bytes become the last bytes of a word whose other bytes are zero,
   and the state is XORed in where they begin. If there are fewer than four, the rest of the state
   extends into the next word. */
static inline uint32_t chain(uint32_t state, const uint8_t *data, size_t size) {
    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            state = step1(state, data[i]);
        return state;
    }
    unsigned odd = (unsigned)(size - 1) % 8 + 1;
    uint64_t word = (fr_load_u64(data) ^ state) << (64 - 8 * odd);
    state = step8(0, word) ^ (uint32_t)((uint64_t)state >> 8 >> (8 * odd - 8));
    for (size_t i = odd; i < size; i += 8)
        state = step8(state, fr_load_u64(data + i));
    return state;
}

/* Processes three consecutive streams of `words` words each. Multiplications move the first two
   states to the end of the third stream, where its last step adds them. */
static inline uint32_t three_streams(uint32_t state, const uint8_t *data, size_t words) {
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
    return step8(state_c, fr_load_u64(c) ^ multiply(state, k[0]) ^ multiply(state_b, k[1]));
}

static uint32_t interleave(uint32_t state, const uint8_t *data, size_t size) {
    const size_t block = 24 * FR_CRC32C_STREAM_WORDS;
    for (; size >= block; data += block, size -= block)
        state = three_streams(state, data, FR_CRC32C_STREAM_WORDS);
    if (size >= 192) {
        size_t words = size / 24;
        state = three_streams(state, data, words);
        data += 24 * words, size -= 24 * words;
    }
    return chain(state, data, size);
}

bool fr_crc32c_arm64_supported(void) {
    return fr_cpu_features() & FR_CPU_ARM_CRC;
}

uint32_t fr_crc32c_arm64_extend(uint32_t crc, const uint8_t *data, size_t size) {
    if (size < 192 || !(fr_cpu_features() & FR_CPU_ARM_PMULL)) return ~chain(~crc, data, size);
    return ~interleave(~crc, data, size);
}

uint32_t fr_crc32c_arm64_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size) {
    return fr_crc32c_after_copy(fr_crc32c_arm64_extend, crc, dst, data, size);
}

#endif
