/* SPDX-License-Identifier: Apache-2.0 */
#include "example/sparse_indices.h"

int64_t fr_sparse_indices(const int64_t *splits, size_t rows, int64_t *indices) {
    int64_t widest = 0;
    for (size_t row = 0; row < rows; row++) {
        const int64_t width = splits[row + 1] - splits[row];
        if (width > widest) widest = width;
        for (int64_t i = 0; i < width; i++) {
            indices[2 * i] = (int64_t)row;
            indices[2 * i + 1] = i;
        }
        indices += 2 * width;
    }
    return widest;
}

void fr_sparse_nested_indices(const int64_t *records, size_t count, const int64_t *splits,
                              int64_t *indices, int64_t widest[2]) {
    widest[0] = widest[1] = 0;
    for (size_t record = 0; record < count; record++) {
        const int64_t first = records[record], rows = records[record + 1] - first;
        if (rows > widest[0]) widest[0] = rows;
        for (int64_t row = 0; row < rows; row++) {
            const int64_t width = splits[first + row + 1] - splits[first + row];
            if (width > widest[1]) widest[1] = width;
            for (int64_t i = 0; i < width; i++, indices += 3) {
                indices[0] = (int64_t)record;
                indices[1] = row;
                indices[2] = i;
            }
        }
    }
}
