/* SPDX-License-Identifier: Apache-2.0 */
/* Strings are cut as one byte after the other says, and taken in any order. */
#include "base/strings.h"

#include "tensor/cut.h"
#include "test.h"

enum { STRINGS = 40, LONGEST = 24, TURNS = 2000 };

/* Blocks of exactly the size that is asked for, so that a byte too far is found. */
static void *block(size_t size) {
    void *made = malloc(size ? size : 1);
    CHECK(made);
    return made;
}

static void check_cut(const uint8_t *data, const int64_t *offsets, size_t count,
                      const fr_cut *cut) {
    size_t marks = 0, part = 0, at = 0;
    for (int64_t i = offsets[0]; i < offsets[count]; i++)
        marks += cut->is_mark[data[i]];
    uint8_t *out = block((size_t)(offsets[count] - offsets[0]) - marks);
    int64_t *begins = block((count + marks + 1) * sizeof *begins);
    int64_t *splits = block((count + 1) * sizeof *splits);
    fr_strings_cut(data, offsets, count, cut, out, begins, splits);
    CHECK(begins[0] == 0 && splits[0] == 0);
    for (size_t i = 0; i < count; i++) {
        const bool nothing = offsets[i] == offsets[i + 1];
        size_t size = 0;
        for (int64_t place = offsets[i]; place <= offsets[i + 1]; place++) {
            if (place < offsets[i + 1] && !cut->is_mark[data[place]]) {
                CHECK(out[at++] == data[place]);
                size++;
            } else if (!(cut->skip_empty && !size) && !(cut->skip_nothing && nothing)) {
                CHECK(begins[++part] == (int64_t)at);
                size = 0;
            }
        }
        CHECK(splits[i + 1] == (int64_t)part);
    }
    free(out), free(begins), free(splits);
}

static void check_take(const uint8_t *data, const int64_t *offsets, size_t count,
                       uint64_t *random) {
    int64_t order[2 * STRINGS], begins[2 * STRINGS + 1] = {0};
    const size_t wanted = test_random(random) % (2 * STRINGS);
    for (size_t i = 0; i < wanted; i++) {
        order[i] = (int64_t)(test_random(random) % count);
        begins[i + 1] = begins[i] + offsets[order[i] + 1] - offsets[order[i]];
    }
    uint8_t *out = block((size_t)begins[wanted]);
    fr_strings_take(data, offsets, order, wanted, begins, out);
    for (size_t i = 0; i < wanted; i++)
        for (int64_t k = begins[i]; k < begins[i + 1]; k++)
            CHECK(out[k] == data[offsets[order[i]] + k - begins[i]]);
    free(out);
}

static void check_every(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                        uint64_t *random) {
    const size_t first = test_random(random) % count, step = 1 + test_random(random) % 5;
    const size_t wanted = (count - first + step - 1) / step;
    int64_t *begins = block((wanted + 1) * sizeof *begins);
    CHECK(fr_strings_valid(offsets + first, step, wanted, size));
    const int64_t whole = fr_strings_every(offsets + first, step, wanted, begins);
    uint8_t *out = block((size_t)whole);
    fr_strings_take_every((fr_span){data, size}, offsets + first, step, wanted, begins, out);
    CHECK(begins[0] == 0 && begins[wanted] == whole);
    for (size_t i = 0; i < wanted; i++) {
        const int64_t *from = offsets + first + i * step;
        CHECK(begins[i + 1] - begins[i] == from[1] - from[0]);
        for (int64_t k = 0; k < from[1] - from[0]; k++)
            CHECK(out[begins[i] + k] == data[from[0] + k]);
    }
    free(out), free(begins);
}

/* Strings laid out by their spans: one after the other, and as rows of one width. */
static void check_spans(const uint8_t *data, const int64_t *offsets, size_t count, size_t width) {
    const size_t size = (size_t)(offsets[count] - offsets[0]);
    fr_span *spans = block(count * sizeof *spans);
    for (size_t i = 0; i < count; i++)
        spans[i] = (fr_span){data + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
    int64_t *begins = block((count + 1) * sizeof *begins);
    uint8_t *out = block(size), *rows = block(count * width);
    fr_strings_join(spans, count, begins, out);
    CHECK(begins[0] == 0 && begins[count] == (int64_t)size);
    CHECK(!size || memcmp(out, data + offsets[0], size) == 0);
    fr_strings_fit(spans, count, width, rows);
    for (size_t i = 0; i < count; i++) {
        CHECK(begins[i] == offsets[i] - offsets[0]);
        for (size_t k = 0; k < width; k++)
            CHECK(rows[i * width + k] == (k < spans[i].size ? spans[i].data[k] : 0));
    }
    free(spans), free(begins), free(out), free(rows);
}

/* Rows of strings that are filled up, with and without a filler. */
static void check_pad(const uint8_t *data, const int64_t *offsets, size_t count, fr_span filler,
                      uint64_t *random) {
    int64_t splits[STRINGS + 1] = {(int64_t)(test_random(random) % (count + 1))};
    size_t rows = 0, width = 0, total = 0;
    for (; rows < STRINGS && splits[rows] < (int64_t)count; rows++) {
        const size_t left = count - (size_t)splits[rows], some = test_random(random) % (left + 1);
        splits[rows + 1] = splits[rows] + (int64_t)some;
        width = some > width ? some : width;
    }
    for (size_t row = 0; row < rows; row++)
        total += (width - (size_t)(splits[row + 1] - splits[row])) * filler.size;
    total += (size_t)(offsets[splits[rows]] - offsets[splits[0]]);
    int64_t *begins = block((rows * width + 1) * sizeof *begins);
    uint8_t *out = filler.size ? block(total) : NULL;
    fr_strings_pad(data, offsets, splits, rows, width, filler, begins, out);
    CHECK(begins[rows * width] - begins[0] == (int64_t)total);
    for (size_t i = 0; i < rows * width; i++) {
        const int64_t number = splits[i / width] + (int64_t)(i % width);
        const bool is_filler = number >= splits[i / width + 1];
        const uint8_t *from = is_filler ? filler.data : data + offsets[number];
        const size_t size =
            is_filler ? filler.size : (size_t)(offsets[number + 1] - offsets[number]);
        CHECK(begins[i + 1] - begins[i] == (int64_t)size);
        CHECK(!size || memcmp((out ? out : data) + begins[i], from, size) == 0);
    }
    free(begins), free(out);
}

int main(void) {
    uint64_t random = 7;
    for (int turn = 0; turn < TURNS; turn++) {
        const size_t count = 1 + test_random(&random) % STRINGS;
        int64_t offsets[STRINGS + 1] = {(int64_t)(test_random(&random) % 3)};
        for (size_t i = 0; i < count; i++)
            offsets[i + 1] = offsets[i] + (int64_t)(test_random(&random) % LONGEST);
        uint8_t *data = block((size_t)offsets[count]);
        for (int64_t i = 0; i < offsets[count]; i++)
            data[i] = (uint8_t)(test_random(&random) % 4);
        fr_cut cut = {.skip_empty = turn & 1, .skip_nothing = turn & 2};
        cut.is_mark[0] = true;
        cut.is_mark[1] = turn & 4;
        CHECK(fr_strings_valid(offsets, 1, count, (size_t)offsets[count]));
        check_cut(data, offsets, count, &cut);
        check_take(data, offsets, count, &random);
        check_spans(data, offsets, count, test_random(&random) % LONGEST);
        check_pad(data, offsets, count, (fr_span){(const uint8_t *)"xyz", turn % 4}, &random);
        check_every(data, (size_t)offsets[count], offsets, count, &random);
        CHECK(!offsets[count] || !fr_strings_valid(offsets, 1, count, (size_t)offsets[count] - 1));
        offsets[count / 2] = -1;
        CHECK(!fr_strings_valid(offsets, 1, count, (size_t)offsets[count]));
        free(data);
    }
    return 0;
}
