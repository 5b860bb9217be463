/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of records, and the places of it that make up each batch: arithmetic on (epoch, place,
 * shard), without state. A sampler (sampler.h) finds the record at a place.
 *
 * An epoch's order has a place for every record. All shards together take the places step by step:
 * a step is `deal` places for each shard, and which of the step's places a shard takes is chosen by
 * where the bytes are. In most orders a shard takes neighbouring places. FR_SHUFFLE_BLOCKS sorts
 * the places of a step by virtual shard (sampler_blocks.c) before a shard takes neighbours. So the
 * set of records of a step is the same for any number of shards, shards that have made equally many
 * batches have together used a prefix of the order, and the rest can be dealt to any number of
 * shards: `start` is where the dealing begins in the first epoch.
 */
#ifndef FASTREC_ORDER_H
#define FASTREC_ORDER_H

#include <stdbool.h>

#include "batch/alias.h"
#include "batch/interleave.h"

typedef enum {
    FR_SHUFFLE_NONE,    /* as they stand, or files interleaved */
    FR_SHUFFLE_RECORDS, /* a fresh permutation of all records each epoch */
    FR_SHUFFLE_BLOCKS,  /* blocks of neighbours in random order, records within a window of them */
    FR_SHUFFLE_BUFFER   /* each drawn from a buffer that records pass through as they stand */
} fr_shuffle;

/* The last step of an epoch, when the shards cannot divide its places evenly. */
typedef enum {
    FR_UNEVEN_LONGER, /* the first shards take one record more than the others */
    FR_UNEVEN_DROP,   /* no shard takes the records left over */
    FR_UNEVEN_PAD     /* records from the start of the epoch make the shards equal */
} fr_uneven;

/* One of several sources that are mixed: of every sum of weights records, `weight`. */
typedef struct {
    uint64_t first, count; /* its records */
    uint64_t weight;
} fr_mix_part;

/* From a place of the epoch on, the parts of a mixture have these weights; some may be 0. */
typedef struct {
    uint64_t first;          /* first place of the stage; 0 for the first stage */
    const uint64_t *weights; /* one for each part */
} fr_mix_stage;

#define FR_WEIGHTS_MAX 4096        /* the sum of weights */
#define FR_VIRTUAL_SHARDS_MAX 4096 /* each has a window of blocks in memory */

/* All-zero but for the sizes and counts is a valid order; what is pointed to is borrowed. */
typedef struct {
    uint64_t count; /* records in all */
    fr_shuffle shuffle;
    uint64_t seed;
    bool same_order;      /* every epoch has the order of epoch 0 */
    uint64_t first_epoch; /* number of the first of the epochs */
    uint64_t epochs;      /* 0: for ever */
    uint64_t start;       /* places of first_epoch that were used before */
    uint64_t shard_index, shard_count;
    uint64_t batch_size;
    uint64_t deal;            /* places that each shard takes of a step; 0: batch_size */
    bool drop_remainder;      /* no batch shorter than batch_size */
    bool batch_across_epochs; /* batches go on into the next epoch */
    fr_uneven uneven;
    uint64_t block, window;          /* FR_SHUFFLE_BLOCKS: records a block, blocks a window */
    uint64_t virtual_shards;         /* FR_SHUFFLE_BLOCKS: streams of blocks; 0: one */
    uint64_t buffer;                 /* FR_SHUFFLE_BUFFER: records in it */
    const fr_interleave *interleave; /* of FR_SHUFFLE_NONE and _BUFFER; NULL for none */
    const fr_mix_part *parts;        /* of FR_SHUFFLE_NONE and _RECORDS */
    size_t part_count;               /* 0: not a mixture */
    uint64_t mixed;                  /* of a mixture: records an epoch */
    const fr_mix_stage *stages;      /* of a mixture that changes in its only epoch */
    size_t stage_count;              /* 0: the weights of the parts, in every epoch */
    const fr_alias_slot *weighted; /* `count` slots: each place draws a record; NULL: no weights */
    const uint64_t *selected;      /* `count` numbers of records, of a subset; NULL: all records */
    uint64_t records; /* of a subset: records of the source; REQUIRES: each number is below */
} fr_order;

/* A batch: `rows` positions from `first` of `epoch` on; with batch_across_epochs it may go on into
   the following epochs. */
typedef struct {
    uint64_t epoch;
    uint64_t first; /* among the shard's, from `start` on */
    uint64_t rows;
} fr_slice;

/* FR_ERR_ARG on a shard that is not below shard_count, on a count or size of 0 that must not be, on
   a start that is out of range, and on options that exclude each other. */
FR_NODISCARD int fr_order_check(const fr_order *order, fr_error *err);

/* Records that the source must have at least. */
static inline uint64_t fr_order_records(const fr_order *order) {
    return order->selected ? order->records : order->count;
}

/* The places of one step that this shard takes. Places are counted from the first of the epoch that
   was not used before. */
typedef struct {
    uint64_t begin, size; /* the step's places */
    uint64_t first, rows; /* this shard's, among the sorted places of the step */
    uint64_t done;        /* rows before the requested position */
} fr_share;

/* Records that an epoch has, over all shards. */
static inline uint64_t fr_order_epoch_size(const fr_order *order) {
    return order->part_count ? order->mixed : order->count;
}

/*
 * Records until the first of the parts is through, or until the last one is. Both are counted in
 * whole rounds of the sum of weights. 0 when that is nothing or cannot be numbered.
 */
uint64_t fr_order_mixed_size(const fr_mix_part *parts, size_t count, bool until_last);

/* Records of this shard in an epoch that starts at place 0. */
uint64_t fr_order_shard_size(const fr_order *order);

/* Records of this shard in `epoch`, which for first_epoch is what `start` leaves. */
uint64_t fr_order_epoch_rows(const fr_order *order, uint64_t epoch);

/*
 * Returns the step that contains this shard's `position` in `epoch`, after `used` places.
 * `first` may be `size` or more with FR_UNEVEN_PAD: those places are at the start of the epoch.
 */
fr_share fr_order_share(const fr_order *order, uint64_t epoch, uint64_t used, uint64_t position);

/* Batches in all epochs; UINT64_MAX when there is no end to them. */
uint64_t fr_order_batches(const fr_order *order);

/* The batch of that serial number, from 0, over all epochs. FR_OK, or FR_END after the last. */
FR_NODISCARD int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice);

#endif
