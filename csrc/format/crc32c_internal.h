/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the implementations of CRC-32C share. Only they include this file.
 *
 * Within the implementations, "state" is the bare remainder and "crc" is the finished checksum. The
 * functions of fr_crc32c_impl apply the complements at both ends.
 */
#ifndef FASTREC_CRC32C_INTERNAL_H
#define FASTREC_CRC32C_INTERNAL_H

#include "base/bytes.h"
#include "format/crc32c.h"

#if defined(__x86_64__)
#define FR_CRC32C_X86 1
bool fr_crc32c_avx512_supported(void);
uint32_t fr_crc32c_avx512_extend(uint32_t crc, const uint8_t *data, size_t size);
uint32_t fr_crc32c_avx512_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);
bool fr_crc32c_sse42_supported(void);
uint32_t fr_crc32c_sse42_extend(uint32_t crc, const uint8_t *data, size_t size);
uint32_t fr_crc32c_sse42_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);
#endif

#if defined(__aarch64__)
#define FR_CRC32C_ARM64 1
bool fr_crc32c_arm64_supported(void);
uint32_t fr_crc32c_arm64_extend(uint32_t crc, const uint8_t *data, size_t size);
uint32_t fr_crc32c_arm64_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);
#endif

/* Default for extend_copy. The checksum is computed from the copy, which no other thread can
   change, block by block, so that each block is still in the first-level cache. */
static inline uint32_t fr_crc32c_after_copy(uint32_t (*extend)(uint32_t, const uint8_t *, size_t),
                                            uint32_t crc, uint8_t *dst, const uint8_t *data,
                                            size_t size) {
    const size_t block = 8192;
    while (size > 0) {
        const size_t step = size < block ? size : block;
        memcpy(dst, data, step);
        crc = extend(crc, dst, step);
        dst += step, data += step, size -= step;
    }
    return crc;
}

#endif
