/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats of all kinds against libm's of doubles; between pages not to be touched. */
#include "tensor/elementwise.h"

#include <float.h>
#include <math.h>

#include "test.h"

enum { MOST = 700, TRIALS = 8000 };

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double reciprocal_root(double x) {
    return 1 / sqrt(x);
}

/* And how many floats the approximation may be beside the nearest. */
static const struct {
    double (*exact)(double);
    int most;
} FUNCTIONS[FR_ELEMENTWISE_COUNT] = {{exp, 1},   {log, 3},   {log1p, 4},
                                     {expm1, 4}, {tanh, 6},  {sigmoid, 6},
                                     {sin, 2},   {cos, 2},   {reciprocal_root, 3},
                                     {sign, 0},  {acosh, 2}, {asinh, 2},
                                     {cosh, 2},  {sinh, 2},  {tan, 2}};

/* Subnormal numbers are zeros on x86 and themselves elsewhere, so that both are taken here. */
static float flushed(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static bool is_near(float found, double expected, int most) {
    float low = flushed((float)expected), high = low;
    if (isnan(low) || isnan(found)) return isnan(low) && isnan(found);
    for (int i = 0; i < most; i++)
        low = nextafterf(low, -INFINITY), high = nextafterf(high, INFINITY);
    found = flushed(found);
    return low <= found && found <= high;
}

static void check(fr_elementwise function, const float *given, const float *found, size_t count) {
    double (*const exact)(double) = FUNCTIONS[function].exact;
    const int most = FUNCTIONS[function].most;
    for (size_t i = 0; i < count; i++) {
        if (function == FR_ELEMENTWISE_LOG && given[i] != 0 && flushed(given[i]) == 0)
            continue; /* of which libm's result is any where they are zeros */
        CHECK_CASE(is_near(found[i], exact((double)given[i]), most) ||
                       is_near(found[i], exact((double)flushed(given[i])), most),
                   "function %d of %a gives %a", (int)function, (double)given[i], (double)found[i]);
    }
}

static void functions_are_near_those_of_libm(void) {
    uint64_t random = 1;
    test_guarded from = test_guarded_new(MOST * sizeof(float));
    test_guarded to = test_guarded_new(MOST * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++) {
        const fr_elementwise function = (fr_elementwise)(trial % FR_ELEMENTWISE_COUNT);
        const size_t row = test_random(&random) % 40, rows = test_random(&random) % (MOST / 40);
        const size_t count = row * rows;
        float *x = (float *)(void *)from.end - count, *out = (float *)(void *)to.end - count;
        const bool in_place = test_random(&random) % 2;
        for (size_t i = 0; i < count; i++)
            x[i] = test_random_float(&random);
        float before[MOST];
        memcpy(before, x, count * sizeof *x);
        fr_elementwise_apply(function, x, count, row, in_place ? x : out);
        check(function, before, in_place ? x : out, count);
    }
    test_guarded_free(&from);
    test_guarded_free(&to);
}

/* Rows that fill no packet are numbers of libm, one by one, as are those behind packets. */
static void numbers_do_not_depend_on_other_rows(void) {
    uint64_t random = 2;
    float x[MOST], all[MOST], one[MOST];
    for (size_t i = 0; i < MOST; i++)
        x[i] = test_random_float(&random);
    for (int trial = 0; trial < TRIALS; trial++) {
        const fr_elementwise function = (fr_elementwise)(trial % FR_ELEMENTWISE_COUNT);
        const size_t row = 1 + test_random(&random) % 100, count = MOST / row * row;
        fr_elementwise_apply(function, x, count, row, all);
        for (size_t i = 0; i < count; i += row)
            fr_elementwise_apply(function, x + i, row, row, one + i);
        CHECK_CASE(memcmp(all, one, count * sizeof *all) == 0, "function %d of rows of %zu",
                   (int)function, row);
    }
}

static void subnormals_of_the_caller_stay(void) {
    volatile float tiny = FLT_MIN;
    float x[64] = {1};
    fr_elementwise_apply(FR_ELEMENTWISE_EXP, x, 64, 64, x);
    CHECK(tiny / 2 > 0);
}

int main(void) {
    functions_are_near_those_of_libm();
    numbers_do_not_depend_on_other_rows();
    subnormals_of_the_caller_stay();
    puts("elementwise: ok");
    return 0;
}
