/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in memory -> the packed lists of protobuf: varints, and little-endian float32. The way
 * back is varint.h and raw.h.
 *
 * Numbers are of native byte order, at any alignment. Of encoding varints several implementations
 * stand in one table, fastest first; the first call chooses the first that this machine supports.
 */
#ifndef FASTREC_PACK_H
#define FASTREC_PACK_H

#include "format/dtype.h"

/* The number of the first that its list cannot hold: an integer beyond int64, a finite float
   beyond float32. `count` when all are fine. */
size_t fr_pack_check(fr_dtype dtype, const uint8_t *values, size_t count);

/* Bytes of the varints of bools or integers. */
size_t fr_pack_ints_size(fr_dtype dtype, const uint8_t *values, size_t count);

/* Writes those varints from `p` on and gives the position after them, or NULL where they do not
   fit before `end`. Bytes between the last varint and `end` may be overwritten, too. */
uint8_t *fr_pack_ints(uint8_t *p, uint8_t *end, fr_dtype dtype, const uint8_t *values,
                      size_t count);

/* Writes `count` * 4 bytes of FR_FLOAT16, 32 or 64 as the nearest float32. Float32 keeps all its
   bits, NaNs too. */
void fr_pack_floats(uint8_t *out, fr_dtype dtype, const uint8_t *values, size_t count);

/* Size and varints of int64 as above. */
typedef struct {
    const char *name;
    bool (*supported)(void);
    size_t (*size)(const uint8_t *values, size_t count);
    uint8_t *(*put)(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count);
} fr_pack_impl;

/* Every implementation that was compiled in, supported or not; ends with a NULL name. */
extern const fr_pack_impl fr_pack_impls[];

#endif
