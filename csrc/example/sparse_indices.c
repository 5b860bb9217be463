/* SPDX-License-Identifier: Apache-2.0 */
#include "example/sparse_indices.h"

#include <string.h>

/* Two numbers that are stored at once, because storing single numbers takes twice as long. */
typedef int64_t pair __attribute__((vector_size(16)));

static inline int64_t *put(int64_t *out, pair numbers) {
    memcpy(out, &numbers, sizeof numbers);
    return out + 2;
}

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
            pair middle = {0, (int64_t)record}, last = {row, 1};
            int64_t i = 0;
            for (; i + 1 < width; i += 2) {
                indices = put(indices, (pair){(int64_t)record, row});
                indices = put(indices, middle);
                indices = put(indices, last);
                middle += (pair){2, 0};
                last += (pair){0, 2};
            }
            if (i < width) {
                indices = put(indices, (pair){(int64_t)record, row});
                *indices++ = i;
            }
        }
    }
}
