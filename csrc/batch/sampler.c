/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks. The block order is a permutation of block numbers; a window is `window` neighbours in it,
 * and a second permutation, of the window's own, mixes their records. One block may be shorter than
 * the others, by the deficit; where it comes, the inverse permutation tells, so that the windows
 * before it begin at multiples of their size, and those after it that much earlier.
 *
 * Mixtures. A round of as many places as the weights sum up to is dealt to the sources and shuffled
 * anew each round, so that no shard and no batch sees a pattern. What a source is asked for is
 * counted over all epochs: when it is through it begins again, in another order, wherever the epoch
 * stands, and a source that is larger than its share goes on in the next epoch.
 */
#include "batch/sampler.h"

#include <stdlib.h>

#define MIXTURE_KEY 0x6d69787475726573u /* keeps rounds and permutations apart */

static const fr_permutation *pass_of(fr_pass *pass, uint64_t count, uint64_t seed,
                                     uint64_t number) {
    if (!pass->known || pass->pass != number)
        fr_permutation_init(&pass->permutation, count, seed, number);
    pass->pass = number;
    pass->known = true;
    return &pass->permutation;
}

static uint64_t standing(const fr_sampler *cursor, uint64_t position) {
    const fr_order *order = cursor->order;
    return order->lanes ? fr_interleave_at(order->lanes, position) : position;
}

static uint64_t block_count(const fr_order *order) {
    return order->count / order->block + (order->count % order->block != 0);
}

static uint64_t deficit_of(const fr_order *order) {
    return block_count(order) * order->block - order->count;
}

/* The window that `position` is in. */
static uint64_t window_at(const fr_sampler *cursor, uint64_t position) {
    const fr_order *order = cursor->order;
    uint64_t full = order->block * order->window, deficit = deficit_of(order);
    uint64_t shorter = cursor->place / order->window;
    if (position / full <= shorter && position < (shorter + 1) * full - deficit)
        return position / full;
    return (position + deficit) / full;
}

static uint64_t window_begin(const fr_sampler *cursor, uint64_t window) {
    const fr_order *order = cursor->order;
    uint64_t begin = window * order->block * order->window;
    return window > cursor->place / order->window ? begin - deficit_of(order) : begin;
}

static void enter_window(fr_sampler *cursor, const fr_permutation *blocks, uint64_t epoch,
                         uint64_t window) {
    const fr_order *order = cursor->order;
    uint64_t begin = window_begin(cursor, window), end = window_begin(cursor, window + 1);
    if (end > order->count) end = order->count;
    uint64_t state = order->seed ^ window;
    fr_permutation_init(&cursor->within, end - begin, fr_splitmix(&state), epoch);
    for (uint64_t i = 0; i < order->window && window * order->window + i < blocks->count; i++)
        cursor->blocks[i] = fr_permutation_at(blocks, window * order->window + i);
    cursor->window = window;
    cursor->window_pass = epoch;
    cursor->window_known = true;
}

static uint64_t in_blocks(fr_sampler *cursor, uint64_t epoch, uint64_t position) {
    const fr_order *order = cursor->order;
    bool same = cursor->window_known && cursor->window_pass == epoch;
    const fr_permutation *blocks = pass_of(cursor->passes, block_count(order), order->seed, epoch);
    if (!same) cursor->place = fr_permutation_find(blocks, blocks->count - 1);
    uint64_t window = window_at(cursor, position);
    if (!same || cursor->window != window) enter_window(cursor, blocks, epoch, window);

    uint64_t at = fr_permutation_at(&cursor->within, position - window_begin(cursor, window));
    if (window == cursor->place / order->window) {
        uint64_t end = (cursor->place % order->window + 1) * order->block - deficit_of(order);
        if (at >= end) at += deficit_of(order);
    }
    return cursor->blocks[at / order->block] * order->block + at % order->block;
}

static uint64_t weight_sum(const fr_order *order) {
    uint64_t sum = 0;
    for (size_t i = 0; i < order->part_count; i++)
        sum += order->parts[i].weight;
    return sum;
}

/* Deals the places of a round: part in the high half of each, its turn there in the low half. */
static void deal_round(fr_sampler *cursor, uint64_t round, uint64_t sum) {
    const fr_order *order = cursor->order;
    uint64_t *places = cursor->blocks, place = 0;
    for (uint64_t part = 0; part < order->part_count; part++)
        for (uint64_t turn = 0; turn < order->parts[part].weight; turn++)
            places[place++] = part << 32;
    uint64_t state = (order->seed ^ MIXTURE_KEY) + round * 0x9e3779b97f4a7c15u;
    state = fr_splitmix(&state);
    for (uint64_t i = sum; i > 1; i--) {
        uint64_t j = (uint64_t)(((unsigned __int128)fr_splitmix(&state) * i) >> 64);
        uint64_t swapped = places[i - 1];
        places[i - 1] = places[j];
        places[j] = swapped;
    }
    for (uint64_t part = 0; part < order->part_count; part++)
        cursor->passes[part].turns = 0;
    for (uint64_t i = 0; i < sum; i++)
        places[i] |= cursor->passes[places[i] >> 32].turns++;
    cursor->window = round;
    cursor->window_known = true;
}

/* Which source a position is of, and what that is asked for there, counted over all epochs. */
static const fr_mix_part *ask(fr_sampler *cursor, uint64_t epoch, uint64_t position,
                              uint64_t *asked) {
    const fr_order *order = cursor->order;
    const uint64_t sum = weight_sum(order);
    const uint64_t round = epoch * (order->mixed / sum) + position / sum;
    if (!cursor->window_known || cursor->window != round) deal_round(cursor, round, sum);
    const uint64_t place = cursor->blocks[position % sum];
    const fr_mix_part *part = &order->parts[place >> 32];
    *asked = round * part->weight + (uint32_t)place;
    return part;
}

static uint64_t in_mixture(fr_sampler *cursor, uint64_t epoch, uint64_t position) {
    const fr_order *order = cursor->order;
    uint64_t asked;
    const fr_mix_part *part = ask(cursor, epoch, position, &asked);
    uint64_t pass = asked / part->count, at = asked % part->count;
    if (order->shuffle == FR_SHUFFLE_RECORDS) {
        const size_t number = (size_t)(part - order->parts);
        uint64_t state = order->seed ^ number;
        at = fr_permutation_at(
            pass_of(&cursor->passes[number], part->count, fr_splitmix(&state), pass), at);
    }
    return part->first + at;
}

static uint64_t shard_position(const fr_sampler *cursor, uint64_t position) {
    const fr_order *order = cursor->order;
    uint64_t at = position * order->shard_count + order->shard_index;
    return order->uneven == FR_UNEVEN_PAD ? at % fr_order_epoch_size(order) : at;
}

static uint64_t draw(fr_sampler *cursor) {
    while (cursor->held < cursor->order->buffer && cursor->fed < cursor->size)
        cursor->buffer[cursor->held++] = standing(cursor, shard_position(cursor, cursor->fed++));
    uint64_t at = fr_philox_next(&cursor->philox) % cursor->held;
    uint64_t number = cursor->buffer[at];
    cursor->buffer[at] = cursor->buffer[--cursor->held];
    cursor->drawn++;
    return number;
}

static uint64_t in_buffer(fr_sampler *cursor, uint64_t epoch, uint64_t position) {
    if (!cursor->drawing || cursor->epoch != epoch || cursor->drawn > position) {
        fr_philox_init(&cursor->philox, cursor->order->seed, epoch);
        cursor->held = cursor->fed = cursor->drawn = 0;
        cursor->epoch = epoch;
        cursor->drawing = true;
    }
    while (cursor->drawn < position)
        (void)draw(cursor);
    return draw(cursor);
}

static uint64_t record_at(fr_sampler *cursor, uint64_t epoch, uint64_t position) {
    const fr_order *order = cursor->order;
    if (order->shuffle == FR_SHUFFLE_BUFFER) return in_buffer(cursor, epoch, position);
    uint64_t at = shard_position(cursor, position);
    if (order->part_count) return in_mixture(cursor, epoch, at);
    if (order->shuffle == FR_SHUFFLE_BLOCKS) return in_blocks(cursor, epoch, at);
    if (order->shuffle == FR_SHUFFLE_NONE) return standing(cursor, at);
    return fr_permutation_at(pass_of(cursor->passes, order->count, order->seed, epoch), at);
}

void fr_sampler_numbers(fr_sampler *cursor, const fr_slice *slice, uint64_t *numbers) {
    uint64_t epoch = slice->epoch, position = slice->first;
    for (uint64_t row = 0; row < slice->rows; row++) {
        numbers[row] = record_at(cursor, epoch, position);
        if (++position == cursor->size) {
            position = 0;
            epoch++;
        }
    }
}

int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                      fr_error *err) {
    fr_sampler cursor = {.size = fr_order_shard_size(order)};
    if (order->part_count) FR_TRY(fr_sampler_init(&cursor, order, err));
    uint64_t epoch = slice->epoch, position = slice->first, asked;
    for (uint64_t row = 0; row < slice->rows; row++) {
        passes[row] = epoch;
        if (order->part_count) {
            const fr_mix_part *part =
                ask(&cursor, epoch, shard_position(&cursor, position), &asked);
            passes[row] = asked / part->count;
        }
        if (++position == cursor.size) {
            position = 0;
            epoch++;
        }
    }
    fr_sampler_free(&cursor);
    return FR_OK;
}

/* An array of at least one element of `size` bytes. */
static int allocate(void *array, uint64_t count, size_t size, fr_error *err) {
    void *made = count < SIZE_MAX / size ? calloc((size_t)count + 1, size) : NULL;
    if (!made) return fr_fail_nomem(err, count * size);
    memcpy(array, &made, sizeof made);
    return FR_OK;
}

int fr_sampler_init(fr_sampler *cursor, const fr_order *order, fr_error *err) {
    *cursor = (fr_sampler){.order = order, .size = fr_order_shard_size(order)};
    uint64_t places = order->part_count ? weight_sum(order) : 0, held = 0;
    if (order->shuffle == FR_SHUFFLE_BLOCKS)
        places = order->window < block_count(order) ? order->window : block_count(order);
    if (order->shuffle == FR_SHUFFLE_BUFFER)
        held = order->buffer < cursor->size ? order->buffer : cursor->size;
    int status = allocate(&cursor->passes, order->part_count, sizeof *cursor->passes, err);
    if (status == FR_OK) status = allocate(&cursor->blocks, places, sizeof(uint64_t), err);
    if (status == FR_OK) status = allocate(&cursor->buffer, held, sizeof(uint64_t), err);
    if (status != FR_OK) fr_sampler_free(cursor);
    return status;
}

void fr_sampler_free(fr_sampler *cursor) {
    free(cursor->passes);
    free(cursor->blocks);
    free(cursor->buffer);
    *cursor = (fr_sampler){0};
}
