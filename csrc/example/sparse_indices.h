/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinates of the values of a ragged column.
 */
#ifndef FASTREC_SPARSE_INDICES_H
#define FASTREC_SPARSE_INDICES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes (row, place in the row) of each value to `indices`, 2 numbers a value. `splits`
 * has `rows` + 1 numbers, from 0 and never falling. The length of the longest row is returned.
 */
int64_t fr_sparse_indices(const int64_t *splits, size_t rows, int64_t *indices);

/*
 * The same one level deeper: (record, row in the record, place in the row), 3 numbers a value.
 * `records` has `count` + 1 numbers, and says which rows are a record's. `widest` gets the most
 * rows of a record and the most values of a row.
 */
void fr_sparse_nested_indices(const int64_t *records, size_t count, const int64_t *splits,
                              int64_t *indices, int64_t widest[2]);

#endif
