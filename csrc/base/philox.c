/* SPDX-License-Identifier: Apache-2.0 */
#include "base/philox.h"

#include <string.h>

#include "base/cpu.h"

#define ROUNDS 10
#define LANES 16
#define INLINE __attribute__((always_inline)) static inline

void fr_philox_init(fr_philox *philox, uint64_t seed, uint64_t seed2) {
    *philox = (fr_philox){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
        .used = 4,
    };
}

void fr_philox_seek(fr_philox *philox, uint64_t number) {
    philox->counter[0] = (uint32_t)number;
    philox->counter[1] = (uint32_t)(number >> 32);
    philox->used = 4;
}

void fr_philox_skip(fr_philox *philox, uint64_t blocks) {
    const uint64_t from = philox->counter[0] | (uint64_t)philox->counter[1] << 32;
    fr_philox_seek(philox, from + blocks);
    if (from + blocks < from && ++philox->counter[2] == 0) philox->counter[3]++;
}

/* Converts `lanes` counters to blocks; word k of block j is at x[k * lanes + j]. The blocks are
   computed in vector registers where available, and otherwise as independent instructions. */
INLINE void make_blocks(const uint32_t key[2], int lanes, uint32_t *restrict x) {
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t *a = x, *b = x + lanes, *c = x + 2 * lanes, *d = x + 3 * lanes;
    for (int round = 0; round < ROUNDS; round++) {
        for (int j = 0; j < lanes; j++) {
            uint64_t first = (uint64_t)0xD2511F53u * a[j], second = (uint64_t)0xCD9E8D57u * c[j];
            a[j] = (uint32_t)(second >> 32) ^ b[j] ^ k0;
            b[j] = (uint32_t)second;
            c[j] = (uint32_t)(first >> 32) ^ d[j] ^ k1;
            d[j] = (uint32_t)first;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void make_block(const fr_philox *philox, uint32_t *out) {
    memcpy(out, philox->counter, sizeof philox->counter);
    make_blocks(philox->key, 1, out);
}

INLINE void lanes_of_blocks(const fr_philox *philox, uint64_t stride, uint32_t *out) {
    fr_philox at = *philox;
    uint32_t x[4 * LANES];
    for (int j = 0; j < LANES; j++, fr_philox_skip(&at, stride))
        for (int k = 0; k < 4; k++)
            x[k * LANES + j] = at.counter[k];
    make_blocks(at.key, LANES, x);
    for (int j = 0; j < LANES; j++)
        for (int k = 0; k < 4; k++)
            out[4 * j + k] = x[k * LANES + j];
}

typedef void maker(const fr_philox *philox, uint64_t stride, uint32_t *out);

static void make_plain(const fr_philox *philox, uint64_t stride, uint32_t *out) {
    lanes_of_blocks(philox, stride, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void make_avx2(const fr_philox *philox, uint64_t stride,
                                                      uint32_t *out) {
    lanes_of_blocks(philox, stride, out);
}

static maker *fastest(void) {
    return fr_cpu_features() & FR_CPU_AVX2 ? make_avx2 : make_plain;
}
#else
static maker *fastest(void) {
    return make_plain;
}
#endif

void fr_philox_blocks(const fr_philox *philox, uint64_t stride, size_t count, uint32_t *out) {
    fr_philox at = *philox;
    maker *const make = fastest();
    for (; count >= LANES; count -= LANES, out += 4 * LANES) {
        make(&at, stride, out);
        fr_philox_skip(&at, LANES * stride);
    }
    for (; count; count--, out += 4) {
        make_block(&at, out);
        fr_philox_skip(&at, stride);
    }
}

uint32_t fr_philox_next(fr_philox *philox) {
    if (philox->used == 4) {
        make_block(philox, philox->block);
        fr_philox_skip(philox, 1);
        philox->used = 0;
    }
    return philox->block[philox->used++];
}
