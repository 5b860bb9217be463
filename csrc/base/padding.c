/* SPDX-License-Identifier: Apache-2.0 */
#include "base/padding.h"

#include <string.h>

bool fr_padding_valid(const fr_padding *padding, const int64_t *begins, const int64_t *shapes,
                      size_t rows, size_t count) {
    for (size_t i = 0; i < rows; i++) {
        size_t elements = 1;
        for (size_t d = 0; d < padding->rank; d++, shapes++) {
            if (*shapes < 0 || *shapes > padding->sizes[d]) return false;
            if (__builtin_mul_overflow(elements, (size_t)*shapes, &elements)) return false;
        }
        if (begins[i] < 0 || (uint64_t)begins[i] > count) return false;
        if (elements > count - (size_t)begins[i]) return false;
    }
    return true;
}

/* Fills `size` bytes with copies of the fill element. */
static void fill(const fr_padding *padding, uint8_t *out, size_t size) {
    size_t done = padding->item;
    if (size == 0) return;
    for (size_t i = 1; i < done; i++)
        if (padding->fill[i] != padding->fill[0]) {
            memcpy(out, padding->fill, done);
            while (done < size) {
                const size_t more = done < size - done ? done : size - done;
                memcpy(out + done, out, more);
                done += more;
            }
            return;
        }
    memset(out, padding->fill[0], size);
}

/* Copies one array from dimension `d` on. Dimensions after `whole` have the full size of the
   row. */
static const uint8_t *put(const fr_padding *padding, const uint8_t *src, const int64_t *shape,
                          size_t d, size_t whole, uint8_t *out) {
    const size_t step = padding->steps[d], size = (size_t)shape[d] * step;
    if (d == whole) {
        if (size) memcpy(out, src, size);
        src += size;
    } else {
        for (size_t at = 0; at < size; at += step)
            src = put(padding, src, shape, d + 1, whole, out + at);
    }
    fill(padding, out + size, (size_t)padding->sizes[d] * step - size);
    return src;
}

void fr_padding_fill(const fr_padding *padding, const uint8_t *src, const int64_t *begins,
                     const int64_t *shapes, size_t rows, uint8_t *out) {
    const size_t row = (size_t)padding->sizes[0] * padding->steps[0];
    for (size_t i = 0; i < rows; i++, shapes += padding->rank, out += row) {
        size_t whole = padding->rank - 1;
        bool nothing = shapes[0] == 0;
        for (size_t d = 1; d < padding->rank; d++)
            nothing = nothing || shapes[d] == 0;
        while (whole > 0 && shapes[whole] == padding->sizes[whole])
            whole--;
        if (nothing)
            fill(padding, out, row);
        else
            put(padding, src + (size_t)begins[i] * padding->item, shapes, 0, whole, out);
    }
}
