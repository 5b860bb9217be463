/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C drivers share: a check that says where it failed, numbers from a seed, and memory
 * between two pages that nobody may touch.
 */
#ifndef FASTREC_TEST_H
#define FASTREC_TEST_H

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(_WIN32)
#include <direct.h>
#include <io.h>
#include <windows.h>
#undef TEXT
#else
#include <sys/mman.h>
#include <sys/stat.h>
#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif
#endif

/* The folder for what a driver writes. On Windows it runs in one of its own. */
#if defined(_WIN32)
#define TEST_WINDOWS 1
#define TEST_FOLDER "."
#else
#define TEST_WINDOWS 0
#define TEST_FOLDER "/tmp"
#endif

/* What a driver leaves out on Windows, which has no fork(), no signals, no modes, no limits. */
#define TEST_SKIPPED(what) printf("skipped, needs POSIX: %s\n", what)

#if defined(_WIN32)
#define test_mkdir(path) _mkdir(path)
#else
#define test_mkdir(path) mkdir(path, 0700)
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Truncates a file that may be mapped. Windows refuses that to its own, so a program of the system
   below Wine is asked to, which a server of files stands for. */
static inline void test_cut_off(const char *path, long size) {
#if defined(_WIN32)
    char command[300];
    STARTUPINFOA how = {.cb = sizeof how};
    PROCESS_INFORMATION begun;
    FILE *f = NULL;
    snprintf(command, sizeof command, "/usr/bin/truncate -s %ld %.200s", size, path);
    CHECK(CreateProcessA("Z:\\usr\\bin\\truncate", command, NULL, NULL, FALSE, 0, NULL, NULL, &how,
                         &begun));
    for (long is = -1, tries = 0; is != size; tries++) {
        CHECK(tries < 1000);
        Sleep(10);
        f = fopen(path, "rb");
        CHECK(f && fseek(f, 0, SEEK_END) == 0);
        is = ftell(f);
        fclose(f);
    }
#else
    CHECK(truncate(path, size) == 0);
#endif
}

static inline int test_is_open(int fd) {
#if defined(_WIN32)
    return _get_osfhandle(fd) != -1;
#else
    return fcntl(fd, F_GETFD) >= 0;
#endif
}

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

/* Any float but one that signals. */
static inline float test_random_float(uint64_t *random) {
    const uint64_t kind = test_random(random) % 4;
    const uint32_t bits = (uint32_t)test_random(random);
    float x;
    if (kind == 0) return (float)(bits % 1000) / 250 - 2;
    if (kind == 1) return (float)(bits % 16) / 4 - 2;
    memcpy(&x, &bits, sizeof x);
    return isnan(x) ? NAN : x;
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

#if defined(_WIN32)

static inline size_t test_page_size(void) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

static inline uint8_t *test_pages_new(size_t page, size_t inside) {
    uint8_t *all = VirtualAlloc(NULL, inside + 2 * page, MEM_RESERVE, PAGE_NOACCESS);
    CHECK(all && VirtualAlloc(all + page, inside, MEM_COMMIT, PAGE_READWRITE));
    return all;
}

static inline void test_pages_free(uint8_t *all, size_t size) {
    (void)size;
    VirtualFree(all, 0, MEM_RELEASE);
}

#else

static inline size_t test_page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline uint8_t *test_pages_new(size_t page, size_t inside) {
    uint8_t *all = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED && mprotect(all + page, inside, PROT_READ | PROT_WRITE) == 0);
    return all;
}

static inline void test_pages_free(uint8_t *all, size_t size) {
    munmap(all, size);
}

#endif

static inline test_guarded test_guarded_new(size_t size) {
    const size_t page = test_page_size(), inside = (size / page + 1) * page;
    uint8_t *all = test_pages_new(page, inside);
    return (test_guarded){all + page, all + page + inside};
}

static inline void test_guarded_free(test_guarded *guarded) {
    const size_t page = test_page_size();
    if (!guarded->begin) return;
    test_pages_free(guarded->begin - page, (size_t)(guarded->end - guarded->begin) + 2 * page);
    *guarded = (test_guarded){NULL, NULL};
}

#endif
