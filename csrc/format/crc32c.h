/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4): reflected polynomial 0x82F63B78, initial value and
 * final complement 0xFFFFFFFF.
 *
 * Several implementations stand in one table, fastest first. The first call chooses the first that
 * this machine supports, or the one that the environment variable FASTREC_CRC names.
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
    /* The checksum of A followed by data[0..size), where `crc` is that of A; 0 for an empty A. */
    uint32_t (*extend)(uint32_t crc, const uint8_t *data, size_t size);
    /* The same, copying data to `dst` on the way. The two do not overlap. */
    uint32_t (*extend_copy)(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);
} fr_crc32c_impl;

/* Every implementation that was compiled in, supported or not, fastest first; ends with a NULL
   name. */
extern const fr_crc32c_impl fr_crc32c_impls[];

/* The one in use. When FASTREC_CRC names one that is unknown or that this machine lacks, NULL. */
const fr_crc32c_impl *fr_crc32c_chosen(void);

/* As the table's functions, of the one in use (the portable one where fr_crc32c_chosen() is NULL).
   Safe from any thread. */
uint32_t fr_crc32c_extend(uint32_t crc, const uint8_t *data, size_t size);
uint32_t fr_crc32c_extend_copy(uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size);

/* The checksum of A followed by B, from those of A and B and the size of B, in O(log size_b). */
uint32_t fr_crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

static inline uint32_t fr_crc32c(const void *data, size_t size) {
    return fr_crc32c_extend(0, (const uint8_t *)data, size);
}

/*
 * The checksum of data that is taken apart before its checksum is known: what of it is copied goes
 * into the checksum on the way, so that it need not be brought from memory twice. All-zero is a run
 * of nothing, which takes part in no copy.
 */
typedef struct {
    const uint8_t *at, *end; /* what is not in the checksum yet */
    uint32_t crc;            /* of what comes before it */
} fr_crc32c_run;

static inline fr_crc32c_run fr_crc32c_begin(const uint8_t *data, size_t size) {
    return (fr_crc32c_run){data, data + size, 0};
}

/* What is shorter stays in the first-level cache from the checksum to the copy, and is best taken
   one after the other. */
#define FR_CRC32C_LONG ((size_t)1 << 14)

void fr_crc32c_copy_long(fr_crc32c_run *run, uint8_t *dst, const uint8_t *data, size_t size);

/* As memcpy() of anything, of the run's data or not, in any order. */
static inline void fr_crc32c_copy(fr_crc32c_run *run, uint8_t *dst, const uint8_t *data,
                                  size_t size) {
    if (size < FR_CRC32C_LONG)
        memcpy(dst, data, size);
    else
        fr_crc32c_copy_long(run, dst, data, size);
}

/* The checksum of all the data; the run is of nothing from now on. */
uint32_t fr_crc32c_end(fr_crc32c_run *run);

#endif
