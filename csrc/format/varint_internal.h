/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the implementations of varint runs; nothing else includes it.
 */
#ifndef FASTREC_VARINT_INTERNAL_H
#define FASTREC_VARINT_INTERNAL_H

#include "format/varint.h"

/* One after the other, to the last byte: what is left when there is too little for wide loads. */
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
