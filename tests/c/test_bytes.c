/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks grow, and large ones that were freed are used again, each by one thread at a time. */
#include "base/bytes.h"

#include <pthread.h>
#include <stdlib.h>

#include "test.h"

enum { THREADS = 4, TURNS = 300, HELD = 6 };

static void check_block(const fr_buffer *buffer, uint8_t mark) {
    CHECK((uintptr_t)buffer->data % FR_ALIGNMENT == 0 && buffer->capacity >= buffer->size);
    for (size_t i = 0; i < buffer->size; i += 4093)
        CHECK(buffer->data[i] == mark);
}

/* Nobody else writes to what a thread holds. */
static void *hold_and_let_go(void *argument) {
    uint64_t random = *(const uint64_t *)argument;
    fr_buffer held[HELD] = {{0}};
    uint8_t marks[HELD] = {0};
    for (int turn = 0; turn < TURNS; turn++) {
        const size_t i = test_random(&random) % HELD;
        check_block(&held[i], marks[i]);
        if (test_random(&random) % 3 == 0) fr_buffer_free(&held[i]);
        const size_t size = test_random(&random) % ((size_t)1 << (10 + test_random(&random) % 14));
        held[i].size = 0;
        CHECK(fr_buffer_reserve(&held[i], size, NULL) == FR_OK);
        held[i].size = size;
        marks[i] = (uint8_t)test_random(&random);
        if (size) memset(held[i].data, marks[i], size);
    }
    for (size_t i = 0; i < HELD; i++) {
        check_block(&held[i], marks[i]);
        fr_buffer_free(&held[i]);
    }
    return NULL;
}

static void threads_never_hold_the_same_block(void) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS] = {1, 2, 3, 4};
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hold_and_let_go, &seeds[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void a_large_block_is_used_again_for_about_its_size_only(void) {
    const size_t size = (size_t)3 << 20;
    fr_buffer buffer = {0};
    CHECK(fr_buffer_reserve(&buffer, size, NULL) == FR_OK);
    const uint8_t *first = buffer.data;
    fr_buffer_free(&buffer);
    CHECK(fr_buffer_reserve(&buffer, size / 3, NULL) == FR_OK);
    CHECK(buffer.data != first);
    fr_buffer other = {0};
    CHECK(fr_buffer_reserve(&other, size - 1000, NULL) == FR_OK);
    CHECK(other.data == first && other.capacity == size);
    fr_buffer_free(&buffer);
    fr_buffer_free(&other);
}

static void what_is_kept_is_bounded(void) {
    enum { MANY = 100 };
    static fr_buffer buffers[MANY];
    for (int i = 0; i < MANY; i++)
        CHECK(fr_buffer_reserve(&buffers[i], (size_t)(i + 1) << 20, NULL) == FR_OK);
    for (int i = 0; i < MANY; i++)
        fr_buffer_free(&buffers[i]);
    size_t again = 0, total = 0;
    for (int i = MANY; i-- > 0;) { /* what is kept has room to spare; what is made has none */
        CHECK(fr_buffer_reserve(&buffers[i], ((size_t)(i + 1) << 20) - 64, NULL) == FR_OK);
        if (buffers[i].capacity == (size_t)(i + 1) << 20) again++, total += buffers[i].capacity;
    }
    CHECK(again > 0 && total <= (size_t)64 << 20);
    for (int i = 0; i < MANY; i++)
        fr_buffer_free(&buffers[i]);
}

int main(void) {
    a_large_block_is_used_again_for_about_its_size_only();
    threads_never_hold_the_same_block();
    what_is_kept_is_bounded();
    printf("bytes: ok\n");
    return 0;
}
