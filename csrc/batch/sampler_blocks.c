/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shuffles blocks of adjacent records, deals them to virtual shards, and shuffles the records of
 * each virtual shard within a window of blocks.
 *
 * Virtual shard v of V has the blocks at places v, v + V, v + 2V, ... of a permutation of all
 * blocks. Its blocks are divided into windows, and each window has its own permutation of records.
 * The first windows have different sizes, so that the virtual shards do not all enter a new window
 * at the same time.
 *
 * The places of the epoch are dealt in rounds: a round has the next place of each virtual shard
 * that has places left. Shards divide a step by virtual shard. Virtual shards are ranked by their
 * numbers with the bits reversed, so that adjacent numbers are far apart. Any part of a round then
 * has about the same number of places for each shard, and a shard reads its own virtual shards even
 * if steps are short. A virtual shard with one block more than others has a separate window for its
 * last block, so the last rounds need only these blocks.
 *
 * One block may be shorter than the others, by the deficit. The inverse permutation gives its
 * place. Virtual shards therefore have at most three different sizes, and rounds at most three
 * different widths. The number of places of a virtual shard before a given place is computed in
 * constant time.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns the number of records of a virtual shard. */
static uint64_t size_of(const fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard) {
    if (shard == blocks->short_shard) return blocks->short_size;
    return (blocks->even + (shard < blocks->more)) * order->block;
}

/* --- Rounds ----------------------------------------------------------------------------------- */

static void add_stage(fr_sampler_stage *stage, uint64_t level, uint64_t width) {
    stage[1].level = level;
    stage[1].place = stage->place + (level - stage->level) * stage->width;
    stage[1].width = width;
}

/* Computes the stages: all virtual shards take part until the shortest ends; only those with one
   block more take part at the end. */
static void plan_rounds(fr_sampler_blocks *blocks, const fr_order *order) {
    const uint64_t more = blocks->more, full = blocks->even * order->block;
    const uint64_t end = more ? full + order->block : full, shortest = blocks->short_size;
    fr_sampler_stage *stages = blocks->stages;
    stages[0] = (fr_sampler_stage){.width = blocks->shards};
    if (shortest < full) {
        add_stage(&stages[0], shortest, blocks->shards - 1);
        add_stage(&stages[1], full, more);
    } else {
        const bool lacks = blocks->short_shard < more;
        add_stage(&stages[0], full, more);
        add_stage(&stages[1], lacks ? shortest : full, lacks ? more - 1 : more);
    }
    add_stage(&stages[2], end, 0);
}

/* Returns the round of a place, and sets `*turn` to the number of earlier places in the round. */
static uint64_t round_at(const fr_sampler_blocks *blocks, uint64_t place, uint64_t *turn) {
    const fr_sampler_stage *stage = blocks->stages;
    while (stage->width && place >= stage[1].place)
        stage++;
    *turn = stage->width ? (place - stage->place) % stage->width : 0;
    return stage->width ? stage->level + (place - stage->place) / stage->width : stage->level;
}

/* Returns true if the shorter virtual shard is at or before `shard` and exhausted in this round. */
static bool is_skipped(const fr_sampler_blocks *blocks, uint64_t round, uint64_t shard) {
    return blocks->short_shard <= shard && round >= blocks->short_size;
}

/* Returns the virtual shard of a turn in a round. */
static uint64_t shard_at(const fr_sampler_blocks *blocks, uint64_t round, uint64_t turn) {
    return is_skipped(blocks, round, turn) ? turn + 1 : turn;
}

/* Returns how many places of a virtual shard come before turn `turn` of a round. */
static uint64_t count_before(const fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                             uint64_t round, uint64_t turn) {
    const uint64_t size = size_of(blocks, order, shard);
    if (size <= round) return size;
    const uint64_t own = shard - is_skipped(blocks, round, shard);
    return round + (own < turn);
}

/* --- Windows ---------------------------------------------------------------------------------- */

/* Adds the blocks of a virtual shard's window to a list. Empties the list first if it is full. */
static void add_blocks(const fr_sampler_blocks *blocks, fr_sampler_list *list, uint64_t shard) {
    const uint64_t rows = blocks->windows[shard].rows;
    if (list->count + rows > blocks->shards * blocks->span) list->count = 0;
    memcpy(list->blocks + list->count, blocks->blocks + shard * blocks->span,
           rows * sizeof *list->blocks);
    list->count += rows;
}

/* Sets the window to the one that contains block `row` of a virtual shard. */
static void choose_rows(const fr_sampler_blocks *blocks, fr_sampler_window *window,
                        const fr_order *order, uint64_t shard, uint64_t row) {
    if (row >= blocks->even) {
        window->number = blocks->even + 1;
        window->row = row;
        window->rows = 1;
        return;
    }
    const uint64_t size = order->window;
    const uint64_t shift = shard * size / blocks->shards; /* differs between the ranks of a shard */
    const uint64_t number = (row + shift) / size;
    window->number = number;
    window->row = number ? number * size - shift : 0;
    window->rows = least((number + 1) * size - shift, blocks->even) - window->row;
}

static void enter_window(fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                         uint64_t at) {
    fr_sampler_window *window = &blocks->windows[shard];
    if (window->count) add_blocks(blocks, &blocks->left, shard);
    const bool is_short = shard == blocks->short_shard;
    choose_rows(blocks, window, order, shard, at / order->block);
    uint64_t end = window->row + window->rows;
    if (is_short && blocks->short_row < end && at + blocks->deficit >= end * order->block)
        choose_rows(blocks, window, order, shard, end);
    end = window->row + window->rows;
    window->begin = window->row * order->block;
    window->count = window->rows * order->block;
    window->gap = UINT64_MAX;
    if (is_short && blocks->short_row < window->row) {
        window->begin -= blocks->deficit;
    } else if (is_short && blocks->short_row < end) {
        window->count -= blocks->deficit;
        window->gap = (blocks->short_row - window->row + 1) * order->block - blocks->deficit;
    }
    uint64_t state = order->seed ^ (window->number * blocks->shards + shard);
    fr_permutation_init(&window->within, window->count, fr_splitmix(&state), blocks->epoch);
    for (uint64_t i = 0; i < window->rows; i++)
        blocks->blocks[shard * blocks->span + i] = fr_permutation_at(
            &blocks->order.permutation, (window->row + i) * blocks->shards + shard);
    add_blocks(blocks, &blocks->entered, shard);
}

/* Returns the record at a place of a virtual shard. */
static uint64_t number_at(fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                          uint64_t at) {
    fr_sampler_window *window = &blocks->windows[shard];
    if (at - window->begin >= window->count) enter_window(blocks, order, shard, at);
    uint64_t within = fr_permutation_at(&window->within, at - window->begin);
    if (within >= window->gap) within += blocks->deficit;
    return blocks->blocks[shard * blocks->span + within / order->block] * order->block +
           within % order->block;
}

static void begin_epoch(fr_sampler_blocks *blocks, const fr_order *order, uint64_t epoch) {
    const uint64_t all = blocks->even * blocks->shards + blocks->more;
    const fr_permutation *permutation =
        fr_sampler_pass_get(&blocks->order, all, order->seed, epoch);
    const uint64_t place = fr_permutation_find(permutation, all - 1);
    for (uint64_t shard = 0; shard < blocks->shards; shard++) {
        if (blocks->windows[shard].count) add_blocks(blocks, &blocks->left, shard);
        blocks->windows[shard].count = 0;
    }
    blocks->short_shard = place % blocks->shards;
    blocks->short_row = place / blocks->shards;
    blocks->short_size =
        (blocks->even + (blocks->short_shard < blocks->more)) * order->block - blocks->deficit;
    blocks->epoch = epoch;
    blocks->known = true;
    plan_rounds(blocks, order);
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Gets the records at consecutive places of the epoch. */
static void in_turn(fr_sampler_blocks *blocks, const fr_order *order, uint64_t place, uint64_t rows,
                    uint64_t *numbers) {
    uint64_t turn;
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t at = place + i < order->count ? place + i : (place + i) % order->count;
        const uint64_t round = round_at(blocks, at, &turn);
        numbers[i] = number_at(blocks, order, shard_at(blocks, round, turn), round);
    }
}

/* Selects this shard's part of the step that begins at `place`: the virtual shards with ranks
   from the return value to *last, and the places of each that belong to the part. */
static uint64_t choose_places(fr_sampler_blocks *blocks, const fr_order *order, uint64_t place,
                              const fr_share *share, uint64_t *last) {
    uint64_t turn, end_turn, before = 0, first = UINT64_MAX;
    const uint64_t stop = share->first + share->rows;
    const uint64_t round = round_at(blocks, place, &turn);
    const uint64_t end_round = round_at(blocks, place + share->size, &end_turn);
    for (uint64_t rank = 0; before < stop && rank < blocks->shards; rank++) {
        const uint64_t shard = blocks->ranked[rank];
        const uint64_t begin = count_before(blocks, order, shard, round, turn);
        const uint64_t end = count_before(blocks, order, shard, end_round, end_turn);
        const uint64_t after = before + (end - begin);
        if (after > share->first) {
            blocks->next[shard] = begin + (before < share->first ? share->first - before : 0);
            blocks->end[shard] = after > stop ? end - (after - stop) : end;
            if (first == UINT64_MAX) first = rank;
            *last = rank;
        }
        before = after;
    }
    return first;
}

/* Gets this shard's part of a step from row `done`, with the virtual shards in turn. Returns the
   number of rows, at most `most`. */
static uint64_t part_of_step(fr_sampler_blocks *blocks, const fr_order *order, uint64_t used,
                             const fr_share *share, uint64_t most, uint64_t *numbers) {
    fr_share own = *share;
    own.rows = share->first < share->size ? least(share->rows, share->size - share->first) : 0;
    uint64_t row = 0, last = 0;
    const uint64_t begin = used + share->begin, stop = least(share->rows, share->done + most);
    const uint64_t first =
        share->done < own.rows ? choose_places(blocks, order, begin, &own, &last) : 0;
    while (row < own.rows && row < stop) {
        for (uint64_t rank = first; rank <= last && row < stop; rank++) {
            const uint64_t shard = blocks->ranked[rank];
            if (blocks->next[shard] >= blocks->end[shard]) continue;
            const uint64_t at = blocks->next[shard]++;
            if (row >= share->done) *numbers++ = number_at(blocks, order, shard, at);
            row++;
        }
    }
    if (row < share->done) row = share->done;
    if (row < stop) /* FR_UNEVEN_PAD: from the start of the epoch */
        in_turn(blocks, order, begin + share->first + row, stop - row, numbers);
    return stop - share->done;
}

void fr_sampler_blocks_numbers(fr_sampler_blocks *blocks, const fr_order *order, fr_sampler_run run,
                               uint64_t *numbers) {
    if (!blocks->known || blocks->epoch != run.epoch) begin_epoch(blocks, order, run.epoch);
    if (order->shard_count == 1)
        return in_turn(blocks, order, run.used + run.first, run.rows, numbers);
    for (uint64_t row = 0; row < run.rows;) {
        const fr_share share = fr_order_share(order, run.number, run.used, run.first + row);
        row += part_of_step(blocks, order, run.used, &share, run.rows - row, numbers + row);
    }
}

/* Lists the virtual shards in the order of their numbers with the bits reversed. */
static void rank_shards(uint64_t *ranked, uint64_t shards) {
    uint64_t top = 1, count = 0;
    while (top < shards)
        top <<= 1;
    for (uint64_t rank = 0; rank < top; rank++) {
        uint64_t shard = 0;
        for (uint64_t bit = 1, rest = rank; bit < top; bit <<= 1, rest >>= 1)
            shard = shard << 1 | (rest & 1);
        if (shard < shards) ranked[count++] = shard;
    }
}

int fr_sampler_blocks_init(fr_sampler_blocks *blocks, const fr_order *order, fr_error *err) {
    const uint64_t shards = order->virtual_shards ? order->virtual_shards : 1;
    const uint64_t all = order->count / order->block + (order->count % order->block != 0);
    *blocks = (fr_sampler_blocks){.shards = shards,
                                  .even = all / shards,
                                  .more = all % shards,
                                  .deficit = all * order->block - order->count};
    blocks->span = blocks->even ? least(order->window, blocks->even) : 1;
    const uint64_t most = shards * blocks->span;
    int status = fr_sampler_allocate(&blocks->windows, shards, sizeof *blocks->windows, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->next, 3 * shards, sizeof *blocks->next, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->blocks, most, sizeof *blocks->blocks, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->left.blocks, 2 * most, sizeof *blocks->blocks, err);
    if (status != FR_OK) fr_sampler_blocks_free(blocks);
    if (status != FR_OK) return status;
    blocks->end = blocks->next + shards;
    blocks->ranked = blocks->end + shards;
    rank_shards(blocks->ranked, shards);
    blocks->entered.blocks = blocks->left.blocks + most;
    return FR_OK;
}

void fr_sampler_blocks_free(fr_sampler_blocks *blocks) {
    free(blocks->windows);
    free(blocks->next);
    free(blocks->blocks);
    free(blocks->left.blocks);
    *blocks = (fr_sampler_blocks){0};
}
