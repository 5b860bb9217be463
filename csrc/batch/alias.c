/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/alias.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/permutation.h"

#define WHOLE 0x1p64 /* unrounded threshold of a slot without an alias */

static int sum_of(const double *weights, uint64_t count, double *sum, fr_error *err) {
    *sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i])) {
            fr_fail(err, FR_ERR_ARG, "a weight must be finite and at least 0, got %g", weights[i]);
            if (err) err->record = (int64_t)i;
            return FR_ERR_ARG;
        }
        *sum += weights[i];
    }
    if (*sum == 0 || isinf(*sum))
        return fr_fail(err, FR_ERR_ARG, "the weights must have a finite sum above 0, got %g", *sum);
    return FR_OK;
}

static uint64_t threshold_of(double share) {
    return share >= 1 ? UINT64_MAX : (uint64_t)(share * WHOLE);
}

/*
 * Fills the slots. `shares` are the weights, scaled to a mean of 1. Slots below 1 are stacked from
 * the front of `stack`, all others from its end. A slot from the end gives a slot from the front
 * the share that it lacks, and moves to the front when its own share falls below 1.
 */
static void fill(double *shares, uint64_t *stack, uint64_t count, fr_alias_slot *slots) {
    uint64_t below = 0, above = count, heaviest = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (shares[i] > shares[heaviest]) heaviest = i;
        if (shares[i] < 1)
            stack[below++] = i;
        else
            stack[--above] = i;
    }
    while (below > 0 && above < count) {
        const uint64_t light = stack[--below], heavy = stack[above];
        slots[light] = (fr_alias_slot){threshold_of(shares[light]), heavy};
        shares[heavy] -= 1 - shares[light];
        if (shares[heavy] < 1) {
            above++;
            stack[below++] = heavy;
        }
    }
    while (above < count) {
        const uint64_t whole = stack[above++];
        slots[whole] = (fr_alias_slot){UINT64_MAX, whole};
    }
    while (below > 0) { /* left over by rounding; an item of weight 0 must not be drawn */
        const uint64_t rest = stack[--below];
        const bool none = shares[rest] <= 0;
        slots[rest] = (fr_alias_slot){none ? 0 : UINT64_MAX, none ? heaviest : rest};
    }
}

int fr_alias_build(const double *weights, uint64_t count, fr_alias_slot *slots, fr_error *err) {
    double sum;
    FR_TRY(sum_of(weights, count, &sum, err));
    if (count > SIZE_MAX / sizeof(double)) return fr_fail_nomem(err, UINT64_MAX);
    const size_t size = (size_t)count * sizeof(double);
    double *shares = malloc(size);
    uint64_t *stack = malloc(size);
    if (shares && stack) {
        for (uint64_t i = 0; i < count; i++)
            shares[i] = weights[i] / sum * (double)count;
        fill(shares, stack, count, slots);
    }
    const bool done = shares && stack;
    free(shares);
    free(stack);
    return done ? FR_OK : fr_fail_nomem(err, 2 * (uint64_t)size);
}

uint64_t fr_alias_draw(const fr_alias_slot *slots, uint64_t count, uint64_t seed, uint64_t epoch,
                       uint64_t place) {
    uint64_t state = seed;
    state = fr_splitmix(&state) ^ epoch;
    state = fr_splitmix(&state) ^ place;
    const uint64_t first = fr_splitmix(&state), second = fr_splitmix(&state);
    const uint64_t slot = (uint64_t)(((unsigned __int128)first * count) >> 64);
    return second < slots[slot].threshold ? slot : slots[slot].alias;
}
