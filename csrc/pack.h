/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in memory -> the packed lists of protobuf: varints, and little-endian float32.
 */
#ifndef FASTREC_PACK_H
#define FASTREC_PACK_H

#include "raw.h"

/* Why numbers cannot be packed; NULL when they were. */
typedef const char *fr_pack_fault;

/*
 * Appends the varints of `count` bools or integers of native byte order, at any alignment, to
 * `out`. `*fault` is set when one is beyond int64, whatever has been appended by then.
 */
FR_NODISCARD int fr_pack_ints(fr_buffer *out, fr_dtype dtype, const uint8_t *values, size_t count,
                              fr_pack_fault *fault, fr_error *err);

/* Writes `count` * 4 bytes of FR_FLOAT16, 32 or 64 as the nearest float32. Float32 keeps all its
   bits, NaNs too. Faults on a finite value that has none. */
fr_pack_fault fr_pack_floats(uint8_t *out, fr_dtype dtype, const uint8_t *values, size_t count);

#endif
