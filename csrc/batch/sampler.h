/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record numbers of batches, in any order that order.h describes.
 *
 * Any batch can be asked for next. For all orders but FR_SHUFFLE_BUFFER the answer takes the same
 * time everywhere; a buffer is refilled from the start of the epoch when the batch asked for does
 * not follow the last one, a few nanoseconds a record. Different cursors over one order agree.
 *
 * A single cursor is not safe to use by several threads at once; different cursors may share an
 * order.
 */
#ifndef FASTREC_SAMPLER_H
#define FASTREC_SAMPLER_H

#include "base/permutation.h"
#include "base/philox.h"
#include "batch/order.h"

/* One pass over the records of a source, or over its blocks. */
typedef struct {
    fr_permutation permutation;
    uint64_t pass;
    bool known;
    uint64_t turns; /* mixtures: places of the round that are its */
} fr_pass;

/* All-zero is a valid cursor that can only be freed. */
typedef struct {
    const fr_order *order; /* borrowed */
    uint64_t size;         /* of the shard's epoch */
    fr_pass *passes;       /* one a part of a mixture, else one */

    fr_permutation within; /* blocks: of the records in `window` */
    uint64_t window, window_pass;
    uint64_t place;   /* blocks: of the one that may be short */
    uint64_t *blocks; /* of the window; mixtures: part and turn of each place of `window` */
    bool window_known;

    fr_philox philox; /* buffers: of `epoch` */
    uint64_t *buffer;
    uint64_t held, fed, drawn, epoch;
    bool drawing;
} fr_sampler;

/* The order was checked. It must outlive the cursor. */
FR_NODISCARD int fr_sampler_init(fr_sampler *cursor, const fr_order *order, fr_error *err);

/* Writes the numbers of the slice's records; room for slice->rows. */
void fr_sampler_numbers(fr_sampler *cursor, const fr_slice *slice, uint64_t *numbers);

/*
 * Which pass over its source each of those records belongs to: the epoch, or, of a mixture, whose
 * sources begin again when they are through, how often its source was through before. A record
 * comes once a pass.
 */
FR_NODISCARD int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                                   fr_error *err);

void fr_sampler_free(fr_sampler *cursor);

#endif
