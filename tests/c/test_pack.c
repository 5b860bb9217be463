/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every implementation of varints that this machine supports, against one varint at a time;
 * and no byte outside of what was given.
 */
#include "format/pack.h"
#include "format/wire.h"
#include "test.h"

#define MOST 200

static size_t reference(uint8_t *out, const int64_t *values, size_t count) {
    uint8_t *p = out;
    for (size_t i = 0; i < count; i++)
        p = fr_wire_put_varint(p, (uint64_t)values[i]);
    return (size_t)(p - out);
}

/* At the end of a page, with `spare` bytes to spare, and with one byte too few. */
static void compare(const fr_pack_impl *impl, const int64_t *numbers, size_t count,
                    test_guarded room) {
    const uint8_t *values = (const uint8_t *)numbers;
    uint8_t expected[MOST * FR_VARINT_MAX];
    size_t size = reference(expected, numbers, count);
    CHECK_CASE(impl->size(values, count) == size, "%s: size of %zu", impl->name, count);
    for (size_t spare = 0; spare < 130; spare += 13) {
        uint8_t *p = room.end - size - spare;
        CHECK(impl->put(p, room.end, values, count) == p + size);
        CHECK_CASE(memcmp(p, expected, size) == 0, "%s: %zu integers", impl->name, count);
    }
    if (size) CHECK(!impl->put(room.end - size + 1, room.end, values, count));
}

/* Integers of up to `bits` bits: of all widths mixed, or nearly all as wide. */
static void fill(int64_t *values, size_t count, unsigned bits, bool mixed, uint64_t *seed) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = test_random(seed);
        unsigned width = mixed ? (unsigned)(test_random(seed) % (bits + 1)) : bits;
        values[i] = (int64_t)(width ? value >> (64 - width) : 0);
    }
}

static void test_implementation(const fr_pack_impl *impl, test_guarded room) {
    uint64_t seed = 1;
    int64_t values[MOST];
    for (unsigned bits = 0; bits <= 64; bits++)
        for (size_t count = 0; count < MOST; count += count < 20 ? 1 : 17) {
            fill(values, count, bits, false, &seed);
            compare(impl, values, count, room);
            fill(values, count, bits, true, &seed);
            compare(impl, values, count, room);
        }
    for (unsigned bit = 0; bit < 64; bit++) /* both sides of every power of two */
        for (int step = -1; step <= 1; step++)
            for (size_t i = 0; i < 8; i++) {
                memset(values, 0, sizeof values);
                values[i] = (int64_t)((UINT64_C(1) << bit) + (uint64_t)step);
                compare(impl, values, 8, room);
            }
}

int main(void) {
    test_guarded room = test_guarded_new(MOST * FR_VARINT_MAX + 256);
    for (const fr_pack_impl *impl = fr_pack_impls; impl->name; impl++) {
        if (!impl->supported()) continue;
        printf("pack: %s\n", impl->name);
        test_implementation(impl, room);
    }
    test_guarded_free(&room);
    return 0;
}
