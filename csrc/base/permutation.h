/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed permutation of 0 .. count - 1 in constant memory: a Feistel network over the next power
 * of two, applied until the result is below the count (J. Black and P. Rogaway, "Ciphers with
 * Arbitrary Finite Domains", CT-RSA 2002).
 *
 * A permutation is immutable after initialisation, so any number of threads may use it.
 */
#ifndef FASTREC_PERMUTATION_H
#define FASTREC_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

#define FR_PERMUTATION_ROUNDS 8

typedef struct {
    uint64_t count;
    uint64_t keys[FR_PERMUTATION_ROUNDS];
    unsigned left_bits, right_bits;
} fr_permutation;

/* Initialises the permutation of `count` numbers that `seed` and `epoch` determine. */
void fr_permutation_init(fr_permutation *permutation, uint64_t count, uint64_t seed,
                         uint64_t epoch);

/* Returns the number at `position`. REQUIRES: position < count. */
uint64_t fr_permutation_at(const fr_permutation *permutation, uint64_t position);

/* Replaces each of `count` positions by fr_permutation_at() of it; several times as fast. */
void fr_permutation_many(const fr_permutation *permutation, uint64_t *positions, size_t count);

/* Returns the position of `number`. REQUIRES: number < count. */
uint64_t fr_permutation_find(const fr_permutation *permutation, uint64_t number);

/* Returns the next number of splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014). */
uint64_t fr_splitmix(uint64_t *state);

#endif
