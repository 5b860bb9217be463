/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/order.h"

static int check_shards(const fr_order *order, fr_error *err) {
    if (order->shard_count == 0)
        return fr_fail(err, FR_ERR_ARG, "the number of shards must be at least 1, got 0");
    if (order->shard_index >= order->shard_count)
        return fr_fail(err, FR_ERR_ARG, "shard index %llu is out of range for %llu shards",
                       (unsigned long long)order->shard_index,
                       (unsigned long long)order->shard_count);
    return FR_OK;
}

static int check_start(const fr_order *order, fr_error *err) {
    if (order->start > fr_order_epoch_size(order))
        return fr_fail(err, FR_ERR_ARG, "start %llu is out of range (0 to %llu)",
                       (unsigned long long)order->start,
                       (unsigned long long)fr_order_epoch_size(order));
    /* The content of a buffer depends on all records that this shard has drawn in the epoch. */
    if (order->shuffle == FR_SHUFFLE_BUFFER && order->start != fr_order_epoch_size(order) &&
        order->start % order->shard_count != 0)
        return fr_fail(err, FR_ERR_ARG, "start %llu must be a multiple of %llu shards",
                       (unsigned long long)order->start, (unsigned long long)order->shard_count);
    return FR_OK;
}

static int check_shuffle(const fr_order *order, fr_error *err) {
    if (order->shuffle == FR_SHUFFLE_BLOCKS && (order->block == 0 || order->window == 0))
        return fr_fail(err, FR_ERR_ARG, "the size of a block and of a window must be at least 1");
    if (order->shuffle == FR_SHUFFLE_BLOCKS && order->window > (uint64_t)INT32_MAX / order->block)
        return fr_fail(err, FR_ERR_ARG, "a window has more than %d records", INT32_MAX);
    if (order->virtual_shards > FR_VIRTUAL_SHARDS_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of virtual shards must be 1 to %d, got %llu",
                       FR_VIRTUAL_SHARDS_MAX, (unsigned long long)order->virtual_shards);
    if (order->shuffle == FR_SHUFFLE_BUFFER && (order->buffer == 0 || order->buffer > UINT32_MAX))
        return fr_fail(err, FR_ERR_ARG, "the size of a shuffle buffer must be 1 to %u records",
                       UINT32_MAX);
    bool permutes = order->shuffle == FR_SHUFFLE_RECORDS || order->shuffle == FR_SHUFFLE_BLOCKS;
    if (order->interleave && (permutes || order->part_count))
        return fr_fail(err, FR_ERR_ARG,
                       "interleave, and shuffle or mixture, are mutually exclusive");
    return FR_OK;
}

static int check_parts(const fr_order *order, fr_error *err) {
    uint64_t sum = 0;
    if (order->part_count &&
        (order->shuffle == FR_SHUFFLE_BLOCKS || order->shuffle == FR_SHUFFLE_BUFFER))
        return fr_fail(err, FR_ERR_ARG, "a mixture must be shuffled by record, or not shuffled");
    for (size_t i = 0; i < order->part_count; i++) {
        const fr_mix_part *part = &order->parts[i];
        if (part->count == 0) return fr_fail(err, FR_ERR_ARG, "source %zu has no records", i);
        if (part->weight == 0)
            return fr_fail(err, FR_ERR_ARG, "the weight of source %zu must be at least 1, got 0",
                           i);
        if (part->weight > FR_WEIGHTS_MAX || (sum += part->weight) > FR_WEIGHTS_MAX)
            return fr_fail(err, FR_ERR_ARG, "the weights sum up to more than %d", FR_WEIGHTS_MAX);
        if (part->first > order->count || part->count > order->count - part->first)
            return fr_fail(err, FR_ERR_ARG, "source %zu has records that are out of range", i);
    }
    return FR_OK;
}

static int check_stages(const fr_order *order, fr_error *err) {
    for (size_t k = 0; k < order->stage_count; k++) {
        const fr_mix_stage *stage = &order->stages[k];
        uint64_t sum = 0;
        for (size_t i = 0; i < order->part_count && sum <= FR_WEIGHTS_MAX; i++)
            sum += stage->weights[i] <= FR_WEIGHTS_MAX ? stage->weights[i] : UINT32_MAX;
        if (sum == 0 || sum > FR_WEIGHTS_MAX)
            return fr_fail(err, FR_ERR_ARG, "the weights of stage %zu must sum up to 1 to %d", k,
                           FR_WEIGHTS_MAX);
        if (k == 0 ? stage->first != 0 : stage->first <= order->stages[k - 1].first)
            return fr_fail(err, FR_ERR_ARG, "stage %zu must begin after the one before", k);
    }
    if (order->stage_count && (order->first_epoch != 0 || order->epochs != 1))
        return fr_fail(err, FR_ERR_ARG, "a mixture with stages has one epoch");
    return FR_OK;
}

/* Subsets and weights require an order that accesses records by number. */
static int check_subset(const fr_order *order, fr_error *err) {
    if (order->weighted &&
        (order->part_count || order->interleave || order->shuffle == FR_SHUFFLE_BLOCKS ||
         order->shuffle == FR_SHUFFLE_BUFFER))
        return fr_fail(err, FR_ERR_ARG,
                       "weighted draws and a mixture, an interleave, blocks or a buffer are "
                       "mutually exclusive");
    return FR_OK;
}

int fr_order_check(const fr_order *order, fr_error *err) {
    if (order->count > INT64_MAX || order->mixed > INT64_MAX)
        return fr_fail(err, FR_ERR_ARG, "%llu records are more than can be numbered",
                       (unsigned long long)order->count);
    if (order->batch_size == 0)
        return fr_fail(err, FR_ERR_ARG, "the batch size must be at least 1, got 0");
    if (order->first_epoch > INT64_MAX || order->epochs > INT64_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of an epoch is out of range");
    FR_TRY(check_shards(order, err));
    FR_TRY(check_start(order, err));
    FR_TRY(check_shuffle(order, err));
    FR_TRY(check_parts(order, err));
    FR_TRY(check_stages(order, err));
    return check_subset(order, err);
}

/* Rows are numbered in 32 bits, so that products of two row numbers fit into 64. */
fr_blocks fr_order_blocks(const fr_order *order) {
    const uint64_t shards = order->virtual_shards ? order->virtual_shards : 1;
    const uint64_t most = shards * order->block;
    uint64_t rows = order->count / most + (order->count % most != 0);
    if (rows < 1) rows = 1;
    if (rows > UINT32_MAX) rows = UINT32_MAX;
    const uint64_t count = rows * shards;
    return (fr_blocks){rows, count, order->count % count, order->count / count};
}

uint64_t fr_order_mixed_size(const fr_mix_part *parts, size_t count, bool until_last) {
    uint64_t rounds = until_last ? 0 : UINT64_MAX, sum = 0, size;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].weight == 0) return 0;
        uint64_t own = parts[i].count / parts[i].weight;
        if (until_last) own += parts[i].count % parts[i].weight != 0;
        if (until_last ? own > rounds : own < rounds) rounds = own;
        sum += parts[i].weight;
    }
    return __builtin_mul_overflow(rounds, sum, &size) ? 0 : size;
}

/* Returns how many of `places` this shard takes. */
static uint64_t share_of(const fr_order *order, uint64_t places) {
    const uint64_t shards = order->shard_count, left = places % shards;
    if (order->uneven == FR_UNEVEN_DROP) return places / shards;
    if (order->uneven == FR_UNEVEN_PAD) return places / shards + (left != 0);
    return places / shards + (order->shard_index < left);
}

/* Returns how many places of a step each shard takes. If batches cross epochs, shards whose
   epochs differ in length begin steps at different rows of a batch. They therefore take single
   places, so that no step begins within a batch. */
static uint64_t deal_of(const fr_order *order) {
    if (order->batch_across_epochs && order->uneven == FR_UNEVEN_LONGER && order->shard_count > 1)
        return 1;
    return order->deal ? order->deal : order->batch_size;
}

/* Returns the rows at the start of an epoch with which each shard completes a batch of the
   previous epoch. With a buffer this is 0, because the buffer is filled from the start of the
   epoch wherever the run resumes, so that steps begin there. */
static uint64_t carried(const fr_order *order, uint64_t epoch, uint64_t deal) {
    if (!order->batch_across_epochs || epoch <= order->first_epoch || deal == 1 ||
        order->shuffle == FR_SHUFFLE_BUFFER)
        return 0;
    const uint64_t first = fr_order_epoch_rows(order, order->first_epoch) % deal;
    const uint64_t later = fr_order_shard_size(order) % deal;
    const unsigned __int128 epochs = epoch - order->first_epoch - 1;
    const uint64_t rows = (uint64_t)((first + epochs % deal * later) % deal);
    return rows ? deal - rows : 0;
}

/* Divides the last step, whose `size` places are too few for whole batches of all shards. */
static void divide(const fr_order *order, fr_share *share) {
    const uint64_t base = share->size / order->shard_count, left = share->size % order->shard_count;
    const uint64_t index = order->shard_index;
    share->rows = base;
    share->first = base * index;
    if (order->uneven == FR_UNEVEN_LONGER) {
        share->rows += index < left;
        share->first += index < left ? index : left;
    } else if (order->uneven == FR_UNEVEN_PAD && left) {
        share->rows++;
        share->first += index;
    }
}

fr_share fr_order_share(const fr_order *order, uint64_t epoch, uint64_t used, uint64_t position) {
    const uint64_t shards = order->shard_count, deal = deal_of(order);
    const uint64_t head = carried(order, epoch, deal);
    const uint64_t left = fr_order_epoch_size(order) - used;
    fr_share share = {.rows = head, .done = position};
    if (position >= head) {
        share.rows = deal;
        share.done = (position - head) % deal;
    }
    share.begin = (position - share.done) * shards;
    share.size = left - share.begin;
    if (share.size / shards < share.rows) {
        divide(order, &share);
    } else {
        share.size = share.rows * shards;
        share.first = share.rows * order->shard_index;
    }
    return share;
}

uint64_t fr_order_shard_size(const fr_order *order) {
    return share_of(order, fr_order_epoch_size(order));
}

uint64_t fr_order_epoch_rows(const fr_order *order, uint64_t epoch) {
    const uint64_t used = epoch == order->first_epoch ? order->start : 0;
    return share_of(order, fr_order_epoch_size(order) - used);
}

static uint64_t batches_of(const fr_order *order, uint64_t records) {
    bool remainder = records % order->batch_size != 0 && !order->drop_remainder;
    return records / order->batch_size + remainder;
}

/* Returns first + later * (epochs - 1), or UINT64_MAX if the epochs are unlimited. */
static uint64_t over_epochs(const fr_order *order, uint64_t first, uint64_t later) {
    uint64_t all;
    if (order->epochs == 0) return later == 0 ? first : UINT64_MAX;
    if (__builtin_mul_overflow(later, order->epochs - 1, &all)) return UINT64_MAX;
    return __builtin_add_overflow(all, first, &all) ? UINT64_MAX : all;
}

uint64_t fr_order_batches(const fr_order *order) {
    const uint64_t first = fr_order_epoch_rows(order, order->first_epoch);
    const uint64_t later = fr_order_shard_size(order);
    if (!order->batch_across_epochs)
        return over_epochs(order, batches_of(order, first), batches_of(order, later));
    const uint64_t rows = over_epochs(order, first, later);
    return rows == UINT64_MAX ? rows : batches_of(order, rows);
}

/* Finds the epoch of unit `serial` (a batch or a record). The epochs have `first`, `later`,
   `later`, ... units. */
static int find_epoch(const fr_order *order, uint64_t serial, uint64_t first, uint64_t later,
                      uint64_t *epoch, uint64_t *unit) {
    const uint64_t units = over_epochs(order, first, later);
    if (serial >= units && units != UINT64_MAX) return FR_END;
    *epoch = order->first_epoch;
    *unit = serial;
    if (serial < first) return FR_OK;
    *unit = (serial - first) % later;
    const uint64_t after = 1 + (serial - first) / later;
    return __builtin_add_overflow(*epoch, after, epoch) ? FR_END : FR_OK;
}

static int slice_across_epochs(const fr_order *order, uint64_t serial, fr_slice *slice) {
    const uint64_t first = fr_order_epoch_rows(order, order->first_epoch);
    const uint64_t later = fr_order_shard_size(order), size = order->batch_size;
    uint64_t position;
    if (__builtin_mul_overflow(serial, size, &position)) return FR_END;
    FR_TRY(find_epoch(order, position, first, later, &slice->epoch, &slice->first));
    const uint64_t left = over_epochs(order, first, later) - position;
    if (left < size && order->drop_remainder) return FR_END;
    slice->rows = left < size ? left : size;
    return FR_OK;
}

int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice) {
    if (order->batch_across_epochs) return slice_across_epochs(order, serial, slice);
    const uint64_t first = batches_of(order, fr_order_epoch_rows(order, order->first_epoch));
    const uint64_t later = batches_of(order, fr_order_shard_size(order));
    uint64_t batch;
    FR_TRY(find_epoch(order, serial, first, later, &slice->epoch, &batch));
    slice->first = batch * order->batch_size;
    const uint64_t left = fr_order_epoch_rows(order, slice->epoch) - slice->first;
    slice->rows = left < order->batch_size ? left : order->batch_size;
    return FR_OK;
}
