/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws from a discrete distribution in constant time, by the alias method (M. D. Vose, "A Linear
 * Algorithm for Generating Random Numbers with a Given Distribution", IEEE TSE 17(9), 1991).
 */
#ifndef FASTREC_ALIAS_H
#define FASTREC_ALIAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A slot of the table. A draw selects a random slot, and then the slot's own item or its alias. */
typedef struct {
    uint64_t threshold; /* a random number up to this one selects the slot's own item */
    uint64_t alias;
} fr_alias_slot;

/*
 * Fills `count` slots. REQUIRES: `weights` are finite, at least 0, and not all 0.
 *
 * Returns FR_ERR_ARG if they are not, with the number of the invalid weight in err->record, or
 * FR_ERR_NOMEM.
 */
FR_NODISCARD int fr_alias_build(const double *weights, uint64_t count, fr_alias_slot *slots,
                                fr_error *err);

/* Returns the item drawn at `place` of `epoch`. REQUIRES: count > 0. */
uint64_t fr_alias_draw(const fr_alias_slot *slots, uint64_t count, uint64_t seed, uint64_t epoch,
                       uint64_t place);

#endif
