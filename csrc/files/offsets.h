/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File offsets in ascending order, packed with a few bits each. Reading an offset takes two memory
 * accesses.
 *
 * Offsets are stored in groups of 128. The records of a group have about the same size, so its
 * offsets are close to a straight line. The head of a group has the start of the line, its slope
 * per offset, and the number of bits that the distances from the line need. The distances follow,
 * with that number of bits each. Records of equal size need 0 bits, records of 20 to 90 bytes 8
 * bits, images of about 100 KiB 19 bits.
 *
 * A table is a block of little-endian integers. It is the same in memory and in a file (FORMAT.md,
 * the body of an index).
 *
 * Reading is memory-safe for any content of a table. The offsets read must be checked.
 */
#ifndef FASTREC_OFFSETS_H
#define FASTREC_OFFSETS_H

#include "base/bytes.h"

#define FR_OFFSETS_GROUP 128
#define FR_OFFSETS_HEAD 16
#define FR_OFFSETS_SPARE 8      /* bytes after the last distance */
#define FR_OFFSETS_WIDTH_MAX 57 /* a distance and the bits before it in its first byte */
#define FR_OFFSETS_LIMIT ((uint64_t)1 << 56) /* all offsets are below */

/* Returns the number of groups of `count` offsets. */
static inline uint64_t fr_offsets_groups(uint64_t count) {
    return count / FR_OFFSETS_GROUP + (count % FR_OFFSETS_GROUP != 0);
}

/* Builds a table. All-zero is a valid empty packer. */
typedef struct {
    fr_buffer heads, distances;
    uint64_t count; /* number of offsets pushed */
    unsigned held;
    uint64_t group[FR_OFFSETS_GROUP]; /* offsets of the group that is not full yet */
} fr_offsets_packer;

/* Packs the current group. */
FR_NODISCARD int fr_offsets_pack(fr_offsets_packer *packer, fr_error *err);

/* Appends an offset. REQUIRES: it is not below the previous offset, and is below
   FR_OFFSETS_LIMIT. */
FR_NODISCARD static inline int fr_offsets_push(fr_offsets_packer *packer, uint64_t offset,
                                               fr_error *err) {
    if (FR_UNLIKELY(packer->held == FR_OFFSETS_GROUP)) FR_TRY(fr_offsets_pack(packer, err));
    packer->group[packer->held++] = offset;
    packer->count++;
    return FR_OK;
}

/* Appends the table of all pushed offsets to `table`, which must be empty, and frees the packer. */
FR_NODISCARD int fr_offsets_finish(fr_offsets_packer *packer, fr_buffer *table, fr_error *err);

void fr_offsets_packer_free(fr_offsets_packer *packer);

/* The location of an offset in a table. Finding and reading are separate so that the memory
   accesses of several offsets overlap. */
typedef struct {
    const uint8_t *distance;
    int64_t line;
    uint64_t mask;
    unsigned shift;
} fr_offsets_place;

/* REQUIRES: the table is not empty, and `index` is below the count that fr_offsets_sound()
   confirmed. */
static inline fr_offsets_place fr_offsets_find(fr_span table, uint64_t index) {
    const uint8_t *head = table.data + FR_OFFSETS_HEAD * (size_t)(index / FR_OFFSETS_GROUP);
    const uint64_t begin = fr_load_u64(head), rest = fr_load_u64(head + 8);
    const uint64_t within = index % FR_OFFSETS_GROUP, bit = (begin & 63) * within;
    const uint64_t at = 8 * (rest >> 32) + bit / 8, last = table.size - FR_OFFSETS_SPARE;
    return (fr_offsets_place){
        .distance = table.data + (at < last ? at : last),
        .line = ((int64_t)begin >> 6) + (int64_t)((rest & UINT32_MAX) * within >> 8),
        .mask = (UINT64_C(1) << (begin & 63)) - 1,
        .shift = (unsigned)(bit % 8)};
}

static inline uint64_t fr_offsets_read(const fr_offsets_place *place) {
    return (uint64_t)place->line + (fr_load_u64(place->distance) >> place->shift & place->mask);
}

static inline uint64_t fr_offsets_at(fr_span table, uint64_t index) {
    const fr_offsets_place place = fr_offsets_find(table, index);
    return fr_offsets_read(&place);
}

/* Returns true if `table` has the form of a table of `count` offsets. Does not check the
   offsets. */
bool fr_offsets_sound(fr_span table, uint64_t count);

/* Unpacks all offsets of a group. In the last group, those after the end are meaningless. */
void fr_offsets_unpack(fr_span table, uint64_t group, uint64_t *offsets);

#endif
