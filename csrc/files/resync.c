/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a header with one wrong half the other half still says how long the record is, for a checksum
 * of so few bytes can be taken back to what it is of. It is believed when the record's own checksum
 * agrees; otherwise there is a search, from the damaged header on.
 *
 * Two sieves make it fast. Of a length that fits into the file the top bytes are zero, and
 * eight positions are asked about that at once: almost all of random data falls through. A length
 * that fits has to agree with its CRC. The few positions that are left have their data summed up.
 *
 * The frame found may still be one of a record file that lies inside the record whose header is
 * damaged. Then the frames that follow it end not at another record but at the four bytes that
 * close the outer one, and the outer record's own checksum says so: it covers everything between.
 * If its data is damaged, too, either half of its header may still tell where it ends; and if
 * neither does, four bytes where a header should be, and a true frame behind them, are what is
 * left.
 */
#include "files/resync.h"

/* Longer data than this is in no file; it leaves the top bytes of a length zero. */
#define LONGEST ((uint64_t)1 << 40)

/* Bytes to search between two pauses. */
#define STRIDE ((size_t)1 << 23)

/* Bytes of work earned by each byte that the search goes forward. */
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

/* Whether none of the eight lengths that begin at p, p + 1, ... p + 7 is below LONGEST, or all are
   part of a run of zeros, which no header is. Reads 20 bytes. */
static bool none_of_eight(const uint8_t *p) {
    uint64_t top = fr_load_u64(p + 5) | fr_load_u64(p + 6) | fr_load_u64(p + 7);
    if (FR_LIKELY(!has_zero_byte(top))) return true;
    return (fr_load_u64(p) | fr_load_u64(p + 8) | fr_load_u64(p + 12)) == 0;
}

/* The longest data that a frame at `at` can have. */
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

/* The first position from `at` on where a header agrees with its CRC, or one from `stop` on, or one
   of which less than a header is left. */
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

/* FR_OK for a true frame, FR_END for none, FR_AGAIN when the window is too short to tell. */
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

/* The end of the frames that follow each other from `at` on, the first a true one. Bad data between
   two headers does not break the chain. */
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

/* Whether the window up to `footer` is a record with a wrong header, closed by the CRC there. */
static bool closes_at(const search *s, size_t footer) {
    if (footer < FR_HEADER_SIZE || s->window.size - footer < FR_FOOTER_SIZE) return false;
    uint32_t crc = fr_crc32c(s->window.data + FR_HEADER_SIZE, footer - FR_HEADER_SIZE);
    return fr_crc_mask(crc) == fr_load_u32(s->window.data + footer);
}

/* Whether either half of the header that is not believed says that its data ends at `footer`. */
static bool vouches_for(const search *s, size_t footer) {
    const uint8_t *p = s->window.data;
    if (footer < FR_HEADER_SIZE || s->window.size - footer < FR_FOOTER_SIZE) return false;
    uint8_t header[FR_HEADER_SIZE];
    fr_frame_put_header(header, footer - FR_HEADER_SIZE);
    return memcmp(p, header, 8) == 0 || memcmp(p + 8, header + 8, 4) == 0;
}

/* The place where a chain breaks off: four bytes and then a record, or nothing, are how an outer
   record ends. At the end of the file they may as well be the first of a torn header, a small
   number. */
static bool looks_closed(const search *s, size_t at) {
    size_t size;
    bool small = s->window.data[at + 3] == 0;
    at += FR_FOOTER_SIZE;
    if (at == s->window.size) return s->ended && !small;
    return true_frame_at(s, at, &size);
}

/* A true frame begins at `at`: is it a record, or data of the one that the window begins with? */
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

/* The one length below 2^32 that a header's checksum can be of: 32 bits of checksum, taken back
   over 8 bytes of which the last four are zeros, are the other four. */
static uint64_t length_of_crc(uint32_t masked) {
    uint32_t state = ~fr_crc_unmask(masked);
    for (int bit = 0; bit < 64; bit++)
        state = state >> 31 ? (state ^ UINT32_C(0x82F63B78)) << 1 | 1 : state << 1;
    return ~state;
}

/* Data of that length agrees with the checksum behind it, and a record, or the end, follows. That a
   record follows does not suffice: where frames are of one size, a length that is wrong in one bit
   leads to a record as well, with many in between. */
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

/* The header is right but for one bit of a length that length_of_crc() cannot tell. */
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

/* If either half of the header is right, no search is needed. */
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
