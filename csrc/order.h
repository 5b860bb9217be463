/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which record comes next: a pure function of (seed, epoch, position, shard). No state, no memory
 * that grows, nothing about where records are.
 */
#ifndef FASTREC_ORDER_H
#define FASTREC_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define FR_PERMUTATION_ROUNDS 8

/*
 * A keyed permutation of 0 .. count - 1 in constant memory: a Feistel network over the next power
 * of two, walked until it lands inside (J. Black and P. Rogaway, "Ciphers with Arbitrary Finite
 * Domains", CT-RSA 2002).
 */
typedef struct {
    uint64_t count;
    uint64_t keys[FR_PERMUTATION_ROUNDS];
    unsigned left_bits, right_bits;
} fr_permutation;

void fr_permutation_init(fr_permutation *permutation, uint64_t count, uint64_t seed,
                         uint64_t epoch);

/* Where `position` goes; position < count. */
uint64_t fr_permutation_at(const fr_permutation *permutation, uint64_t position);

typedef struct {
    uint64_t count; /* records in all */
    bool shuffle;   /* a fresh permutation of all records each epoch; otherwise as they stand */
    uint64_t seed;
    uint64_t epochs;                   /* 0: for ever */
    uint64_t shard_index, shard_count; /* this shard takes every shard_count-th position */
    uint64_t batch_size;
    bool drop_remainder; /* no batch shorter than batch_size */
} fr_order;

/* A batch lies within one epoch. */
typedef struct {
    const fr_order *order;
    fr_permutation permutation;
    uint64_t epoch;
    uint64_t first; /* position of its first record among the shard's in that epoch */
    uint64_t rows;
} fr_slice;

/* FR_ERR_ARG on a shard that is not below shard_count, or a count or size of 0 that must not be. */
FR_NODISCARD int fr_order_check(const fr_order *order, fr_error *err);

/* Records an epoch gives this shard. */
uint64_t fr_order_shard_size(const fr_order *order);

/* Batches an epoch has; UINT64_MAX is never reached. */
uint64_t fr_order_epoch_batches(const fr_order *order);

/* The batch of that serial number, from 0, over all epochs. FR_OK, or FR_END after the last. */
FR_NODISCARD int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice);

/* The number of the record in row `row` of the slice. */
uint64_t fr_slice_record(const fr_slice *slice, uint64_t row);

#endif
