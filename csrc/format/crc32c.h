/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4): reflected polynomial 0x82F63B78, initial value and
 * final complement 0xFFFFFFFF.
 *
 * A table lists the implementations, fastest first. The first call selects the first one that this
 * machine supports, or the one that the environment variable FASTREC_CRC names.
 */
#ifndef FASTREC_CRC32C_H
#define FASTREC_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *name;
    bool (*supported)(void);
    /* Returns the checksum of A followed by data[0..size), given the checksum of A (0 if A is
       empty). */
    uint32_t (*extend)(uint32_t crc, const uint8_t *data, size_t size);
    /* Does the same and also copies data to `dst`, which must not overlap data. */
    uint32_t (*extend_copy)(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);
} fr_crc32c_impl;

/* All compiled implementations, supported or not, fastest first; ends with a NULL name. */
extern const fr_crc32c_impl fr_crc32c_impls[];

/* Returns the selected implementation, or NULL if FASTREC_CRC is unknown or unsupported. */
const fr_crc32c_impl *fr_crc32c_chosen(void);

/* Call the selected implementation, or the portable one if fr_crc32c_chosen() is NULL.
   Thread-safe. */
uint32_t fr_crc32c_extend(uint32_t crc, const uint8_t *data, size_t size);
uint32_t fr_crc32c_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);

/* Returns the checksum of A followed by B, from the checksums of A and B and the size of B, in
   O(log size_b). */
uint32_t fr_crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

static inline uint32_t fr_crc32c(const void *data, size_t size) {
    return fr_crc32c_extend(0, (const uint8_t *)data, size);
}

/*
 * A checksum that is computed while parts of the data are copied, so that each byte is read from
 * memory only once. All zeros is an empty run, which ignores all copies.
 */
typedef struct {
    const uint8_t *at, *end; /* the part that is not in the checksum yet */
    uint32_t crc;            /* checksum of the part before `at` */
} fr_crc32c_run;

static inline fr_crc32c_run fr_crc32c_begin(const uint8_t *data, size_t size) {
    return (fr_crc32c_run){data, data + size, 0};
}

/* Size, in bytes, from which a combined copy pays. Shorter data stays in the first-level cache
   between the checksum and the copy. */
#define FR_CRC32C_LONG ((size_t)1 << 14)

void fr_crc32c_copy_long(fr_crc32c_run *run, uint8_t *dst, const uint8_t *data, size_t size);

/* Copies as memcpy() does. The bytes may belong to the run's data or not, in any order. */
static inline void fr_crc32c_copy(fr_crc32c_run *run, uint8_t *dst, const uint8_t *data,
                                  size_t size) {
    if (size < FR_CRC32C_LONG)
        memcpy(dst, data, size);
    else
        fr_crc32c_copy_long(run, dst, data, size);
}

/* Returns the checksum of all of the data, and empties the run. */
uint32_t fr_crc32c_end(fr_crc32c_run *run);

#endif
