/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C drivers share: a check that says where it failed, numbers from a seed, and memory
 * between two pages that nobody may touch.
 */
#ifndef FASTREC_TEST_H
#define FASTREC_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* CHECK, and what was being tried: a printf format and its arguments. */
#define CHECK_CASE(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            CHECK(condition);                                                                      \
        }                                                                                          \
    } while (0)

/* The next of a sequence of evenly distributed numbers. Any seed will do. */
static inline uint64_t test_random(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline void test_fill(uint8_t *data, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)test_random(&seed);
}

/* Whole pages, at least `size` bytes: a byte in front of `begin` or at `end` is a segmentation
   fault. */
typedef struct {
    uint8_t *begin, *end;
} test_guarded;

static inline test_guarded test_guarded_new(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inside = (size / page + 1) * page;
    uint8_t *all = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    CHECK(mprotect(all + page, inside, PROT_READ | PROT_WRITE) == 0);
    return (test_guarded){all + page, all + page + inside};
}

static inline void test_guarded_free(test_guarded *guarded) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!guarded->begin) return;
    munmap(guarded->begin - page, (size_t)(guarded->end - guarded->begin) + 2 * page);
    *guarded = (test_guarded){NULL, NULL};
}

#endif
