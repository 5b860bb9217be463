/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans how documents fill rows of a fixed length. Uses only the lengths of the documents.
 *
 * FR_FIT_BEST is best fit decreasing (D. S. Johnson, "Near-optimal bin packing algorithms", MIT,
 * 1973): documents are placed from the longest to the shortest, each into the fullest row that has
 * space for it. The rows are then numbered in a random order, because otherwise the first rows
 * would have the longest documents.
 */
#ifndef FASTREC_ROW_PLAN_H
#define FASTREC_ROW_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FR_ROW_LENGTH_MAX ((uint32_t)1 << 24) /* in tokens */

typedef enum {
    FR_FIT_BEST,  /* best fit decreasing */
    FR_FIT_FIRST, /* each document, in order, goes into the first row that has space for it */
    FR_FIT_SPLIT  /* documents are concatenated in order, and cut where a row ends */
} fr_fit_rows;

typedef enum {
    FR_OVERLONG_SPLIT, /* a document that is longer than a row becomes several segments */
    FR_OVERLONG_DROP,  /* a document longer than a row is left out */
    FR_OVERLONG_ERROR  /* a document longer than a row is an error */
} fr_overlong;

/* The part of a document that is in one row. */
typedef struct {
    uint32_t document; /* number of the document in `lengths` */
    uint32_t begin;    /* number of its first token in the document */
    uint32_t length;   /* in tokens, at least 1 */
} fr_segment;

typedef struct {
    uint32_t length;       /* tokens in a row; 1 to FR_ROW_LENGTH_MAX */
    uint32_t max_segments; /* maximum number of segments in a row; 0: unlimited */
    fr_fit_rows fit;
    fr_overlong overlong;
    uint64_t seed; /* seed of the random order of rows (FR_FIT_BEST) */
} fr_row_options;

/* All-zero is a valid plan without rows. */
typedef struct {
    fr_buffer segments; /* array of fr_segment, sorted by row, then by document */
    fr_buffer
        splits; /* uint32_t, rows + 1: first segment of each row, then the number of segments */
    uint64_t tokens; /* number of tokens in all segments */
    uint32_t rows;
} fr_row_plan;

/*
 * Plans rows for `count` documents of `lengths` tokens. Documents without tokens are in no row.
 *
 * Returns FR_ERR_LIMIT, with the document's number in err->record, for an overlong document with
 * FR_OVERLONG_ERROR; FR_ERR_ARG if options are out of range or the documents have more than 2^30
 * segments; FR_ERR_NOMEM.
 */
FR_NODISCARD int fr_row_plan_make(fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                                  const fr_row_options *options, fr_error *err);

void fr_row_plan_free(fr_row_plan *plan);

#endif
