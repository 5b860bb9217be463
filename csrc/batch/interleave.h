/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaves files: record 0 of each, then record 1 of each, as long as each has records. Groups
 * of `width` files follow each other.
 *
 * The record at a position is found by bisection. An interleaving does not change after it is made,
 * so any number of threads may use it.
 */
#ifndef FASTREC_INTERLEAVE_H
#define FASTREC_INTERLEAVE_H

#include <stddef.h>

#include "base/bytes.h"

#define FR_INTERLEAVE_MAX 256

/* A range of positions, from `position` to the next stage, in which the same files take turns. */
typedef struct {
    uint64_t position;
    uint64_t round; /* number of records that each file has given before */
    size_t begin;   /* index of the first of these files in `alive` */
    size_t count;
} fr_interleave_stage;

/* All-zero is a valid interleaving of no files. */
typedef struct {
    fr_buffer stages; /* array of fr_interleave_stage */
    fr_buffer alive;  /* uint32: number of a file's first record */
} fr_interleave;

/* Makes an interleaving of files with these numbers of records. Returns FR_ERR_ARG unless width
   is 1 to FR_INTERLEAVE_MAX. */
FR_NODISCARD int fr_interleave_init(fr_interleave *interleave, const uint64_t *counts, size_t files,
                                    size_t width, fr_error *err);

/* Returns the number of the record at `position`. REQUIRES: position is below the number of
   records. */
uint64_t fr_interleave_at(const fr_interleave *interleave, uint64_t position);

void fr_interleave_free(fr_interleave *interleave);

#endif
