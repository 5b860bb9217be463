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
        check_every(data, (size_t)offsets[count], offsets, count, &random);
        CHECK(!offsets[count] || !fr_strings_valid(offsets, 1, count, (size_t)offsets[count] - 1));
        offsets[count / 2] = -1;
        CHECK(!fr_strings_valid(offsets, 1, count, (size_t)offsets[count]));
        free(data);
    }
    return 0;
}
