/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/batch_builder.h"

#include "batch/gather.h"

/* Reads the records. Those that are not in the page cache were announced, and are read in
   sequence. */
static int fill(fr_batch_builder *builder, const uint64_t *numbers, uint64_t rows,
                const atomic_bool *stop, fr_columns *columns, fr_error *err) {
    const bool scattered = builder->order->shuffle != FR_SHUFFLE_NONE && builder->ahead.warm;
    const fr_gather gather = {builder->dataset, &builder->parser, scattered, stop};
    return fr_gather_rows(&gather, numbers, rows, columns, err);
}

/* Returns true if whole blocks are read together. The blocks of a subset may have gaps. */
static bool has_blocks(const fr_order *order) {
    return order->shuffle == FR_SHUFFLE_BLOCKS && !order->selected;
}

/* Announces the records that the sampler begins to use. */
static void announce_entered(fr_batch_builder *builder) {
    const fr_sampler_ranges entered = fr_sampler_take_entered(&builder->sampler);
    for (uint64_t i = 0; i < entered.count; i++)
        fr_dataset_announce(builder->dataset, entered.ranges[i].begin,
                            entered.ranges[i].end - entered.ranges[i].begin, FR_ANNOUNCE_EXACT);
}

/* Retires the blocks that the sampler does not use any more. */
static void retire_left(fr_batch_builder *builder) {
    const fr_blocks blocks = fr_order_blocks(builder->order);
    const fr_sampler_list left = fr_sampler_take_left(&builder->sampler);
    for (uint64_t i = 0; i < left.count; i++) {
        const uint64_t first = fr_blocks_begin(&blocks, left.blocks[i]);
        const uint64_t end = fr_blocks_begin(&blocks, left.blocks[i] + 1);
        if (first < end) fr_dataset_retire(builder->dataset, first, end - first);
    }
}

/* Before a batch is read, announces the batch that this builder probably makes next. */
static void announce_next(fr_batch_builder *builder, uint64_t serial) {
    fr_slice slice;
    builder->next = 0;
    if (fr_sampler_is_stateful(builder->order) ||
        fr_order_slice(builder->order, serial + builder->stride, &slice) != FR_OK)
        return;
    fr_sampler_numbers(&builder->sampler, &slice, builder->next_numbers);
    if (has_blocks(builder->order))
        announce_entered(builder);
    else
        fr_readahead_announce(&builder->ahead, builder->dataset, builder->next_numbers, slice.rows);
    builder->next = serial + builder->stride;
}

/* Decides how records are announced. With several shards, the surroundings of records belong to
   other shards; blocks are announced as a whole; and neighbours of records in random order are
   not read soon. */
static fr_announce announce_how(const fr_dataset *dataset, const fr_order *order) {
    const bool all = order->shuffle == FR_SHUFFLE_RECORDS || order->selected;
    if (has_blocks(order) || (order->shard_count > 1 && !all)) return FR_ANNOUNCE_EXACT;
    const bool far = order->shuffle != FR_SHUFFLE_NONE && fr_dataset_has_long(dataset);
    return order->shuffle == FR_SHUFFLE_RECORDS || far ? FR_ANNOUNCE_SCATTERED : FR_ANNOUNCE_AROUND;
}

int fr_batch_builder_init(fr_batch_builder *builder, const fr_dataset *dataset,
                          const fr_order *order, fr_pool *pool, size_t stride, bool retires,
                          uint64_t *numbers, fr_error *err) {
    *builder = (fr_batch_builder){.dataset = dataset,
                                  .order = order,
                                  .pool = pool,
                                  .retires = retires,
                                  .stride = stride,
                                  .next_numbers = numbers,
                                  .ahead.how = announce_how(dataset, order)};
    FR_TRY(fr_parser_init(&builder->parser, fr_pool_schema(pool), err));
    if (fr_sampler_is_stateful(order)) return FR_OK;
    int status = fr_sampler_init(&builder->sampler, order, err);
    if (status != FR_OK) fr_parser_free(&builder->parser);
    return status;
}

/* Retires records that were read: shuffled blocks after their last record was used; immediately
   for records in file order, and for records longer than a page. */
static void retire(fr_batch_builder *builder, const uint64_t *numbers, uint64_t rows) {
    const fr_order *order = builder->order;
    if (has_blocks(order))
        retire_left(builder);
    else
        fr_readahead_retire(builder->dataset, numbers, rows);
}

int fr_batch_builder_make(fr_batch_builder *builder, uint64_t serial, const fr_slice *slice,
                          uint64_t *numbers, const atomic_bool *stop, fr_columns **batch,
                          fr_error *err) {
    fr_columns *columns;
    if (!fr_sampler_is_stateful(builder->order))
        fr_sampler_numbers(&builder->sampler, slice, numbers);
    FR_TRY(fr_pool_take(builder->pool, slice->rows, &columns, err));
    bool announced = builder->next != 0 && builder->next == serial;
    /* Check residency first, because the system reports announced pages as resident. */
    if (has_blocks(builder->order) && builder->ahead.asked && !builder->ahead.warm) {
        announce_entered(builder);
        announced = true;
    }
    fr_readahead_begin(&builder->ahead, builder->dataset, numbers, slice->rows, announced);
    if (!builder->ahead.warm) announce_next(builder, serial);
    int status = fill(builder, numbers, slice->rows, stop, columns, err);
    fr_readahead_end(&builder->ahead);
    if (builder->retires) retire(builder, numbers, slice->rows);
    if (status == FR_OK)
        *batch = columns;
    else
        fr_pool_give(builder->pool, columns);
    return status;
}

void fr_batch_builder_free(fr_batch_builder *builder) {
    fr_parser_free(&builder->parser);
    fr_sampler_free(&builder->sampler);
    *builder = (fr_batch_builder){0};
}
