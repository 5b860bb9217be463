/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every implementation of varint runs that this machine supports, against the definition.
 */
#include "format/varint.h"
#include "format/wire.h"
#include "test.h"

#define MOST 400
#define CANARY INT64_C(0x5A5A5A5A5A5A5A5A)

/* A run and what is in it. */
typedef struct {
    int64_t values[MOST];
    size_t ends[MOST]; /* where each varint ends */
    size_t count, size;
} run;

/* Not the shortest form, where `padding` asks for more bytes. */
static uint8_t *put(uint8_t *p, uint64_t value, unsigned padding) {
    uint8_t *end = fr_wire_put_varint(p, value);
    while (padding-- && end - p < FR_VARINT_MAX) {
        end[-1] |= 0x80;
        *end++ = 0;
    }
    return end;
}

/* Values of up to `bits` bits, some of them much shorter. */
static void make(run *r, uint8_t *out, size_t count, unsigned bits, uint64_t *seed) {
    uint8_t *p = out;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = test_random(seed) >> (64 - bits);
        if (test_random(seed) % 4 == 0) value >>= test_random(seed) % bits;
        unsigned padding = test_random(seed) % 32 == 0 ? test_random(seed) % 9 : 0;
        p = put(p, value, padding);
        r->values[i] = (int64_t)value;
        r->ends[i] = (size_t)(p - out);
    }
    r->count = count;
    r->size = (size_t)(p - out);
}

static void check_decoded(const fr_varint_impl *impl, const run *r, const uint8_t *data,
                          size_t wanted) {
    static int64_t out[MOST + 16];
    for (size_t i = 0; i < MOST + 16; i++)
        out[i] = CANARY;
    const uint8_t *p = data;
    size_t done = impl->decode(&p, data + r->size, out, wanted);
    size_t expected = wanted < r->count ? wanted : r->count;
    CHECK_CASE(done == expected, "%s: %zu of %zu", impl->name, done, expected);
    CHECK(p == data + (expected ? r->ends[expected - 1] : 0));
    for (size_t i = 0; i < expected; i++)
        CHECK_CASE(out[i] == r->values[i], "%s: value %zu of %zu", impl->name, i, expected);
    for (size_t i = wanted; i < wanted + 16 && i < MOST + 16; i++)
        CHECK_CASE(out[i] == CANARY, "%s: wrote to %zu of %zu", impl->name, i, wanted);
}

static void every_width_and_count_between_guard_pages(const fr_varint_impl *impl) {
    static run r;
    static uint8_t scratch[MOST * 10];
    test_guarded page = test_guarded_new(sizeof scratch);
    uint64_t seed = 1;
    for (unsigned bits = 1; bits <= 64; bits++) {
        for (size_t count = 0; count <= 300; count += count < 80 ? 1 : 55) {
            make(&r, scratch, count, bits, &seed);
            memcpy(page.begin, scratch, r.size);
            check_decoded(impl, &r, page.begin, count);
            uint8_t *last = page.end - r.size;
            memcpy(last, scratch, r.size);
            check_decoded(impl, &r, last, count);
            CHECK(impl->count((fr_span){last, r.size}) == count);
        }
    }
    test_guarded_free(&page);
}

static void a_run_can_be_taken_in_pieces_of_any_size(const fr_varint_impl *impl) {
    static run r;
    static uint8_t data[MOST * 10];
    uint64_t seed = 2;
    for (unsigned bits = 4; bits <= 64; bits += 6) {
        make(&r, data, 200, bits, &seed);
        for (size_t wanted = 0; wanted <= 210; wanted++)
            check_decoded(impl, &r, data, wanted);
    }
}

/* What the definition says of the bytes: how many varints, and whether they are all whole. */
static size_t reference(const uint8_t *p, const uint8_t *end, int64_t *out, size_t count,
                        const uint8_t **stop) {
    size_t done = 0;
    while (p && p < end && done < count) {
        uint64_t value = 0;
        size_t size = 0;
        while (p + size < end && size < 10 && p[size] >= 0x80)
            size++;
        if (size == 10 || p + size == end) {
            *stop = NULL;
            return done;
        }
        for (size_t i = 0; i <= size; i++)
            value |= i < 10 ? (uint64_t)(p[i] & 0x7f) << (7 * i) : 0;
        p += size + 1;
        out[done++] = (int64_t)value;
    }
    *stop = p;
    return done;
}

/* Random bytes have varints of every length, malformed ones and torn ones among them. */
static void any_bytes_get_the_verdict_of_the_definition(const fr_varint_impl *impl) {
    static int64_t out[512], expected[512];
    test_guarded page = test_guarded_new(512);
    uint64_t seed = 3;
    for (int trial = 0; trial < 60000; trial++) {
        size_t size = test_random(&seed) % 400;
        unsigned density = test_random(&seed) % 8;
        uint8_t *data = page.end - size;
        for (size_t i = 0; i < size; i++) {
            uint64_t random = test_random(&seed);
            data[i] = (uint8_t)(random & 0x7f) | (random >> 32 & 7 ? 0 : 0x80);
            if ((random >> 40 & 7) < density) data[i] |= 0x80;
        }
        const uint8_t *p = data, *stop;
        size_t count = reference(data, page.end, expected, 512, &stop);
        size_t done = impl->decode(&p, page.end, out, 512);
        CHECK_CASE((p == NULL) == (stop == NULL), "%s: trial %d", impl->name, trial);
        CHECK_CASE(done == count || (!p && done <= count), "%s: %zu for %zu", impl->name, done,
                   count);
        CHECK(memcmp(out, expected, done * sizeof *out) == 0);
        if (stop) CHECK(p == stop && impl->count((fr_span){data, size}) == count);
    }
    test_guarded_free(&page);
}

/* A varint of eleven bytes, and one that the end cuts off, at every distance from both ends. */
static void malformed_and_torn_varints_are_refused_wherever_they_are(const fr_varint_impl *impl) {
    static uint8_t data[400];
    static int64_t out[400];
    for (size_t before = 0; before <= 140; before++) {
        for (size_t after = 0; after <= 140; after += after < 3 ? 1 : 9) {
            memset(data, 1, sizeof data);
            memset(data + before, 0x80, 10);
            const uint8_t *p = data;
            impl->decode(&p, data + before + 11 + after, out, 400);
            CHECK_CASE(!p, "%s: eleven bytes behind %zu, before %zu", impl->name, before, after);
            data[before + 9] = 1;
            p = data;
            size_t done = impl->decode(&p, data + before + 10 + after, out, 400);
            CHECK(p && done == before + 1 + after);
        }
        for (size_t torn = 1; torn <= 10; torn++) {
            memset(data, 1, sizeof data);
            memset(data + before, 0x80, torn);
            const uint8_t *p = data;
            impl->decode(&p, data + before + torn, out, 400);
            CHECK_CASE(!p, "%s: torn behind %zu", impl->name, before);
            p = data;
            CHECK(impl->decode(&p, data + before + torn, out, before) == before);
            CHECK(p == data + before);
        }
    }
}

int main(void) {
    if (fr_varint_chosen()) printf("chosen: %s\n", fr_varint_chosen()->name);
    for (const fr_varint_impl *impl = fr_varint_impls; impl->name; impl++) {
        if (!impl->supported()) {
            printf("%s: not on this machine\n", impl->name);
            continue;
        }
        every_width_and_count_between_guard_pages(impl);
        a_run_can_be_taken_in_pieces_of_any_size(impl);
        any_bytes_get_the_verdict_of_the_definition(impl);
        malformed_and_torn_varints_are_refused_wherever_they_are(impl);
        printf("%s: fine\n", impl->name);
    }
    return 0;
}
