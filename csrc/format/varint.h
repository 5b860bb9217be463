/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes runs of packed varints, the encoding of int64 lists in records.
 *
 * A table lists the implementations, fastest first. The first call selects the first one that this
 * machine supports, or the one that the environment variable FASTREC_VARINT names.
 */
#ifndef FASTREC_VARINT_H
#define FASTREC_VARINT_H

#include "base/bytes.h"

typedef struct {
    const char *name;
    bool (*supported)(void);
    /* Returns the number of varints that end in `run`. The run is malformed if its last byte
       ends none. */
    size_t (*count)(fr_span run);
    /*
     * Decodes varints from *p until `count` are decoded or `end` is reached, and advances *p past
     * them. Returns the number of decoded varints. If a varint is malformed (longer than ten bytes)
     * or extends beyond `end`, sets *p to NULL. Reads no byte at or after `end`, and writes nothing
     * after out[count - 1]; elements of out after the decoded varints are undefined.
     */
    size_t (*decode)(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);
} fr_varint_impl;

/* All compiled implementations, supported or not, fastest first; ends with a NULL name. */
extern const fr_varint_impl fr_varint_impls[];

/* Returns the selected implementation. Returns NULL, and the portable one is used, if
   FASTREC_VARINT is unknown or unsupported. */
const fr_varint_impl *fr_varint_chosen(void);

/* Call the selected implementation. Thread-safe. */
size_t fr_varint_count(fr_span run);
size_t fr_varint_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);

#endif
