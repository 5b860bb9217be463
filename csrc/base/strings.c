/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <string.h>

bool fr_strings_valid(const int64_t *offsets, size_t step, size_t count, size_t size) {
    bool wrong = false;
    for (size_t i = 0; i < count; i++) {
        const int64_t begin = offsets[i * step], end = offsets[i * step + 1];
        wrong |= (begin < 0) | (begin > end) | ((uint64_t)end > size);
    }
    return !wrong;
}

void fr_strings_take(const uint8_t *data, const int64_t *offsets, const int64_t *order,
                     size_t count, const int64_t *begins, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        const size_t size = (size_t)(begins[i + 1] - begins[i]);
        if (size) memcpy(out + begins[i], data + offsets[order[i]], size);
    }
}
