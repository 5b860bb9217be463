/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategies of a sampler. Each writes the record numbers of `rows` positions of the shard,
 * from position `first`, all in one epoch.
 */
#ifndef FASTREC_SAMPLER_INTERNAL_H
#define FASTREC_SAMPLER_INTERNAL_H

#include "batch/sampler.h"

typedef struct {
    uint64_t number; /* number of the epoch */
    uint64_t epoch;  /* epoch whose order is used */
    uint64_t used;   /* places of the epoch that were used before the first position */
    uint64_t first, rows;
} fr_sampler_run;

/* Gets the places, in the epoch's order, of the shard's positions. */
void fr_sampler_places(const fr_order *order, fr_sampler_run run, uint64_t *places);

/* Returns the record at a place of an order that is not shuffled. */
static inline uint64_t fr_record_in_order(const fr_order *order, uint64_t place) {
    return order->interleave ? fr_interleave_at(order->interleave, place) : place;
}

/* Returns the permutation of `count` numbers that `seed` and `pass` determine. */
const fr_permutation *fr_sampler_pass_get(fr_sampler_pass *kept, uint64_t count, uint64_t seed,
                                          uint64_t pass);

/* Allocates zeroed memory for `count` elements (at least one) of `size` bytes. REQUIRES: `array`
   points to a pointer. */
FR_NODISCARD int fr_sampler_allocate(void *array, uint64_t count, size_t size, fr_error *err);

FR_NODISCARD int fr_sampler_blocks_init(fr_sampler_blocks *blocks, const fr_order *order,
                                        fr_error *err);
void fr_sampler_blocks_numbers(fr_sampler_blocks *blocks, const fr_order *order, fr_sampler_run run,
                               uint64_t *numbers);
void fr_sampler_blocks_free(fr_sampler_blocks *blocks);

FR_NODISCARD int fr_sampler_mixture_init(fr_sampler_mixture *mixture, const fr_order *order,
                                         fr_error *err);
void fr_sampler_mixture_numbers(fr_sampler_mixture *mixture, const fr_order *order,
                                fr_sampler_run run, uint64_t *numbers);
/* Gets the pass over its source of each record. */
void fr_sampler_mixture_passes(fr_sampler_mixture *mixture, const fr_order *order,
                               fr_sampler_run run, uint64_t *passes);
void fr_sampler_mixture_free(fr_sampler_mixture *mixture);

FR_NODISCARD int fr_sampler_buffer_init(fr_sampler_buffer *buffer, const fr_order *order,
                                        fr_error *err);
void fr_sampler_buffer_numbers(fr_sampler_buffer *buffer, const fr_order *order, fr_sampler_run run,
                               uint64_t *numbers);
void fr_sampler_buffer_free(fr_sampler_buffer *buffer);

#endif
