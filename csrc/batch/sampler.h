/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the record numbers of batches, in any order that order.h describes. Each way to shuffle
 * is a strategy with its own file.
 *
 * Batches may be requested in any order. Each takes the same time, unless the order is stateful.
 * Different samplers of one order give the same results.
 *
 * A sampler must not be used by several threads at once. Different samplers may share an order.
 */
#ifndef FASTREC_SAMPLER_H
#define FASTREC_SAMPLER_H

#include "base/permutation.h"
#include "base/philox.h"
#include "batch/order.h"

/* A permutation and its parameters, so that one permutation serves many positions. */
typedef struct {
    fr_permutation permutation;
    uint64_t pass;
    bool known; /* whether `pass` is set */
} fr_sampler_pass;

/* FR_SHUFFLE_BLOCKS: the current window of a virtual shard. */
typedef struct {
    uint64_t begin, count; /* the window's places of the virtual shard; count 0: not set */
    uint64_t number;       /* number of the window in the virtual shard */
    uint64_t row, rows;    /* range of the window's blocks, numbered in the virtual shard */
    uint64_t larger;       /* number of larger blocks among them */
    uint64_t shift;        /* moves the rows with larger blocks; changes with the epoch */
} fr_sampler_window;

/* FR_SHUFFLE_BLOCKS: the part of a window that a lane shuffles. */
typedef struct {
    uint64_t begin;        /* first record, numbered in the window */
    bool known;            /* whether the other fields and the list are set */
    fr_permutation within; /* used without a list */
} fr_sampler_part;

/* FR_SHUFFLE_BLOCKS: places of a lane, numbered in the lane. */
typedef struct {
    uint64_t begin, end;
} fr_sampler_turns;

/* Numbers of blocks (fr_order_blocks). Some blocks may be empty. */
typedef struct {
    uint64_t *blocks;
    uint64_t count;
} fr_sampler_list;

/* Records from `begin` to `end` - 1. */
typedef struct {
    uint64_t begin, end;
} fr_sampler_range;

typedef struct {
    fr_sampler_range *ranges;
    uint64_t count;
} fr_sampler_ranges;

/* FR_SHUFFLE_BLOCKS: the order of the blocks in an epoch, and the state of each virtual shard. */
typedef struct {
    fr_sampler_pass larger, smaller; /* permutations of the blocks in epoch `epoch` */
    uint64_t epoch;
    bool known;      /* `epoch` is set */
    uint64_t shards; /* number of virtual shards */
    fr_blocks sizes;
    uint64_t span;              /* greatest number of blocks in a window */
    fr_sampler_window *windows; /* one for each virtual shard */
    uint64_t *blocks;           /* numbers of the blocks of each window */
    uint64_t lanes;             /* number of lanes of each virtual shard */
    bool whole;                 /* this shard has whole virtual shards */
    fr_sampler_part *parts;     /* `lanes` for each virtual shard */
    uint64_t most;              /* number of records in the longest part */
    uint16_t *shuffled;         /* `most` numbers for each part; NULL if parts are longer */
    uint64_t *ranked;           /* virtual shards in the order in which shards divide a step */
    uint64_t *ranked_lanes;     /* lanes of a virtual shard in the same order */
    uint64_t *next, *end;       /* places of each virtual shard in the current step */
    fr_sampler_turns *own;      /* those of each lane that belong to this shard */
    fr_sampler_list left;       /* blocks of earlier windows that were not taken yet */
    fr_sampler_ranges entered;  /* records of new windows that were not taken yet */
} fr_sampler_blocks;

/* A place of a mixture's round. */
typedef struct {
    uint32_t part; /* part that the place belongs to */
    uint32_t turn; /* number of the part's earlier places in the round */
} fr_sampler_place;

/* A mixture: its current round, and the current pass of each part. */
typedef struct {
    uint64_t *before;        /* for each stage and part: the part's records in earlier stages */
    size_t stage;            /* stage of the round */
    fr_sampler_pass *passes; /* one for each part */
    fr_sampler_place *places;
    uint32_t *turns; /* one for each part, used while a round is dealt */
    uint64_t round;
    bool known; /* whether `round` is set */
} fr_sampler_mixture;

/* FR_SHUFFLE_BUFFER: the records in the buffer. */
typedef struct {
    fr_philox philox;
    uint64_t *records;
    uint64_t held;         /* number of records in it */
    uint64_t entered, out; /* numbers of the epoch's records that went in and came out */
    uint64_t epoch;
    bool known; /* whether `epoch` is set */
} fr_sampler_buffer;

typedef enum {
    FR_SAMPLER_IN_ORDER,
    FR_SAMPLER_RECORDS,
    FR_SAMPLER_BLOCKS,
    FR_SAMPLER_MIXTURE,
    FR_SAMPLER_WEIGHTED,
    FR_SAMPLER_BUFFER
} fr_sampler_strategy;

typedef union {
    fr_sampler_pass records;
    fr_sampler_blocks blocks;
    fr_sampler_mixture mixture;
    fr_sampler_buffer buffer;
} fr_sampler_state;

/* All-zero is a valid sampler, but can only be freed. */
typedef struct {
    const fr_order *order; /* borrowed */
    fr_sampler_strategy strategy;
    fr_sampler_state as; /* state of the strategy, if it has any */
} fr_sampler;

/* Returns true if a batch depends on all earlier batches of the epoch. One sampler should then
   make the batches in sequence, because any other request restarts the epoch. */
static inline bool fr_sampler_is_stateful(const fr_order *order) {
    return order->shuffle == FR_SHUFFLE_BUFFER;
}

/* REQUIRES: the order was checked, and outlives the sampler. */
FR_NODISCARD int fr_sampler_init(fr_sampler *sampler, const fr_order *order, fr_error *err);

/* Writes the slice->rows record numbers of the slice to `numbers`. */
void fr_sampler_numbers(fr_sampler *sampler, const fr_slice *slice, uint64_t *numbers);

/*
 * For FR_SHUFFLE_BLOCKS. The first returns the blocks that no later numbers will use. The second
 * returns the records that numbers now begin to use; a shard that shares a virtual shard does not
 * use all records of a block. Each block, or record, is returned once. The list is valid until the
 * next call.
 */
fr_sampler_list fr_sampler_take_left(fr_sampler *sampler);
fr_sampler_ranges fr_sampler_take_entered(fr_sampler *sampler);

/*
 * Gets the pass over its source of each record: the epoch, or for a mixture, whose sources restart
 * when they are exhausted, how often the source was exhausted before. Each record occurs once in a
 * pass. Weighted draws may repeat a record within an epoch, so each has a random number of 63 bits
 * instead.
 */
FR_NODISCARD int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                                   fr_error *err);

void fr_sampler_free(fr_sampler *sampler);

#endif
