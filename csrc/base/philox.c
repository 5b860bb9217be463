/* SPDX-License-Identifier: Apache-2.0 */
#include "base/philox.h"

#define ROUNDS 10

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

static void make_block(fr_philox *philox) {
    uint32_t k0 = philox->key[0], k1 = philox->key[1];
    uint32_t a = philox->counter[0], b = philox->counter[1];
    uint32_t c = philox->counter[2], d = philox->counter[3];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t first = (uint64_t)0xD2511F53u * a, second = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(second >> 32) ^ b ^ k0;
        b = (uint32_t)second;
        c = (uint32_t)(first >> 32) ^ d ^ k1;
        d = (uint32_t)first;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    philox->block[0] = a, philox->block[1] = b, philox->block[2] = c, philox->block[3] = d;
}

uint32_t fr_philox_next(fr_philox *philox) {
    if (philox->used == 4) {
        make_block(philox);
        for (int i = 0; i < 4 && ++philox->counter[i] == 0; i++) {
        }
        philox->used = 0;
    }
    return philox->block[philox->used++];
}
