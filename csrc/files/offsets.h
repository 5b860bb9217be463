/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File offsets in ascending order, packed into some bits each, any of them found by two looks at
 * memory.
 *
 * Offsets come in groups of 128. The records of a group are of about the same size, so its offsets
 * lie near a straight line. A group's head has where the line begins, how far it rises an offset,
 * and how many bits the distances from it need; these follow, each in as many bits. Records of one
 * size need none, records of 20 to 90 bytes 8, images of about 100 KiB 19.
 *
 * A table is a block of little-endian integers, the same in memory and in a file (FORMAT.md, the
 * body of an index).
 *
 * Reading is safe whatever the table says; what was read must be checked.
 */
#ifndef FASTREC_OFFSETS_H
#define FASTREC_OFFSETS_H

#include "base/bytes.h"

#define FR_OFFSETS_GROUP 128
#define FR_OFFSETS_HEAD 16
#define FR_OFFSETS_SPARE 8                   /* bytes after the last distance */
#define FR_OFFSETS_WIDTH_MAX 57              /* a distance and what its first byte has before it */
#define FR_OFFSETS_LIMIT ((uint64_t)1 << 56) /* offsets are below */

/* Groups of `count` offsets. */
static inline uint64_t fr_offsets_groups(uint64_t count) {
    return count / FR_OFFSETS_GROUP + (count % FR_OFFSETS_GROUP != 0);
}

/* A table that grows. All-zero is a valid empty one. */
typedef struct {
    fr_buffer heads, distances;
    uint64_t count; /* of all offsets */
    unsigned held;
    uint64_t group[FR_OFFSETS_GROUP]; /* those that wait until there are as many */
} fr_offsets_packer;

/* Packs the group. */
FR_NODISCARD int fr_offsets_pack(fr_offsets_packer *packer, fr_error *err);

/* Appends one that is not below those before it, and below FR_OFFSETS_LIMIT. */
FR_NODISCARD static inline int fr_offsets_push(fr_offsets_packer *packer, uint64_t offset,
                                               fr_error *err) {
    if (FR_UNLIKELY(packer->held == FR_OFFSETS_GROUP)) FR_TRY(fr_offsets_pack(packer, err));
    packer->group[packer->held++] = offset;
    packer->count++;
    return FR_OK;
}

/* Appends the table of all that were pushed to `table`, which is empty; frees the packer. */
FR_NODISCARD int fr_offsets_finish(fr_offsets_packer *packer, fr_buffer *table, fr_error *err);

void fr_offsets_packer_free(fr_offsets_packer *packer);

/* Where an offset is: so that the looks for several of them can overlap. */
typedef struct {
    const uint8_t *distance;
    int64_t line;
    uint64_t mask;
    unsigned shift;
} fr_offsets_place;

/* `index` is below the count that the table, which is not empty, was found to be sound for. */
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

/* Whether `table` has the form of one of `count` offsets, whatever they are. */
bool fr_offsets_sound(fr_span table, uint64_t count);

/* The offsets of a group, all of them; of the last one some have no meaning. */
void fr_offsets_unpack(fr_span table, uint64_t group, uint64_t *offsets);

#endif
