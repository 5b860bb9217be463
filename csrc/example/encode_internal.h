/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the parts of encode share. Only they include this file.
 */
#ifndef FASTREC_ENCODE_INTERNAL_H
#define FASTREC_ENCODE_INTERNAL_H

#include "example/encode.h"
#include "format/wire.h"

/* Size in bytes of the longest message that protobuf reads. */
#define FR_MESSAGE_MAX ((uint64_t)INT32_MAX)

/* The result of the first pass for one value of a row. */
typedef struct {
    size_t begin, count; /* elements of the row */
    fr_kind kind;        /* kind of the row's Feature */
    uint32_t body;       /* bytes of the list's elements; packed ones without tag and size */
    uint32_t list, feature, entry;
    bool fixed;  /* the sizes are the same in every row */
    bool scalar; /* one int64 in every row */
} fr_measured;

/* The state of the second pass. Frames are checksummed up to `summed`. */
typedef struct {
    uint8_t *p, *end; /* next byte and end of the message */
    const uint8_t *summed;
    uint32_t crc;
    bool framed;
} fr_put;

/* Returns the bytes of a tag, a size, and `size` bytes. */
static inline uint64_t fr_sized(uint64_t size) {
    return 1 + fr_wire_varint_size(size) + size;
}

static inline void fr_put_size(fr_put *at, unsigned field, uint64_t size) {
    uint8_t *p = at->p;
    *p++ = (uint8_t)FR_TAG(field, FR_WIRE_SIZED);
    at->p = fr_wire_put_varint(p, size);
}

static inline void fr_put_copy(fr_put *at, const uint8_t *data, size_t size) {
    if (size) memcpy(at->p, data, size);
    at->p += size;
}

int fr_fail_long(const fr_value *value, fr_error *err);

int fr_fail_changed(const fr_value *value, fr_error *err);

/* Finds the elements of `row`, and the sizes of their list and Feature. With `roughly`, lists of
   integers may be measured too long. */
FR_NODISCARD int fr_measure_feature(const fr_value *value, size_t row, bool roughly,
                                    fr_measured *part, fr_error *err);

/* Writes the content of the measured Feature, part->feature bytes. */
FR_NODISCARD int fr_put_feature(fr_put *at, const fr_value *value, const fr_measured *part,
                                fr_error *err);

/* The messages around the lists of a row. */
typedef struct {
    const fr_value *values;
    size_t count;
    fr_measured *parts; /* one per value */
    fr_measured *more;  /* allocated memory for more values than `few` holds */
    fr_measured few[64];
    uint64_t features; /* bytes of the row's Features */
} fr_encoder;

FR_NODISCARD int fr_encoder_init(fr_encoder *encoder, const fr_value *values, size_t count,
                                 fr_error *err);
FR_NODISCARD int fr_encoder_measure(fr_encoder *encoder, size_t row, bool roughly, fr_error *err);
FR_NODISCARD int fr_encoder_put(const fr_encoder *encoder, fr_put *at, fr_error *err);
void fr_encoder_free(fr_encoder *encoder);

#endif
