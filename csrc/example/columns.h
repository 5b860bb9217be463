/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed columns that grow row by row into one batch.
 *
 * Features of a fixed size share one block, filled in place; ragged and bytes features have
 * separate blocks that grow. Every block is 64-byte aligned and keeps its memory when the columns
 * are begun again, so a recycled batch costs no page fault.
 *
 * A single fr_columns must not be used by several threads at the same time.
 */
#ifndef FASTREC_COLUMNS_H
#define FASTREC_COLUMNS_H

#include "example/schema.h"

typedef struct {
    size_t dense;      /* offset of its rows in the shared block; fixed-size features only */
    size_t row_size;   /* bytes per row in the shared block */
    fr_buffer values;  /* ragged: the elements; bytes: the bytes */
    fr_buffer offsets; /* bytes: int64, the start of each element, then the end of the last */
    fr_buffer splits;  /* ragged: int64, the start of each row, then the end of the last */
    fr_buffer frames;  /* frames: int64, the first row of each record, then the number of rows */
} fr_column;

/* A record that was left out of the rows. */
typedef struct {
    size_t number;  /* number of the record within the batch */
    fr_error error; /* the reason, with all known coordinates */
} fr_misfit;

/* All-zero is a valid empty object. */
typedef struct {
    const fr_schema *schema; /* borrowed */
    fr_column *columns;      /* one per feature */
    size_t column_count;
    fr_buffer dense;
    bool lent; /* whether the shared block has another owner; it is dropped if it is too small */
    size_t rows, capacity;
    size_t first;      /* number of the first row: 0, or the position of a part in the whole */
    fr_buffer misfits; /* fr_misfit: the records that were left out, in order */
} fr_columns;

/* Computes the size of the shared block for `capacity` rows. Returns FR_ERR_NOMEM if it
   overflows. */
FR_NODISCARD int fr_columns_dense_size(const fr_schema *schema, size_t capacity, size_t *size,
                                       fr_error *err);

/* Empties the columns and allocates `capacity` rows of `schema`, which must outlive them. */
FR_NODISCARD int fr_columns_begin(fr_columns *columns, const fr_schema *schema, size_t capacity,
                                  fr_error *err);

/* Returns whether the column of `feature` is in the shared block. */
static inline bool fr_feature_is_dense(const fr_feature *feature) {
    return !feature->ragged && !feature->frames && feature->dtype != FR_BYTES;
}

/* Returns the address of the next row of column `number` in the shared block. */
static inline uint8_t *fr_columns_dense_row(const fr_columns *columns, size_t number) {
    const fr_column *column = &columns->columns[number];
    return columns->dense.data + column->dense + columns->rows * column->row_size;
}

/* Returns the number of records that were appended or left out. For a part, counting starts at the
   whole's first. */
static inline size_t fr_columns_records(const fr_columns *columns) {
    return columns->rows + columns->misfits.size / sizeof(fr_misfit);
}

/* Removes all rows after the first `rows`, and any incomplete row. */
void fr_columns_rewind(fr_columns *columns, size_t rows);

/*
 * Handles the failure of record `number` (equal to fr_columns_records() before it) with `status`.
 *
 * If the schema skips unusable records, and the failure concerns only this record (its message does
 * not match the schema, or its data is damaged), removes what was appended of it, adds it to the
 * misfits, and returns FR_OK. Otherwise returns `status`.
 */
FR_NODISCARD int fr_columns_leave_out(fr_columns *columns, size_t number, int status,
                                      fr_error *err);

/*
 * Begins `part` as columns that fill the shared block of `whole` from row `first` on and have
 * separate other blocks. REQUIRES: the shared block does not move meanwhile. `first` is the number
 * of the part's first record: fr_columns_records() of `whole`, plus the records of the parts before
 * this one. fr_columns_join() appends the rows and misfits of `part` to `whole`, closing the gaps
 * of records that were left out, and releases the shared block. Parts must be joined in the order
 * of `first`. Different threads may fill different parts. To free a part without joining it, set
 * its `dense` to zero first.
 */
FR_NODISCARD int fr_columns_split(const fr_columns *whole, size_t first, fr_columns *part,
                                  fr_error *err);
FR_NODISCARD int fr_columns_join(fr_columns *whole, fr_columns *part, fr_error *err);

void fr_columns_free(fr_columns *columns);

#endif
