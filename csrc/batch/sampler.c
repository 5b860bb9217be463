/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/sampler.h"

#include <stdlib.h>

#include "batch/sampler_internal.h"

const fr_permutation *fr_sampler_pass_get(fr_sampler_pass *kept, uint64_t count, uint64_t seed,
                                          uint64_t pass) {
    if (!kept->known || kept->pass != pass)
        fr_permutation_init(&kept->permutation, count, seed, pass);
    kept->pass = pass;
    kept->known = true;
    return &kept->permutation;
}

int fr_sampler_allocate(void *array, uint64_t count, size_t size, fr_error *err) {
    void *made = count < SIZE_MAX / size ? calloc((size_t)count + 1, size) : NULL;
    if (!made) return fr_fail_nomem(err, count * size);
    memcpy(array, &made, sizeof made);
    return FR_OK;
}

void fr_sampler_places(const fr_order *order, fr_sampler_run run, uint64_t *places) {
    const uint64_t size = fr_order_epoch_size(order);
    for (uint64_t row = 0; row < run.rows;) {
        fr_share share = {.rows = run.rows};
        uint64_t place = run.used + run.first;
        if (order->shard_count > 1) {
            share = fr_order_share(order, run.number, run.used, run.first + row);
            place = run.used + share.begin + share.first + share.done;
        }
        const uint64_t left = run.rows - row, own = share.rows - share.done;
        const uint64_t stop = row + (own < left ? own : left);
        for (; row < stop; row++, place++)
            places[row] = place < size ? place : place % size; /* FR_UNEVEN_PAD */
    }
}

/* Replaces each place by the number of its record. */
static void in_order(const fr_order *order, uint64_t rows, uint64_t *numbers) {
    for (uint64_t i = 0; order->interleave && i < rows; i++)
        numbers[i] = fr_record_in_order(order, numbers[i]);
}

/* Draws a record for each place by the weights. */
static void weighted(const fr_order *order, fr_sampler_run run, uint64_t *numbers) {
    fr_sampler_places(order, run, numbers);
    for (uint64_t i = 0; i < run.rows; i++)
        numbers[i] =
            fr_alias_draw(order->weighted, order->count, order->seed, run.epoch, numbers[i]);
}

/* Returns a number that is almost certainly unique among the places of all epochs. */
static uint64_t pass_of_draw(fr_sampler_run run, uint64_t place) {
    uint64_t state = run.number;
    state = fr_splitmix(&state) ^ place;
    return fr_splitmix(&state) >> 1;
}

static void draw(fr_sampler *sampler, fr_sampler_run run, uint64_t *numbers) {
    const fr_order *order = sampler->order;
    switch (sampler->strategy) {
        case FR_SAMPLER_IN_ORDER:
            fr_sampler_places(order, run, numbers);
            return in_order(order, run.rows, numbers);
        case FR_SAMPLER_RECORDS:
            fr_sampler_places(order, run, numbers);
            return fr_permutation_many(
                fr_sampler_pass_get(&sampler->as.records, order->count, order->seed, run.epoch),
                numbers, run.rows);
        case FR_SAMPLER_BLOCKS:
            return fr_sampler_blocks_numbers(&sampler->as.blocks, order, run, numbers);
        case FR_SAMPLER_MIXTURE:
            return fr_sampler_mixture_numbers(&sampler->as.mixture, order, run, numbers);
        case FR_SAMPLER_WEIGHTED:
            return weighted(order, run, numbers);
        case FR_SAMPLER_BUFFER:
            return fr_sampler_buffer_numbers(&sampler->as.buffer, order, run, numbers);
    }
}

/* Takes the first run of a slice that is in one epoch from the slice. */
static fr_sampler_run take_run(const fr_order *order, fr_slice *slice) {
    const uint64_t left = fr_order_epoch_rows(order, slice->epoch) - slice->first;
    const fr_sampler_run run = {.number = slice->epoch,
                                .epoch = order->same_order ? 0 : slice->epoch,
                                .used = slice->epoch == order->first_epoch ? order->start : 0,
                                .first = slice->first,
                                .rows = slice->rows < left ? slice->rows : left};
    slice->rows -= run.rows;
    slice->first = 0;
    slice->epoch++;
    return run;
}

void fr_sampler_numbers(fr_sampler *sampler, const fr_slice *slice, uint64_t *numbers) {
    for (fr_slice rest = *slice; rest.rows;) {
        const fr_sampler_run run = take_run(sampler->order, &rest);
        draw(sampler, run, numbers);
        const uint64_t *selected = sampler->order->selected;
        for (uint64_t i = 0; selected && i < run.rows; i++)
            numbers[i] = selected[numbers[i]];
        numbers += run.rows;
    }
}

fr_sampler_list fr_sampler_take_left(fr_sampler *sampler) {
    if (sampler->strategy != FR_SAMPLER_BLOCKS) return (fr_sampler_list){0};
    const fr_sampler_list taken = sampler->as.blocks.left;
    sampler->as.blocks.left.count = 0;
    return taken;
}

fr_sampler_ranges fr_sampler_take_entered(fr_sampler *sampler) {
    if (sampler->strategy != FR_SAMPLER_BLOCKS) return (fr_sampler_ranges){0};
    const fr_sampler_ranges taken = sampler->as.blocks.entered;
    sampler->as.blocks.entered.count = 0;
    return taken;
}

int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                      fr_error *err) {
    fr_sampler_mixture mixture = {0};
    if (order->part_count) FR_TRY(fr_sampler_mixture_init(&mixture, order, err));
    for (fr_slice rest = *slice; rest.rows;) {
        const fr_sampler_run run = take_run(order, &rest);
        if (order->part_count) fr_sampler_mixture_passes(&mixture, order, run, passes);
        if (order->weighted) fr_sampler_places(order, run, passes);
        for (uint64_t i = 0; order->part_count == 0 && i < run.rows; i++)
            passes[i] = order->weighted ? pass_of_draw(run, passes[i]) : run.number;
        passes += run.rows;
    }
    fr_sampler_mixture_free(&mixture);
    return FR_OK;
}

static fr_sampler_strategy strategy_of(const fr_order *order) {
    if (order->part_count) return FR_SAMPLER_MIXTURE;
    if (order->weighted) return FR_SAMPLER_WEIGHTED;
    switch (order->shuffle) {
        case FR_SHUFFLE_NONE:
            return FR_SAMPLER_IN_ORDER;
        case FR_SHUFFLE_RECORDS:
            return FR_SAMPLER_RECORDS;
        case FR_SHUFFLE_BLOCKS:
            return FR_SAMPLER_BLOCKS;
        case FR_SHUFFLE_BUFFER:
            return FR_SAMPLER_BUFFER;
    }
    return FR_SAMPLER_IN_ORDER;
}

int fr_sampler_init(fr_sampler *sampler, const fr_order *order, fr_error *err) {
    *sampler = (fr_sampler){.order = order, .strategy = strategy_of(order)};
    switch (sampler->strategy) {
        case FR_SAMPLER_BLOCKS:
            return fr_sampler_blocks_init(&sampler->as.blocks, order, err);
        case FR_SAMPLER_MIXTURE:
            return fr_sampler_mixture_init(&sampler->as.mixture, order, err);
        case FR_SAMPLER_BUFFER:
            return fr_sampler_buffer_init(&sampler->as.buffer, order, err);
        case FR_SAMPLER_IN_ORDER:
        case FR_SAMPLER_RECORDS:
        case FR_SAMPLER_WEIGHTED:
            break;
    }
    return FR_OK;
}

void fr_sampler_free(fr_sampler *sampler) {
    if (sampler->strategy == FR_SAMPLER_BLOCKS) fr_sampler_blocks_free(&sampler->as.blocks);
    if (sampler->strategy == FR_SAMPLER_MIXTURE) fr_sampler_mixture_free(&sampler->as.mixture);
    if (sampler->strategy == FR_SAMPLER_BUFFER) fr_sampler_buffer_free(&sampler->as.buffer);
    *sampler = (fr_sampler){0};
}
