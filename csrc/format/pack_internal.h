/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the parts of pack share. Only they include this file.
 */
#ifndef FASTREC_PACK_INTERNAL_H
#define FASTREC_PACK_INTERNAL_H

#include "format/pack.h"
#include "format/wire.h"

/* Returns the selected implementation. Thread-safe. */
const fr_pack_impl *fr_pack_active(void);

static inline uint64_t fr_pack_load(const uint8_t *values, size_t i) {
    uint64_t value;
    memcpy(&value, values + i * sizeof value, sizeof value);
    return value;
}

/* Encodes integers one by one, for the end of the buffer, where wide stores do not fit. */
static inline uint8_t *fr_pack_put_rest(uint8_t *p, const uint8_t *end, const uint8_t *values,
                                        size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = fr_pack_load(values, i);
        if (end - p < FR_VARINT_MAX && fr_wire_varint_size(value) > (size_t)(end - p)) return NULL;
        p = fr_wire_put_varint(p, value);
    }
    return p;
}

static inline size_t fr_pack_size_rest(const uint8_t *values, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += fr_wire_varint_size(fr_pack_load(values, i));
    return size;
}

#if defined(__x86_64__)
#define FR_PACK_X86 1
bool fr_pack_avx512_supported(void);
size_t fr_pack_avx512_size(const uint8_t *values, size_t count);
uint8_t *fr_pack_avx512_put(uint8_t *p, uint8_t *end, const uint8_t *values, size_t count);
#endif

#endif
