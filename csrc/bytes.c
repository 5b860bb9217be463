/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Blocks of several huge pages are made of them where the system leaves that to programs: each
   costs one page fault then, not 512. */
#define HUGE ((size_t)2 << 20)

static void *allocate(size_t capacity) {
    const bool huge = capacity >= 2 * HUGE;
    void *data;
    if (posix_memalign(&data, huge ? HUGE : FR_ALIGNMENT, capacity) != 0) return NULL;
#if defined(MADV_HUGEPAGE)
    if (huge) (void)madvise(data, capacity & ~(HUGE - 1), MADV_HUGEPAGE);
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
    void *data = allocate(capacity);
    if (!data) return fr_fail_nomem(err, capacity);
    if (buffer->size) memcpy(data, buffer->data, buffer->size);
    free(buffer->data);
    buffer->data = data;
    buffer->capacity = capacity;
    return FR_OK;
}

void fr_buffer_free(fr_buffer *buffer) {
    free(buffer->data);
    *buffer = (fr_buffer){0};
}
