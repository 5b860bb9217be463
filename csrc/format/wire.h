/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format on (p, end): tags, varints, sizes, skipping.
 *
 * Each function takes the position and the end of the readable bytes, and returns the position
 * after the part that it read, or NULL if the bytes are not valid protobuf. No function reads at or
 * after `end`, and none recurses. fr_wire_next() iterates over the fields of a message.
 * (https://protobuf.dev/programming-guides/encoding/)
 */
#ifndef FASTREC_WIRE_H
#define FASTREC_WIRE_H

#include "base/bytes.h"

enum {
    FR_WIRE_VARINT = 0,
    FR_WIRE_FIXED64 = 1,
    FR_WIRE_SIZED = 2,
    FR_WIRE_GROUP = 3,
    FR_WIRE_GROUP_END = 4,
    FR_WIRE_FIXED32 = 5
};

#define FR_TAG(field, wire) ((uint32_t)(field) << 3 | (uint32_t)(wire))

/* Deeper nesting of groups is malformed, as in protobuf. */
#define FR_WIRE_MAX_DEPTH 100

#define FR_VARINT_MAX 10

const uint8_t *fr_wire_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *value);

/* Reads at most ten bytes; bits beyond the 64th are dropped, as in protobuf. */
static inline const uint8_t *fr_wire_varint(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    if (FR_LIKELY(p < end && *p < 0x80)) {
        *value = *p;
        return p + 1;
    }
    if (FR_LIKELY(end - p >= 2 && p[1] < 0x80)) {
        *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        return p + 2;
    }
    return fr_wire_varint_slow(p, end, value);
}

/* Returns the varint of `size` bytes (1 to 8) at the low end of `word`, without its continuation
   bits. */
static inline uint64_t fr_wire_gather(uint64_t word, unsigned size) {
    word &= UINT64_MAX >> (64 - 8 * size);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

#define FR_WIRE_HIGH_BITS UINT64_C(0x8080808080808080)

/* Returns whether the first `size` bytes of `word` (1 to 8) are exactly one varint. */
static inline bool fr_wire_is_varint(uint64_t word, unsigned size) {
    uint64_t mask = FR_WIRE_HIGH_BITS >> (64 - 8 * size);
    return (word & mask) == (mask & mask >> 8);
}

const uint8_t *fr_wire_tag_slow(const uint8_t *p, const uint8_t *end, uint32_t *tag);

/* Reads a field's number and wire type: at most five bytes, and the number must not be 0. */
static inline const uint8_t *fr_wire_tag(const uint8_t *p, const uint8_t *end, uint32_t *tag) {
    if (FR_LIKELY(p < end && *p < 0x80 && *p >= 8)) {
        *tag = *p;
        return p + 1;
    }
    return fr_wire_tag_slow(p, end, tag);
}

/* Reads a size and the bytes that it covers, which must not exceed the remaining bytes. */
static inline const uint8_t *fr_wire_sized(const uint8_t *p, const uint8_t *end, fr_span *bytes) {
    uint64_t size;
    const uint8_t *start = p;
    p = fr_wire_varint(p, end, &size);
    if (FR_UNLIKELY(!p || size > (uint64_t)(end - p) || size > INT32_MAX)) return NULL;
    /* A number loses its bits beyond the 64th, but a size with such bits is invalid. */
    if (FR_UNLIKELY(p - start == FR_VARINT_MAX && p[-1] > 1)) return NULL;
    bytes->data = p;
    bytes->size = (size_t)size;
    return p + size;
}

/* Skips the field whose tag was just read; a group includes everything in it. */
const uint8_t *fr_wire_skip(const uint8_t *p, const uint8_t *end, uint32_t tag);

/* The remaining fields of a message. */
typedef struct {
    const uint8_t *p, *end;
} fr_wire_fields;

/* One field. `bytes` is the content after the tag: for a sized field without its size, for a group
   everything in it, including its end tag. */
typedef struct {
    uint32_t tag;
    fr_span bytes;
} fr_wire_field;

static inline fr_wire_fields fr_wire_begin(fr_span message) {
    return (fr_wire_fields){message.data, message.data + message.size};
}

/*
 * Reads the next field. Returns false after the last field and if the bytes are malformed.
 * fr_wire_malformed() distinguishes the two:
 *
 *     while (fr_wire_next(&fields, &field)) ...
 *     if (fr_wire_malformed(&fields)) ...
 */
bool fr_wire_next(fr_wire_fields *fields, fr_wire_field *field);

/* A variant of fr_wire_next() for hot loops. It is inline for a sized field with `tag`, which must
   be below 0x80. */
static inline bool fr_wire_next_sized(fr_wire_fields *fields, uint32_t tag, fr_wire_field *field) {
    const uint8_t *p = fields->p, *end = fields->end;
    fr_span bytes;
    if (p == end) return false;
    if (FR_LIKELY(*p == tag && (p = fr_wire_sized(p + 1, end, &bytes)))) {
        fields->p = p;
        *field = (fr_wire_field){tag, bytes};
        return true;
    }
    fr_wire_fields rest =
        *fields; /* copies, so that the caller's variables can stay in registers */
    fr_wire_field other = {0};
    const bool found = fr_wire_next(&rest, &other);
    *fields = rest;
    *field = other;
    return found;
}

/* Returns, after fr_wire_next() returned false, whether the bytes are malformed. */
static inline bool fr_wire_malformed(const fr_wire_fields *fields) {
    return fields->p != fields->end;
}

/* Returns the size of the varint of `value`, 1 to 10 bytes. */
static inline size_t fr_wire_varint_size(uint64_t value) {
    return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/* Writes fr_wire_varint_size(value) bytes. */
static inline uint8_t *fr_wire_put_varint(uint8_t *p, uint64_t value) {
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

#endif
