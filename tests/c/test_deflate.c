/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams made bit by bit, whole and damaged: the walk counts what they inflate to, says the same
 * however they are cut into pieces, and reads nothing behind their end.
 */
#include "format/deflate.h"
#include "test.h"

#define MOST 4096
#define EVERY 100

typedef struct {
    uint8_t bytes[MOST];
    size_t bits;
    uint64_t output;
} stream;

static void put(stream *s, uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; i++, s->bits++)
        if (value >> i & 1) s->bytes[s->bits / 8] |= (uint8_t)(1u << s->bits % 8);
}

/* Codes go highest bit first. */
static void put_code(stream *s, uint32_t code, unsigned count) {
    while (count--)
        put(s, code >> count & 1, 1);
}

static void put_stored(stream *s, unsigned size, bool final) {
    put(s, final, 3);
    s->bits = (s->bits + 7) & ~(size_t)7;
    put(s, size, 16);
    put(s, size ^ 0xFFFF, 16);
    for (unsigned i = 0; i < size; i++)
        put(s, i, 8);
    s->output += size;
}

/* Literals, copies of 3 and of 258 bytes from 1 to 4 before. */
static void put_fixed(stream *s, uint64_t *seed, bool final) {
    put(s, final | 1u << 1, 3);
    put_code(s, 0x30 + 'a', 8);
    s->output++;
    for (unsigned count = test_random(seed) % 60; count--;) {
        const uint64_t kind = test_random(seed) % 4;
        if (kind == 0) put_code(s, 0x190 + test_random(seed) % 112, 9);
        if (kind == 1) put_code(s, 0x30 + test_random(seed) % 144, 8);
        if (kind == 2) put_code(s, 1, 7);
        if (kind == 3) put_code(s, 0xC5, 8);
        if (kind >= 2) put_code(s, s->output < 4 ? 0 : test_random(seed) % 4, 5);
        s->output += kind < 2 ? 1 : kind == 2 ? 3 : 258;
    }
    put_code(s, 0, 7);
}

/* A block of nothing with codes of its own: literal 0, the end of a block, a distance. */
static void put_dynamic(stream *s, bool final) {
    put(s, final | 2u << 1, 3);
    put(s, 0, 10);
    put(s, 14, 4);
    for (unsigned i = 0; i < 18; i++)
        put(s, i == 2 || i == 17, 3);
    put(s, 0, 1);
    put(s, 1 | 127u << 1, 8);
    put(s, 1 | 106u << 1, 8);
    put(s, 0, 2);
    put(s, 1, 1);
}

static void make(stream *s, uint64_t *seed) {
    *s = (stream){.bits = 0};
    for (unsigned left = 1 + test_random(seed) % 6; left--;) {
        const uint64_t kind = test_random(seed) % 3;
        if (kind == 0) put_stored(s, test_random(seed) % 300, !left);
        if (kind == 1) put_fixed(s, seed, !left);
        if (kind == 2) put_dynamic(s, !left);
    }
}

typedef struct {
    int64_t status;
    uint64_t bits, output, marks;
} outcome;

/* Feeds `size` bytes, `step` more at a time, each time at the very end of memory. */
static outcome walk(const uint8_t *bytes, size_t size, size_t step, const test_guarded *memory) {
    fr_deflate deflate = {.stop = EVERY, .every = EVERY};
    outcome found = {.status = FR_AGAIN};
    for (size_t fed = 0; found.status == FR_AGAIN;) {
        const bool last = size - fed <= step;
        fed = last ? size : fed + step;
        do {
            const size_t begin = (size_t)(deflate.bits / 8);
            CHECK(begin <= fed);
            fr_span input = {memory->end - (fed - begin), fed - begin};
            memcpy(memory->end - input.size, bytes + begin, input.size);
            found.status = fr_deflate_walk(&deflate, input, last, NULL);
            if (found.status == FR_OK) found.marks += deflate.bits * 31 + deflate.output;
        } while (found.status == FR_OK);
        CHECK(!last || found.status != FR_AGAIN);
    }
    if (found.status == FR_END) {
        found.bits = deflate.bits;
        found.output = deflate.output;
        CHECK(deflate.bits <= (uint64_t)size * 8);
    }
    return found;
}

static void sound_streams_are_counted(const test_guarded *memory) {
    uint64_t seed = 1;
    static stream s;
    for (unsigned i = 0; i < 2000; i++) {
        make(&s, &seed);
        const size_t size = (s.bits + 7) / 8;
        const outcome whole = walk(s.bytes, size, size, memory);
        CHECK_CASE(whole.status == FR_END && whole.bits == s.bits && whole.output == s.output,
                   "stream %u", i);
        for (size_t step = 1; step < 700; step = step * 3 + 1) {
            const outcome pieces = walk(s.bytes, size, step, memory);
            CHECK(memcmp(&pieces, &whole, sizeof whole) == 0);
        }
        for (size_t cut = 0; cut < size; cut += 1 + size / 16)
            CHECK(walk(s.bytes, cut, cut + 1, memory).status < 0);
    }
}

static void damaged_streams_have_one_verdict(const test_guarded *memory) {
    uint64_t seed = 2, refused = 0;
    static stream s;
    for (unsigned i = 0; i < 20000; i++) {
        make(&s, &seed);
        const size_t size = (s.bits + 7) / 8;
        for (unsigned flips = 1 + test_random(&seed) % 4; flips--;)
            s.bytes[test_random(&seed) % size] ^= (uint8_t)(1u << test_random(&seed) % 8);
        const outcome whole = walk(s.bytes, size, size, memory);
        const outcome pieces = walk(s.bytes, size, 1 + test_random(&seed) % 64, memory);
        CHECK(whole.status == pieces.status || (whole.status < 0 && pieces.status < 0));
        CHECK(whole.status != FR_END || memcmp(&pieces, &whole, sizeof whole) == 0);
        refused += whole.status < 0;
    }
    CHECK(refused > 5000);
}

int main(void) {
    test_guarded memory = test_guarded_new(MOST);
    sound_streams_are_counted(&memory);
    damaged_streams_have_one_verdict(&memory);
    test_guarded_free(&memory);
    return 0;
}
