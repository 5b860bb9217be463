/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shuffle buffer: records enter in their order, and each output is drawn from the records in the
 * buffer. If the requested positions do not follow the previous ones, the buffer is filled again
 * from the start of the epoch, which takes a few nanoseconds per record.
 */
#include <stdlib.h>

#include "batch/sampler_internal.h"

/* Returns the next of the shard's records, in the order of its places. */
static uint64_t enter(fr_sampler_buffer *buffer, const fr_order *order) {
    uint64_t place;
    fr_sampler_places(
        order, (fr_sampler_run){.number = buffer->epoch, .first = buffer->entered++, .rows = 1},
        &place);
    return fr_record_in_order(order, place);
}

static uint64_t draw(fr_sampler_buffer *buffer, const fr_order *order, uint64_t size) {
    while (buffer->held < order->buffer && buffer->entered < size)
        buffer->records[buffer->held++] = enter(buffer, order);
    const uint64_t at = fr_philox_next(&buffer->philox) % buffer->held;
    const uint64_t number = buffer->records[at];
    buffer->records[at] = buffer->records[--buffer->held];
    buffer->out++;
    return number;
}

static void begin_epoch(fr_sampler_buffer *buffer, const fr_order *order, uint64_t epoch) {
    fr_philox_init(&buffer->philox, order->seed, epoch);
    buffer->held = buffer->entered = buffer->out = 0;
    buffer->epoch = epoch;
    buffer->known = true;
}

void fr_sampler_buffer_numbers(fr_sampler_buffer *buffer, const fr_order *order, fr_sampler_run run,
                               uint64_t *numbers) {
    const uint64_t size = fr_order_shard_size(order);
    const uint64_t first = run.used / order->shard_count + run.first;
    if (!buffer->known || buffer->epoch != run.epoch || buffer->out > first)
        begin_epoch(buffer, order, run.epoch);
    while (buffer->out < first)
        (void)draw(buffer, order, size);
    for (uint64_t i = 0; i < run.rows; i++)
        numbers[i] = draw(buffer, order, size);
}

int fr_sampler_buffer_init(fr_sampler_buffer *buffer, const fr_order *order, fr_error *err) {
    const uint64_t size = fr_order_shard_size(order);
    return fr_sampler_allocate(&buffer->records, order->buffer < size ? order->buffer : size,
                               sizeof *buffer->records, err);
}

void fr_sampler_buffer_free(fr_sampler_buffer *buffer) {
    free(buffer->records);
}
