/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the implementations of varint runs share. Only they include this file.
 */
#ifndef FASTREC_VARINT_INTERNAL_H
#define FASTREC_VARINT_INTERNAL_H

#include "format/varint.h"

/* Decodes varints one by one, for the end of the run, where wide loads do not fit. */
size_t fr_varint_decode_rest(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);

#if defined(__x86_64__)
#define FR_VARINT_X86 1
bool fr_varint_avx512_supported(void);
size_t fr_varint_avx512_count(fr_span run);
size_t fr_varint_avx512_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);
bool fr_varint_bmi2_supported(void);
size_t fr_varint_bmi2_count(fr_span run);
size_t fr_varint_bmi2_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);
#endif

#endif
