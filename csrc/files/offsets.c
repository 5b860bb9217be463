/* SPDX-License-Identifier: Apache-2.0 */
#include "files/offsets.h"

static inline uint64_t words_of(uint64_t count, unsigned width) {
    return (count * width + 63) / 64;
}

/* Returns the slope in 1/256 bytes per offset. It is cut off for a group of longer records;
   their distances from the line are only larger. */
static uint32_t rise_of(const uint64_t *offsets, unsigned count) {
    if (count < 2) return 0;
    const uint64_t steps = count - 1, span = offsets[count - 1] - offsets[0];
    return span / steps >> 24 ? UINT32_MAX : (uint32_t)((span << 8) / steps);
}

/* Computes the distances from the line through the first offset, and returns the lowest
   distance. */
static int64_t measure(const uint64_t *offsets, unsigned count, uint32_t rise, int64_t *distances,
                       unsigned *width) {
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (unsigned i = 0; i < count; i++) {
        const int64_t distance =
            (int64_t)(offsets[i] - offsets[0]) - (int64_t)((uint64_t)rise * i >> 8);
        distances[i] = distance;
        lowest = distance < lowest ? distance : lowest;
        highest = distance > highest ? distance : highest;
    }
    const uint64_t range = (uint64_t)highest - (uint64_t)lowest;
    *width = range ? 64 - (unsigned)__builtin_clzll(range) : 0;
    return lowest;
}

/* Packs the distances of a group, less the lowest, with `width` bits each. */
static void put_bits(const int64_t *distances, unsigned count, int64_t lowest, unsigned width,
                     uint8_t *out) {
    uint64_t word = 0;
    unsigned held = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t value = (uint64_t)(distances[i] - lowest);
        word |= value << held;
        held += width;
        if (held < 64) continue;
        fr_store_u64(out, word);
        out += 8;
        held -= 64;
        word = held ? value >> (width - held) : 0;
    }
    if (held) fr_store_u64(out, word);
}

static int refuse_size(fr_error *err) {
    return fr_fail(err, FR_ERR_ARG, "the index of a file must be below 32 GiB");
}

int fr_offsets_pack(fr_offsets_packer *packer, fr_error *err) {
    int64_t distances[FR_OFFSETS_GROUP];
    unsigned width;
    const uint64_t *offsets = packer->group;
    const uint64_t word = packer->distances.size / 8;
    const uint32_t rise = rise_of(offsets, packer->held);
    const int64_t lowest = measure(offsets, packer->held, rise, distances, &width);
    if (word > UINT32_MAX) return refuse_size(err);
    FR_TRY(fr_buffer_reserve(&packer->heads, FR_OFFSETS_HEAD, err));
    const size_t size = 8 * (size_t)words_of(packer->held, width);
    FR_TRY(fr_buffer_reserve(&packer->distances, size, err));
    uint8_t *head = packer->heads.data + packer->heads.size;
    fr_store_u64(head, (offsets[0] + (uint64_t)lowest) << 6 | width);
    fr_store_u64(head + 8, word << 32 | rise);
    packer->heads.size += FR_OFFSETS_HEAD;
    if (width)
        put_bits(distances, packer->held, lowest, width,
                 packer->distances.data + packer->distances.size);
    packer->distances.size += size;
    packer->held = 0;
    return FR_OK;
}

int fr_offsets_finish(fr_offsets_packer *packer, fr_buffer *table, fr_error *err) {
    if (packer->held) FR_TRY(fr_offsets_pack(packer, err));
    const size_t heads = packer->heads.size, distances = packer->distances.size;
    const uint64_t first = heads / 8;
    if (first + distances / 8 > UINT32_MAX) return refuse_size(err);
    FR_TRY(fr_buffer_reserve(table, heads + distances + FR_OFFSETS_SPARE, err));
    for (size_t at = 0; at < heads; at += FR_OFFSETS_HEAD) {
        const uint8_t *head = packer->heads.data + at;
        fr_store_u64(table->data + at, fr_load_u64(head));
        fr_store_u64(table->data + at + 8, fr_load_u64(head + 8) + (first << 32));
    }
    if (distances) memcpy(table->data + heads, packer->distances.data, distances);
    memset(table->data + heads + distances, 0, FR_OFFSETS_SPARE);
    table->size = heads + distances + FR_OFFSETS_SPARE;
    fr_offsets_packer_free(packer);
    return FR_OK;
}

bool fr_offsets_sound(fr_span table, uint64_t count) {
    const uint64_t groups = fr_offsets_groups(count);
    if (table.size < FR_OFFSETS_SPARE || table.size % 8) return false;
    const size_t room = table.size - FR_OFFSETS_SPARE;
    if (groups > room / FR_OFFSETS_HEAD) return false;
    uint64_t word = 2 * groups;
    for (uint64_t group = 0; group < groups; group++) {
        const uint8_t *head = table.data + FR_OFFSETS_HEAD * (size_t)group;
        const unsigned width = fr_load_u64(head) & 63;
        if (width > FR_OFFSETS_WIDTH_MAX || fr_load_u64(head + 8) >> 32 != word) return false;
        const uint64_t left = count - group * FR_OFFSETS_GROUP;
        word += words_of(left < FR_OFFSETS_GROUP ? left : FR_OFFSETS_GROUP, width);
    }
    return word == room / 8;
}

void fr_offsets_unpack(fr_span table, uint64_t group, uint64_t *offsets) {
    const uint8_t *head = table.data + FR_OFFSETS_HEAD * (size_t)group;
    const uint64_t begin = fr_load_u64(head), rest = fr_load_u64(head + 8);
    const uint64_t width = begin & 63, mask = (UINT64_C(1) << width) - 1, rise = (uint32_t)rest;
    const uint64_t first = 8 * (rest >> 32), last = table.size - FR_OFFSETS_SPARE;
    const uint64_t line = (uint64_t)((int64_t)begin >> 6);
    for (uint64_t i = 0; i < FR_OFFSETS_GROUP; i++) {
        const uint64_t bit = width * i, at = first + bit / 8;
        const uint64_t bits = fr_load_u64(table.data + (at < last ? at : last)) >> bit % 8;
        offsets[i] = line + (rise * i >> 8) + (bits & mask);
    }
}

void fr_offsets_packer_free(fr_offsets_packer *packer) {
    fr_buffer_free(&packer->heads);
    fr_buffer_free(&packer->distances);
    *packer = (fr_offsets_packer){0};
}
