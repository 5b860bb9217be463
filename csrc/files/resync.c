/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If one half of a header is wrong, the other half still gives the length of the record, because
 * the length can be computed back from a checksum of only 8 bytes. The length is accepted if the
 * checksum of the record's data agrees. Otherwise the search begins after the damaged header.
 *
 * Two filters make the search fast. First, the top bytes of a plausible length are zero. Eight
 * positions are tested for this together, and almost all random data fails. Second, a plausible
 * length must agree with its CRC. Only at the few positions that remain is the data's checksum
 * computed.
 *
 * A frame that is found may belong to a record file that is stored in the damaged record. In that
 * case, the frames that follow it do not end at another record but at the footer (four bytes) of
 * the outer record, and the outer record's checksum, which covers all bytes between, confirms this.
 * If the outer data is also damaged, either half of its header may still give its end. If neither
 * does, the only evidence is four bytes where a header should be, followed by a true frame.
 */
#include "files/resync.h"

/* Bytes. No file contains longer data. The limit makes the top bytes of every length zero. */
#define LONGEST ((uint64_t)1 << 40)

/* Bytes to search between two pauses. */
#define STRIDE ((size_t)1 << 23)

/* Credit, in bytes to checksum, that each searched byte earns. */
#define EARNED 16

typedef struct {
    fr_span window;
    bool ended;
    uint64_t max_record;
    uint64_t *credit;
} search;

static bool has_zero_byte(uint64_t v) {
    return ((v - UINT64_C(0x0101010101010101)) & ~v & UINT64_C(0x8080808080808080)) != 0;
}

/* Returns true if none of the eight lengths at p, p + 1, ... p + 7 is below LONGEST, or if all
   of them are in a run of zeros, which is never a header. Reads 20 bytes. */
static bool none_of_eight(const uint8_t *p) {
    uint64_t top = fr_load_u64(p + 5) | fr_load_u64(p + 6) | fr_load_u64(p + 7);
    if (FR_LIKELY(!has_zero_byte(top))) return true;
    return (fr_load_u64(p) | fr_load_u64(p + 8) | fr_load_u64(p + 12)) == 0;
}

/* Returns the greatest length of data that a frame at `at` can have. */
static uint64_t limit_at(const search *s, size_t at) {
    uint64_t limit = s->max_record < LONGEST ? s->max_record : LONGEST - 1;
    if (!s->ended) return limit;
    size_t left = s->window.size - at;
    if (left < FR_FRAME_OVERHEAD) return 0;
    return left - FR_FRAME_OVERHEAD < limit ? left - FR_FRAME_OVERHEAD : limit;
}

static bool header_at(const search *s, size_t at, uint64_t *length) {
    const uint8_t *p = s->window.data + at;
    *length = fr_load_u64(p);
    if (*length > limit_at(s, at)) return false;
    if (*length == 0 && fr_load_u32(p + 8) == 0) return false;
    return fr_frame_header(p, length);
}

/* Returns the first position from `at` where a header agrees with its CRC. If there is none,
   returns a position at or after `stop`, or one where less than a header remains. */
static size_t next_header(const search *s, size_t at, size_t stop, uint64_t *length) {
    while (at < stop && s->window.size - at >= FR_HEADER_SIZE) {
        if (s->window.size - at >= 20 && none_of_eight(s->window.data + at)) {
            at += 8;
            continue;
        }
        if (header_at(s, at, length)) return at;
        at++;
    }
    return at;
}

/* Returns FR_OK for a true frame, FR_END for a false one, FR_AGAIN if the window is too short to
   tell. */
static int look_into(const search *s, size_t at, uint64_t length) {
    size_t left = s->window.size - at;
    if (left < FR_FRAME_OVERHEAD || length > left - FR_FRAME_OVERHEAD)
        return s->ended ? FR_END : FR_AGAIN;
    if (length > *s->credit) return FR_END;
    const uint8_t *data = s->window.data + at + FR_HEADER_SIZE;
    uint32_t stored = fr_load_u32(data + length);
    if (fr_crc_mask(fr_crc32c(data, (size_t)length)) == stored) return FR_OK;
    *s->credit -= length;
    return FR_END;
}

static bool true_frame_at(const search *s, size_t at, size_t *size) {
    uint64_t length;
    if (s->window.size - at < FR_HEADER_SIZE || !header_at(s, at, &length)) return false;
    if (look_into(s, at, length) != FR_OK) return false;
    *size = (size_t)length + FR_FRAME_OVERHEAD;
    return true;
}

/* Returns the end of the chain of frames that begins with the true frame at `at`. Damaged data
   between two valid headers does not end the chain. */
static size_t chain_end(const search *s, size_t at) {
    uint64_t length, next;
    while (s->window.size - at >= FR_FRAME_OVERHEAD && header_at(s, at, &length)) {
        size_t size = (size_t)length + FR_FRAME_OVERHEAD;
        if (size > s->window.size - at) break;
        size_t after = at + size;
        bool linked = s->window.size - after >= FR_HEADER_SIZE && header_at(s, after, &next);
        if (!linked && look_into(s, at, length) != FR_OK) break;
        at = after;
    }
    return at;
}

/* Returns true if the window up to `footer` is a record with a damaged header whose data has the
   CRC that is stored there. */
static bool closes_at(const search *s, size_t footer) {
    if (footer < FR_HEADER_SIZE || s->window.size - footer < FR_FOOTER_SIZE) return false;
    uint32_t crc = fr_crc32c(s->window.data + FR_HEADER_SIZE, footer - FR_HEADER_SIZE);
    return fr_crc_mask(crc) == fr_load_u32(s->window.data + footer);
}

/* Returns true if either half of the damaged header says that its data ends at `footer`. */
static bool vouches_for(const search *s, size_t footer) {
    const uint8_t *p = s->window.data;
    if (footer < FR_HEADER_SIZE || s->window.size - footer < FR_FOOTER_SIZE) return false;
    uint8_t header[FR_HEADER_SIZE];
    fr_frame_put_header(header, footer - FR_HEADER_SIZE);
    return memcmp(p, header, 8) == 0 || memcmp(p + 8, header + 8, 4) == 0;
}

/* Returns true if the end of a chain looks like the end of an outer record: four bytes, followed
   by a record or by nothing. At the end of the file, the four bytes may also be the first bytes
   of a torn header, which is a small number. */
static bool looks_closed(const search *s, size_t at) {
    size_t size;
    bool small = s->window.data[at + 3] == 0;
    at += FR_FOOTER_SIZE;
    if (at == s->window.size) return s->ended && !small;
    return true_frame_at(s, at, &size);
}

/* Decides if the true frame at `at` is a record, or data of the record at the start of the
   window. */
static void settle(const search *s, size_t at, fr_resync *resync) {
    resync->end = at;
    if (at >= FR_FRAME_OVERHEAD) {
        resync->whole = closes_at(s, at - FR_FOOTER_SIZE);
        if (resync->whole || vouches_for(s, at - FR_FOOTER_SIZE)) return;
    }
    size_t broken = chain_end(s, at);
    if (s->window.size - broken < FR_FOOTER_SIZE) return;
    if (closes_at(s, broken))
        resync->whole = true;
    else if (vouches_for(s, broken) || looks_closed(s, broken))
        resync->ambiguous = true;
    else
        return;
    resync->end = broken + FR_FOOTER_SIZE;
}

/* Returns the only length below 2^32 that has this header checksum. The length has 8 bytes, of
   which the last four are zero. Running the 32-bit checksum backwards over the 8 bytes therefore
   gives the other four. */
static uint64_t length_of_crc(uint32_t masked) {
    uint32_t state = ~fr_crc_unmask(masked);
    for (int bit = 0; bit < 64; bit++)
        state = state >> 31 ? (state ^ UINT32_C(0x82F63B78)) << 1 | 1 : state << 1;
    return ~state;
}

/* Returns true if data of this length agrees with the checksum after it and is followed by a
   header or the end. The header alone does not suffice: if all frames have the same size, a
   length with one wrong bit also leads to a header, past many records. */
static bool leads_on(const search *s, uint64_t length, fr_resync *resync) {
    uint64_t next;
    size_t size = s->window.size;
    if (size < FR_FRAME_OVERHEAD || length > size - FR_FRAME_OVERHEAD) return false;
    size_t end = (size_t)length + FR_FRAME_OVERHEAD;
    bool last = s->ended && end == size;
    if (!last && (size - end < FR_HEADER_SIZE || !header_at(s, end, &next))) return false;
    if (length > *s->credit) return false;
    resync->end = end;
    resync->whole = closes_at(s, end - FR_FOOTER_SIZE);
    if (!resync->whole) *s->credit -= length;
    return resync->whole;
}

/* Tries lengths above 32 bits, which length_of_crc() cannot compute, that differ in one bit from
   the stored length and agree with the header's checksum. */
static bool follow_neighbor(const search *s, fr_resync *resync) {
    uint8_t header[FR_HEADER_SIZE];
    const uint64_t stored = fr_load_u64(s->window.data);
    for (int bit = 0; bit < 64; bit++) {
        const uint64_t length = stored ^ UINT64_C(1) << bit;
        fr_frame_put_header(header, length);
        if (length > UINT32_MAX && memcmp(s->window.data + 8, header + 8, 4) == 0)
            return leads_on(s, length, resync);
    }
    return false;
}

/* Returns true if either half of the header is right, so that no search is needed. */
static bool follow_header(const search *s, fr_resync *resync) {
    if (s->window.size < FR_HEADER_SIZE) return false;
    return leads_on(s, length_of_crc(fr_load_u32(s->window.data + 8)), resync) ||
           leads_on(s, fr_load_u64(s->window.data), resync) || follow_neighbor(s, resync);
}

int fr_resync_find(fr_span window, bool ended, size_t from, uint64_t max_record, uint64_t *credit,
                   fr_resync *resync, size_t *need) {
    search s = {window, ended, max_record ? max_record : UINT64_MAX, credit};
    if (!ended && !max_record) s.max_record = FR_DEFAULT_MAX_RECORD;
    *resync = (fr_resync){0};
    *need = 0;
    if (from == 1 && follow_header(&s, resync)) return FR_OK;
    const size_t stop =
        window.size > STRIDE && from < window.size - STRIDE ? from + STRIDE : window.size;
    uint64_t length = 0;
    for (size_t at = from; at < window.size; at++) {
        size_t begun = at;
        at = next_header(&s, at, stop, &length);
        *credit += EARNED * (at - begun);
        resync->end = at;
        if (at >= stop && stop < window.size) return FR_AGAIN;
        if (at >= window.size || window.size - at < FR_HEADER_SIZE) break;
        int status = look_into(&s, at, length);
        if (status == FR_AGAIN) {
            *need = (size_t)length + FR_FRAME_OVERHEAD;
            return FR_AGAIN;
        }
        if (status != FR_OK) continue;
        if (from) settle(&s, at, resync);
        return FR_OK;
    }
    if (ended) resync->end = window.size;
    return FR_END;
}

bool fr_resync_inside(fr_span frame, uint64_t *credit, size_t *at) {
    search s = {frame, true, UINT64_MAX, credit};
    uint64_t length;
    for (*at = 1; *at < frame.size; ++*at) {
        *at = next_header(&s, *at, frame.size, &length);
        if (frame.size - *at < FR_FRAME_OVERHEAD) return false;
        if (look_into(&s, *at, length) != FR_OK) continue;
        size_t end = chain_end(&s, *at);
        if (end == frame.size) return true;
        *at = end - 1;
    }
    return false;
}
