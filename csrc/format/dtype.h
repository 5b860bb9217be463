/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types: sizes, byte order, and conversion with range checks.
 */
#ifndef FASTREC_DTYPE_H
#define FASTREC_DTYPE_H

#include "base/bytes.h"

typedef enum {
    FR_BOOL = 0,
    FR_INT8,
    FR_UINT8,
    FR_INT16,
    FR_UINT16,
    FR_INT32,
    FR_UINT32,
    FR_INT64,
    FR_UINT64,
    FR_FLOAT16,
    FR_FLOAT32,
    FR_FLOAT64,
    FR_COMPLEX64,
    FR_COMPLEX128,
    FR_BYTES /* variable-length byte strings */
} fr_dtype;

/* Returns the size of an element in bytes; 1 for FR_BYTES. */
size_t fr_dtype_size(fr_dtype dtype);

/* Returns "int32", "float16", ..., or "bytes". */
const char *fr_dtype_name(fr_dtype dtype);

/* Returns whether fr_dtype_copy() copies the bytes of such elements unchanged. */
bool fr_dtype_is_plain(fr_dtype dtype, bool swap);

/* Copies `count` elements. If `swap`, reverses the bytes of each element, or of each part of a
   complex number. */
void fr_dtype_copy(uint8_t *dst, const uint8_t *src, size_t count, fr_dtype dtype, bool swap);

/* Stores integers as `dtype`, a bool or integer type. Returns FR_ERR_SCHEMA, with value and type,
   if one does not fit. Only 0 and 1 fit a bool. */
FR_NODISCARD int fr_dtype_from_int64(uint8_t *dst, fr_dtype dtype, const int64_t *values,
                                     size_t count, fr_error *err);

/* Stores little-endian float32 as FR_FLOAT16 (nearest even, overflow to infinity), 32 or 64. */
void fr_dtype_from_float(uint8_t *dst, fr_dtype dtype, const uint8_t *values, size_t count);

#endif
