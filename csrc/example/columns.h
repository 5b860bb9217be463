/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed columns that grow row by row into one batch.
 *
 * Features of a fixed size share one block, filled in place; ragged and bytes features have blocks
 * of their own that grow. Every block is 64-byte aligned and keeps its memory when the columns are
 * begun anew, so that a recycled batch costs no page fault.
 *
 * A single fr_columns is not safe to use by several threads at once.
 */
#ifndef FASTREC_COLUMNS_H
#define FASTREC_COLUMNS_H

#include "example/schema.h"

typedef struct {
    size_t dense;      /* where its rows begin in the shared block; fixed-size features only */
    size_t row_size;   /* bytes a row there */
    fr_buffer values;  /* ragged: the elements; bytes: the bytes */
    fr_buffer offsets; /* bytes: int64, where element i begins; then where the last ends */
    fr_buffer splits;  /* ragged: int64, where row i begins; then where the last ends */
    fr_buffer frames;  /* frames: int64, which row is the first of record i; then their number */
} fr_column;

/* A record that was left out of the rows. */
typedef struct {
    size_t number;  /* of the record among those of the batch */
    fr_error error; /* the reason, with the coordinates that are known */
} fr_misfit;

/* All-zero is a valid empty object. */
typedef struct {
    const fr_schema *schema; /* borrowed */
    fr_column *columns;      /* one a feature */
    size_t column_count;
    fr_buffer dense;
    bool lent; /* the shared block is somebody else's, and is let go of where it is too small */
    size_t rows, capacity;
    size_t first;      /* number of the first row: 0, or where a part of other columns begins */
    fr_buffer misfits; /* fr_misfit: the records that were left out, in order */
} fr_columns;

/* Bytes that the shared block has for so many rows. FR_ERR_NOMEM where no memory has them. */
FR_NODISCARD int fr_columns_dense_size(const fr_schema *schema, size_t capacity, size_t *size,
                                       fr_error *err);

/* Empties the columns and allocates `capacity` rows of `schema`, which must outlive them. */
FR_NODISCARD int fr_columns_begin(fr_columns *columns, const fr_schema *schema, size_t capacity,
                                  fr_error *err);

/* Whether the column of `feature` lies in the shared block. */
static inline bool fr_feature_is_dense(const fr_feature *feature) {
    return !feature->ragged && !feature->frames && feature->dtype != FR_BYTES;
}

/* The place of the next row of column `number` in the shared block. */
static inline uint8_t *fr_columns_dense_row(const fr_columns *columns, size_t number) {
    const fr_column *column = &columns->columns[number];
    return columns->dense.data + column->dense + columns->rows * column->row_size;
}

/* Number of records that were appended or left out. For a part, counted from the whole's first. */
static inline size_t fr_columns_records(const fr_columns *columns) {
    return columns->rows + columns->misfits.size / sizeof(fr_misfit);
}

/* Takes back all rows after the first `rows`, and any incomplete one. */
void fr_columns_rewind(fr_columns *columns, size_t rows);

/*
 * Decides about record `number` (fr_columns_records() before it), which failed with `status`.
 *
 * Where the schema skips and the failure concerns this record alone (it is not the message that the
 * schema describes, or its data is damaged), takes back what was appended of it, adds it to the
 * misfits, and returns FR_OK. Otherwise returns `status`.
 */
FR_NODISCARD int fr_columns_leave_out(fr_columns *columns, size_t number, int status,
                                      fr_error *err);

/*
 * Begins `part` as columns that fill the shared block of `whole` from row `first` on, and have
 * other blocks of their own; that block must stay where it is. `first` is the number of the part's
 * first record: fr_columns_records() of `whole`, plus the records of the parts before this one.
 * fr_columns_join() appends the rows and misfits of `part` to those of `whole`, moves rows down
 * where records before them were left out, and releases the shared block. Parts are joined in the
 * order of `first`. Different parts may be filled by different threads. A part that is not joined
 * is freed after its `dense` was zeroed.
 */
FR_NODISCARD int fr_columns_split(const fr_columns *whole, size_t first, fr_columns *part,
                                  fr_error *err);
FR_NODISCARD int fr_columns_join(fr_columns *whole, fr_columns *part, fr_error *err);

void fr_columns_free(fr_columns *columns);

#endif
