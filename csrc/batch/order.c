/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/order.h"

static int check_shards(const fr_order *order, fr_error *err) {
    if (order->shard_count == 0) return fr_fail(err, FR_ERR_ARG, "the number of shards is 0");
    if (order->shard_index >= order->shard_count)
        return fr_fail(err, FR_ERR_ARG, "shard %llu is not one of %llu, which count from 0",
                       (unsigned long long)order->shard_index,
                       (unsigned long long)order->shard_count);
    return FR_OK;
}

static int check_shuffle(const fr_order *order, fr_error *err) {
    if (order->shuffle == FR_SHUFFLE_BLOCKS && (order->block == 0 || order->window == 0))
        return fr_fail(err, FR_ERR_ARG, "a block or a window is of size 0");
    if (order->shuffle == FR_SHUFFLE_BLOCKS && order->window > (uint64_t)INT32_MAX / order->block)
        return fr_fail(err, FR_ERR_ARG, "a window has more than %d records", INT32_MAX);
    if (order->shuffle == FR_SHUFFLE_BUFFER && (order->buffer == 0 || order->buffer > UINT32_MAX))
        return fr_fail(err, FR_ERR_ARG, "a shuffle buffer holds 1 to %u records", UINT32_MAX);
    bool permutes = order->shuffle == FR_SHUFFLE_RECORDS || order->shuffle == FR_SHUFFLE_BLOCKS;
    if (order->interleave && (permutes || order->part_count))
        return fr_fail(err, FR_ERR_ARG, "files are interleaved, or shuffled or mixed, not both");
    return FR_OK;
}

static int check_parts(const fr_order *order, fr_error *err) {
    uint64_t sum = 0;
    if (order->part_count &&
        (order->shuffle == FR_SHUFFLE_BLOCKS || order->shuffle == FR_SHUFFLE_BUFFER))
        return fr_fail(err, FR_ERR_ARG, "a mixture is shuffled by record or not at all");
    for (size_t i = 0; i < order->part_count; i++) {
        const fr_mix_part *part = &order->parts[i];
        if (part->count == 0) return fr_fail(err, FR_ERR_ARG, "source %zu has no records", i);
        if (part->weight == 0) return fr_fail(err, FR_ERR_ARG, "the weight of source %zu is 0", i);
        if (part->weight > FR_WEIGHTS_MAX || (sum += part->weight) > FR_WEIGHTS_MAX)
            return fr_fail(err, FR_ERR_ARG, "the weights sum up to more than %d", FR_WEIGHTS_MAX);
        if (part->first > order->count || part->count > order->count - part->first)
            return fr_fail(err, FR_ERR_ARG, "source %zu has records that are not there", i);
    }
    return FR_OK;
}

int fr_order_check(const fr_order *order, fr_error *err) {
    if (order->count > INT64_MAX || order->mixed > INT64_MAX)
        return fr_fail(err, FR_ERR_ARG, "%llu records are more than can be numbered",
                       (unsigned long long)order->count);
    if (order->batch_size == 0) return fr_fail(err, FR_ERR_ARG, "the batch size is 0");
    FR_TRY(check_shards(order, err));
    FR_TRY(check_shuffle(order, err));
    return check_parts(order, err);
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

uint64_t fr_order_shard_size(const fr_order *order) {
    uint64_t size = fr_order_epoch_size(order), shards = order->shard_count;
    if (order->uneven == FR_UNEVEN_DROP) return size / shards;
    if (order->uneven == FR_UNEVEN_PAD) return size / shards + (size % shards != 0);
    return size <= order->shard_index ? 0 : (size - order->shard_index - 1) / shards + 1;
}

static uint64_t batches_of(const fr_order *order, uint64_t records) {
    bool remainder = records % order->batch_size != 0 && !order->drop_remainder;
    return records / order->batch_size + remainder;
}

uint64_t fr_order_epoch_batches(const fr_order *order) {
    return batches_of(order, fr_order_shard_size(order));
}

uint64_t fr_order_batches(const fr_order *order) {
    uint64_t size = fr_order_shard_size(order), all;
    if (size == 0) return 0;
    if (order->epochs == 0) return UINT64_MAX;
    if (!order->batch_across_epochs) size = batches_of(order, size);
    if (__builtin_mul_overflow(size, order->epochs, &all)) return UINT64_MAX;
    return order->batch_across_epochs ? batches_of(order, all) : all;
}

static int spanning_slice(const fr_order *order, uint64_t serial, fr_slice *slice) {
    uint64_t size = fr_order_shard_size(order), all = UINT64_MAX, position;
    if (order->epochs && __builtin_mul_overflow(size, order->epochs, &all)) all = UINT64_MAX;
    if (__builtin_mul_overflow(serial, order->batch_size, &position)) return FR_END;
    if (size == 0 || position >= all) return FR_END;
    uint64_t left = all - position;
    if (left < order->batch_size && order->drop_remainder) return FR_END;
    slice->epoch = position / size;
    slice->first = position % size;
    slice->rows = left < order->batch_size ? left : order->batch_size;
    return FR_OK;
}

int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice) {
    if (order->batch_across_epochs) return spanning_slice(order, serial, slice);
    uint64_t batches = fr_order_epoch_batches(order);
    if (batches == 0) return FR_END;
    slice->epoch = serial / batches;
    if (order->epochs != 0 && slice->epoch >= order->epochs) return FR_END;
    slice->first = serial % batches * order->batch_size;
    uint64_t left = fr_order_shard_size(order) - slice->first;
    slice->rows = left < order->batch_size ? left : order->batch_size;
    return FR_OK;
}
