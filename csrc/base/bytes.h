/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in memory: spans, unaligned little-endian access, arithmetic with overflow checks, and a
 * growing buffer. Nothing here depends on the meaning of the bytes.
 */
#ifndef FASTREC_BYTES_H
#define FASTREC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* Bytes with another owner. Each function that returns a span documents its lifetime. */
typedef struct {
    const uint8_t *data;
    size_t size;
} fr_span;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FR_BIG_ENDIAN 1
#else
#define FR_BIG_ENDIAN 0
#endif

static inline uint32_t fr_load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return FR_BIG_ENDIAN ? __builtin_bswap32(v) : v;
}

static inline uint64_t fr_load_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return FR_BIG_ENDIAN ? __builtin_bswap64(v) : v;
}

static inline void fr_store_u32(uint8_t *p, uint32_t v) {
    if (FR_BIG_ENDIAN) v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static inline void fr_store_u64(uint8_t *p, uint64_t v) {
    if (FR_BIG_ENDIAN) v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

/* Sets `*out` to a * b and returns false, or returns true if the product does not fit. */
static inline bool fr_mul_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_mul_overflow(a, b, out);
}

static inline bool fr_add_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_add_overflow(a, b, out);
}

static inline bool fr_span_equal(fr_span a, fr_span b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Returns `span` without its first `size` bytes. REQUIRES: size <= span.size. */
static inline fr_span fr_span_after(fr_span span, size_t size) {
    if (size) span.data += size;
    span.size -= size;
    return span;
}

/* Alignment, in bytes, of every block that Python may see. */
#define FR_ALIGNMENT 64

/*
 * A growing block, aligned to 64 bytes. All zeros is a valid empty buffer; free is idempotent.
 * `data[0..size)` is in use, `data[size..capacity)` is free. Some large blocks are kept after they
 * are freed, for the next buffer that grows, in any thread.
 */
typedef struct {
    uint8_t *data;
    size_t size, capacity;
} fr_buffer;

/* Reserves `extra` more bytes by doubling the capacity. May move `data`; its contents are kept. */
FR_NODISCARD int fr_buffer_grow(fr_buffer *buffer, size_t extra, fr_error *err);

FR_NODISCARD static inline int fr_buffer_reserve(fr_buffer *buffer, size_t extra, fr_error *err) {
    if (FR_LIKELY(extra <= buffer->capacity - buffer->size)) return FR_OK;
    return fr_buffer_grow(buffer, extra, err);
}

FR_NODISCARD static inline int fr_buffer_append(fr_buffer *buffer, const void *data, size_t size,
                                                fr_error *err) {
    FR_TRY(fr_buffer_reserve(buffer, size, err));
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return FR_OK;
}

void fr_buffer_free(fr_buffer *buffer);

#endif
