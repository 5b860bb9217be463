/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of packed varints, which is what the int64 lists of records are.
 */
#ifndef FASTREC_VARINT_H
#define FASTREC_VARINT_H

#include "bytes.h"

/* How many varints end in `run`. When the last byte does not end one, the run is malformed. */
size_t fr_varint_count(fr_span run);

/*
 * Decodes varints from *p until `count` are done or `end` is reached; *p moves past them. Returns
 * how many were decoded. On a varint that is malformed (longer than ten bytes) or cut off by
 * `end`, *p becomes NULL.
 */
size_t fr_varint_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);

#endif
