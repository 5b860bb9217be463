/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <string.h>

/* Negative if an offset, the size of the string or the rest after it is negative. */
static inline int64_t signs_of(int64_t begin, int64_t end, size_t size) {
    const uint64_t from = (uint64_t)begin, to = (uint64_t)end;
    return (int64_t)(from | to | (to - from) | (size - to));
}

bool fr_strings_valid(const int64_t *offsets, size_t step, size_t count, size_t size) {
    int64_t signs = 0;
    if (size > INT64_MAX) return false;
    if (step == 1) /* with a constant step, the compiler checks several strings at once */
        for (size_t i = 0; i < count; i++)
            signs |= signs_of(offsets[i], offsets[i + 1], size);
    else
        for (size_t i = 0; i < count; i++)
            signs |= signs_of(offsets[i * step], offsets[i * step + 1], size);
    return signs >= 0;
}

void fr_strings_take(const uint8_t *data, const int64_t *offsets, const int64_t *order,
                     size_t count, const int64_t *begins, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        const size_t size = (size_t)(begins[i + 1] - begins[i]);
        if (size) memcpy(out + begins[i], data + offsets[order[i]], size);
    }
}

void fr_strings_pad(const uint8_t *data, const int64_t *offsets, const int64_t *splits, size_t rows,
                    size_t width, fr_span filler, int64_t *begins, uint8_t *out) {
    int64_t at = out ? 0 : offsets[splits[0]];
    *begins++ = at;
    for (size_t row = 0; row < rows; row++) {
        const int64_t first = splits[row], last = splits[row + 1];
        const int64_t shift = at - offsets[first], size = offsets[last] - offsets[first];
        for (int64_t i = first; i < last; i++)
            *begins++ = offsets[i + 1] + shift;
        if (out && size) memcpy(out + at, data + offsets[first], (size_t)size);
        at += size;
        for (size_t i = (size_t)(last - first); i < width; i++) {
            if (filler.size) memcpy(out + at, filler.data, filler.size);
            at += (int64_t)filler.size;
            *begins++ = at;
        }
    }
}

void fr_strings_join(const fr_span *strings, size_t count, int64_t *begins, uint8_t *out) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        begins[i] = (int64_t)at;
        if (strings[i].size) memcpy(out + at, strings[i].data, strings[i].size);
        at += strings[i].size;
    }
    begins[count] = (int64_t)at;
}

void fr_strings_fit(const fr_span *strings, size_t count, size_t width, uint8_t *out) {
    for (size_t i = 0; i < count; i++, out += width) {
        const size_t size = strings[i].size < width ? strings[i].size : width;
        if (size) memcpy(out, strings[i].data, size);
        if (size < width) memset(out + size, 0, width - size);
    }
}
