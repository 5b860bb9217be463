/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdatomic.h>

#include "base/platform.h"
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)0)
#endif

/* Size of a huge page. Blocks of several huge pages use huge pages where the system lets programs
   choose: each then costs one page fault instead of 512. */
#define HUGE ((size_t)2 << 20)

/*
 * Minimum size of a kept block. Mapping, zeroing and unmapping a large block takes as
 * long as filling it, so the most recently freed blocks are kept for later allocations of about the
 * same size, by any thread. The first word of a kept block is its capacity. Kept blocks are
 * poisoned for AddressSanitizer, so it reports uses after free.
 */
#define LARGE ((size_t)128 << 10)
#define KEPT 16                      /* largest number of kept blocks */
#define KEPT_SIZE ((size_t)64 << 20) /* largest total size of kept blocks */
static size_t *_Atomic kept[KEPT];
static atomic_size_t kept_size, turn;

static size_t *take_place(size_t place) {
    if (!atomic_load_explicit(&kept[place], memory_order_relaxed)) return NULL;
    size_t *block = atomic_exchange(&kept[place], NULL);
    if (block) atomic_fetch_sub(&kept_size, *block);
    return block;
}

static void put(size_t place, size_t *block) {
    atomic_fetch_add(&kept_size, *block);
    size_t *other = atomic_exchange(&kept[place], block);
    if (other) atomic_fetch_sub(&kept_size, *other);
    fr_memory_free(other);
}

/* Replaces the oldest kept block, and drops further blocks while the total is too large. */
static void keep(size_t *block, size_t capacity) {
    const size_t place = atomic_fetch_add(&turn, 1) % KEPT;
    *block = capacity;
    ASAN_POISON_MEMORY_REGION(block + 1, capacity - sizeof *block);
    put(place, block);
    for (size_t i = 1; i < KEPT && atomic_load(&kept_size) > KEPT_SIZE; i++)
        fr_memory_free(take_place((place + i) % KEPT));
}

static void release(void *data, size_t capacity) {
    if (data && capacity >= LARGE && capacity <= KEPT_SIZE)
        keep(data, capacity);
    else
        fr_memory_free(data);
}

static void *take_kept(size_t *capacity) {
    const size_t newest = atomic_load_explicit(&turn, memory_order_relaxed) + KEPT - 1;
    for (size_t i = 0; i < KEPT && *capacity >= LARGE; i++) {
        const size_t place = (newest - i) % KEPT;
        size_t *block = take_place(place);
        if (block && *block >= *capacity && *block / 2 <= *capacity) {
            *capacity = *block;
            ASAN_UNPOISON_MEMORY_REGION(block, *capacity);
            return block;
        }
        if (block) put(place, block);
    }
    return NULL;
}

static void *allocate(size_t *capacity) {
    const bool huge = *capacity >= 2 * HUGE;
    void *data = take_kept(capacity);
    return data ? data : fr_memory_new(huge ? HUGE : FR_ALIGNMENT, *capacity, huge);
}

/* realloc() guarantees only malloc's 16-byte alignment, so growing means allocate, copy, free. */
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
