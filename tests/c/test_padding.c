/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays are put into rows as one element after the other says. */
#include "base/padding.h"

#include "test.h"

enum { RANK = 3, ROWS = 5, LARGEST = 4, ITEM = 3, TURNS = 3000 };

/* Blocks of exactly the size that is asked for, so that a byte too far is found. */
static uint8_t *block(size_t size) {
    uint8_t *made = malloc(size ? size : 1);
    CHECK(made);
    return made;
}

static void check_row(const fr_padding *padding, const uint8_t *src, const int64_t *shape,
                      const uint8_t *row) {
    int64_t at[RANK] = {0};
    for (size_t place = 0; place < (size_t)padding->sizes[0] * padding->steps[0]; place += ITEM) {
        size_t rest = place;
        bool inside = true;
        for (size_t d = 0; d < padding->rank; d++) {
            at[d] = (int64_t)(rest / padding->steps[d]);
            rest %= padding->steps[d];
            inside = inside && at[d] < shape[d];
        }
        CHECK(memcmp(row + place, inside ? src : padding->fill, ITEM) == 0);
        if (inside) src += ITEM;
    }
}

static void check(uint64_t *random, bool alike) {
    int64_t sizes[RANK], shapes[ROWS * RANK], begins[ROWS];
    size_t steps[RANK], step = ITEM, count = 0;
    const size_t rank = 1 + test_random(random) % RANK;
    const uint8_t fill[ITEM] = {7, alike ? 7 : 8, 7};
    for (size_t d = rank; d-- > 0;) {
        sizes[d] = (int64_t)(test_random(random) % (LARGEST + 1));
        steps[d] = step;
        step *= (size_t)sizes[d];
    }
    for (size_t i = 0; i < ROWS; i++) {
        size_t elements = 1;
        for (size_t d = 0; d < rank; d++) {
            const bool whole = test_random(random) % 2;
            const int64_t size = (int64_t)(test_random(random) % ((uint64_t)sizes[d] + 1));
            shapes[i * rank + d] = whole ? sizes[d] : size;
            elements *= (size_t)shapes[i * rank + d];
        }
        begins[i] = (int64_t)count;
        count += elements;
    }
    const fr_padding padding = {rank, sizes, steps, fill, ITEM};
    uint8_t *src = block(count * ITEM), *out = block(ROWS * step);
    for (size_t i = 0; i < count * ITEM; i++)
        src[i] = (uint8_t)test_random(random);
    CHECK(fr_padding_valid(&padding, begins, shapes, ROWS, count));
    fr_padding_fill(&padding, src, begins, shapes, ROWS, out);
    for (size_t i = 0; i < ROWS; i++)
        check_row(&padding, src + (size_t)begins[i] * ITEM, shapes + i * rank, out + i * step);
    free(src), free(out);
}

static void check_what_is_not_valid(void) {
    const int64_t sizes[] = {2, INT64_MAX};
    const size_t steps[] = {1, 1};
    const uint8_t fill = 0;
    const fr_padding padding = {2, sizes, steps, &fill, 1};
    const struct {
        int64_t begin, shape[2];
    } wrong[] = {{0, {3, 1}}, {0, {-1, 1}}, {0, {2, INT64_MAX}}, {-1, {1, 1}},
                 {5, {1, 1}}, {4, {1, 1}},  {3, {2, 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!fr_padding_valid(&padding, &wrong[i].begin, wrong[i].shape, 1, 4));
    const int64_t begin = 2, shape[] = {2, 1};
    CHECK(fr_padding_valid(&padding, &begin, shape, 1, 4));
}

int main(void) {
    uint64_t random = 7;
    for (size_t turn = 0; turn < TURNS; turn++)
        check(&random, turn % 2);
    check_what_is_not_valid();
    printf("padding: ok\n");
    return 0;
}
