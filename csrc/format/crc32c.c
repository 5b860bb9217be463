/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CRC is a remainder: the message, as a polynomial over GF(2), times x^32, modulo P. Shifting in
 * one byte takes one lookup in a table of the 256 remainders:
 *
 *     state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
 *
 * Remainders add. Eight bytes can therefore be looked up together, each in the table for its
 * distance from the end of the eight, and the results combined by XOR. This is the portable
 * implementation below.
 *
 * The other implementations use three more facts. First, the state may be XORed into the first four
 * bytes that follow instead of being shifted along with them. Second, zero bytes in front of a
 * message (before the state is XORed in) do not change its remainder, so a message can be extended
 * to a multiple of the vector size at its front. Third, any part of a message may be replaced by
 * another with the same remainder. Multiplying 128 bits by a constant moves them forward or back
 * within the message. This is how vector code folds a long message into a short one, and how two
 * checksums are combined.
 */
#include "format/crc32c.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "format/crc32c_internal.h"
#include "format/crc32c_tables.h"

static uint32_t step1(uint32_t state, uint8_t byte) {
    return fr_crc32c_slices[0][(state ^ byte) & 0xFF] ^ (state >> 8);
}

static uint32_t step8(uint32_t state, const uint8_t *data) {
    const uint32_t (*t)[256] = fr_crc32c_slices;
    uint64_t v = fr_load_u64(data) ^ state;
    return t[7][v & 0xFF] ^ t[6][v >> 8 & 0xFF] ^ t[5][v >> 16 & 0xFF] ^ t[4][v >> 24 & 0xFF] ^
           t[3][v >> 32 & 0xFF] ^ t[2][v >> 40 & 0xFF] ^ t[1][v >> 48 & 0xFF] ^ t[0][v >> 56];
}

static bool sw_supported(void) {
    return true;
}

static uint32_t sw_extend(uint32_t crc, const uint8_t *data, size_t size) {
    uint32_t state = ~crc;
    for (; size >= 8; data += 8, size -= 8)
        state = step8(state, data);
    for (; size > 0; data++, size--)
        state = step1(state, *data);
    return ~state;
}

static uint32_t sw_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size) {
    return fr_crc32c_after_copy(sw_extend, crc, dst, data, size);
}

const fr_crc32c_impl fr_crc32c_impls[] = {
#if defined(FR_CRC32C_X86)
    {"avx512", fr_crc32c_avx512_supported, fr_crc32c_avx512_extend, fr_crc32c_avx512_extend_copy},
    {"sse42", fr_crc32c_sse42_supported, fr_crc32c_sse42_extend, fr_crc32c_sse42_extend_copy},
#endif
#if defined(FR_CRC32C_ARM64)
    {"arm64", fr_crc32c_arm64_supported, fr_crc32c_arm64_extend, fr_crc32c_arm64_extend_copy},
#endif
    {"sw", sw_supported, sw_extend, sw_extend_copy},
    {NULL, NULL, NULL, NULL},
};

/* Used if the value of FASTREC_CRC is unknown or unsupported. */
static const fr_crc32c_impl refused = {NULL, sw_supported, sw_extend, sw_extend_copy};

static const fr_crc32c_impl *choose(void) {
    const char *wanted = getenv("FASTREC_CRC");
    bool any = !wanted || !*wanted;
    for (const fr_crc32c_impl *impl = fr_crc32c_impls; impl->name; impl++)
        if ((any || strcmp(wanted, impl->name) == 0) && impl->supported()) return impl;
    return &refused;
}

/* Threads that arrive here together choose the same implementation. Relaxed order suffices because
   the implementation is constant. */
static const fr_crc32c_impl *active(void) {
    static const fr_crc32c_impl *_Atomic resolved;
    const fr_crc32c_impl *impl = atomic_load_explicit(&resolved, memory_order_relaxed);
    if (FR_UNLIKELY(!impl)) {
        impl = choose();
        atomic_store_explicit(&resolved, impl, memory_order_relaxed);
    }
    return impl;
}

const fr_crc32c_impl *fr_crc32c_chosen(void) {
    const fr_crc32c_impl *impl = active();
    return impl == &refused ? NULL : impl;
}

uint32_t fr_crc32c_extend(uint32_t crc, const uint8_t *data, size_t size) {
    return active()->extend(crc, data, size);
}

uint32_t fr_crc32c_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size) {
    return active()->extend_copy(crc, dst, data, size);
}

void fr_crc32c_copy_long(fr_crc32c_run *run, uint8_t *dst, const uint8_t *data, size_t size) {
    const size_t left = (size_t)(run->end - run->at);
    const size_t before = (uintptr_t)data - (uintptr_t)run->at;
    if (before > left || size > left - before) {
        memcpy(dst, data, size);
        return;
    }
    run->crc = fr_crc32c_extend(run->crc, run->at, before);
    run->crc = fr_crc32c_extend_copy(run->crc, dst, data, size);
    run->at = data + size;
}

uint32_t fr_crc32c_end(fr_crc32c_run *run) {
    uint32_t crc = fr_crc32c_extend(run->crc, run->at, (size_t)(run->end - run->at));
    *run = (fr_crc32c_run){0};
    return crc;
}

/* Returns a * b mod P. In both operands and the result, bit 31 is the coefficient of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b) {
    const uint32_t polynomial = 0x82F63B78;
    uint32_t product = 0;
    for (; a; a <<= 1) {
        product ^= b & (0u - (a >> 31));
        b = (b >> 1) ^ (polynomial & (0u - (b & 1)));
    }
    return product;
}

uint32_t fr_crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) {
    uint32_t exponent = (uint32_t)(size_b % FR_CRC32C_PERIOD);
    for (unsigned k = 3; exponent;
         k++, exponent >>= 1) /* starts at 3 because a byte has 2^3 bits */
        if (exponent & 1) crc_a = multiply(fr_crc32c_powers[k % 31], crc_a);
    return crc_a ^ crc_b;
}
