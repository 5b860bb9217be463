/* SPDX-License-Identifier: Apache-2.0 */
#include "example/parallel_encode.h"

#include <stdlib.h>

/* Approximate size of a block, which stays in a core's cache until it is written. */
#define BLOCK_SIZE ((size_t)1 << 18)

/* Size below which starting threads takes longer than they save. */
#define ALONE_SIZE ((size_t)1 << 21)

#define THREADS_MOST 8
#define WAIT_MS 100

/* Number of blocks that a thread may be ahead. */
#define AHEAD 2

/* Estimates the size of a row, assuming small integers. */
static size_t row_size(const fr_value *values, size_t count, fr_rows rows) {
    size_t all = 0, keys = FR_FRAME_OVERHEAD;
    for (size_t i = 0; i < count; i++) {
        const fr_value *value = &values[i];
        const size_t width = value->kind == FR_KIND_INT64 ? fr_dtype_size(value->dtype) : 1;
        all += value->size / (width > 2 ? width / 2 : 1);
        keys += value->key.size + 12;
    }
    const size_t most = rows.end ? rows.end : 1;
    return all / most + keys;
}

/* Returns the rows of block `number`. */
static fr_rows block_rows(fr_rows rows, size_t rows_a_block, size_t number) {
    const size_t stride = rows_a_block * rows.step;
    fr_rows block = {rows.begin + number * stride, rows.end, rows.step};
    if (block.end - block.begin > stride) block.end = block.begin + stride;
    return block;
}

static size_t rows_a_block(const fr_value *values, size_t count, fr_rows rows) {
    return BLOCK_SIZE / row_size(values, count, rows) + 1;
}

static size_t blocks_of(size_t rows, size_t rows_a_block) {
    return rows / rows_a_block + (rows % rows_a_block != 0);
}

size_t fr_parallel_encode_threads(const fr_value *values, size_t count, fr_rows rows, size_t cpus) {
    size_t size;
    if (fr_mul_overflows(row_size(values, count, rows), fr_rows_count(rows), &size))
        size = SIZE_MAX;
    if (cpus < 2 || size < ALONE_SIZE) return 0;
    return cpus < THREADS_MOST ? cpus : THREADS_MOST;
}

struct fr_parallel_encode {
    const fr_value *values;
    size_t count;
    fr_rows rows;
    size_t rows_a_block;
    size_t depth;
    fr_buffer *blocks; /* block `number` is at number % depth */
    fr_task_ring *ring;
};

static int encode_block(void *context, size_t member, size_t number, fr_error *err) {
    (void)member;
    fr_parallel_encode *encode = context;
    fr_buffer *block = &encode->blocks[number % encode->depth];
    block->size = 0;
    fr_rows rows = block_rows(encode->rows, encode->rows_a_block, number);
    return fr_encode_rows(encode->values, encode->count, rows, true, block, NULL, err);
}

static int start(fr_parallel_encode *encode, size_t threads, fr_error *err) {
    const size_t blocks = blocks_of(fr_rows_count(encode->rows), encode->rows_a_block);
    encode->depth = threads ? threads * AHEAD : 1;
    encode->blocks = calloc(encode->depth, sizeof *encode->blocks);
    if (!encode->blocks) return fr_fail_nomem(err, encode->depth * sizeof *encode->blocks);
    const fr_task_ring_options options = {.task = encode_block,
                                          .context = encode,
                                          .count = blocks,
                                          .depth = encode->depth,
                                          .threads = threads < blocks ? threads : blocks};
    return fr_task_ring_start(&options, &encode->ring, err);
}

int fr_parallel_encode_start(const fr_value *values, size_t count, fr_rows rows, size_t threads,
                             fr_parallel_encode **encode, fr_error *err) {
    fr_parallel_encode *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    *made = (fr_parallel_encode){.values = values, .count = count, .rows = rows};
    made->rows_a_block = rows_a_block(values, count, rows);
    int status = start(made, threads, err);
    if (status != FR_OK) {
        fr_parallel_encode_free(made);
        return status;
    }
    *encode = made;
    return FR_OK;
}

int fr_parallel_encode_next(fr_parallel_encode *encode, fr_span *frames, size_t *records,
                            fr_error *err) {
    size_t number;
    FR_TRY(fr_task_ring_next(encode->ring, WAIT_MS, &number, err));
    const fr_buffer *block = &encode->blocks[number % encode->depth];
    *frames = (fr_span){block->data, block->size};
    *records = fr_rows_count(block_rows(encode->rows, encode->rows_a_block, number));
    return FR_OK;
}

void fr_parallel_encode_free(fr_parallel_encode *encode) {
    if (!encode) return;
    fr_task_ring_free(encode->ring);
    for (size_t i = 0; encode->blocks && i < encode->depth; i++)
        fr_buffer_free(&encode->blocks[i]);
    free(encode->blocks);
    free(encode);
}

/* All rows in one block: the first pass computes each block's sizes, and the second writes its
   bytes. */
typedef struct {
    const fr_value *values;
    size_t count;
    fr_rows rows;
    size_t rows_a_block;
    int64_t *offsets;
    uint8_t *data; /* NULL in the first pass */
} whole;

static int do_block(void *context, size_t member, size_t number, fr_error *err) {
    (void)member;
    const whole *w = context;
    fr_rows rows = block_rows(w->rows, w->rows_a_block, number);
    int64_t *offsets = w->offsets + number * w->rows_a_block;
    if (!w->data) return fr_encode_sizes(w->values, w->count, rows, offsets + 1, err);
    return fr_encode_at(w->values, w->count, rows, w->data, offsets, err);
}

static int do_blocks(whole *w, size_t threads, fr_error *err) {
    const size_t blocks = blocks_of(fr_rows_count(w->rows), w->rows_a_block);
    if (blocks == 0) return FR_OK;
    const fr_task_ring_options options = {.task = do_block,
                                          .context = w,
                                          .count = blocks,
                                          .depth = blocks,
                                          .threads = threads < blocks ? threads : blocks};
    fr_task_ring *ring;
    FR_TRY(fr_task_ring_start(&options, &ring, err));
    size_t number;
    int status;
    do
        status = fr_task_ring_next(ring, WAIT_MS, &number, err);
    while (status == FR_OK || status == FR_AGAIN);
    fr_task_ring_free(ring);
    return status == FR_END ? FR_OK : status;
}

static int place(whole *w, size_t threads, fr_buffer *out, fr_buffer *offsets, fr_error *err) {
    const size_t rows = fr_rows_count(w->rows);
    FR_TRY(fr_buffer_reserve(offsets, (rows + 1) * sizeof *w->offsets, err));
    w->offsets = (int64_t *)(void *)offsets->data;
    FR_TRY(do_blocks(w, threads, err));
    w->offsets[0] = 0;
    for (size_t i = 0; i < rows; i++)
        w->offsets[i + 1] += w->offsets[i];
    const size_t size = (size_t)w->offsets[rows];
    FR_TRY(fr_buffer_reserve(out, size ? size : 1, err));
    w->data = out->data;
    FR_TRY(do_blocks(w, threads, err));
    out->size = size;
    offsets->size = (rows + 1) * sizeof *w->offsets;
    return FR_OK;
}

int fr_parallel_encode_whole(const fr_value *values, size_t count, fr_rows rows, size_t threads,
                             fr_buffer *out, fr_buffer *offsets, fr_error *err) {
    whole w = {.values = values, .count = count, .rows = rows};
    w.rows_a_block = rows_a_block(values, count, rows);
    int status = place(&w, threads, out, offsets, err);
    if (status != FR_OK) out->size = offsets->size = 0;
    return status;
}
