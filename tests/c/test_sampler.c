/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/sampler.h"
#include "test.h"

#define MOST 2000

static void start(fr_sampler *sampler, const fr_order *order) {
    fr_error err;
    CHECK_CASE(fr_order_check(order, &err) == FR_OK, "%s", err.cause);
    CHECK(fr_sampler_init(sampler, order, NULL) == FR_OK);
}

/* All numbers of all batches, in turn. Returns how many. */
static size_t read_all(const fr_order *order, uint64_t *numbers) {
    fr_sampler sampler;
    fr_slice slice;
    size_t count = 0;
    start(&sampler, order);
    for (uint64_t serial = 0; fr_order_slice(order, serial, &slice) == FR_OK; serial++) {
        CHECK(count + slice.rows <= MOST);
        fr_sampler_numbers(&sampler, &slice, numbers + count);
        count += slice.rows;
    }
    fr_sampler_free(&sampler);
    return count;
}

/* Any batch, asked of a sampler that is anywhere, is what it is in turn. */
static void check_any_batch(const fr_order *order) {
    static uint64_t all[MOST], some[MOST];
    size_t count = read_all(order, all);
    uint64_t batches = fr_order_batches(order), random = 3;
    fr_sampler sampler;
    fr_slice slice;
    start(&sampler, order);
    for (int i = 0; batches && i < 40; i++) {
        uint64_t serial = test_random(&random) % batches, before = 0;
        for (uint64_t s = 0; s < serial; s++, before += slice.rows)
            CHECK(fr_order_slice(order, s, &slice) == FR_OK);
        CHECK(fr_order_slice(order, serial, &slice) == FR_OK && before + slice.rows <= count);
        fr_sampler_numbers(&sampler, &slice, some);
        CHECK(memcmp(some, all + before, slice.rows * sizeof *some) == 0);
    }
    fr_sampler_free(&sampler);
}

static void any_batch_can_be_asked_for(void) {
    for (int i = 0; i < 4 * 3 * 2 * 3; i++) {
        fr_order order = {.count = 101,
                          .shuffle = (fr_shuffle)(i % 4),
                          .seed = 9,
                          .epochs = 3,
                          .shard_index = 1,
                          .shard_count = 3,
                          .batch_size = 8,
                          .uneven = (fr_uneven)(i / 4 % 3),
                          .batch_across_epochs = i / 12 % 2,
                          .block = 7,
                          .window = (uint64_t)(1 + i / 24 * 5),
                          .virtual_shards = (uint64_t)(i / 4),
                          .buffer = (uint64_t)(1 + i / 24 * 20)};
        check_any_batch(&order);
    }
}

/* Returns the block that contains a record. */
static uint64_t block_with(const fr_blocks *blocks, uint64_t number) {
    uint64_t block = 0;
    while (fr_blocks_begin(blocks, block + 1) <= number)
        block++;
    return block;
}

static void blocks_stay_together_and_records_in_their_window(uint64_t count, uint64_t block,
                                                             uint64_t window) {
    static uint64_t numbers[MOST];
    fr_order order = {.count = count,
                      .shuffle = FR_SHUFFLE_BLOCKS,
                      .seed = count,
                      .epochs = 2,
                      .shard_count = 1,
                      .batch_size = 16,
                      .block = block,
                      .window = window};
    const fr_blocks blocks = fr_order_blocks(&order);
    CHECK(read_all(&order, numbers) == 2 * count);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        uint64_t last[MOST] = {0}, first[MOST] = {0};
        for (uint64_t i = count; i-- > 0;)
            first[block_with(&blocks, numbers[epoch * count + i])] = i;
        for (uint64_t i = 0; i < count; i++)
            last[block_with(&blocks, numbers[epoch * count + i])] = i;
        for (uint64_t b = 0; b < blocks.count; b++)
            CHECK_CASE(last[b] - first[b] < block * window, "block %llu of %llu records",
                       (unsigned long long)b, (unsigned long long)count);
    }
}

static void blocks_differ_by_one_record(void) {
    for (uint64_t count = 0; count < 300; count += 7)
        for (uint64_t block = 1; block < 40; block += 3)
            for (uint64_t shards = 0; shards < 20; shards += 3) {
                const fr_order order = {.count = count, .block = block, .virtual_shards = shards};
                const fr_blocks blocks = fr_order_blocks(&order);
                CHECK(blocks.count == blocks.rows * (shards ? shards : 1));
                CHECK(fr_blocks_begin(&blocks, 0) == 0);
                CHECK(fr_blocks_begin(&blocks, blocks.count) == count);
                CHECK(blocks.size + (blocks.larger > 0) <= block);
                uint64_t larger = 0;
                for (uint64_t b = 0; b < blocks.count; b++) {
                    const uint64_t more =
                        fr_blocks_begin(&blocks, b + 1) - fr_blocks_begin(&blocks, b) - blocks.size;
                    CHECK(more <= 1);
                    larger += more;
                }
                CHECK(larger == blocks.larger);
            }
}

/* Virtual shards end together: each step of as many places has one record of each. */
static void virtual_shards_have_the_same_size(uint64_t count, uint64_t block) {
    enum { SHARDS = 8 };
    uint64_t seen[SHARDS][MOST] = {{0}}, numbers[MOST];
    for (uint64_t shard = 0; shard < SHARDS; shard++) {
        fr_order order = {.count = count,
                          .shuffle = FR_SHUFFLE_BLOCKS,
                          .seed = block,
                          .epochs = 1,
                          .shard_index = shard,
                          .shard_count = SHARDS,
                          .batch_size = 1,
                          .block = block,
                          .window = 2,
                          .virtual_shards = SHARDS};
        const fr_blocks blocks = fr_order_blocks(&order);
        const uint64_t rows = read_all(&order, numbers), whole = count / SHARDS;
        CHECK(rows == whole || rows == whole + 1);
        for (uint64_t i = 0; i < whole; i++)
            seen[shard][block_with(&blocks, numbers[i])]++;
        for (uint64_t b = 0, own = 0; b < blocks.count; b++) {
            own += seen[shard][b] > 0;
            CHECK(own <= blocks.rows);
            for (uint64_t other = 0; other < shard; other++)
                CHECK(!seen[shard][b] || !seen[other][b]);
        }
    }
}

/* Shards that share a virtual shard have lanes of their own. The records that a sampler reports as
   entered are exactly those that the shard takes, in few ranges: its parts of the windows. */
static void a_lane_has_adjacent_records(uint64_t shards, uint64_t count, fr_uneven uneven) {
    enum { VIRTUAL_SHARDS = 8, WINDOW = 4 };
    bool entered[MOST] = {false};
    uint64_t numbers[64];
    for (uint64_t shard = 0; shard < shards; shard++) {
        fr_order order = {.count = count,
                          .shuffle = FR_SHUFFLE_BLOCKS,
                          .seed = 3,
                          .epochs = 1,
                          .uneven = uneven,
                          .shard_index = shard,
                          .shard_count = shards,
                          .batch_size = 64 / shards,
                          .block = 10,
                          .window = WINDOW,
                          .virtual_shards = VIRTUAL_SHARDS};
        fr_sampler sampler;
        fr_slice slice;
        uint64_t ranges = 0, left = 0;
        const fr_blocks blocks = fr_order_blocks(&order);
        CHECK(fr_sampler_init(&sampler, &order, NULL) == FR_OK);
        for (uint64_t serial = 0; fr_order_slice(&order, serial, &slice) == FR_OK; serial++) {
            fr_sampler_numbers(&sampler, &slice, numbers);
            const fr_sampler_ranges list = fr_sampler_take_entered(&sampler);
            ranges += list.count;
            for (uint64_t i = 0; i < list.count; i++)
                for (uint64_t n = list.ranges[i].begin; n < list.ranges[i].end; n++, left++) {
                    CHECK(!entered[n]);
                    entered[n] = true;
                }
            for (uint64_t row = 0; row < slice.rows; row++)
                CHECK(entered[numbers[row]]);
            CHECK(left >= slice.rows);
            left -= slice.rows;
        }
        CHECK(left == 0 || uneven == FR_UNEVEN_DROP);
        if (shards <= VIRTUAL_SHARDS) {
            CHECK(ranges == blocks.rows * (VIRTUAL_SHARDS / shards));
        } else { /* A part of a shorter window is in at most two blocks. */
            const uint64_t windows = blocks.rows / WINDOW + 2;
            CHECK(ranges <= VIRTUAL_SHARDS * WINDOW / shards * 2 * windows);
        }
        fr_sampler_free(&sampler);
    }
}

/* Blocks with one record more are no different from the others: over many seeds the first record,
   which is in one of them, and the last record come equally early. */
static void a_larger_block_may_come_anywhere(void) {
    uint64_t numbers[MOST], early[2] = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        fr_order order = {.count = 103,
                          .shuffle = FR_SHUFFLE_BLOCKS,
                          .seed = seed,
                          .epochs = 1,
                          .shard_count = 1,
                          .batch_size = 103,
                          .block = 10,
                          .window = 2};
        CHECK(read_all(&order, numbers) == 103);
        for (int i = 0; i < 52; i++) {
            early[0] += numbers[i] == 0;
            early[1] += numbers[i] == 102;
        }
    }
    CHECK(early[0] > 900 && early[0] < 1100 && early[1] > 900 && early[1] < 1100);
}

/* Over many seeds, each record of a block comes equally often at each of its places. */
static void a_block_is_shuffled_evenly(void) {
    uint64_t numbers[MOST], found[10][10] = {{0}};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        fr_order order = {.count = 10,
                          .shuffle = FR_SHUFFLE_BLOCKS,
                          .seed = seed,
                          .epochs = 1,
                          .shard_count = 1,
                          .batch_size = 10,
                          .block = 10,
                          .window = 1};
        CHECK(read_all(&order, numbers) == 10);
        for (int i = 0; i < 10; i++)
            found[numbers[i]][i]++;
    }
    for (int i = 0; i < 100; i++)
        CHECK(found[i / 10][i % 10] > 140 && found[i / 10][i % 10] < 260);
}

static void a_buffer_keeps_records_near_their_place(uint64_t buffer) {
    static uint64_t numbers[MOST];
    bool seen[500] = {false};
    fr_order order = {.count = 500,
                      .shuffle = FR_SHUFFLE_BUFFER,
                      .epochs = 1,
                      .shard_count = 1,
                      .batch_size = 9,
                      .buffer = buffer};
    CHECK(read_all(&order, numbers) == 500);
    for (uint64_t i = 0; i < 500; i++) {
        CHECK(numbers[i] < i + buffer && !seen[numbers[i]]);
        seen[numbers[i]] = true;
        CHECK(buffer > 1 || numbers[i] == i);
    }
}

static void even_shards_have_the_same_number(fr_uneven uneven, uint64_t count, uint64_t shards) {
    static uint64_t numbers[MOST];
    uint64_t seen[MOST] = {0}, size = 0;
    for (uint64_t shard = 0; shard < shards; shard++) {
        fr_order order = {.count = count,
                          .shuffle = FR_SHUFFLE_RECORDS,
                          .seed = 4,
                          .epochs = 1,
                          .shard_index = shard,
                          .shard_count = shards,
                          .batch_size = 5,
                          .uneven = uneven};
        size_t own = read_all(&order, numbers);
        CHECK(own == fr_order_shard_size(&order) && (shard == 0 || own == size));
        size = own;
        for (size_t i = 0; i < own; i++)
            seen[numbers[i]]++;
    }
    CHECK(size == (uneven == FR_UNEVEN_DROP ? count / shards : (count + shards - 1) / shards));
    for (uint64_t i = 0; i < count && count >= shards; i++)
        CHECK(uneven == FR_UNEVEN_DROP ? seen[i] <= 1 : seen[i] == 1 || seen[i] == 2);
}

static void batches_may_batch_across_epochs(void) {
    static uint64_t numbers[MOST];
    fr_order order = {.count = 10,
                      .shuffle = FR_SHUFFLE_RECORDS,
                      .epochs = 5,
                      .shard_count = 1,
                      .batch_size = 12,
                      .batch_across_epochs = true};
    fr_slice slice;
    CHECK(fr_order_batches(&order) == 5 && read_all(&order, numbers) == 50);
    CHECK(fr_order_slice(&order, 4, &slice) == FR_OK && slice.rows == 2);
    CHECK(fr_order_slice(&order, 5, &slice) == FR_END);
    for (int epoch = 0; epoch < 5; epoch++) {
        unsigned seen = 0;
        for (int i = 0; i < 10; i++)
            seen |= 1u << numbers[10 * epoch + i];
        CHECK(seen == 1023);
    }
    order.drop_remainder = true;
    CHECK(fr_order_batches(&order) == 4 && read_all(&order, numbers) == 48);
    order.epochs = 0, order.batch_size = UINT64_MAX;
    CHECK(fr_order_slice(&order, 2, &slice) == FR_END);
}

static void a_mixture_has_each_source_by_its_weight(fr_shuffle shuffle, bool until_last) {
    static uint64_t numbers[MOST];
    uint64_t seen[3] = {0}, next[3] = {0, 40, 140}, once[200] = {0};
    const fr_mix_part parts[] = {{0, 40, 3}, {40, 100, 1}, {140, 20, 2}};
    fr_order order = {.count = 160,
                      .shuffle = shuffle,
                      .seed = 3,
                      .epochs = 3,
                      .shard_count = 1,
                      .batch_size = 7,
                      .parts = parts,
                      .part_count = 3,
                      .mixed = fr_order_mixed_size(parts, 3, until_last)};
    CHECK(order.mixed == (until_last ? 600 : 60) && read_all(&order, numbers) == 3 * order.mixed);
    for (uint64_t i = 0; i < 3 * order.mixed; i++) {
        size_t part = (numbers[i] >= 40) + (numbers[i] >= 140);
        if (shuffle == FR_SHUFFLE_NONE) { /* each source as it stands, again and again */
            CHECK(numbers[i] == next[part]);
            next[part] =
                parts[part].first + (next[part] - parts[part].first + 1) % parts[part].count;
        } else if (seen[part] < parts[part].count) { /* all of it before any of it again */
            CHECK(once[numbers[i]]++ == 0);
        }
        seen[part]++;
        if ((i + 1) % 6 == 0)
            CHECK(seen[0] == (i + 1) / 2 && seen[1] == (i + 1) / 6 && seen[2] == (i + 1) / 3);
    }
    check_any_batch(&order);
    order.shard_count = 6, order.shard_index = 1; /* no shard has one source only */
    size_t own = read_all(&order, numbers);
    uint64_t of_first = 0;
    for (size_t i = 0; i < own; i++)
        of_first += numbers[i] < 40;
    CHECK(of_first > 0 && of_first < own);
}

static void interleaved_files_take_turns(void) {
    static const uint64_t counts[] = {3, 0, 1, 2, 4, 1};
    static const uint64_t by_three[] = {0, 3, 1, 2, 4, 6, 10, 5, 7, 8, 9};
    static const uint64_t by_all[] = {0, 3, 4, 6, 10, 1, 5, 7, 2, 8, 9};
    fr_interleave interleave;
    fr_error err;
    CHECK(fr_interleave_init(&interleave, counts, 6, 3, NULL) == FR_OK);
    for (uint64_t i = 0; i < 11; i++)
        CHECK_CASE(fr_interleave_at(&interleave, i) == by_three[i], "place %d", (int)i);
    fr_interleave_free(&interleave);
    CHECK(fr_interleave_init(&interleave, counts, 6, 200, NULL) == FR_OK);
    for (uint64_t i = 0; i < 11; i++)
        CHECK_CASE(fr_interleave_at(&interleave, i) == by_all[i], "place %d", (int)i);
    fr_interleave_free(&interleave);
    CHECK(fr_interleave_init(&interleave, counts, 6, 1, NULL) == FR_OK);
    for (uint64_t i = 0; i < 11; i++)
        CHECK(fr_interleave_at(&interleave, i) == i);
    fr_interleave_free(&interleave);
    CHECK(fr_interleave_init(&interleave, counts, 6, 0, &err) == FR_ERR_ARG);
    CHECK(fr_interleave_init(&interleave, counts, 6, FR_INTERLEAVE_MAX + 1, &err) == FR_ERR_ARG);
}

/* Known answers of Random123, the authors' own library, and the order that TensorFlow's
   RandomShuffleQueue gives under the operation's seed 7. */
static void philox_draws_what_it_must(void) {
    static const uint32_t zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    static const uint64_t queue[] = {7, 1, 5, 6, 4, 3, 2, 0, 9, 8};
    fr_philox philox;
    fr_philox_init(&philox, 0, 0);
    for (int i = 0; i < 4; i++)
        CHECK(fr_philox_next(&philox) == zeros[i]);
    philox = (fr_philox){.key = {~0u, ~0u}, .counter = {~0u, ~0u, ~0u, ~0u}, .used = 4};
    CHECK(fr_philox_next(&philox) == 0x408f276d && philox.counter[3] == 0);

    uint64_t held[10];
    fr_philox_init(&philox, 87654321, 7);
    for (uint64_t i = 0; i < 10; i++)
        held[i] = i;
    for (uint64_t i = 0, left = 10; left > 0; i++) {
        uint64_t at = fr_philox_next(&philox) % left;
        CHECK(held[at] == queue[i]);
        held[at] = held[--left];
    }
}

static void what_excludes_each_other_is_refused(void) {
    const fr_mix_part parts[] = {{0, 5, 1}, {5, 5, 0}};
    const fr_interleave interleave = {0};
    const fr_order good = {.count = 10, .shard_count = 1, .batch_size = 1};
    fr_order order = good;
    fr_error err;
    order.shuffle = FR_SHUFFLE_BLOCKS;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "block"));
    order.block = order.window = 1 << 20;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "window"));
    order.block = 1, order.virtual_shards = FR_VIRTUAL_SHARDS_MAX + 1;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "virtual shards"));
    order = good, order.shuffle = FR_SHUFFLE_BUFFER;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "buffer"));
    order = good, order.shuffle = FR_SHUFFLE_RECORDS, order.interleave = &interleave;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "mutually exclusive"));
    order = good, order.parts = parts, order.part_count = 2;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "weight"));
    CHECK(fr_order_mixed_size(parts, 2, true) == 0);
    order.part_count = 1, order.count = 4;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "out of range"));
    order.count = 10, order.shuffle = FR_SHUFFLE_BUFFER, order.buffer = 1;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "mixture"));
}

int main(void) {
    any_batch_can_be_asked_for();
    for (uint64_t count = 1; count < 60; count++)
        for (uint64_t block = 1; block < 12; block += 3)
            for (uint64_t window = 1; window < 5; window++)
                blocks_stay_together_and_records_in_their_window(count, block, window);
    a_larger_block_may_come_anywhere();
    a_block_is_shuffled_evenly();
    blocks_differ_by_one_record();
    for (uint64_t shards = 1; shards <= 32; shards *= 2)
        for (uint64_t count = 600; count <= 1000; count += 20 + shards) {
            a_lane_has_adjacent_records(shards, count, FR_UNEVEN_LONGER);
            a_lane_has_adjacent_records(shards, count, FR_UNEVEN_DROP);
        }
    for (uint64_t count = 8; count < MOST / 2; count += 5)
        for (uint64_t block = 1; block < 12; block += 3)
            virtual_shards_have_the_same_size(count, block);
    for (uint64_t buffer = 1; buffer < 600; buffer = buffer * 3 + 1)
        a_buffer_keeps_records_near_their_place(buffer);
    for (uint64_t count = 0; count < 30; count++)
        for (uint64_t shards = 1; shards < 9; shards++) {
            even_shards_have_the_same_number(FR_UNEVEN_DROP, count, shards);
            even_shards_have_the_same_number(FR_UNEVEN_PAD, count, shards);
        }
    batches_may_batch_across_epochs();
    for (int i = 0; i < 4; i++)
        a_mixture_has_each_source_by_its_weight(i & 1 ? FR_SHUFFLE_RECORDS : FR_SHUFFLE_NONE,
                                                i & 2);
    interleaved_files_take_turns();
    philox_draws_what_it_must();
    what_excludes_each_other_is_refused();
    printf("sampler: ok\n");
    return 0;
}
