/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <stdatomic.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Blocks of several huge pages are made of them where the system leaves that to programs: each
   costs one page fault then, not 512. */
#define HUGE ((size_t)2 << 20)

/*
 * To map such a block, have it zeroed and unmap it takes as long as to fill it. So the one that was
 * freed last is kept for the next that is about as large; its first word is its capacity.
 */
#define KEPT_MOST ((size_t)32 << 20)
static size_t *_Atomic kept;

static bool is_huge(size_t capacity) {
    return capacity >= 2 * HUGE;
}

static void release(void *data, size_t capacity) {
    if (is_huge(capacity) && capacity <= KEPT_MOST) {
        memcpy(data, &capacity, sizeof capacity);
        data = atomic_exchange(&kept, (size_t *)data);
    }
    free(data);
}

static void *take_kept(size_t *capacity) {
    size_t *block = is_huge(*capacity) ? atomic_exchange(&kept, NULL) : NULL;
    if (!block) return NULL;
    if (*block >= *capacity && *block / 2 <= *capacity) {
        *capacity = *block;
        return block;
    }
    release(block, *block);
    return NULL;
}

static void *allocate(size_t *capacity) {
    void *data = take_kept(capacity);
    if (data) return data;
    if (posix_memalign(&data, is_huge(*capacity) ? HUGE : FR_ALIGNMENT, *capacity) != 0)
        return NULL;
#if defined(MADV_HUGEPAGE)
    if (is_huge(*capacity)) (void)madvise(data, *capacity & ~(HUGE - 1), MADV_HUGEPAGE);
#endif
    return data;
}

/* realloc() would keep malloc's 16-byte alignment, so growing is allocate, copy, free. */
int fr_buffer_grow(fr_buffer *buffer, size_t extra, fr_error *err) {
    size_t need;
    if (fr_add_overflows(buffer->size, extra, &need) || need > SIZE_MAX / 2 - FR_ALIGNMENT)
        return fr_fail_nomem(err, (uint64_t)extra);
    size_t capacity = buffer->capacity < SIZE_MAX / 4 ? buffer->capacity * 2 : need;
    if (capacity < need) capacity = need;
    capacity = (capacity + FR_ALIGNMENT - 1) & ~(size_t)(FR_ALIGNMENT - 1);
    void *data = allocate(&capacity);
    if (!data) return fr_fail_nomem(err, capacity);
    if (buffer->size) memcpy(data, buffer->data, buffer->size);
    release(buffer->data, buffer->capacity);
    buffer->data = data;
    buffer->capacity = capacity;
    return FR_OK;
}

void fr_buffer_free(fr_buffer *buffer) {
    release(buffer->data, buffer->capacity);
    *buffer = (fr_buffer){0};
}
