/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10, the counter-based generator that TensorFlow draws from (J. Salmon et al.,
 * "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
 */
#ifndef FASTREC_PHILOX_H
#define FASTREC_PHILOX_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t key[2];
    uint32_t counter[4]; /* counter of the next block, low word first */
    uint32_t block[4];
    unsigned used; /* words of `block` that are drawn; 4 before the first draw */
} fr_philox;

/* Initialises from TensorFlow's pair of seeds: `seed` is the key, `seed2` the counter's upper
   half. */
void fr_philox_init(fr_philox *philox, uint64_t seed, uint64_t seed2);

/* Continues with block `number`, counted from 0. */
void fr_philox_seek(fr_philox *philox, uint64_t number);

/* Returns the next 32 bits. */
uint32_t fr_philox_next(fr_philox *philox);

/* Writes `count` blocks of four words to `out`: the block at the counter and those that follow at
   intervals of `stride`. The counter does not change. */
void fr_philox_blocks(const fr_philox *philox, uint64_t stride, size_t count, uint32_t *out);

/* Advances the counter by `blocks`, with carry, and drops the rest of the current block. */
void fr_philox_skip(fr_philox *philox, uint64_t blocks);

#endif
