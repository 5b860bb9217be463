/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast each CRC-32C implementation is, beside reading and copying the same bytes.
 *
 *     cc -std=gnu11 -O3 -Icsrc -o crc32c_bench benchmarks/crc32c_bench.c csrc/c[pr]*.c
 *     taskset -c 1 ./crc32c_bench [milliseconds per measurement] [repeats]
 *
 * Records lie back to back as in a file, 16 bytes of framing apart. Cold: each record is visited
 * once in 512 MiB, so it comes from memory. Warm: 256 KiB over and over. The best of all repeats
 * counts; the functions take turns, so that a busy moment does not hit one alone.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "format/crc32c.h"

#define COLD (((size_t)512 << 20) - 4096)
#define WARM ((size_t)256 << 10)
#define MAX_IMPLS 4
#define MAX_COLUMNS (2 + 2 * MAX_IMPLS)

typedef uint64_t (*reader)(const uint8_t *src, size_t size);

/* One of `read` and `impl` is set, or neither: memcpy. */
typedef struct {
    const char *name;
    reader read;
    const fr_crc32c_impl *impl;
    bool copies;
    size_t at; /* where the next measurement begins: it never meets what it has just read */
    double best;
} column;

static uint64_t read_portable(const uint8_t *src, size_t size) {
    uint64_t sums[4] = {0, 0, 0, 0}, words[4];
    for (; size >= 32; src += 32, size -= 32) {
        memcpy(words, src, 32);
        for (int i = 0; i < 4; i++)
            sums[i] += words[i];
    }
    for (; size; src++, size--)
        sums[0] += *src;
    return sums[0] + sums[1] + sums[2] + sums[3];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const uint8_t *src, size_t size) {
    __m256i a = _mm256_setzero_si256(), b = a;
    for (; size >= 64; src += 64, size -= 64) {
        a = _mm256_add_epi64(a, _mm256_loadu_si256((const __m256i *)src));
        b = _mm256_add_epi64(b, _mm256_loadu_si256((const __m256i *)(src + 32)));
    }
    uint64_t sums[4];
    _mm256_storeu_si256((__m256i *)sums, _mm256_add_epi64(a, b));
    return read_portable(src, size) + sums[0] + sums[1] + sums[2] + sums[3];
}

__attribute__((target("avx512f,avx512bw,bmi2"))) static uint64_t read_avx512(const uint8_t *src,
                                                                             size_t size) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (; size >= 256; src += 256, size -= 256) {
        a = _mm512_add_epi64(a, _mm512_loadu_si512(src));
        b = _mm512_add_epi64(b, _mm512_loadu_si512(src + 64));
        c = _mm512_add_epi64(c, _mm512_loadu_si512(src + 128));
        d = _mm512_add_epi64(d, _mm512_loadu_si512(src + 192));
    }
    for (; size >= 64; src += 64, size -= 64)
        a = _mm512_add_epi64(a, _mm512_loadu_si512(src));
    b = _mm512_add_epi64(b, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (unsigned)size), src));
    a = _mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d));
    return (uint64_t)_mm512_reduce_add_epi64(a);
}
#endif

static reader best_read(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2")) return read_avx512;
    if (__builtin_cpu_supports("avx2")) return read_avx2;
#endif
    return read_portable;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The body of a loop over `count` records from `*at` on, which wraps around. */
#define EACH(expression)                                                                           \
    for (size_t i = 0; i < count; i++) {                                                           \
        if (stride > region - at) at = 0;                                                          \
        uint8_t *dst = to + at;                                                                    \
        const uint8_t *src = from + at;                                                            \
        sum += (expression);                                                                       \
        (void)dst, (void)src;                                                                      \
        at += stride;                                                                              \
    }

static uint64_t walk(column *c, uint8_t *to, const uint8_t *from, size_t region, size_t size,
                     size_t count) {
    size_t stride = size + 16, at = c->at;
    uint64_t sum = 0;
    if (c->read)
        EACH(c->read(src, size))
    else if (!c->impl)
        EACH(*(uint8_t *)memcpy(dst, src, size))
    else if (c->copies)
        EACH(c->impl->extend_copy(0, dst, src, size))
    else
        EACH(c->impl->extend(0, src, size))
    c->at = at;
    return sum;
}

/* Where results go, so that computing them is not for nothing. */
static volatile uint64_t sink;

/* Goes on through `region` for `seconds`; remembers the best bytes a second. */
static void measure(column *c, uint8_t *to, const uint8_t *from, size_t region, size_t size,
                    double seconds) {
    size_t count = 65536 / (size + 16) + 1, visited = 0;
    double start = now(), took = 0;
    do {
        sink += walk(c, to, from, region, size, count);
        visited += count;
    } while ((took = now() - start) < seconds);
    double rate = (double)visited * (double)size / took;
    if (rate > c->best) c->best = rate;
}

static size_t make_columns(column columns[MAX_COLUMNS]) {
    size_t count = 0;
    columns[count++] = (column){.name = "read", .read = best_read()};
    for (const fr_crc32c_impl *impl = fr_crc32c_impls; impl->name; impl++)
        if (impl->supported()) columns[count++] = (column){.name = impl->name, .impl = impl};
    columns[count++] = (column){.name = "memcpy", .copies = true};
    for (const fr_crc32c_impl *impl = fr_crc32c_impls; impl->name; impl++)
        if (impl->supported())
            columns[count++] = (column){.name = impl->name, .impl = impl, .copies = true};
    return count;
}

/* GB/s of reading or copying; of the others GB/s, their share of that, and ns a record. */
static void print_row(const column *columns, size_t count, size_t size) {
    double ceiling = 0;
    printf("%9zu", size);
    for (size_t i = 0; i < count; i++) {
        double rate = columns[i].best;
        if (columns[i].impl) {
            printf(" |%6.1f%5.0f%%%9.1f", rate / 1e9, 100 * rate / ceiling,
                   1e9 * (double)size / rate);
        } else {
            ceiling = rate;
            printf(" |%7.1f", rate / 1e9);
        }
    }
    printf("\n");
    fflush(stdout);
}

static void print_head(const char *title, const column *columns, size_t count) {
    printf("%s\n%9s", title, "size");
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", columns[i].name,
                 columns[i].impl && columns[i].copies ? "+copy" : "");
        printf(columns[i].impl ? " |%21s" : " |%7s", name);
    }
    printf("\n");
}

static void table(const char *title, uint8_t *to, const uint8_t *from, size_t region,
                  double seconds, int repeats) {
    static const size_t sizes[] = {16,   32,   64,    128,   256,     512,     1024,
                                   2048, 4096, 16384, 65536, 1 << 20, 64 << 20};
    column columns[MAX_COLUMNS];
    size_t count = make_columns(columns);
    print_head(title, columns, count);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        if (sizes[s] + 16 > region) break;
        for (size_t i = 0; i < count; i++)
            columns[i].best = 0;
        for (int repeat = 0; repeat < repeats; repeat++)
            for (size_t i = 0; i < count; i++)
                measure(&columns[i], to, from, region, sizes[s], seconds);
        print_row(columns, count, sizes[s]);
    }
}

static uint8_t *make_region(unsigned seed) {
    uint8_t *data =
        mmap(NULL, COLD + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
#if defined(MADV_HUGEPAGE)
    madvise(data, COLD, MADV_HUGEPAGE);
#endif
    for (size_t i = 0; i < COLD; i += sizeof seed) {
        seed = seed * 1664525 + 1013904223;
        memcpy(data + i, &seed, sizeof seed);
    }
    return data;
}

int main(int argc, char **argv) {
    double seconds = (argc > 1 ? atof(argv[1]) : 10) * 1e-3;
    int repeats = argc > 2 ? atoi(argv[2]) : 7;
    /* Half a page apart, so that a load never has the page offset of a store still under way. */
    uint8_t *from = make_region(1), *to = make_region(2) + 2048;
    printf("GB/s, share of reading (of memcpy where copied), ns a record; in use: %s\n",
           fr_crc32c_chosen() ? fr_crc32c_chosen()->name : "none");
    table("warm", to, from, WARM, seconds, repeats);
    table("cold", to, from, COLD, seconds, repeats);
    return 0;
}
