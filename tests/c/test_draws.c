/* SPDX-License-Identifier: Apache-2.0 */
/* Draws of every size against a generator that is asked for one word after the other. */
#include "tensor/draws.h"

#include <math.h>

#include "test.h"

enum { MOST = 700 };

static fr_philox at(uint64_t number, uint64_t upper) {
    fr_philox philox;
    fr_philox_init(&philox, 0x123456789ABCDEF0, upper);
    fr_philox_seek(&philox, number);
    return philox;
}

static float share(uint32_t word) {
    return (float)(word & 0x7FFFFF) / 0x1p23f;
}

static double wide_share(uint32_t high, uint32_t low) {
    return (double)((uint64_t)(high & 0xFFFFF) << 32 | low) / 0x1p52;
}

static void two_normal(fr_philox *philox, bool wide, double out[2]) {
    if (wide) {
        const uint32_t a = fr_philox_next(philox), b = fr_philox_next(philox);
        const uint32_t c = fr_philox_next(philox), d = fr_philox_next(philox);
        const double u = fmax(wide_share(a, b), 1e-7), radius = sqrt(-2 * log(u));
        const double angle = 2 * 3.14159265358979323846 * wide_share(c, d);
        out[0] = sin(angle) * radius, out[1] = cos(angle) * radius;
    } else {
        const float u = fmaxf(share(fr_philox_next(philox)), 1e-7f);
        const float radius = sqrtf(-2 * logf(u));
        const double turn = share(fr_philox_next(philox));
        const float angle = (float)(2 * 3.14159265358979323846 * turn);
        out[0] = sinf(angle) * radius, out[1] = cosf(angle) * radius;
    }
}

/* The number at `i` of a draw; `pair` is for numbers that come in twos. */
static double expected(const fr_draw *draw, fr_philox *philox, size_t i, double pair[2]) {
    if (draw->distribution == FR_DRAW_NORMAL) {
        if (i % 2 == 0) two_normal(philox, draw->wide, pair);
        return pair[i % 2];
    }
    const uint32_t word = fr_philox_next(philox);
    return draw->wide ? wide_share(word, fr_philox_next(philox)) : share(word);
}

static void check_shares(const fr_draw *draw, fr_philox philox, size_t count, const void *out) {
    double pair[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const double x = draw->wide ? ((const double *)out)[i] : (double)((const float *)out)[i];
        CHECK(x == expected(draw, &philox, i, pair));
    }
}

static void check_truncated(const fr_draw *draw, fr_philox philox, size_t count, const void *out) {
    const size_t group = draw->wide ? 2 : 4;
    fr_philox on = philox;
    double pair[2];
    for (size_t i = 0, next = 2; i < count; i++) {
        if (i % group == 0) {
            on = philox, next = 2;
            fr_philox_skip(&philox, group * FR_DRAW_BLOCKS / 4);
        }
        const double x = draw->wide ? ((const double *)out)[i] : (double)((const float *)out)[i];
        do {
            if (next == 2) two_normal(&on, draw->wide, pair), next = 0;
        } while (!(fabs(pair[next++]) < 2));
        CHECK(x == pair[next - 1]);
    }
}

static void check_integers(const fr_draw *draw, fr_philox philox, size_t count, const void *out) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word = fr_philox_next(&philox), range = draw->range;
        if (draw->wide) {
            word |= (uint64_t)fr_philox_next(&philox) << 32;
            CHECK(((const uint64_t *)out)[i] == draw->low + (range ? word % range : word));
        } else {
            CHECK(((const uint32_t *)out)[i] ==
                  (uint32_t)(draw->low + (range ? word % range : word)));
        }
    }
}

static void check_order(fr_philox philox, size_t count, const int64_t *out) {
    int64_t order[MOST];
    for (size_t i = 0; i < count; i++)
        order[i] = (int64_t)i;
    for (size_t i = 0; i + 1 < count; i++) {
        const size_t j = i + fr_philox_next(&philox) % (count - i);
        const int64_t moved = order[i];
        order[i] = order[j], order[j] = moved;
    }
    CHECK(!count || memcmp(order, out, count * sizeof *out) == 0);
}

static void check(const fr_draw *draw, fr_philox philox, size_t count) {
    const size_t size = count * (draw->wide ? 8 : 4);
    void *out = malloc(size ? size : 1); /* the sanitizer watches what is behind it */
    CHECK(out);
    fr_draw_numbers(draw, &philox, count, out);
    if (draw->distribution == FR_DRAW_TRUNCATED)
        check_truncated(draw, philox, count, out);
    else if (draw->distribution == FR_DRAW_INTEGER)
        check_integers(draw, philox, count, out);
    else if (draw->distribution == FR_DRAW_ORDER)
        check_order(philox, count, out);
    else
        check_shares(draw, philox, count, out);
    free(out);
}

/* Blocks far apart, over the end of the counter's lower half and of all of it. */
static void check_blocks(uint64_t first, uint64_t upper, uint64_t stride) {
    uint32_t words[4 * 70];
    fr_philox philox = at(first, upper);
    fr_philox_blocks(&philox, stride, 70, words);
    for (size_t i = 0; i < 70; i++, fr_philox_skip(&philox, stride)) {
        fr_philox one = philox;
        for (size_t k = 0; k < 4; k++)
            CHECK(fr_philox_next(&one) == words[4 * i + k]);
    }
    const uint64_t last = first + 70 * stride, carried = last < first;
    CHECK(philox.counter[0] == (uint32_t)last && philox.counter[1] == (uint32_t)(last >> 32));
    CHECK(philox.counter[2] == (uint32_t)(upper + carried));
    CHECK(philox.counter[3] == (uint32_t)((upper + carried) >> 32));
}

static void check_edges(const double *logarithms, size_t classes, double *edges) {
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < classes; i++)
        if (isfinite(logarithms[i])) most = fmax(most, logarithms[i]);
    memcpy(edges, logarithms, classes * sizeof *edges);
    fr_draw_edges(edges, classes);
    for (size_t i = 0; i < classes; i++) {
        if (isfinite(logarithms[i])) sum += exp(logarithms[i] - most);
        CHECK(fabs(edges[i] - sum) <= 1e-15 * sum);
    }
}

/* Classes by a search from the first edge on. */
static void classes_are_those_of_a_search(void) {
    enum { CLASSES = 9 };
    uint64_t random = 5;
    static int64_t out[3 * MOST];
    for (int trial = 0; trial < 300; trial++) {
        const size_t rows = test_random(&random) % 4, count = test_random(&random) % MOST;
        const size_t classes = 1 + test_random(&random) % CLASSES;
        double edges[3 * CLASSES], logarithms[CLASSES];
        for (size_t row = 0; row < rows; row++) {
            for (size_t i = 0; i < classes; i++) {
                const uint64_t kind = test_random(&random) % 6;
                logarithms[i] = kind ? (double)kind : kind % 2 ? (double)INFINITY : (double)NAN;
            }
            check_edges(logarithms, classes, edges + row * classes);
        }
        const fr_philox begin = at(test_random(&random), 3);
        fr_philox philox = begin;
        fr_draw_classes(edges, rows, classes, count, &begin, out);
        for (size_t i = 0; i < rows * count; i++) {
            const double *own = edges + i / count * classes;
            const uint32_t high = fr_philox_next(&philox);
            const double wanted = wide_share(high, fr_philox_next(&philox)) * own[classes - 1];
            size_t found = 0;
            while (found < classes && own[found] <= wanted)
                found++;
            CHECK(out[i] == (int64_t)found);
        }
    }
}

/* Of a source of its own each, whatever others there are, and of the mean that they are to have. */
static void gammas_are_drawn_one_by_one(void) {
    const double shapes[] = {0.25, 1, 4, -1, NAN};
    double out[5 * MOST], alone, sums[3] = {0};
    const fr_philox first = at(UINT64_MAX - 3 * MOST * FR_DRAW_BLOCKS, 7);
    fr_draw_gammas(shapes, 5, MOST, &first, out);
    for (size_t set = 0; set < 5; set++)
        for (size_t i = 0; i < MOST; i++) {
            fr_philox philox = first;
            fr_philox_skip(&philox, (set * MOST + i) * FR_DRAW_BLOCKS);
            fr_draw_gammas(&shapes[set], 1, 1, &philox, &alone);
            CHECK(set > 2 ? isnan(alone) && isnan(out[5 * i + set]) : alone == out[5 * i + set]);
            if (set < 3) sums[set] += alone;
        }
    for (size_t set = 0; set < 3; set++)
        CHECK(fabs(sums[set] / MOST - shapes[set]) < 0.2 * shapes[set]);
    fr_draw_gammas(shapes, 0, MOST, &first, out);
    fr_draw_gammas(shapes, 5, 0, &first, out);
}

int main(void) {
    classes_are_those_of_a_search();
    gammas_are_drawn_one_by_one();
    const uint64_t ranges[] = {0, 1, 10, 0x7FFFFFFF, 0xFFFFFFFF};
    for (size_t count = 0; count < MOST; count += count < 20 ? 1 : 31)
        for (int k = FR_DRAW_UNIFORM; k <= FR_DRAW_ORDER; k++)
            for (int wide = k == FR_DRAW_ORDER; wide < 2; wide++)
                for (size_t r = 0; r < (k == FR_DRAW_INTEGER ? 5 : 1); r++) {
                    const fr_draw draw = {(fr_distribution)k, wide, (uint64_t)-7,
                                          ranges[r] << (wide && r == 4 ? 31 : 0)};
                    check(&draw, at(count, 9), count);
                    check(&draw, at(UINT64_MAX - 3, UINT64_MAX), count);
                }
    const uint64_t strides[] = {0, 1, 256, (uint64_t)1 << 40, (uint64_t)1 << 57};
    for (size_t i = 0; i < 5; i++) {
        check_blocks(5, 6, strides[i]);
        check_blocks(UINT64_MAX - 20, 0xFFFFFFFF, strides[i]);
        check_blocks(UINT64_MAX - 20, UINT64_MAX, strides[i]);
    }
    fr_philox philox = at(0, 0);
    fr_philox_init(&philox, 0, 0); /* the known answer of the zero key and counter */
    CHECK(fr_philox_next(&philox) == 0x6627E8D5 && fr_philox_next(&philox) == 0xE169C58D);
    return 0;
}
