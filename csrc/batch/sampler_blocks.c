/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of neighbours in random order, their records mixed within a window of blocks.
 *
 * The block order is a permutation of block numbers; a window is `window` neighbours in it, and a
 * second permutation, of the window's own, mixes their records. One block may be shorter than the
 * others, by the deficit; where it comes, the inverse permutation tells, so that the windows before
 * it begin at multiples of their size, and those after it that much earlier.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

static uint64_t block_count(const fr_order *order) {
    return order->count / order->block + (order->count % order->block != 0);
}

static uint64_t deficit_of(const fr_order *order) {
    return block_count(order) * order->block - order->count;
}

/* The window that `position` is in. */
static uint64_t window_at(const fr_sampler_blocks *blocks, const fr_order *order,
                          uint64_t position) {
    uint64_t full = order->block * order->window, deficit = deficit_of(order);
    uint64_t shorter = blocks->short_place / order->window;
    if (position / full <= shorter && position < (shorter + 1) * full - deficit)
        return position / full;
    return (position + deficit) / full;
}

static uint64_t window_begin(const fr_sampler_blocks *blocks, const fr_order *order,
                             uint64_t window) {
    uint64_t begin = window * order->block * order->window;
    return window > blocks->short_place / order->window ? begin - deficit_of(order) : begin;
}

static uint64_t blocks_in(const fr_order *order, uint64_t window) {
    const uint64_t left = block_count(order) - window * order->window;
    return left < order->window ? left : order->window;
}

static void leave_window(fr_sampler_blocks *blocks, const fr_order *order) {
    uint64_t *left = blocks->blocks;
    blocks->blocks = blocks->left;
    blocks->left = left;
    blocks->left_count = blocks_in(order, blocks->window);
}

static void enter_window(fr_sampler_blocks *blocks, const fr_order *order,
                         const fr_permutation *permutation, uint64_t window) {
    uint64_t begin = window_begin(blocks, order, window);
    uint64_t end = window_begin(blocks, order, window + 1);
    if (end > order->count) end = order->count;
    uint64_t state = order->seed ^ window;
    fr_permutation_init(&blocks->within, end - begin, fr_splitmix(&state), blocks->epoch);
    for (uint64_t i = 0; i < blocks_in(order, window); i++)
        blocks->blocks[i] = fr_permutation_at(permutation, window * order->window + i);
    blocks->window = window;
}

static uint64_t number_at(fr_sampler_blocks *blocks, const fr_order *order, uint64_t epoch,
                          uint64_t position) {
    const fr_permutation *permutation =
        fr_sampler_pass_get(&blocks->order, block_count(order), order->seed, epoch);
    const bool known = blocks->known, same = known && blocks->epoch == epoch;
    if (!same) {
        blocks->short_place = fr_permutation_find(permutation, permutation->count - 1);
        blocks->epoch = epoch;
        blocks->known = true;
    }
    uint64_t window = window_at(blocks, order, position);
    if (!same || blocks->window != window) {
        if (known) leave_window(blocks, order);
        enter_window(blocks, order, permutation, window);
    }

    uint64_t begin = window_begin(blocks, order, window);
    uint64_t at = fr_permutation_at(&blocks->within, position - begin);
    if (window == blocks->short_place / order->window) {
        uint64_t end = (blocks->short_place % order->window + 1) * order->block - deficit_of(order);
        if (at >= end) at += deficit_of(order);
    }
    return blocks->blocks[at / order->block] * order->block + at % order->block;
}

void fr_sampler_blocks_numbers(fr_sampler_blocks *blocks, const fr_order *order, fr_sampler_run run,
                               uint64_t *numbers) {
    for (uint64_t i = 0; i < run.rows; i++)
        numbers[i] =
            number_at(blocks, order, run.epoch, fr_shard_place(order, run.used, run.first + i));
}

int fr_sampler_blocks_init(fr_sampler_blocks *blocks, const fr_order *order, fr_error *err) {
    const uint64_t all = block_count(order), most = order->window < all ? order->window : all;
    FR_TRY(fr_sampler_allocate(&blocks->blocks, most, sizeof *blocks->blocks, err));
    int status = fr_sampler_allocate(&blocks->left, most, sizeof *blocks->left, err);
    if (status != FR_OK) fr_sampler_blocks_free(blocks);
    return status;
}

void fr_sampler_blocks_free(fr_sampler_blocks *blocks) {
    free(blocks->blocks);
    free(blocks->left);
    *blocks = (fr_sampler_blocks){0};
}
