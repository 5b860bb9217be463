/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans how documents fill rows of a fixed length, from the lengths of the documents alone.
 *
 * FR_FIT_BEST is best fit decreasing (D. S. Johnson, "Near-optimal bin packing algorithms", MIT,
 * 1973): documents are placed from the longest to the shortest, each into the fullest row that has
 * space for it. Rows are then numbered in a random order, since those that were opened first have
 * the longest documents.
 */
#ifndef FASTREC_ROW_PLAN_H
#define FASTREC_ROW_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FR_ROW_LENGTH_MAX ((uint32_t)1 << 24) /* tokens */

typedef enum {
    FR_FIT_BEST,  /* best fit decreasing */
    FR_FIT_FIRST, /* each document, in order, into the first row that has space for it */
    FR_FIT_SPLIT  /* documents, in order, one after the other, cut where a row ends */
} fr_fit_rows;

typedef enum {
    FR_OVERLONG_SPLIT, /* a document that is longer than a row becomes several segments */
    FR_OVERLONG_DROP,  /* ... is left out */
    FR_OVERLONG_ERROR  /* ... is an error */
} fr_overlong;

/* A part of a document that is in one row. */
typedef struct {
    uint32_t document; /* number among the planned ones */
    uint32_t begin;    /* its first token in the document */
    uint32_t length;   /* in tokens, at least 1 */
} fr_segment;

typedef struct {
    uint32_t length;       /* of a row, in tokens; 1 to FR_ROW_LENGTH_MAX */
    uint32_t max_segments; /* segments in a row, at most; 0: no limit */
    fr_fit_rows fit;
    fr_overlong overlong;
    uint64_t seed; /* of the random order of rows, FR_FIT_BEST */
} fr_row_options;

/* All-zero is a valid plan of no rows. */
typedef struct {
    fr_buffer segments; /* of fr_segment, row by row, in a row in the order of the documents */
    fr_buffer
        splits; /* of uint32_t, rows + 1: the first segment of each row, and the number of all */
    uint64_t tokens; /* in all segments */
    uint32_t rows;
} fr_row_plan;

/*
 * Plans rows for `count` documents of `lengths` tokens. Documents without tokens are in no row.
 *
 * FR_ERR_LIMIT with FR_OVERLONG_ERROR and the document's number in err->record; FR_ERR_ARG when the
 * options are out of range, or the documents have more than 2^30 segments; FR_ERR_NOMEM.
 */
FR_NODISCARD int fr_row_plan_make(fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                                  const fr_row_options *options, fr_error *err);

void fr_row_plan_free(fr_row_plan *plan);

#endif
