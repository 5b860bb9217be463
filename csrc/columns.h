/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed columns that grow row by row into one batch.
 *
 * Features of a fixed size share one block, filled in place; ragged and bytes features have blocks
 * of their own that grow. Every block is 64-byte aligned and keeps its room when the columns are
 * begun anew, so that a recycled batch costs no page fault.
 *
 * A single fr_columns is not safe to use by several threads at once.
 */
#ifndef FASTREC_COLUMNS_H
#define FASTREC_COLUMNS_H

#include "schema.h"

typedef struct {
    size_t dense;      /* where its rows begin in the shared block; fixed-size features only */
    fr_buffer values;  /* ragged: the elements; bytes: the bytes */
    fr_buffer offsets; /* bytes: int64, where element i begins; then where the last ends */
    fr_buffer splits;  /* ragged: int64, where row i begins; then where the last ends */
} fr_column;

/* All-zero is a valid empty object. */
typedef struct {
    const fr_schema *schema; /* borrowed */
    fr_column *columns;      /* one a feature */
    size_t column_count;
    fr_buffer dense;
    size_t rows, capacity;
} fr_columns;

/* Empties the columns and makes room for `capacity` rows of `schema`, which must outlive them. */
FR_NODISCARD int fr_columns_begin(fr_columns *columns, const fr_schema *schema, size_t capacity,
                                  fr_error *err);

/* Whether the column of `feature` lies in the shared block. */
static inline bool fr_feature_is_dense(const fr_feature *feature) {
    return !feature->ragged && feature->dtype != FR_BYTES;
}

/* Bytes a row of a feature in the shared block. */
static inline size_t fr_feature_row_size(const fr_feature *feature) {
    return feature->count * fr_dtype_size(feature->dtype);
}

void fr_columns_free(fr_columns *columns);

#endif
