/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts numbers in memory to the packed lists of protobuf: varints, and little-endian float32.
 * The opposite direction is in varint.h and raw.h.
 *
 * Numbers have native byte order and any alignment. A table lists the implementations of varint
 * encoding, fastest first; the first call selects the first one that this machine supports.
 */
#ifndef FASTREC_PACK_H
#define FASTREC_PACK_H

#include "format/dtype.h"

/* Returns the number of the first value that its list cannot hold (an integer beyond int64, a
   finite float beyond float32), or `count` if all fit. */
size_t fr_pack_check(fr_dtype dtype, const uint8_t *values, size_t count);

/* Returns the size in bytes of bools or integers as varints. */
size_t fr_pack_ints_size(fr_dtype dtype, const uint8_t *values, size_t count);

/* Writes these varints at `p` and returns the position after them, or NULL if they do not fit
   before `end`. May overwrite bytes between the last varint and `end`. */
uint8_t *fr_pack_ints(uint8_t *p, uint8_t *end, fr_dtype dtype, const uint8_t *values,
                      size_t count);

/* Writes `count` * 4 bytes: FR_FLOAT16, 32 or 64 rounded to the nearest float32. Float32 values,
   including NaNs, keep all their bits. */
void fr_pack_floats(uint8_t *out, fr_dtype dtype, const uint8_t *values, size_t count);

/* An implementation of fr_pack_ints_size() and fr_pack_ints() for int64. */
typedef struct {
    const char *name;
    bool (*supported)(void);
    size_t (*size)(const uint8_t *values, size_t count);
    uint8_t *(*put)(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count);
} fr_pack_impl;

/* All compiled implementations, supported or not; ends with a NULL name. */
extern const fr_pack_impl fr_pack_impls[];

#endif
