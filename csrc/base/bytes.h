/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in memory: spans, unaligned little-endian access, arithmetic that cannot wrap, and one
 * growing block. Knows nothing of what the bytes mean.
 */
#ifndef FASTREC_BYTES_H
#define FASTREC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* Bytes that somebody else owns. Each function that gives one says how long it is valid. */
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

/* `*out = a * b` and false, or true when that does not fit. */
static inline bool fr_mul_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_mul_overflow(a, b, out);
}

static inline bool fr_add_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_add_overflow(a, b, out);
}

static inline bool fr_span_equal(fr_span a, fr_span b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The rest of `span` after its first `size` bytes, size <= span.size. */
static inline fr_span fr_span_after(fr_span span, size_t size) {
    if (size) span.data += size;
    span.size -= size;
    return span;
}

/* Every block that Python may see starts on a boundary of this many bytes. */
#define FR_ALIGNMENT 64

/*
 * A growing block, 64-byte aligned. All-zero is a valid empty buffer; free is idempotent.
 * `data[0..size)` is in use, `data[size..capacity)` is free. Some large blocks that are freed are
 * kept for the next that grows, in any thread.
 */
typedef struct {
    uint8_t *data;
    size_t size, capacity;
} fr_buffer;

/* Allocates `extra` more bytes, doubling. Moves `data`; the contents are kept. */
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
