/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record numbers of batches, in any order that order.h describes; a strategy, and a file, for
 * each way to shuffle.
 *
 * Any batch can be asked for next. For all orders but stateful ones the answer takes the same time
 * everywhere. Different samplers over one order agree.
 *
 * A single sampler is not safe to use by several threads at once; different samplers may share an
 * order.
 */
#ifndef FASTREC_SAMPLER_H
#define FASTREC_SAMPLER_H

#include "base/permutation.h"
#include "base/philox.h"
#include "batch/order.h"

/* A permutation and what it was made for, so that it is made once for many positions. */
typedef struct {
    fr_permutation permutation;
    uint64_t pass;
    bool known;
} fr_sampler_pass;

/* FR_SHUFFLE_BLOCKS: the window that a virtual shard is in, and the permutation of its records. */
typedef struct {
    uint64_t begin, count; /* places of the virtual shard in the window; count 0: none is known */
    uint64_t number;       /* of the window in the virtual shard */
    uint64_t row, rows;    /* its blocks, by their number in the virtual shard */
    uint64_t gap;          /* end of its shorter block; UINT64_MAX if all are whole */
    fr_permutation within;
} fr_sampler_window;

/* Numbers of blocks: block b is the records from b * order->block on. */
typedef struct {
    uint64_t *blocks;
    uint64_t count;
} fr_sampler_list;

/* From `level` on, until the next stage, a round has a place of each of `width` virtual shards. */
typedef struct {
    uint64_t level, place, width;
} fr_sampler_stage;

/* FR_SHUFFLE_BLOCKS: the order of the blocks in an epoch, and where each virtual shard is. */
typedef struct {
    fr_sampler_pass order; /* of the blocks, in the epoch of `epoch` */
    uint64_t epoch;
    bool known;                 /* which epoch it is */
    uint64_t shards;            /* virtual shards */
    uint64_t even, more;        /* blocks of each; the first `more` have one block more */
    uint64_t span;              /* blocks that a window can have */
    uint64_t deficit;           /* records that the shorter block lacks */
    uint64_t short_shard;       /* the virtual shard that has it, */
    uint64_t short_row;         /* which of its blocks it is, */
    uint64_t short_size;        /* and the records of that virtual shard */
    fr_sampler_stage stages[4]; /* the last one is the end */
    fr_sampler_window *windows; /* one a virtual shard */
    uint64_t *blocks;           /* numbers of the blocks of each window */
    uint64_t *ranked;           /* virtual shards in the order in which shards divide a step */
    uint64_t *next, *end;       /* of each virtual shard, the places that a step takes of it */
    fr_sampler_list left;       /* blocks of windows before, until they are taken */
    fr_sampler_list entered;    /* blocks of windows since, until they are taken */
} fr_sampler_blocks;

/* A place of a mixture's round. */
typedef struct {
    uint32_t part; /* whose it is */
    uint32_t turn; /* how many places of the round are the part's before it */
} fr_sampler_place;

/* A mixture: one round of it, and the pass that each part is in. */
typedef struct {
    uint64_t *before;        /* of each stage, for each part: its records in the stages before */
    size_t stage;            /* of the round */
    fr_sampler_pass *passes; /* one a part */
    fr_sampler_place *places;
    uint32_t *turns; /* one a part, used while a round is dealt */
    uint64_t round;
    bool known; /* which round it is */
} fr_sampler_mixture;

/* FR_SHUFFLE_BUFFER: the records that are in the buffer. */
typedef struct {
    fr_philox philox;
    uint64_t *records;
    uint64_t held;         /* records in it */
    uint64_t entered, out; /* records of the epoch that went in, and that came out */
    uint64_t epoch;
    bool known; /* which epoch it is */
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

/* All-zero is a valid sampler that can only be freed. */
typedef struct {
    const fr_order *order; /* borrowed */
    fr_sampler_strategy strategy;
    fr_sampler_state as; /* of that strategy, if it has any */
} fr_sampler;

/* Whether what a batch has depends on all batches before it in the epoch, so that one sampler had
   better go through them in turn: for any other it starts at the epoch again. */
static inline bool fr_sampler_is_stateful(const fr_order *order) {
    return order->shuffle == FR_SHUFFLE_BUFFER;
}

/* The order was checked. It must outlive the sampler. */
FR_NODISCARD int fr_sampler_init(fr_sampler *sampler, const fr_order *order, fr_error *err);

/* Writes the numbers of the slice's records to `numbers`, slice->rows of them. */
void fr_sampler_numbers(fr_sampler *sampler, const fr_slice *slice, uint64_t *numbers);

/*
 * Take the blocks of FR_SHUFFLE_BLOCKS that no numbers after the ones written last are in, and
 * those that their records come from now. Each block comes once. Valid until the next call.
 */
fr_sampler_list fr_sampler_take_left(fr_sampler *sampler);
fr_sampler_list fr_sampler_take_entered(fr_sampler *sampler);

/*
 * The pass over its source that each of those records belongs to: the epoch, or, of a mixture,
 * whose sources begin again when they are through, how often its source was through before. A
 * record comes once a pass. Weighted draws, which may repeat a record within an epoch, have a
 * random number of 63 bits each instead.
 */
FR_NODISCARD int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                                   fr_error *err);

void fr_sampler_free(fr_sampler *sampler);

#endif
