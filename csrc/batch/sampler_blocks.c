/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shuffles blocks of adjacent records, deals them to virtual shards, and shuffles the records of
 * each virtual shard within a window of blocks.
 *
 * Sizes of blocks differ by at most one record, and each virtual shard has the same number of
 * blocks (fr_order_blocks). The larger blocks and the smaller ones are permuted separately, and
 * both are dealt in turn. Sizes of virtual shards therefore differ by at most one record too, so
 * that they all end together: place p of the epoch is place p / V of virtual shard p mod V. The
 * rows of a virtual shard have one block each. The larger blocks are in rows at regular distances,
 * from a random row on, so that they come as early and as late as the others.
 *
 * The blocks of a virtual shard are divided into windows. The first windows have different sizes,
 * so that the virtual shards do not all enter a new window at the same time. The lanes of a virtual
 * shard take its places in turn. A window is cut into equal parts, one for each lane, and a lane
 * shuffles the adjacent records of its part. The number of lanes is the number of blocks in a
 * window, so that a part is one block, except in shorter windows at the start and the end of an
 * epoch.
 *
 * Shards divide a step by virtual shard, and then by lane, so that shards that share a virtual
 * shard read different blocks. Virtual shards, lanes and shards are sorted by their numbers with
 * the bits reversed, so that adjacent numbers are far apart. Any part of a round of all virtual
 * shards then has about the same number of places for each shard, and a shard reads its own virtual
 * shards even if steps are short. If the number of shards divides that of virtual shards, shard i
 * has the virtual shards whose numbers leave the remainder i.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

#define MOST_LANES 16 /* of a virtual shard; longer windows have parts of several blocks */
/* Longest parts that are shuffled as a list. fr_permutation takes several steps for each record of
   a short part, and little memory for a long one. */
#define MOST_LISTED 4096

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns how many of the places before `place` belong to `turn`, if `turns` take them in turn. */
static uint64_t count_before(uint64_t place, uint64_t turns, uint64_t turn) {
    return place / turns + (turn < place % turns);
}

/* --- Windows ---------------------------------------------------------------------------------- */

/* Adds the blocks of a virtual shard's window to the list of blocks that were left. Empties the
   list first if it is full. */
static void leave_window(fr_sampler_blocks *blocks, uint64_t shard) {
    fr_sampler_list *left = &blocks->left;
    const uint64_t rows = blocks->windows[shard].rows;
    if (left->count + rows > blocks->shards * blocks->span) left->count = 0;
    memcpy(left->blocks + left->count, blocks->blocks + shard * blocks->span,
           rows * sizeof *left->blocks);
    left->count += rows;
}

/* Returns the number of larger blocks in the rows of a virtual shard before `row`. */
static uint64_t larger_before(const fr_sampler_blocks *blocks, uint64_t shard, uint64_t row) {
    const fr_blocks *sizes = &blocks->sizes;
    return (row * count_before(sizes->larger, blocks->shards, shard) +
            blocks->windows[shard].shift) /
           sizes->rows;
}

/* Returns the first place of a row in its virtual shard. */
static uint64_t place_of(const fr_sampler_blocks *blocks, uint64_t shard, uint64_t row) {
    return row * blocks->sizes.size + larger_before(blocks, shard, row);
}

/* Returns the row that has a place of a virtual shard. */
static uint64_t row_at(const fr_sampler_blocks *blocks, uint64_t shard, uint64_t at) {
    uint64_t low = 0, high = blocks->sizes.rows;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (place_of(blocks, shard, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Sets the window to the one that contains a row of a virtual shard. */
static void choose_rows(const fr_sampler_blocks *blocks, fr_sampler_window *window,
                        const fr_order *order, uint64_t shard, uint64_t row) {
    const uint64_t size = order->window;
    const uint64_t shift = shard * size / blocks->shards; /* differs between the ranks of a shard */
    const uint64_t number = (row + shift) / size;
    window->number = number;
    window->row = number ? number * size - shift : 0;
    window->rows = least((number + 1) * size - shift, blocks->sizes.rows) - window->row;
}

/* Returns the block in a row of a virtual shard that has `before` larger blocks in earlier rows. */
static uint64_t block_of_row(const fr_sampler_blocks *blocks, uint64_t shard, uint64_t row,
                             uint64_t before, bool is_larger) {
    const uint64_t count = blocks->sizes.count, larger = blocks->sizes.larger;
    unsigned __int128 number;
    if (is_larger) {
        number = fr_permutation_at(&blocks->larger.permutation, before * blocks->shards + shard);
        return (uint64_t)(((number + 1) * count - 1) / larger);
    }
    const uint64_t turn = blocks->shards - 1 - shard; /* the last ones have one more */
    number =
        fr_permutation_at(&blocks->smaller.permutation, (row - before) * blocks->shards + turn);
    return (uint64_t)(number * count / (count - larger));
}

/* Lists the blocks of a window, the larger ones first. */
static void list_blocks(const fr_sampler_blocks *blocks, const fr_sampler_window *window,
                        uint64_t shard) {
    uint64_t *larger = blocks->blocks + shard * blocks->span, *smaller = larger + window->larger;
    uint64_t before = larger_before(blocks, shard, window->row);
    for (uint64_t row = window->row; row < window->row + window->rows; row++) {
        const uint64_t after = larger_before(blocks, shard, row + 1);
        const uint64_t block = block_of_row(blocks, shard, row, before, after > before);
        *(after > before ? larger++ : smaller++) = block;
        before = after;
    }
}

/* Returns the row of a window that has record `within` of the window, which becomes its number in
   the block. */
static uint64_t find_row(const fr_sampler_blocks *blocks, const fr_sampler_window *window,
                         uint64_t *within) {
    const uint64_t size = blocks->sizes.size, larger = window->larger * (size + 1);
    if (*within < larger) {
        const uint64_t row = *within / (size + 1);
        *within %= size + 1;
        return row;
    }
    const uint64_t row = window->larger + (*within - larger) / size;
    *within = (*within - larger) % size;
    return row;
}

/* Adds records of a window to the list of records that were entered. Empties the list first if it
   is full. */
static void enter_records(fr_sampler_blocks *blocks, uint64_t shard, uint64_t first,
                          uint64_t count) {
    const fr_sampler_window *window = &blocks->windows[shard];
    fr_sampler_ranges *entered = &blocks->entered;
    if (entered->count + blocks->span > blocks->shards * (blocks->span + blocks->lanes))
        entered->count = 0;
    while (count) {
        uint64_t within = first;
        const uint64_t row = find_row(blocks, window, &within);
        const uint64_t size = blocks->sizes.size + (row < window->larger);
        const uint64_t own = least(count, size - within);
        const uint64_t begin =
            fr_blocks_begin(&blocks->sizes, blocks->blocks[shard * blocks->span + row]) + within;
        entered->ranges[entered->count++] = (fr_sampler_range){begin, begin + own};
        first += own;
        count -= own;
    }
}

static void enter_window(fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                         uint64_t at) {
    fr_sampler_window *window = &blocks->windows[shard];
    if (window->count) leave_window(blocks, shard);
    choose_rows(blocks, window, order, shard, row_at(blocks, shard, at));
    const uint64_t end = window->row + window->rows;
    window->begin = place_of(blocks, shard, window->row);
    window->count = place_of(blocks, shard, end) - window->begin;
    window->larger = larger_before(blocks, shard, end) - larger_before(blocks, shard, window->row);
    list_blocks(blocks, window, shard);
    for (uint64_t lane = 0; lane < blocks->lanes; lane++)
        blocks->parts[shard * blocks->lanes + lane].known = false;
    if (blocks->whole) enter_records(blocks, shard, 0, window->count);
}

/* --- Records ---------------------------------------------------------------------------------- */

/* Shuffles the part of a window that a lane has. */
static void begin_part(fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                       uint64_t lane) {
    const fr_sampler_window *window = &blocks->windows[shard];
    const uint64_t each = window->count / blocks->lanes, left = window->count % blocks->lanes;
    const uint64_t number = shard * blocks->lanes + lane;
    fr_sampler_part *part = &blocks->parts[number];
    part->begin = each * lane + least(lane, left);
    part->known = true;
    const uint64_t count = each + (lane < left);
    uint64_t state = order->seed ^ (window->number * blocks->shards * blocks->lanes + number);
    uint64_t seed = fr_splitmix(&state);
    if (blocks->shuffled) {
        uint16_t *shuffled = blocks->shuffled + number * blocks->most;
        seed ^= blocks->epoch;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t other = (fr_splitmix(&seed) >> 32) * (i + 1) >> 32;
            shuffled[i] = shuffled[other];
            shuffled[other] = (uint16_t)i;
        }
    } else {
        fr_permutation_init(&part->within, count, seed, blocks->epoch);
    }
    if (!blocks->whole) enter_records(blocks, shard, part->begin, count);
}

/* Returns the record at a place of a virtual shard. */
static uint64_t number_at(fr_sampler_blocks *blocks, const fr_order *order, uint64_t shard,
                          uint64_t at) {
    const fr_sampler_window *window = &blocks->windows[shard];
    if (at - window->begin >= window->count) enter_window(blocks, order, shard, at);
    const uint64_t turn = (at - window->begin) / blocks->lanes;
    const uint64_t lane = (at - window->begin) % blocks->lanes;
    const uint64_t number = shard * blocks->lanes + lane;
    const fr_sampler_part *part = &blocks->parts[number];
    if (!part->known) begin_part(blocks, order, shard, lane);
    uint64_t within = part->begin;
    within += blocks->shuffled ? blocks->shuffled[number * blocks->most + turn]
                               : fr_permutation_at(&part->within, turn);
    const uint64_t row = find_row(blocks, window, &within);
    return fr_blocks_begin(&blocks->sizes, blocks->blocks[shard * blocks->span + row]) + within;
}

/* Permutes the larger and the smaller blocks. */
static void begin_epoch(fr_sampler_blocks *blocks, const fr_order *order, uint64_t epoch) {
    const uint64_t larger = blocks->sizes.larger, smaller = blocks->sizes.count - larger;
    uint64_t state = order->seed;
    if (larger) fr_sampler_pass_get(&blocks->larger, larger, fr_splitmix(&state), epoch);
    fr_sampler_pass_get(&blocks->smaller, smaller, order->seed, epoch);
    for (uint64_t shard = 0; shard < blocks->shards; shard++) {
        fr_sampler_window *window = &blocks->windows[shard];
        if (window->count) leave_window(blocks, shard);
        window->count = 0;
        uint64_t each = fr_splitmix(&state) ^ epoch;
        window->shift = fr_splitmix(&each) % blocks->sizes.rows;
    }
    blocks->epoch = epoch;
    blocks->known = true;
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Gets the records at consecutive places of the epoch. */
static void in_turn(fr_sampler_blocks *blocks, const fr_order *order, uint64_t place, uint64_t rows,
                    uint64_t *numbers) {
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t at = place + i < order->count ? place + i : (place + i) % order->count;
        numbers[i] = number_at(blocks, order, at % blocks->shards, at / blocks->shards);
    }
}

/* Selects the places from `begin` to `end` of a virtual shard that belong to a part of a step. They
   are sorted by lane, and `before` places of the step come before them. */
static void choose_lanes(fr_sampler_blocks *blocks, uint64_t rank, uint64_t before,
                         const fr_share *share) {
    const uint64_t begin = blocks->next[rank], end = blocks->end[rank], lanes = blocks->lanes;
    const uint64_t stop = share->first + share->rows;
    for (uint64_t i = 0; i < lanes; i++) {
        const uint64_t lane = blocks->ranked_lanes[i];
        const uint64_t from = count_before(begin, lanes, lane);
        const uint64_t to = count_before(end, lanes, lane), after = before + (to - from);
        fr_sampler_turns *own = &blocks->own[rank * lanes + lane];
        own->begin = from + (before < share->first ? least(share->first - before, to - from) : 0);
        own->end = after > stop ? to - least(after - stop, to - from) : to;
        before = after;
    }
}

/* Selects this shard's part of the step that begins at `place`: the virtual shards with ranks
   from the return value to *last, and the places of each that belong to the part. */
static uint64_t choose_places(fr_sampler_blocks *blocks, uint64_t place, const fr_share *share,
                              uint64_t *last) {
    uint64_t before = 0, first = UINT64_MAX;
    const uint64_t stop = share->first + share->rows;
    for (uint64_t rank = 0; before < stop && rank < blocks->shards; rank++) {
        const uint64_t shard = blocks->ranked[rank];
        blocks->next[rank] = count_before(place, blocks->shards, shard);
        blocks->end[rank] = count_before(place + share->size, blocks->shards, shard);
        const uint64_t after = before + (blocks->end[rank] - blocks->next[rank]);
        if (after > share->first) {
            choose_lanes(blocks, rank, before, share);
            if (first == UINT64_MAX) first = rank;
            *last = rank;
        }
        before = after;
    }
    return first;
}

/* Gets the next place of a virtual shard that belongs to the part. Returns false at the end. */
static bool take_place(fr_sampler_blocks *blocks, uint64_t rank, uint64_t *at) {
    const uint64_t lanes = blocks->lanes;
    while (blocks->next[rank] < blocks->end[rank]) {
        *at = blocks->next[rank]++;
        const fr_sampler_turns *own = &blocks->own[rank * lanes + *at % lanes];
        if (*at / lanes >= own->begin && *at / lanes < own->end) return true;
    }
    return false;
}

/* Returns how many numbers below `count` come before `number` if numbers are sorted by their bits
   in reverse. */
static uint64_t count_reversed(uint64_t number, uint64_t count) {
    uint64_t before = 0;
    for (unsigned bit = 0; bit < 64 && number >> bit; bit++) {
        const uint64_t rest = number & (((uint64_t)1 << bit) - 1);
        if (number >> bit & 1 && count > rest) before += ((count - 1 - rest) >> bit >> 1) + 1;
    }
    return before;
}

/* Returns the records of a step that this shard takes. Shards are sorted as virtual shards are. In
   a last step that is not whole, a virtual shard with a low number has one record more, and so does
   the shard with the same number. FR_UNEVEN_PAD adds a record that is not in the step. */
static fr_share own_part(const fr_order *order, fr_share share) {
    const uint64_t each = share.size / order->shard_count;
    const uint64_t left =
        order->uneven == FR_UNEVEN_DROP ? 0 : share.size - each * order->shard_count;
    share.size = each * order->shard_count + left;
    share.first = each * count_reversed(order->shard_index, order->shard_count) +
                  count_reversed(order->shard_index, left);
    share.rows = each + (order->shard_index < left);
    return share;
}

/* Gets this shard's part of a step from row `done`, with the virtual shards in turn. Returns the
   number of rows, at most `most`. */
static uint64_t part_of_step(fr_sampler_blocks *blocks, const fr_order *order, uint64_t used,
                             const fr_share *share, uint64_t most, uint64_t *numbers) {
    const fr_share own = own_part(order, *share);
    uint64_t row = 0, last = 0;
    const uint64_t begin = used + share->begin, stop = least(share->rows, share->done + most);
    const uint64_t first = share->done < own.rows ? choose_places(blocks, begin, &own, &last) : 0;
    while (row < own.rows && row < stop) {
        for (uint64_t rank = first; rank <= last && row < stop; rank++) {
            uint64_t at;
            if (!take_place(blocks, rank, &at)) continue;
            if (row >= share->done) *numbers++ = number_at(blocks, order, blocks->ranked[rank], at);
            row++;
        }
    }
    if (stop > own.rows) /* FR_UNEVEN_PAD: from the start of the epoch */
        in_turn(blocks, order, begin + own.rows * order->shard_count + order->shard_index, 1,
                numbers);
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

/* Sets the numbers of lanes, and of records in their longest part. */
static void plan_lanes(fr_sampler_blocks *blocks, const fr_order *order) {
    blocks->span = least(order->window, blocks->sizes.rows);
    blocks->lanes = least(order->window, MOST_LANES);
    blocks->whole = blocks->shards % order->shard_count == 0;
    blocks->most = blocks->span * (blocks->sizes.size + 1) / blocks->lanes + 1;
}

int fr_sampler_blocks_init(fr_sampler_blocks *blocks, const fr_order *order, fr_error *err) {
    const uint64_t shards = order->virtual_shards ? order->virtual_shards : 1;
    *blocks = (fr_sampler_blocks){.shards = shards, .sizes = fr_order_blocks(order)};
    plan_lanes(blocks, order);
    const uint64_t parts = shards * blocks->lanes, most = shards * blocks->span;
    int status = fr_sampler_allocate(&blocks->windows, shards, sizeof *blocks->windows, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->parts, parts, sizeof *blocks->parts, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->next, 3 * shards + blocks->lanes,
                                     sizeof *blocks->next, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->own, parts, sizeof *blocks->own, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->blocks, 2 * most, sizeof *blocks->blocks, err);
    if (status == FR_OK)
        status = fr_sampler_allocate(&blocks->entered.ranges, most + parts,
                                     sizeof *blocks->entered.ranges, err);
    if (status == FR_OK && blocks->most <= MOST_LISTED)
        status = fr_sampler_allocate(&blocks->shuffled, parts * blocks->most,
                                     sizeof *blocks->shuffled, err);
    if (status != FR_OK) fr_sampler_blocks_free(blocks);
    if (status != FR_OK) return status;
    blocks->end = blocks->next + shards;
    blocks->ranked = blocks->end + shards;
    blocks->ranked_lanes = blocks->ranked + shards;
    for (uint64_t shard = 0; shard < shards; shard++)
        blocks->ranked[count_reversed(shard, shards)] = shard;
    for (uint64_t lane = 0; lane < blocks->lanes; lane++)
        blocks->ranked_lanes[count_reversed(lane, blocks->lanes)] = lane;
    blocks->left.blocks = blocks->blocks + most;
    return FR_OK;
}

void fr_sampler_blocks_free(fr_sampler_blocks *blocks) {
    free(blocks->windows);
    free(blocks->parts);
    free(blocks->next);
    free(blocks->own);
    free(blocks->blocks);
    free(blocks->entered.ranges);
    free(blocks->shuffled);
    *blocks = (fr_sampler_blocks){0};
}
