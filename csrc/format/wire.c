/* SPDX-License-Identifier: Apache-2.0 */
#include "format/wire.h"

const uint8_t *fr_wire_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 7 * FR_VARINT_MAX; shift += 7) {
        if (p == end) return NULL;
        uint8_t byte = *p++;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return p;
        }
    }
    return NULL;
}

const uint8_t *fr_wire_tag_slow(const uint8_t *p, const uint8_t *end, uint32_t *tag) {
    uint64_t value;
    const uint8_t *next = fr_wire_varint_slow(p, end, &value);
    if (!next || next - p > 5 || value > UINT32_MAX || value < 8) return NULL;
    *tag = (uint32_t)value;
    return next;
}

static const uint8_t *skip_bytes(const uint8_t *p, const uint8_t *end, ptrdiff_t size) {
    return end - p >= size ? p + size : NULL;
}

/* Skips a field that is not a group. */
static const uint8_t *skip_plain(const uint8_t *p, const uint8_t *end, uint32_t tag) {
    uint64_t value;
    fr_span bytes;
    switch (tag & 7) {
        case FR_WIRE_VARINT:
            return fr_wire_varint(p, end, &value);
        case FR_WIRE_FIXED64:
            return skip_bytes(p, end, 8);
        case FR_WIRE_SIZED:
            return fr_wire_sized(p, end, &bytes);
        case FR_WIRE_FIXED32:
            return skip_bytes(p, end, 4);
    }
    return NULL;
}

/* Open groups are kept on an explicit stack, because hostile input must not cause deep
   recursion. */
static const uint8_t *skip_group(const uint8_t *p, const uint8_t *end, uint32_t tag) {
    uint32_t open[FR_WIRE_MAX_DEPTH];
    int depth = 0;
    open[depth++] = tag >> 3;
    while (depth) {
        p = fr_wire_tag(p, end, &tag);
        if (!p) return NULL;
        if ((tag & 7) == FR_WIRE_GROUP) {
            if (depth == FR_WIRE_MAX_DEPTH) return NULL;
            open[depth++] = tag >> 3;
        } else if ((tag & 7) == FR_WIRE_GROUP_END) {
            if (open[--depth] != tag >> 3) return NULL;
        } else {
            p = skip_plain(p, end, tag);
            if (!p) return NULL;
        }
    }
    return p;
}

const uint8_t *fr_wire_skip(const uint8_t *p, const uint8_t *end, uint32_t tag) {
    if ((tag & 7) == FR_WIRE_GROUP) return skip_group(p, end, tag);
    return skip_plain(p, end, tag);
}

bool fr_wire_next(fr_wire_fields *fields, fr_wire_field *field) {
    const uint8_t *p = fields->p, *end = fields->end;
    if (p == end) return false;
    p = fr_wire_tag(p, end, &field->tag);
    if (!p) return false;
    if ((field->tag & 7) == FR_WIRE_SIZED) {
        p = fr_wire_sized(p, end, &field->bytes);
    } else {
        field->bytes.data = p;
        p = fr_wire_skip(p, end, field->tag);
        if (p) field->bytes.size = (size_t)(p - field->bytes.data);
    }
    if (!p) return false;
    fields->p = p;
    return true;
}
