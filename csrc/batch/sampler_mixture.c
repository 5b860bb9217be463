/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sources mixed by weight.
 *
 * A round of as many places as the weights sum up to is dealt to the sources and shuffled anew each
 * round, so that no shard and no batch sees a pattern. What a source is asked for is counted over
 * all epochs: when it is through it begins again, in another order, wherever the epoch stands, and
 * a source that is larger than its share goes on in the next epoch.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

#define ROUND_KEY 0x6d69787475726573u /* keeps rounds and permutations apart */

static uint64_t weight_sum(const fr_order *order) {
    uint64_t sum = 0;
    for (size_t i = 0; i < order->part_count; i++)
        sum += order->parts[i].weight;
    return sum;
}

static void deal_round(fr_sampler_mixture *mixture, const fr_order *order, uint64_t round,
                       uint64_t sum) {
    fr_sampler_place *places = mixture->places;
    uint64_t dealt = 0;
    for (uint32_t part = 0; part < order->part_count; part++)
        for (uint64_t i = 0; i < order->parts[part].weight; i++)
            places[dealt++].part = part;
    uint64_t state = (order->seed ^ ROUND_KEY) + round * 0x9e3779b97f4a7c15u;
    state = fr_splitmix(&state);
    for (uint64_t i = sum; i > 1; i--) {
        uint64_t j = (uint64_t)(((unsigned __int128)fr_splitmix(&state) * i) >> 64);
        fr_sampler_place swapped = places[i - 1];
        places[i - 1] = places[j];
        places[j] = swapped;
    }
    memset(mixture->turns, 0, order->part_count * sizeof *mixture->turns);
    for (uint64_t i = 0; i < sum; i++)
        places[i].turn = mixture->turns[places[i].part]++;
    mixture->round = round;
    mixture->known = true;
}

/* The part that a position belongs to, and how many of its records come before it in all epochs. */
static size_t ask(fr_sampler_mixture *mixture, const fr_order *order, uint64_t epoch,
                  uint64_t position, uint64_t *asked) {
    const uint64_t sum = weight_sum(order);
    const uint64_t round = epoch * (order->mixed / sum) + position / sum;
    if (!mixture->known || mixture->round != round) deal_round(mixture, order, round, sum);
    const fr_sampler_place place = mixture->places[position % sum];
    *asked = round * order->parts[place.part].weight + place.turn;
    return place.part;
}

static uint64_t number_at(fr_sampler_mixture *mixture, const fr_order *order, uint64_t epoch,
                          uint64_t position) {
    uint64_t asked;
    const size_t number = ask(mixture, order, epoch, position, &asked);
    const fr_mix_part *part = &order->parts[number];
    uint64_t pass = asked / part->count, at = asked % part->count;
    if (order->shuffle == FR_SHUFFLE_RECORDS) {
        uint64_t state = order->seed ^ number;
        at = fr_permutation_at(
            fr_sampler_pass_get(&mixture->passes[number], part->count, fr_splitmix(&state), pass),
            at);
    }
    return part->first + at;
}

void fr_sampler_mixture_numbers(fr_sampler_mixture *mixture, const fr_order *order,
                                fr_sampler_run run, uint64_t *numbers) {
    fr_sampler_places(order, run, numbers);
    for (uint64_t i = 0; i < run.rows; i++)
        numbers[i] = number_at(mixture, order, run.epoch, numbers[i]);
}

/* How often an epoch goes through a part, rounded up. */
static uint64_t passes_an_epoch(const fr_order *order, const fr_mix_part *part) {
    const uint64_t asked = order->mixed / weight_sum(order) * part->weight;
    return asked / part->count + (asked % part->count != 0);
}

void fr_sampler_mixture_passes(fr_sampler_mixture *mixture, const fr_order *order,
                               fr_sampler_run run, uint64_t *passes) {
    fr_sampler_places(order, run, passes);
    for (uint64_t i = 0; i < run.rows; i++) {
        uint64_t asked;
        const fr_mix_part *part = &order->parts[ask(mixture, order, run.epoch, passes[i], &asked)];
        passes[i] = asked / part->count;
        if (order->same_order) passes[i] += run.number * passes_an_epoch(order, part);
    }
}

int fr_sampler_mixture_init(fr_sampler_mixture *mixture, const fr_order *order, fr_error *err) {
    *mixture = (fr_sampler_mixture){0};
    const uint64_t parts = order->part_count;
    int status = fr_sampler_allocate(&mixture->passes, parts, sizeof *mixture->passes, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&mixture->turns, parts, sizeof *mixture->turns, err);
    if (status == FR_OK)
        status =
            fr_sampler_allocate(&mixture->places, weight_sum(order), sizeof *mixture->places, err);
    if (status != FR_OK) fr_sampler_mixture_free(mixture);
    return status;
}

void fr_sampler_mixture_free(fr_sampler_mixture *mixture) {
    free(mixture->passes);
    free(mixture->turns);
    free(mixture->places);
    *mixture = (fr_sampler_mixture){0};
}
