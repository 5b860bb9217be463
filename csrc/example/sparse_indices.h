/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the coordinates of the values of a ragged column.
 */
#ifndef FASTREC_SPARSE_INDICES_H
#define FASTREC_SPARSE_INDICES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Writes (row, position in the row) of each value to `indices`, 2 numbers per value. `splits` has
 * `rows` + 1 numbers, which start at 0 and never decrease. Returns the length of the longest row.
 */
int64_t fr_sparse_indices(const int64_t *splits, size_t rows, int64_t *indices);

/*
 * Does the same one level deeper: (record, row in the record, position in the row), 3 numbers per
 * value. `records` has `count` + 1 numbers, the first row of each record. `widest` receives the
 * largest number of rows per record and of values per row.
 */
void fr_sparse_nested_indices(const int64_t *records, size_t count, const int64_t *splits,
                              int64_t *indices, int64_t widest[2]);

#endif
