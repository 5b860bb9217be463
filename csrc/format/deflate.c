/* SPDX-License-Identifier: Apache-2.0 */
#include "format/deflate.h"

#include <inttypes.h>

#define LONGEST 15
#define END_OF_BLOCK 256
#define LITERALS 286 /* largest number of codes for literals and lengths in a block */
#define DISTANCES 30
#define HEADER_BITS 4800 /* upper bound of a block's code description: 17 + 19 * 3 + 316 * 14 */
#define SYMBOL_BITS 64   /* upper bound of a symbol with its extra bits */

/* A position, in bits, within a stream. */
typedef struct {
    fr_span bytes;
    uint64_t at; /* bits */
} cursor;

static inline uint64_t left(const cursor *c) {
    const uint64_t size = (uint64_t)c->bytes.size * 8;
    return size < c->at ? 0 : size - c->at;
}

/* Returns at least the next 57 bits, with zeros after the end. */
static inline uint64_t peek(const cursor *c) {
    const size_t byte = (size_t)(c->at >> 3);
    uint8_t tail[8] = {0};
    if (FR_LIKELY(byte < c->bytes.size && c->bytes.size - byte >= 8))
        return fr_load_u64(c->bytes.data + byte) >> (c->at & 7);
    if (byte < c->bytes.size) memcpy(tail, c->bytes.data + byte, c->bytes.size - byte);
    return fr_load_u64(tail) >> (c->at & 7);
}

static uint32_t take(cursor *c, unsigned count) {
    const uint64_t bits = peek(c) & ((UINT64_C(1) << count) - 1);
    c->at += count;
    return (uint32_t)bits;
}

static int damaged(const fr_deflate *walk, const char *what, fr_error *err) {
    return fr_fail(err, FR_ERR_CORRUPT, "%s in the deflate block at %" PRIu64 " bytes of output",
                   what, walk->output);
}

/* ---- Codes ------------------------------------------------------------------------------------*/

static void fill_direct(fr_deflate_code *code) {
    uint32_t next = 0, index = 0;
    memset(code->direct, 0, sizeof code->direct);
    for (unsigned bits = 1; bits <= FR_DEFLATE_DIRECT; bits++, next <<= 1)
        for (unsigned i = 0; i < code->counts[bits]; i++, next++, index++) {
            uint32_t reversed = 0;
            for (unsigned bit = 0; bit < bits; bit++)
                reversed |= (next >> bit & 1) << (bits - 1 - bit);
            for (uint32_t at = reversed; at < 1u << FR_DEFLATE_DIRECT; at += 1u << bits)
                code->direct[at] = (uint16_t)(code->symbols[index] << 4 | bits);
        }
}

/* Builds a code from the lengths of its codewords. Returns false if the code is over-subscribed
   or incomplete. A single codeword of one bit, or none, is allowed unless the code must be
   complete. */
static bool make_code(fr_deflate_code *code, const uint8_t *lengths, unsigned count, bool whole) {
    uint16_t offsets[LONGEST + 2] = {0};
    unsigned longest = 0;
    int32_t room = 1;
    memset(code->counts, 0, sizeof code->counts);
    for (unsigned i = 0; i < count; i++) {
        code->counts[lengths[i]]++;
        if (lengths[i] > longest) longest = lengths[i];
    }
    code->counts[0] = 0;
    for (unsigned bits = 1; bits <= LONGEST; bits++) {
        room = room * 2 - code->counts[bits];
        if (room < 0) return false;
        offsets[bits + 1] = (uint16_t)(offsets[bits] + code->counts[bits]);
    }
    if (room > 0 && (whole || longest > 1)) return false;
    for (unsigned i = 0; i < count; i++)
        if (lengths[i]) code->symbols[offsets[lengths[i]]++] = (uint16_t)i;
    fill_direct(code);
    return true;
}

/* Returns symbol << 4 | bits, or 0 for an invalid codeword. */
static uint32_t decode_long(const fr_deflate_code *code, uint64_t bits) {
    int32_t value = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= LONGEST; length++, bits >>= 1) {
        const int32_t count = code->counts[length];
        value |= (int32_t)(bits & 1);
        if (value - first < count)
            return (uint32_t)code->symbols[index + value - first] << 4 | length;
        index += count;
        first = (first + count) * 2;
        value *= 2;
    }
    return 0;
}

static inline uint32_t decode(const fr_deflate_code *code, uint64_t bits) {
    const uint32_t found = code->direct[bits & ((1u << FR_DEFLATE_DIRECT) - 1)];
    return FR_LIKELY(found) ? found : decode_long(code, bits);
}

static void make_fixed(fr_deflate *walk) {
    uint8_t lengths[288];
    if (walk->fixed) return;
    for (unsigned i = 0; i < 288; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    (void)make_code(&walk->lengths, lengths, 288, true);
    memset(lengths, 5, 32);
    (void)make_code(&walk->distances, lengths, 32, true);
    walk->fixed = true;
}

/* ---- Blocks -----------------------------------------------------------------------------------*/

/* Reads the codeword lengths of both codes. They are encoded by a third code, which temporarily
   uses the memory of the distance code. */
static int read_lengths(const fr_deflate *walk, cursor *c, uint8_t *lengths, unsigned count,
                        fr_error *err) {
    for (unsigned done = 0; done < count;) {
        const uint32_t found = decode(&walk->distances, peek(c));
        const uint32_t symbol = found >> 4;
        c->at += found & 15;
        if (!found) return damaged(walk, "invalid code-length symbol", err);
        if (symbol < 16) {
            lengths[done++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && done == 0) return damaged(walk, "a length repeated that is none", err);
        const uint8_t value = symbol == 16 ? lengths[done - 1] : 0;
        const unsigned times = symbol == 16   ? 3 + take(c, 2)
                               : symbol == 17 ? 3 + take(c, 3)
                                              : 11 + take(c, 7);
        if (times > count - done) return damaged(walk, "too many lengths of codes", err);
        memset(lengths + done, value, times);
        done += times;
    }
    return FR_OK;
}

static int read_codes(fr_deflate *walk, cursor *c, fr_error *err) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS + DISTANCES + 32] = {0};
    const unsigned literals = 257 + take(c, 5), distances = 1 + take(c, 5);
    const unsigned count = 4 + take(c, 4);
    if (literals > LITERALS || distances > DISTANCES) return damaged(walk, "too many codes", err);
    for (unsigned i = 0; i < count; i++)
        lengths[order[i]] = (uint8_t)take(c, 3);
    walk->fixed = false;
    if (!make_code(&walk->distances, lengths, 19, true))
        return damaged(walk, "no code of lengths", err);
    FR_TRY(read_lengths(walk, c, lengths, literals + distances, err));
    if (lengths[END_OF_BLOCK] == 0) return damaged(walk, "no end of block", err);
    if (!make_code(&walk->lengths, lengths, literals, false) ||
        !make_code(&walk->distances, lengths + literals, distances, false))
        return damaged(walk, "no code of literals or distances", err);
    return FR_OK;
}

static int begin_stored(fr_deflate *walk, cursor *c, fr_error *err) {
    c->at = (c->at + 7) & ~UINT64_C(7);
    const uint32_t size = take(c, 16), check = take(c, 16);
    if (size != (check ^ 0xFFFF)) return damaged(walk, "a length that disagrees with itself", err);
    walk->stored = size;
    return FR_OK;
}

/* Reads the header of a block. */
static int begin_block(fr_deflate *walk, cursor *c, fr_error *err) {
    walk->final = take(c, 1);
    walk->stored = 0;
    switch (take(c, 2)) {
        case 0:
            FR_TRY(begin_stored(walk, c, err));
            walk->in_block = walk->stored > 0;
            return FR_OK;
        case 1:
            make_fixed(walk);
            break;
        case 2:
            FR_TRY(read_codes(walk, c, err));
            break;
        default:
            return damaged(walk, "no such type", err);
    }
    walk->in_block = true;
    return FR_OK;
}

static void walk_stored(fr_deflate *walk, cursor *c) {
    const uint64_t there = left(c) / 8, some = walk->stored < there ? walk->stored : there;
    c->at += some * 8;
    walk->output += some;
    walk->stored -= (uint32_t)some;
    walk->in_block = walk->stored > 0;
}

static const uint16_t length_base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[DISTANCES] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[DISTANCES] = {0, 0, 0,  0,  1,  1,  2,  2,  3,  3,
                                                  4, 4, 5,  5,  6,  6,  7,  7,  8,  8,
                                                  9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

/* Processes a copy of earlier bytes, after the symbol of its length. */
static int walk_copy(fr_deflate *walk, cursor *c, uint32_t symbol, fr_error *err) {
    if (symbol >= LITERALS) return damaged(walk, "no such length", err);
    uint64_t bits = peek(c);
    const unsigned extra = length_extra[symbol - 257];
    const uint32_t length = length_base[symbol - 257] + (uint32_t)(bits & ((1u << extra) - 1));
    bits >>= extra;
    const uint32_t found = decode(&walk->distances, bits), which = found >> 4;
    if (!found || which >= DISTANCES) return damaged(walk, "no such distance", err);
    bits >>= found & 15;
    const unsigned more = distance_extra[which];
    const uint64_t distance = distance_base[which] + (bits & ((1u << more) - 1));
    if (distance > walk->output) return damaged(walk, "a distance to before the begin", err);
    c->at += extra + (found & 15) + more;
    walk->output += length;
    return FR_OK;
}

/* Returns FR_OK at the end of the block. */
static int walk_codes(fr_deflate *walk, cursor *c, bool last, fr_error *err) {
    for (;;) {
        if (FR_UNLIKELY(left(c) < SYMBOL_BITS)) {
            if (!last) return FR_AGAIN;
            if (left(c) == 0) return FR_OK; /* the caller reports the truncation */
        }
        uint64_t bits = peek(c);
        uint32_t found = decode(&walk->lengths, bits);
        /* Three literals take at most 45 bits. */
        for (unsigned i = 0; i < 2 && found && found >> 4 < END_OF_BLOCK; i++) {
            walk->output++;
            c->at += found & 15;
            bits >>= found & 15;
            found = decode(&walk->lengths, bits);
        }
        if (!found) return damaged(walk, "no such code", err);
        c->at += found & 15;
        if (found >> 4 < END_OF_BLOCK) {
            walk->output++;
        } else if (found >> 4 == END_OF_BLOCK) {
            walk->in_block = false;
            return FR_OK;
        } else {
            FR_TRY(walk_copy(walk, c, found >> 4, err));
        }
    }
}

/* Returns whether to stop at the block that begins here. */
static bool stops(fr_deflate *walk) {
    if (walk->every == 0 || walk->output < walk->stop) return false;
    walk->stop = walk->output + walk->every;
    return true;
}

static int walk_on(fr_deflate *walk, cursor *c, bool last, fr_error *err) {
    for (;;) {
        if (!walk->in_block) {
            if (walk->final) return FR_END;
            if (!last && left(c) < HEADER_BITS) return FR_AGAIN;
            if (stops(walk)) return FR_OK;
            FR_TRY(begin_block(walk, c, err));
        }
        if (walk->stored)
            walk_stored(walk, c);
        else if (walk->in_block)
            FR_TRY(walk_codes(walk, c, last, err));
        if (c->at > (uint64_t)c->bytes.size * 8 || (walk->in_block && last))
            return fr_fail(err, FR_ERR_TRUNCATED, "the deflate stream ends inside a block");
        if (walk->in_block) return FR_AGAIN;
    }
}

int fr_deflate_walk(fr_deflate *walk, fr_span input, bool last, fr_error *err) {
    cursor c = {input, walk->bits & 7};
    int status = walk_on(walk, &c, last, err);
    walk->bits += c.at - (walk->bits & 7);
    return status;
}
