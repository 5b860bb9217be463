/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/cut.h"

#include <string.h>

enum { SHORT = 16 }; /* bytes copied together, including bytes after a string */

int64_t fr_strings_every(const int64_t *offsets, size_t step, size_t count, int64_t *begins) {
    begins[0] = 0;
    for (size_t i = 0; i < count; i++)
        begins[i + 1] = begins[i] + offsets[i * step + 1] - offsets[i * step];
    return begins[count];
}

void fr_strings_take_every(fr_span data, const int64_t *offsets, size_t step, size_t count,
                           const int64_t *begins, uint8_t *out) {
    const size_t whole = (size_t)begins[count];
    for (size_t i = 0; i < count; i++) {
        const size_t from = (size_t)offsets[i * step], to = (size_t)begins[i];
        const size_t size = (size_t)begins[i + 1] - to;
        if (size <= SHORT && data.size - from >= SHORT && whole - to >= SHORT)
            memcpy(out + to, data.data + from, SHORT);
        else if (size)
            memcpy(out + to, data.data + from, size);
    }
}

void fr_strings_cut(const uint8_t *data, const int64_t *offsets, size_t count, const fr_cut *cut,
                    uint8_t *out, int64_t *begins, int64_t *splits) {
    int64_t parts = 0, at = 0;
    begins[0] = splits[0] = 0;
    for (size_t i = 0; i < count; i++) {
        for (int64_t place = offsets[i]; place < offsets[i + 1]; place++) {
            const uint8_t byte = data[place];
            if (!cut->is_mark[byte])
                out[at++] = byte;
            else if (!cut->skip_empty || at > begins[parts])
                begins[++parts] = at;
        }
        const bool nothing = offsets[i] == offsets[i + 1];
        if (nothing ? !cut->skip_nothing && !cut->skip_empty
                    : !cut->skip_empty || at > begins[parts])
            begins[++parts] = at;
        splits[i + 1] = parts;
    }
}
