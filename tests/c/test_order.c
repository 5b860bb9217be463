/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/sampler.h"
#include "test.h"

/* Six standard deviations above what chance gives. The seeds are fixed, so it passes or it does
   not. */
static void check_chi_square(const uint64_t *seen, size_t cells, double total, double freedom,
                             const char *what) {
    double expected = total / (double)cells, sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    double excess = sum - freedom;
    CHECK_CASE(excess < 0 || excess * excess < 36 * 2 * freedom, "%s: chi-square %.1f of %.0f",
               what, sum, freedom);
}

static void a_permutation_gives_each_number_once(uint64_t count) {
    fr_permutation p;
    fr_permutation_init(&p, count, 42, 7);
    uint8_t *seen = calloc(count, 1);
    CHECK(seen);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = fr_permutation_at(&p, i);
        CHECK(fr_permutation_find(&p, at) == i);
        CHECK_CASE(at < count && !seen[at], "count %llu, position %llu", (unsigned long long)count,
                   (unsigned long long)i);
        seen[at] = 1;
    }
    free(seen);
}

/* Which of the n! orders this is, by Lehmer code. */
static size_t rank(const uint64_t *values, size_t count) {
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        size_t smaller = 0;
        for (size_t j = i + 1; j < count; j++)
            smaller += values[j] < values[i];
        number = number * (count - i) + smaller;
    }
    return number;
}

static void all_orders_of_few_are_equally_likely(size_t count, size_t orders, int by_epoch) {
    const uint64_t trials = 60 * orders;
    uint64_t seen[120] = {0}, values[5];
    for (uint64_t trial = 0; trial < trials; trial++) {
        fr_permutation p;
        fr_permutation_init(&p, count, by_epoch ? 1 : trial, by_epoch ? trial : 0);
        for (size_t i = 0; i < count; i++)
            values[i] = fr_permutation_at(&p, i);
        seen[rank(values, count)]++;
    }
    check_chi_square(seen, orders, (double)trials, (double)orders - 1, "orders of few");
}

static void positions_say_nothing_about_values(uint64_t count) {
    enum { SIDE = 20, TRIALS = 300 };
    static uint64_t seen[SIDE * SIDE];
    memset(seen, 0, sizeof seen);
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        fr_permutation p;
        fr_permutation_init(&p, count, seed, 3);
        for (uint64_t i = 0; i < count; i++)
            seen[i * SIDE / count * SIDE + fr_permutation_at(&p, i) * SIDE / count]++;
    }
    check_chi_square(seen, SIDE * SIDE, (double)TRIALS * (double)count, (SIDE - 1) * (SIDE - 1),
                     "positions and values");
}

static void neighbours_differ_by_anything(uint64_t count) {
    enum { TRIALS = 200, MOST = 5000 };
    static uint64_t seen[MOST];
    memset(seen, 0, sizeof seen);
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        fr_permutation p;
        fr_permutation_init(&p, count, seed, 0);
        uint64_t before = fr_permutation_at(&p, 0);
        for (uint64_t i = 1; i < count; i++) {
            uint64_t at = fr_permutation_at(&p, i);
            seen[(at + count - before) % count]++;
            before = at;
        }
    }
    CHECK(seen[0] == 0);
    check_chi_square(seen + 1, count - 1, (double)TRIALS * (double)(count - 1), (double)count - 2,
                     "differences");
}

static void seeds_and_epochs_give_different_orders(void) {
    fr_permutation a, b, c;
    fr_permutation_init(&a, 1000000, 1, 0);
    fr_permutation_init(&b, 1000000, 1, 1);
    fr_permutation_init(&c, 1000000, 2, 0);
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t at = fr_permutation_at(&a, i);
        same += at == fr_permutation_at(&b, i);
        same += at == fr_permutation_at(&c, i);
    }
    CHECK(same <= 2);
}

static void a_permutation_can_be_huge(uint64_t count) {
    fr_permutation p;
    fr_permutation_init(&p, count, 9, 9);
    uint64_t low = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t first = fr_permutation_at(&p, i), last = fr_permutation_at(&p, count - 1 - i);
        CHECK(first < count && last < count && first != last);
        low += first < count / 2;
    }
    CHECK(low > 400 && low < 600);
}

/* Whoever resumes a run with a newer version goes on with the same records. */
static void an_order_is_for_ever(void) {
    static const uint64_t expected[2][5] = {{16, 88, 35, 25, 30},
                                            {724015, 669954, 364070, 452561, 674994}};
    static const uint64_t counts[] = {100, 1000000};
    for (int which = 0; which < 2; which++) {
        fr_permutation p;
        fr_permutation_init(&p, counts[which], 0, 0);
        for (uint64_t i = 0; i < 5; i++) {
            uint64_t at = fr_permutation_at(&p, i);
            CHECK_CASE(at == expected[which][i], "of %llu, %llu became %llu",
                       (unsigned long long)counts[which], (unsigned long long)i,
                       (unsigned long long)at);
        }
    }
}

/* The number of the record in a row of a slice. */
static uint64_t number_of(const fr_order *order, const fr_slice *slice, uint64_t row) {
    uint64_t number, size = fr_order_shard_size(order);
    fr_slice one = {slice->epoch + (slice->first + row) / size, (slice->first + row) % size, 1};
    fr_sampler sampler;
    CHECK(fr_sampler_init(&sampler, order, NULL) == FR_OK);
    fr_sampler_numbers(&sampler, &one, &number);
    fr_sampler_free(&sampler);
    return number;
}

static uint64_t epoch_batches(const fr_order *order) {
    fr_order one = *order;
    one.epochs = 1;
    return fr_order_batches(&one);
}

/* Reads all epochs of one shard; `seen` counts each record. Returns the records of an epoch. */
static uint64_t read_shard(const fr_order *order, uint64_t *seen) {
    uint64_t batches = 0, records = 0, numbers[128];
    fr_sampler sampler;
    fr_slice slice;
    CHECK(fr_sampler_init(&sampler, order, NULL) == FR_OK);
    while (fr_order_slice(order, batches, &slice) == FR_OK) {
        CHECK(slice.epoch == batches / epoch_batches(order));
        CHECK(slice.rows >= 1 && slice.rows <= order->batch_size);
        CHECK(!order->drop_remainder || slice.rows == order->batch_size);
        fr_sampler_numbers(&sampler, &slice, numbers);
        for (uint64_t row = 0; row < slice.rows; row++) {
            CHECK(numbers[row] < order->count);
            seen[numbers[row]]++;
        }
        records += slice.rows;
        batches++;
    }
    CHECK(batches == order->epochs * epoch_batches(order));
    CHECK(batches == fr_order_batches(order));
    CHECK(fr_order_slice(order, UINT64_MAX, &slice) == FR_END);
    fr_sampler_free(&sampler);
    return records / order->epochs;
}

static void shards_cover_an_epoch_once(uint64_t count, uint64_t shards, uint64_t batch,
                                       fr_shuffle shuffle) {
    uint64_t seen[128] = {0}, dropped[128] = {0}, total = 0;
    for (uint64_t shard = 0; shard < shards; shard++) {
        fr_order order = {.count = count,
                          .shuffle = shuffle,
                          .seed = 5,
                          .epochs = 3,
                          .shard_index = shard,
                          .shard_count = shards,
                          .batch_size = batch,
                          .block = 1 + count % 9,
                          .window = 1 + count % 4,
                          .virtual_shards = count % 6,
                          .deal = count % 3 ? 0 : 1,
                          .buffer = 1 + count / 3};
        CHECK(fr_order_check(&order, NULL) == FR_OK);
        uint64_t size = fr_order_shard_size(&order);
        CHECK(size == count / shards + (shard < count % shards));
        CHECK(read_shard(&order, seen) == size);
        total += size;
        order.drop_remainder = true;
        CHECK(read_shard(&order, dropped) == size / batch * batch);
    }
    CHECK(total == count);
    for (uint64_t i = 0; i < count; i++)
        CHECK(seen[i] == 3 && dropped[i] <= 3);
}

/* Shards that have made some batches, then others from there on, have each place of an epoch. */
static void what_is_left_is_dealt_out_anew(fr_shuffle shuffle, uint64_t before, uint64_t after) {
    const uint64_t count = 61, batch = 3;
    for (uint64_t made = 0; made * batch * before <= count; made++) {
        uint64_t seen[64] = {0}, numbers[3];
        fr_order order = {.count = count,
                          .shuffle = shuffle,
                          .seed = 9,
                          .first_epoch = 5,
                          .epochs = 1,
                          .batch_size = batch,
                          .block = 4,
                          .window = 3,
                          .virtual_shards = before};
        for (uint64_t shard = 0; shard < before + after; shard++) {
            const bool first = shard < before;
            order.start = first ? 0 : made * batch * before;
            order.shard_count = first ? before : after;
            order.shard_index = first ? shard : shard - before;
            fr_sampler sampler;
            fr_slice slice;
            CHECK(fr_order_check(&order, NULL) == FR_OK);
            CHECK(fr_sampler_init(&sampler, &order, NULL) == FR_OK);
            for (uint64_t serial = 0; fr_order_slice(&order, serial, &slice) == FR_OK; serial++) {
                if (first && serial == made) break;
                CHECK(slice.epoch == 5);
                fr_sampler_numbers(&sampler, &slice, numbers);
                for (uint64_t row = 0; row < slice.rows; row++)
                    seen[numbers[row]]++;
            }
            fr_sampler_free(&sampler);
        }
        for (uint64_t i = 0; i < count; i++)
            CHECK(seen[i] == 1);
    }
}

/* Which global step each record of an epoch is in. With batches across epochs, steps go on. */
static void steps_of(fr_order order, uint64_t shards, uint64_t global, uint64_t *steps) {
    uint64_t numbers[128];
    order.shard_count = shards;
    order.batch_size = global / shards;
    for (uint64_t i = 0; i < order.count * order.epochs; i++)
        steps[i] = UINT64_MAX;
    for (uint64_t shard = 0; shard < shards; shard++) {
        fr_sampler sampler;
        fr_slice slice;
        order.shard_index = shard;
        CHECK(fr_order_check(&order, NULL) == FR_OK);
        CHECK(fr_sampler_init(&sampler, &order, NULL) == FR_OK);
        for (uint64_t serial = 0; fr_order_slice(&order, serial, &slice) == FR_OK; serial++) {
            const uint64_t left = fr_order_epoch_rows(&order, slice.epoch) - slice.first;
            fr_sampler_numbers(&sampler, &slice, numbers);
            for (uint64_t row = 0; row < slice.rows; row++) {
                const uint64_t epoch = slice.epoch + (row >= left);
                uint64_t *step = &steps[epoch * order.count + numbers[row]];
                CHECK(*step == UINT64_MAX);
                *step = order.batch_across_epochs ? serial : slice.first / order.batch_size;
            }
        }
        fr_sampler_free(&sampler);
    }
}

static void every_number_of_shards_has_the_same_steps(fr_shuffle shuffle, uint64_t virtual_shards,
                                                      uint64_t block, bool across) {
    static const uint64_t shards[] = {2, 3, 4, 6, 12, 24};
    static uint64_t alone[600], together[600];
    for (uint64_t count = 240; count < 290; count += across ? 24 : 7) {
        fr_order order = {.count = count,
                          .shuffle = shuffle,
                          .seed = count,
                          .epochs = 2,
                          .block = block,
                          .window = 3,
                          .virtual_shards = virtual_shards,
                          .batch_across_epochs = across,
                          .uneven = across ? FR_UNEVEN_PAD : FR_UNEVEN_LONGER};
        const uint64_t global = across ? 72 : 24;
        steps_of(order, 1, global, alone);
        for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
            steps_of(order, shards[i], global, together);
            CHECK_CASE(memcmp(alone, together, order.epochs * count * sizeof *alone) == 0,
                       "%llu records, %llu shards", (unsigned long long)count,
                       (unsigned long long)shards[i]);
        }
    }
}

/* Where the number of shards divides that of the virtual shards, no two shards read a block. */
static void no_two_shards_read_a_block(uint64_t shards, uint64_t count, fr_uneven uneven) {
    uint64_t owner[640], numbers[64];
    for (int i = 0; i < 640; i++)
        owner[i] = UINT64_MAX;
    for (uint64_t shard = 0; shard < shards; shard++) {
        fr_order order = {.count = count,
                          .shuffle = FR_SHUFFLE_BLOCKS,
                          .seed = 1,
                          .epochs = 1,
                          .uneven = uneven,
                          .shard_index = shard,
                          .shard_count = shards,
                          .batch_size = 64 / shards,
                          .block = 10,
                          .window = 2,
                          .virtual_shards = 16};
        fr_sampler sampler;
        fr_slice slice;
        const fr_blocks blocks = fr_order_blocks(&order);
        CHECK(fr_sampler_init(&sampler, &order, NULL) == FR_OK);
        for (uint64_t serial = 0; fr_order_slice(&order, serial, &slice) == FR_OK; serial++) {
            fr_sampler_numbers(&sampler, &slice, numbers);
            for (uint64_t row = 0; row < slice.rows; row++) {
                uint64_t block = blocks.count - 1;
                while (fr_blocks_begin(&blocks, block) > numbers[row])
                    block--;
                uint64_t *own = &owner[block];
                CHECK(*own == UINT64_MAX || *own == shard);
                *own = shard;
            }
        }
        fr_sampler_free(&sampler);
    }
}

static void a_start_out_of_range_is_refused(void) {
    fr_order order = {.count = 10, .shard_count = 3, .batch_size = 2, .start = 10};
    CHECK(fr_order_check(&order, NULL) == FR_OK && fr_order_batches(&order) == UINT64_MAX);
    order.start = 11;
    CHECK(fr_order_check(&order, NULL) == FR_ERR_ARG);
    order.shuffle = FR_SHUFFLE_BUFFER;
    order.buffer = 4;
    order.start = 4;
    CHECK(fr_order_check(&order, NULL) == FR_ERR_ARG);
    order.start = 6;
    CHECK(fr_order_check(&order, NULL) == FR_OK);
}

static void an_unshuffled_order_is_as_it_stands(void) {
    fr_order order = {
        .count = 10, .epochs = 1, .shard_index = 1, .shard_count = 3, .batch_size = 2};
    fr_slice slice;
    CHECK(fr_order_slice(&order, 0, &slice) == FR_OK && slice.rows == 2);
    CHECK(number_of(&order, &slice, 0) == 2 && number_of(&order, &slice, 1) == 3);
    CHECK(fr_order_slice(&order, 1, &slice) == FR_OK && slice.rows == 1);
    CHECK(number_of(&order, &slice, 0) == 8);
    CHECK(fr_order_slice(&order, 2, &slice) == FR_END);
}

static void a_huge_order_does_not_overflow(void) {
    fr_order order = {.count = INT64_MAX,
                      .shuffle = FR_SHUFFLE_RECORDS,
                      .shard_index = 6,
                      .shard_count = 7,
                      .batch_size = 1};
    fr_slice slice;
    CHECK(fr_order_check(&order, NULL) == FR_OK);
    CHECK(epoch_batches(&order) == (uint64_t)INT64_MAX / 7);
    CHECK(fr_order_slice(&order, UINT64_MAX, &slice) == FR_OK);
    CHECK(slice.rows == 1 && number_of(&order, &slice, 0) < order.count);
    CHECK(fr_order_slice(&order, epoch_batches(&order) - 1, &slice) == FR_OK);
    CHECK(number_of(&order, &slice, 0) < order.count);
    order.batch_size = UINT64_MAX;
    CHECK(fr_order_slice(&order, 0, &slice) == FR_OK);
    CHECK(slice.rows == fr_order_shard_size(&order));
    order.shuffle = FR_SHUFFLE_NONE;
    CHECK(number_of(&order, &slice, slice.rows - 1) < order.count);
    order.shard_count = UINT64_MAX;
    order.shard_index = UINT64_MAX - 1;
    CHECK(fr_order_check(&order, NULL) == FR_OK && fr_order_shard_size(&order) == 0);
    CHECK(fr_order_slice(&order, 0, &slice) == FR_END);
}

static void an_impossible_order_is_refused(void) {
    const fr_order good = {.count = 10, .epochs = 1, .shard_count = 1, .batch_size = 2};
    fr_order order = good;
    fr_error err;
    CHECK(fr_order_check(&good, &err) == FR_OK);
    order.batch_size = 0;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "batch"));
    order = good, order.shard_count = 0;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "shards"));
    order = good, order.shard_index = 1;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG && strstr(err.cause, "shard index 1 "));
    order = good, order.count = UINT64_MAX;
    CHECK(fr_order_check(&order, &err) == FR_ERR_ARG);
}

/* Whatever the number of them is, and whichever of them walk far. */
static void many_positions_go_where_each_goes(uint64_t count) {
    static uint64_t numbers[700];
    const size_t most = count < 700 ? (size_t)count : 700;
    fr_permutation p;
    fr_permutation_init(&p, count, 5, 2);
    for (size_t some = 0; some <= most; some += 1 + some / 3) {
        for (size_t i = 0; i < some; i++)
            numbers[i] = i * (count / most);
        fr_permutation_many(&p, numbers, some);
        for (size_t i = 0; i < some; i++)
            CHECK(numbers[i] == fr_permutation_at(&p, i * (count / most)));
    }
}

static void test_permutations(void) {
    static const uint64_t counts[] = {4095, 4096, 4097, 65537, 1000000};
    for (uint64_t count = 1; count <= 300; count++)
        a_permutation_gives_each_number_once(count);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        a_permutation_gives_each_number_once(counts[i]);
    for (int by_epoch = 0; by_epoch < 2; by_epoch++) {
        all_orders_of_few_are_equally_likely(3, 6, by_epoch);
        all_orders_of_few_are_equally_likely(4, 24, by_epoch);
        all_orders_of_few_are_equally_likely(5, 120, by_epoch);
    }
    positions_say_nothing_about_values(1000);
    positions_say_nothing_about_values(4097);
    neighbours_differ_by_anything(1000);
    neighbours_differ_by_anything(5000);
    seeds_and_epochs_give_different_orders();
    a_permutation_can_be_huge((uint64_t)1 << 62);
    a_permutation_can_be_huge(INT64_MAX);
    a_permutation_can_be_huge(((uint64_t)1 << 63) + 1);
    a_permutation_can_be_huge(UINT64_MAX);
    an_order_is_for_ever();
    static const uint64_t sizes[] = {1,        2, 9, 300, 4096, 4097, 10000000, UINT64_C(1) << 40,
                                     INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        many_positions_go_where_each_goes(sizes[i]);
}

int main(void) {
    test_permutations();
    static const uint64_t counts[] = {0, 1, 2, 7, 64, 100}, shards[] = {1, 2, 3, 8, 101};
    static const uint64_t batches[] = {1, 3, 7, 1000};
    for (int i = 0; i < 6 * 5 * 4 * 4; i++)
        shards_cover_an_epoch_once(counts[i % 6], shards[i / 6 % 5], batches[i / 30 % 4],
                                   (fr_shuffle)(i / 120));
    for (uint64_t i = 0; i < 3 * 4 * 4; i++)
        what_is_left_is_dealt_out_anew((fr_shuffle)(i % 3), 1 + i / 3 % 4, 1 + i / 12);
    for (int across = 0; across < 2; across++) {
        every_number_of_shards_has_the_same_steps(FR_SHUFFLE_NONE, 0, 0, across);
        every_number_of_shards_has_the_same_steps(FR_SHUFFLE_RECORDS, 0, 0, across);
        for (uint64_t virtual_shards = 1; virtual_shards < 20; virtual_shards += 5)
            for (uint64_t block = 1; block < 90; block = 3 * block + 2)
                every_number_of_shards_has_the_same_steps(FR_SHUFFLE_BLOCKS, virtual_shards, block,
                                                          across);
    }
    for (uint64_t shards = 1; shards <= 16; shards *= 2)
        for (uint64_t count = 600; count <= 640; count += 10 + shards) {
            no_two_shards_read_a_block(shards, count, FR_UNEVEN_LONGER);
            no_two_shards_read_a_block(shards, count, FR_UNEVEN_DROP);
        }
    a_start_out_of_range_is_refused();
    an_unshuffled_order_is_as_it_stands();
    a_huge_order_does_not_overflow();
    an_impossible_order_is_refused();
    printf("order: ok\n");
    return 0;
}
