/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files side by side: record 0 of each, then record 1 of each, as long as each has records; a group
 * of `width` files after the other.
 *
 * The record at a position is found by bisection. An interleaving does not change once made, so any
 * number of threads may use them.
 */
#ifndef FASTREC_INTERLEAVE_H
#define FASTREC_INTERLEAVE_H

#include <stddef.h>

#include "base/bytes.h"

#define FR_INTERLEAVE_MAX 256

/* From `position` on, until the next stage, the same files take turns. */
typedef struct {
    uint64_t position;
    uint64_t round; /* records that each of them has given before */
    size_t begin;   /* where in `alive` their list begins */
    size_t count;
} fr_interleave_stage;

/* All-zero is valid, of no files. */
typedef struct {
    fr_buffer stages; /* fr_interleave_stage */
    fr_buffer alive;  /* uint64: number of a file's first record */
} fr_interleave;

/* `counts`: records of each file. FR_ERR_ARG unless width is 1 to FR_INTERLEAVE_MAX. */
FR_NODISCARD int fr_interleave_init(fr_interleave *interleave, const uint64_t *counts, size_t files,
                                    size_t width, fr_error *err);

/* The number of the record at `position`, which is less than all records together. */
uint64_t fr_interleave_at(const fr_interleave *interleave, uint64_t position);

void fr_interleave_free(fr_interleave *interleave);

#endif
