/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every CRC-32C implementation that this machine supports, against the definition.
 */
#include <pthread.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "format/crc32c.h"
#include "test.h"

#define LONGEST 4096
#define CANARY 0xA5

static const uint32_t inits[] = {0, 0xFFFFFFFF, 0x12345678};

/* The definition, one byte and one bit at a time. */
static uint32_t reference(uint32_t crc, const uint8_t *data, size_t size) {
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
    return ~crc;
}

static void published_vectors(const fr_crc32c_impl *impl) {
    static const uint8_t read_pdu[48] = {0x01, 0xC0, 0, 0,    0,    0, 0, 0,    0,    0, 0,    0,
                                         0,    0,    0, 0,    0x14, 0, 0, 0,    0,    0, 0x04, 0,
                                         0,    0,    0, 0x14, 0,    0, 0, 0x18, 0x28, 0, 0,    0,
                                         0,    0,    0, 0,    0x02, 0, 0, 0,    0,    0, 0,    0};
    uint8_t zeros[32], ones[32], up[32], down[32];
    for (int i = 0; i < 32; i++) {
        zeros[i] = 0, ones[i] = 0xFF;
        up[i] = (uint8_t)i, down[i] = (uint8_t)(31 - i);
    }
    CHECK(impl->extend(0, (const uint8_t *)"123456789", 9) == 0xE3069283);
    CHECK(impl->extend(0, zeros, 32) == 0x8A9136AA);
    CHECK(impl->extend(0, ones, 32) == 0x62A8AB43);
    CHECK(impl->extend(0, up, 32) == 0x46DD794E);
    CHECK(impl->extend(0, down, 32) == 0x113FDB5C);
    CHECK(impl->extend(0, read_pdu, 48) == 0xD9963A56);
    CHECK(impl->extend(0, NULL, 0) == 0);
    CHECK(impl->extend(0xDEADBEEF, NULL, 0) == 0xDEADBEEF);
    CHECK(impl->extend_copy(0xDEADBEEF, NULL, NULL, 0) == 0xDEADBEEF);
}

/* The reference moves along byte by byte, so that every length costs one step of it. */
static void every_length_at_every_alignment(const fr_crc32c_impl *impl) {
    static _Alignas(64) uint8_t buffer[64 + LONGEST];
    test_fill(buffer, sizeof buffer, 1);
    for (size_t at = 0; at < 64; at++) {
        for (size_t k = 0; k < sizeof inits / sizeof *inits; k++) {
            uint32_t expected = inits[k];
            for (size_t size = 0; size <= LONGEST; size++) {
                uint32_t crc = impl->extend(inits[k], buffer + at, size);
                CHECK_CASE(crc == expected, "%s: %zu bytes at %zu from %08x", impl->name, size, at,
                           (unsigned)inits[k]);
                if (size < LONGEST) expected = reference(expected, buffer + at + size, 1);
            }
        }
    }
}

static void check_copy(const fr_crc32c_impl *impl, uint8_t *dst, const uint8_t *src, size_t size,
                       uint32_t expected) {
    static const uint8_t canary[64] = {[0 ... 63] = CANARY};
    memset(dst - 64, CANARY, size + 128);
    CHECK(impl->extend_copy(7, dst, src, size) == expected);
    CHECK_CASE(memcmp(dst, src, size) == 0, "%s: copy of %zu bytes", impl->name, size);
    CHECK_CASE(memcmp(dst - 64, canary, 64) == 0, "%s: in front of %zu bytes", impl->name, size);
    CHECK_CASE(memcmp(dst + size, canary, 64) == 0, "%s: behind %zu bytes", impl->name, size);
}

static void a_copy_is_whole_and_nothing_else_is_written(const fr_crc32c_impl *impl) {
    static _Alignas(64) uint8_t from[64 + LONGEST], to[192 + LONGEST];
    test_fill(from, sizeof from, 2);
    for (size_t at = 0; at < 64; at += 3) {
        uint32_t expected = 7;
        for (size_t size = 0; size <= LONGEST; size++) {
            check_copy(impl, to + 64 + (at + 11 * size) % 64, from + at, size, expected);
            if (size < LONGEST) expected = reference(expected, from + at + size, 1);
        }
    }
}

static void a_long_copy_is_whole(const fr_crc32c_impl *impl) {
    size_t size = 300001;
    uint8_t *from = malloc(size), *to = malloc(size + 128);
    CHECK(from && to);
    test_fill(from, size, 3);
    check_copy(impl, to + 64, from, size, reference(7, from, size));
    free(from);
    free(to);
}

/* The source and the target of a copy lie against the page in front, then against that behind. */
static void nothing_outside_is_touched(const fr_crc32c_impl *impl) {
    test_guarded from = test_guarded_new(LONGEST), to = test_guarded_new(LONGEST);
    test_fill(from.begin, (size_t)(from.end - from.begin), 4);
    for (size_t size = 0; size <= 1300; size++) {
        const uint8_t *first = from.begin, *last = from.end - size;
        uint32_t crc_first = reference(5, first, size), crc_last = reference(5, last, size);
        CHECK(impl->extend(5, first, size) == crc_first);
        CHECK(impl->extend(5, last, size) == crc_last);
        CHECK(impl->extend_copy(5, to.begin, first, size) == crc_first);
        CHECK(memcmp(to.begin, first, size) == 0);
        CHECK(impl->extend_copy(5, to.end - size, last, size) == crc_last);
        CHECK(memcmp(to.end - size, last, size) == 0);
    }
    test_guarded_free(&from);
    test_guarded_free(&to);
}

static void any_split_gives_the_same(const fr_crc32c_impl *impl) {
    uint8_t data[2500];
    uint64_t seed = 6;
    test_fill(data, sizeof data, 5);
    uint32_t whole = reference(0, data, sizeof data);
    for (size_t split = 0; split <= sizeof data; split++) {
        uint32_t crc = impl->extend(0, data, split);
        crc = impl->extend(crc, data + split, sizeof data - split);
        CHECK_CASE(crc == whole, "%s: split at %zu", impl->name, split);
    }
    for (int round = 0; round < 1000; round++) {
        uint32_t crc = 0;
        for (size_t at = 0, step; at < sizeof data; at += step) {
            step = test_random(&seed) % 300;
            if (step > sizeof data - at) step = sizeof data - at;
            crc = impl->extend(crc, data + at, step);
        }
        CHECK(crc == whole);
    }
}

static void checksums_combine(void) {
    uint8_t data[2000];
    test_fill(data, sizeof data, 7);
    uint32_t whole = reference(0, data, sizeof data);
    for (size_t split = 0; split <= sizeof data; split++) {
        size_t rest = sizeof data - split;
        uint32_t a = reference(0, data, split), b = reference(0, data + split, rest);
        CHECK_CASE(fr_crc32c_combine(a, b, rest) == whole, "split at %zu", split);
    }
    /* Eight bits to a byte, 2^31 - 1 residues: so many zero bytes change nothing but the ends. */
    uint32_t crc = fr_crc32c_combine(0x12345678, 0, UINT64_C(0x7FFFFFFF));
    CHECK(crc == 0x12345678);
    CHECK(fr_crc32c_combine(0x12345678, 0, UINT64_MAX) ==
          fr_crc32c_combine(0x12345678, 0, UINT64_MAX % 0x7FFFFFFF));
}

#if defined(_WIN32)

static void a_length_beyond_four_gibibytes(const fr_crc32c_impl *impl) {
    (void)impl;
}

#else

/* Zeros, but for the last byte, in memory that is never really there. Their CRC by doubling. */
static void a_length_beyond_four_gibibytes(const fr_crc32c_impl *impl) {
    size_t size = (UINT64_C(1) << 32) + 12345;
    uint8_t *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
        printf("skipped: no address space for %zu bytes\n", size);
        return;
    }
    data[size - 1] = 1;
    uint32_t expected = 0, run = reference(0, data, 1);
    for (uint64_t length = 1; length <= size - 1; length <<= 1) {
        if ((size - 1) & length) expected = fr_crc32c_combine(expected, run, length);
        run = fr_crc32c_combine(run, run, length);
    }
    expected = reference(expected, data + size - 1, 1);
    CHECK(impl->extend(0, data, size) == expected);
    munmap(data, size);
}

#endif

/* In any order, of pieces of the data and of other bytes. */
static void copies_do_not_change_a_checksum(void) {
    enum { PIECE = FR_CRC32C_LONG + 5, SIZE = 4 * PIECE };
    static const size_t order[] = {1, 1, 0, 3, 2};
    uint8_t *data = malloc(SIZE), *copy = malloc(SIZE), *other = calloc(1, PIECE);
    CHECK(data && copy && other);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * i >> 3);
    fr_crc32c_run run = fr_crc32c_begin(data, SIZE), none = {0};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const size_t at = order[i] * PIECE;
        fr_crc32c_copy(&run, copy + at, other, PIECE);
        fr_crc32c_copy(&run, copy + at, data + at, PIECE - i);
        fr_crc32c_copy(&none, copy + at + PIECE - i, data + at + PIECE - i, i);
    }
    CHECK(memcmp(copy, data, SIZE) == 0);
    CHECK(fr_crc32c_end(&run) == fr_crc32c(data, SIZE));
    CHECK(fr_crc32c_end(&run) == 0 && fr_crc32c_end(&none) == 0);
    free(data);
    free(copy);
    free(other);
}

static const fr_crc32c_impl *first_supported(void) {
    const fr_crc32c_impl *impl = fr_crc32c_impls;
    while (!impl->supported())
        impl++;
    return impl;
}

#if defined(_WIN32)

static void the_fastest_is_chosen_unless_one_is_named(void) {
    CHECK(fr_crc32c_chosen() == first_supported());
    TEST_SKIPPED("each FASTREC_CRC in a process of its own, 4 GiB that are not there");
}

#else

/* The choice is made once a process, so each case has a process. Exits with 0 if all is well. */
static int choice_is(const char *wanted, const fr_crc32c_impl *expected) {
    if (wanted)
        setenv("FASTREC_CRC", wanted, 1);
    else
        unsetenv("FASTREC_CRC");
    CHECK_CASE(fr_crc32c_chosen() == expected, "FASTREC_CRC=%s", wanted ? wanted : "(none)");
    CHECK(fr_crc32c("123456789", 9) == 0xE3069283);
    uint8_t copy[9];
    CHECK(fr_crc32c_extend_copy(0, copy, (const uint8_t *)"123456789", 9) == 0xE3069283);
    CHECK(memcmp(copy, "123456789", 9) == 0);
    return 0;
}

static void check_choice(const char *wanted, const fr_crc32c_impl *expected) {
    int status = -1;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(choice_is(wanted, expected));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

static void the_fastest_is_chosen_unless_one_is_named(void) {
    check_choice(NULL, first_supported());
    check_choice("", first_supported());
    check_choice("fastest", NULL);
    check_choice("s", NULL);
    for (const fr_crc32c_impl *impl = fr_crc32c_impls; impl->name; impl++)
        check_choice(impl->name, impl->supported() ? impl : NULL);
}

#endif

/* A faster implementation that is never chosen goes unnoticed: ask the compiler, not ourselves. */
static void the_processor_gets_what_it_can_do(void) {
#if defined(__x86_64__)
    const char *expected = "sw";
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) expected = "sse42";
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq"))
        expected = "avx512";
    CHECK_CASE(strcmp(first_supported()->name, expected) == 0, "%s, not %s",
               first_supported()->name, expected);
#endif
}

static void *crc_in_thread(void *result) {
    *(uint32_t *)result = fr_crc32c("123456789", 9);
    return NULL;
}

static void threads_may_race_for_the_first_call(void) {
    pthread_t threads[8];
    uint32_t results[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, crc_in_thread, &results[i]) == 0);
    for (int i = 0; i < 8; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(results[i] == 0xE3069283);
    }
}

int main(void) {
    /* First of all, before this process has made its choice. */
    the_fastest_is_chosen_unless_one_is_named();
    the_processor_gets_what_it_can_do();
    threads_may_race_for_the_first_call();
    copies_do_not_change_a_checksum();
    checksums_combine();
    for (const fr_crc32c_impl *impl = fr_crc32c_impls; impl->name; impl++) {
        if (!impl->supported()) {
            printf("crc32c %s: not on this machine\n", impl->name);
            continue;
        }
        published_vectors(impl);
        every_length_at_every_alignment(impl);
        a_copy_is_whole_and_nothing_else_is_written(impl);
        a_long_copy_is_whole(impl);
        nothing_outside_is_touched(impl);
        any_split_gives_the_same(impl);
        printf("crc32c %s: ok\n", impl->name);
    }
    a_length_beyond_four_gibibytes(first_supported());
    return 0;
}
