/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Feistel network turns any keyed function of half a number into a permutation of whole numbers:
 * each round combines one half by xor with a function of the other half, which remains unchanged,
 * so the round can be undone. The halves alternate, so they may differ in width, and the network
 * covers any power of two. For other counts, the walk applies the permutation of the next power of
 * two repeatedly until the result is below the count. This is again a permutation, and as uniform
 * as the one it is built on. The walks of different positions never visit the same number, and on
 * average a walk takes fewer than two steps.
 *
 * Below 12 bits the halves are so narrow that the network differs measurably from a random
 * permutation. Small counts therefore use 12 bits, which costs at most 4,096 steps for a whole
 * epoch.
 */
#include "base/permutation.h"

#include <string.h>

#include "base/cpu.h"

#define MIN_BITS 12

/* The finalizer of splitmix64 (D. Stafford's mix 13). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t fr_splitmix(uint64_t *state) {
    return mix(*state += 0x9e3779b97f4a7c15u);
}

static unsigned bits_for(uint64_t count) {
    unsigned bits = MIN_BITS;
    while (bits < 64 && count > (uint64_t)1 << bits)
        bits++;
    return bits;
}

void fr_permutation_init(fr_permutation *permutation, uint64_t count, uint64_t seed,
                         uint64_t epoch) {
    uint64_t state = seed;
    state = fr_splitmix(&state) ^ epoch;
    state = fr_splitmix(&state);
    for (int i = 0; i < FR_PERMUTATION_ROUNDS; i++)
        permutation->keys[i] = fr_splitmix(&state);
    unsigned bits = bits_for(count);
    permutation->count = count;
    permutation->left_bits = bits / 2;
    permutation->right_bits = bits - bits / 2;
}

uint64_t fr_permutation_at(const fr_permutation *permutation, uint64_t position) {
    const uint64_t *keys = permutation->keys;
    const unsigned width = permutation->right_bits;
    const uint64_t left_mask = ((uint64_t)1 << permutation->left_bits) - 1;
    const uint64_t right_mask = ((uint64_t)1 << width) - 1;
    uint64_t x = position;
    do {
        uint64_t left = x >> width, right = x & right_mask;
        for (int i = 0; i < FR_PERMUTATION_ROUNDS; i += 2) {
            left ^= mix(right ^ keys[i]) & left_mask;
            right ^= mix(left ^ keys[i + 1]) & right_mask;
        }
        x = left << width | right;
    } while (x >= permutation->count);
    return x;
}

#define LANES 8

/*
 * Applies one step of the walk to `count` values, a multiple of LANES. The rounds of one value
 * depend on each other, but those of different values do not: eight values are computed together,
 * in vector registers where available, and otherwise as independent instructions.
 */
__attribute__((always_inline)) static inline void step(const fr_permutation *permutation,
                                                       uint64_t *values, size_t count) {
    const unsigned width = permutation->right_bits;
    const uint64_t left_mask = ((uint64_t)1 << permutation->left_bits) - 1;
    const uint64_t right_mask = ((uint64_t)1 << width) - 1;
    for (size_t k = 0; k < count; k += LANES) {
        uint64_t left[LANES], right[LANES];
        for (int j = 0; j < LANES; j++) {
            left[j] = values[k + j] >> width;
            right[j] = values[k + j] & right_mask;
        }
        for (int i = 0; i < FR_PERMUTATION_ROUNDS; i += 2) {
            for (int j = 0; j < LANES; j++)
                left[j] ^= mix(right[j] ^ permutation->keys[i]) & left_mask;
            for (int j = 0; j < LANES; j++)
                right[j] ^= mix(left[j] ^ permutation->keys[i + 1]) & right_mask;
        }
        for (int j = 0; j < LANES; j++)
            values[k + j] = left[j] << width | right[j];
    }
}

typedef void stepper(const fr_permutation *permutation, uint64_t *values, size_t count);

static void step_plain(const fr_permutation *permutation, uint64_t *values, size_t count) {
    step(permutation, values, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void step_avx2(const fr_permutation *permutation,
                                                      uint64_t *values, size_t count) {
    step(permutation, values, count);
}

__attribute__((target("avx512f,avx512dq,avx512vl"))) static void step_avx512(
    const fr_permutation *permutation, uint64_t *values, size_t count) {
    step(permutation, values, count);
}

static stepper *fastest(void) {
    const uint32_t features = fr_cpu_features();
    if (features & FR_CPU_AVX512) return step_avx512;
    return features & FR_CPU_AVX2 ? step_avx2 : step_plain;
}
#else
static stepper *fastest(void) {
    return step_plain;
}
#endif

#define AT_ONCE 256

/* Values that are still outside are packed together and continue the walk. */
static void walk(const fr_permutation *permutation, uint64_t *positions, size_t count) {
    uint64_t values[AT_ONCE + LANES];
    uint16_t places[AT_ONCE];
    stepper *const step_all = fastest();
    for (size_t k = 0; k < count; k++) {
        values[k] = positions[k];
        places[k] = (uint16_t)k;
    }
    while (count >= LANES / 2) {
        memset(values + count, 0, LANES * sizeof *values); /* fill up the last group */
        step_all(permutation, values, count);
        size_t outside = 0;
        for (size_t k = 0; k < count; k++) {
            const uint64_t value = values[k];
            const uint16_t place = places[k];
            positions[place] = value;
            values[outside] = value;
            places[outside] = place;
            outside += value >= permutation->count;
        }
        count = outside;
    }
    for (size_t k = 0; k < count; k++)
        positions[places[k]] = fr_permutation_at(permutation, values[k]);
}

void fr_permutation_many(const fr_permutation *permutation, uint64_t *positions, size_t count) {
    for (; count > AT_ONCE; count -= AT_ONCE, positions += AT_ONCE)
        walk(permutation, positions, AT_ONCE);
    walk(permutation, positions, count);
}

uint64_t fr_permutation_find(const fr_permutation *permutation, uint64_t number) {
    const uint64_t *keys = permutation->keys;
    const unsigned width = permutation->right_bits;
    const uint64_t left_mask = ((uint64_t)1 << permutation->left_bits) - 1;
    const uint64_t right_mask = ((uint64_t)1 << width) - 1;
    uint64_t x = number;
    do {
        uint64_t left = x >> width, right = x & right_mask;
        for (int i = FR_PERMUTATION_ROUNDS; i > 0; i -= 2) {
            right ^= mix(left ^ keys[i - 1]) & right_mask;
            left ^= mix(right ^ keys[i - 2]) & left_mask;
        }
        x = left << width | right;
    } while (x >= permutation->count);
    return x;
}
