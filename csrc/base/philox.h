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
    uint32_t counter[4]; /* of the next block, low word first */
    uint32_t block[4];
    unsigned used; /* words of `block` that are drawn; 4 before the first */
} fr_philox;

/* TensorFlow's pair of seeds: the key is the first, the counter's upper half the second. */
void fr_philox_init(fr_philox *philox, uint64_t seed, uint64_t seed2);

/* Goes on with the block of that number; the first is 0. */
void fr_philox_seek(fr_philox *philox, uint64_t number);

/* The next 32 bits. */
uint32_t fr_philox_next(fr_philox *philox);

/* `count` blocks of four words into `out`: that which the counter stands at, and others, each
   `stride` numbers after the one before. The counter stays where it is. */
void fr_philox_blocks(const fr_philox *philox, uint64_t stride, size_t count, uint32_t *out);

/* Moves the counter, whose upper half takes a carry, and leaves out what is left of a block. */
void fr_philox_skip(fr_philox *philox, uint64_t blocks);

#endif
