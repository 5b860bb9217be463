/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the documents of planned rows (row_plan.h) to arrays, row after row.
 *
 * A document is the concatenation of its parts: lists of integers, and constant tokens that every
 * document has, such as an end token.
 */
#ifndef FASTREC_ROW_FILL_H
#define FASTREC_ROW_FILL_H

#include <stdbool.h>

#include "batch/row_plan.h"
#include "format/dtype.h"

typedef struct {
    const int64_t *values; /* values of all documents; NULL: each document has `constant` here */
    const int64_t
        *splits; /* documents + 1: first value of each document, then the number of values */
    int64_t constant;
    bool has_loss; /* the loss counts these tokens */
} fr_row_part;

typedef struct {
    const fr_segment *segments; /* REQUIRES: each `document` is below `documents` */
    const uint32_t *splits;     /* rows + 1 */
    uint32_t rows, length;
    const fr_row_part *parts;
    size_t part_count;
    uint32_t documents;
} fr_row_layout;

/* Returns FR_ERR_ARG unless every segment is within its document and every row has space for its
   segments. */
FR_NODISCARD int fr_row_layout_check(const fr_row_layout *layout, fr_error *err);

/*
 * Writes rows * length tokens of `dtype`, an integer type, to `out`. Writes `pad` after the last
 * token of a row.
 *
 * Returns FR_ERR_SCHEMA if a token is out of the range of the dtype, with the document in
 * err->record.
 */
FR_NODISCARD int fr_row_fill_tokens(const fr_row_layout *layout, fr_dtype dtype, int64_t pad,
                                    uint8_t *out, fr_error *err);

/* Writes for each token the number of its segment in the row, from 1, and its number in the
   segment, from 0. Both are 0 in the padding of a row. */
void fr_row_fill_segments(const fr_row_layout *layout, int32_t *segments, int32_t *positions);

/* Writes 1 for each token that the loss counts, otherwise 0. */
void fr_row_fill_loss(const fr_row_layout *layout, uint8_t *out);

/*
 * Writes elements of `item` bytes that accompany the tokens of a document, one for each token of
 * the parts that are not constant. Elsewhere writes `pad`, which is one element. `splits` is as in
 * fr_row_part.
 */
void fr_row_fill_aligned(const fr_row_layout *layout, const uint8_t *values, const int64_t *splits,
                         size_t item, const uint8_t *pad, uint8_t *out);

/* Writes the offset, among all tokens, of each segment and of the padding of each row, followed
   by rows * length. Returns the number of offsets: at most segments + rows + 1. */
size_t fr_row_fill_boundaries(const fr_row_layout *layout, int32_t *out);

#endif
