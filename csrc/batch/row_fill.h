/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the documents of planned rows (row_plan.h) into arrays of one row after the other.
 *
 * A document is the concatenation of its parts: lists of integers, and tokens that every document
 * has, such as the one that ends it.
 */
#ifndef FASTREC_ROW_FILL_H
#define FASTREC_ROW_FILL_H

#include <stdbool.h>

#include "batch/row_plan.h"
#include "format/dtype.h"

typedef struct {
    const int64_t *values; /* of all documents; NULL: each document has `constant` here */
    const int64_t
        *splits; /* documents + 1: the first value of each document, and the number of all */
    int64_t constant;
    bool has_loss; /* whether the loss counts these tokens */
} fr_row_part;

typedef struct {
    const fr_segment *segments; /* `document` is a number below `documents` */
    const uint32_t *splits;     /* rows + 1 */
    uint32_t rows, length;
    const fr_row_part *parts;
    size_t part_count;
    uint32_t documents;
} fr_row_layout;

/* FR_ERR_ARG unless every segment is within its document and every row has space for its segments.
 */
FR_NODISCARD int fr_row_layout_check(const fr_row_layout *layout, fr_error *err);

/*
 * Writes tokens of `dtype`, an integer type, to `out`, rows * length of them; `pad` where a row has
 * no token.
 *
 * FR_ERR_SCHEMA when a token is out of the dtype's range, with the document in err->record.
 */
FR_NODISCARD int fr_row_fill_tokens(const fr_row_layout *layout, fr_dtype dtype, int64_t pad,
                                    uint8_t *out, fr_error *err);

/* Writes the number of the segment in its row, from 1, and of the token in its segment, from 0; 0
   and 0 in the padding of a row. */
void fr_row_fill_segments(const fr_row_layout *layout, int32_t *segments, int32_t *positions);

/* Writes 1 where the loss counts the token, and 0 elsewhere. */
void fr_row_fill_loss(const fr_row_layout *layout, uint8_t *out);

/*
 * Writes elements of `item` bytes that documents have besides their tokens, one for each token of
 * the parts that are not constant; `pad`, an element, elsewhere. `splits` is as in fr_row_part.
 */
void fr_row_fill_aligned(const fr_row_layout *layout, const uint8_t *values, const int64_t *splits,
                         size_t item, const uint8_t *pad, uint8_t *out);

/* Writes where each segment, and the rest of each row, begin among all tokens, and rows * length;
   returns how many numbers that is: at most segments + rows + 1. */
size_t fr_row_fill_boundaries(const fr_row_layout *layout, int32_t *out);

#endif
