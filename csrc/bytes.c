/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <stdlib.h>

/* realloc() would keep malloc's 16-byte alignment, so growing is allocate, copy, free. */
int fr_buffer_grow(fr_buffer *buffer, size_t extra, fr_error *err) {
    size_t need;
    if (fr_add_overflows(buffer->size, extra, &need) || need > SIZE_MAX / 2 - FR_ALIGNMENT)
        return fr_fail_nomem(err, (uint64_t)extra);
    size_t capacity = buffer->capacity < SIZE_MAX / 4 ? buffer->capacity * 2 : need;
    if (capacity < need) capacity = need;
    capacity = (capacity + FR_ALIGNMENT - 1) & ~(size_t)(FR_ALIGNMENT - 1);
    void *data;
    if (posix_memalign(&data, FR_ALIGNMENT, capacity) != 0) return fr_fail_nomem(err, capacity);
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
