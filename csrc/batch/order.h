/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of records, and the places that make up each batch. Both are computed from (epoch,
 * place, shard), without state. A sampler (sampler.h) finds the record at a place.
 *
 * The order of an epoch has a place for every record. All shards together take the places step by
 * step. A step has `deal` places for each shard. Which places of the step a shard takes is chosen
 * to keep its reads close together. In most orders a shard takes adjacent places. FR_SHUFFLE_BLOCKS
 * first sorts the places of a step by virtual shard (sampler_blocks.c). Three properties follow.
 * The set of records in a step is the same for any number of shards. Shards that have made the same
 * number of batches have together used a prefix of the order. The rest can be divided among any
 * number of shards: in the first epoch, the division begins at `start`.
 */
#ifndef FASTREC_ORDER_H
#define FASTREC_ORDER_H

#include <stdbool.h>

#include "batch/alias.h"
#include "batch/interleave.h"

typedef enum {
    FR_SHUFFLE_NONE,    /* in file order, or files interleaved */
    FR_SHUFFLE_RECORDS, /* a different permutation of all records in each epoch */
    FR_SHUFFLE_BLOCKS,  /* blocks of adjacent records in random order, shuffled within a window */
    FR_SHUFFLE_BUFFER   /* each record is drawn from a buffer that records enter in file order */
} fr_shuffle;

/* How shards divide the last step of an epoch if they cannot divide it evenly. */
typedef enum {
    FR_UNEVEN_LONGER, /* the first shards take one record more than the others */
    FR_UNEVEN_DROP,   /* the records left over are not used */
    FR_UNEVEN_PAD     /* records from the start of the epoch make the shards equal */
} fr_uneven;

/* One of several sources that are mixed. It gives `weight` records of every (sum of weights)
   records. */
typedef struct {
    uint64_t first, count; /* range of the source's records */
    uint64_t weight;
} fr_mix_part;

/* From place `first` of the epoch, the parts of a mixture have these weights. Some may be 0. */
typedef struct {
    uint64_t first;          /* first place of the stage; 0 for the first stage */
    const uint64_t *weights; /* one for each part */
} fr_mix_stage;

#define FR_WEIGHTS_MAX 4096        /* greatest sum of weights */
#define FR_VIRTUAL_SHARDS_MAX 4096 /* each has a window of blocks in memory */

/* All-zero except for the sizes and counts is a valid order. Pointers are borrowed. */
typedef struct {
    uint64_t count; /* number of all records */
    fr_shuffle shuffle;
    uint64_t seed;
    bool same_order;      /* every epoch has the order of epoch 0 */
    uint64_t first_epoch; /* number of the first epoch */
    uint64_t epochs;      /* number of epochs; 0: unlimited */
    uint64_t start;       /* places of first_epoch that were used before */
    uint64_t shard_index, shard_count;
    uint64_t batch_size;
    uint64_t deal;            /* places that each shard takes of a step; 0: batch_size */
    bool drop_remainder;      /* leave out batches shorter than batch_size */
    bool batch_across_epochs; /* a batch may continue in the next epoch */
    fr_uneven uneven;
    uint64_t block, window;  /* FR_SHUFFLE_BLOCKS: most records per block, blocks per window */
    uint64_t virtual_shards; /* FR_SHUFFLE_BLOCKS: streams of blocks; 0 means 1 */
    uint64_t buffer;         /* FR_SHUFFLE_BUFFER: size in records */
    const fr_interleave *interleave; /* for FR_SHUFFLE_NONE and _BUFFER; or NULL */
    const fr_mix_part *parts;        /* sources of a mixture, for FR_SHUFFLE_NONE and _RECORDS */
    size_t part_count;               /* 0: not a mixture */
    uint64_t mixed;                  /* mixture: records per epoch */
    const fr_mix_stage *stages;      /* mixture whose weights change in its only epoch */
    size_t stage_count;              /* 0: the parts have the same weights in every epoch */
    const fr_alias_slot *weighted; /* `count` slots from which each place draws; NULL: no weights */
    const uint64_t *selected;      /* `count` record numbers of a subset; NULL: all records */
    uint64_t records; /* subset: records of the source; REQUIRES: above every selected number */
} fr_order;

/* A batch: `rows` positions from position `first` of `epoch`. With batch_across_epochs it may
   continue in the following epochs. */
typedef struct {
    uint64_t epoch;
    uint64_t first; /* position among the shard's records, counted from `start` */
    uint64_t rows;
} fr_slice;

/* Returns FR_ERR_ARG if the shard is not below shard_count, if a count or size is 0 that must
   not be, if a start is out of range, or if options exclude each other. */
FR_NODISCARD int fr_order_check(const fr_order *order, fr_error *err);

/* Returns the number of records that the source must have at least. */
static inline uint64_t fr_order_records(const fr_order *order) {
    return order->selected ? order->records : order->count;
}

/* The blocks of FR_SHUFFLE_BLOCKS. Each virtual shard has the same number of blocks, and sizes
   differ by at most one record. The larger blocks are at regular distances in the source. */
typedef struct {
    uint64_t rows;   /* blocks of each virtual shard */
    uint64_t count;  /* number of all blocks; some are empty if there are fewer records */
    uint64_t larger; /* number of blocks with size + 1 records */
    uint64_t size;   /* records of each other block */
} fr_blocks;

/* REQUIRES: the order was checked, and is FR_SHUFFLE_BLOCKS. */
fr_blocks fr_order_blocks(const fr_order *order);

/* Returns the first record of a block, or the end of the last block if `block` is `count`. */
static inline uint64_t fr_blocks_begin(const fr_blocks *blocks, uint64_t block) {
    const unsigned __int128 larger = (unsigned __int128)block * blocks->larger / blocks->count;
    return block * blocks->size + (uint64_t)larger;
}

/* The places of one step that this shard takes. Places are counted from the first place of the
   epoch that was not used before. */
typedef struct {
    uint64_t begin, size; /* the places of the step */
    uint64_t first, rows; /* the places of this shard, among the sorted places of the step */
    uint64_t done;        /* rows before the requested position */
} fr_share;

/* Returns the number of records in an epoch, over all shards. */
static inline uint64_t fr_order_epoch_size(const fr_order *order) {
    return order->part_count ? order->mixed : order->count;
}

/*
 * Returns the number of records until the first of the parts is exhausted, or until the last one
 * is. The number is a multiple of the sum of weights. Returns 0 if it is zero or too large.
 */
uint64_t fr_order_mixed_size(const fr_mix_part *parts, size_t count, bool until_last);

/* Returns the number of this shard's records in an epoch that starts at place 0. */
uint64_t fr_order_shard_size(const fr_order *order);

/* Returns the number of this shard's records in `epoch`. In first_epoch, only those after
   `start` count. */
uint64_t fr_order_epoch_rows(const fr_order *order, uint64_t epoch);

/*
 * Returns the step that contains this shard's `position` in `epoch`, after `used` places. `first`
 * may be `size` or more with FR_UNEVEN_PAD: those places are at the start of the epoch.
 */
fr_share fr_order_share(const fr_order *order, uint64_t epoch, uint64_t used, uint64_t position);

/* Returns the number of batches in all epochs; UINT64_MAX if unlimited. */
uint64_t fr_order_batches(const fr_order *order);

/* Gets the batch with number `serial`, counted from 0 over all epochs. Returns FR_END after the
   last. */
FR_NODISCARD int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice);

#endif
