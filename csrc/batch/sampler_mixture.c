/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sources mixed by weight.
 *
 * A round has one place for each unit of the sum of weights. It is dealt to the sources and
 * shuffled with a different permutation each time, so that no shard and no batch sees a pattern.
 * The records that each source has given are counted over all epochs. A source that is exhausted
 * restarts in another order, at any point of the epoch. A source that is larger than its share of
 * an epoch continues in the next epoch.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

#define ROUND_KEY 0x6d69787475726573u /* separates rounds from other permutations */

static uint64_t weight_of(const fr_order *order, size_t stage, size_t part) {
    return order->stage_count ? order->stages[stage].weights[part] : order->parts[part].weight;
}

static uint64_t weight_sum(const fr_order *order, size_t stage) {
    uint64_t sum = 0;
    for (size_t i = 0; i < order->part_count; i++)
        sum += weight_of(order, stage, i);
    return sum;
}

/* Returns the stage of a position. */
static size_t stage_at(const fr_order *order, uint64_t position) {
    size_t stage = 0;
    while (stage + 1 < order->stage_count && order->stages[stage + 1].first <= position)
        stage++;
    return stage;
}

static void deal_round(fr_sampler_mixture *mixture, const fr_order *order, size_t stage,
                       uint64_t round) {
    if (mixture->known && mixture->stage == stage && mixture->round == round) return;
    fr_sampler_place *places = mixture->places;
    const uint64_t sum = weight_sum(order, stage);
    uint64_t dealt = 0;
    for (uint32_t part = 0; part < order->part_count; part++)
        for (uint64_t i = 0; i < weight_of(order, stage, part); i++)
            places[dealt++].part = part;
    uint64_t state =
        (order->seed ^ ROUND_KEY) + (round ^ (uint64_t)stage << 48) * 0x9e3779b97f4a7c15u;
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
    mixture->stage = stage;
    mixture->round = round;
    mixture->known = true;
}

/* Returns the part of a position, and gets the number of the part's earlier records in all
   epochs. */
static size_t ask(fr_sampler_mixture *mixture, const fr_order *order, uint64_t epoch,
                  uint64_t position, uint64_t *asked) {
    const size_t stage = stage_at(order, position);
    const uint64_t sum = weight_sum(order, stage);
    uint64_t round = epoch * (order->mixed / sum);
    if (order->stage_count) {
        round = 0;
        position -= order->stages[stage].first;
    }
    round += position / sum;
    deal_round(mixture, order, stage, round);
    const fr_sampler_place place = mixture->places[position % sum];
    *asked = mixture->before[stage * order->part_count + place.part] +
             round * weight_of(order, stage, place.part) + place.turn;
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

/* Returns how often an epoch goes through a part, rounded up. */
static uint64_t passes_an_epoch(const fr_order *order, const fr_mix_part *part) {
    const uint64_t asked = order->mixed / weight_sum(order, 0) * part->weight;
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

/* Counts the records that each stage takes from each part, including the last, incomplete round. */
static void count_stages(fr_sampler_mixture *mixture, const fr_order *order) {
    const size_t parts = order->part_count;
    for (size_t stage = 1; stage < order->stage_count; stage++) {
        const uint64_t *last = mixture->before + (stage - 1) * parts;
        uint64_t *before = mixture->before + stage * parts;
        const uint64_t places = order->stages[stage].first - order->stages[stage - 1].first;
        const uint64_t sum = weight_sum(order, stage - 1);
        for (size_t part = 0; part < parts; part++)
            before[part] = last[part] + places / sum * weight_of(order, stage - 1, part);
        deal_round(mixture, order, stage - 1, places / sum);
        for (uint64_t i = 0; i < places % sum; i++)
            before[mixture->places[i].part]++;
    }
}

int fr_sampler_mixture_init(fr_sampler_mixture *mixture, const fr_order *order, fr_error *err) {
    *mixture = (fr_sampler_mixture){0};
    const uint64_t parts = order->part_count;
    int status = fr_sampler_allocate(&mixture->passes, parts, sizeof *mixture->passes, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&mixture->turns, parts, sizeof *mixture->turns, err);
    const uint64_t stages = order->stage_count ? order->stage_count : 1;
    uint64_t most = 0;
    for (size_t stage = 0; stage < stages; stage++)
        most = weight_sum(order, stage) > most ? weight_sum(order, stage) : most;
    if (status == FR_OK)
        status = fr_sampler_allocate(&mixture->before, stages * parts, sizeof(uint64_t), err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&mixture->places, most, sizeof *mixture->places, err);
    if (status == FR_OK)
        count_stages(mixture, order);
    else
        fr_sampler_mixture_free(mixture);
    return status;
}

void fr_sampler_mixture_free(fr_sampler_mixture *mixture) {
    free(mixture->passes);
    free(mixture->before);
    free(mixture->turns);
    free(mixture->places);
    *mixture = (fr_sampler_mixture){0};
}
