/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats of all kinds against libm's of doubles; between pages not to be touched. */
#include "tensor/elementwise.h"

#include <float.h>
#include <math.h>

#include "tensor/special.h"
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

/* The number whose `function`, which rises or falls throughout, is `y`; NaN beyond its range. */
static double inverse_of(double (*function)(double), double y, bool rises) {
    double low = -30, high = 30;
    const double least = rises ? -1 : 0, most = rises ? 1 : 2;
    if (!(y >= least && y <= most)) return NAN;
    if (y == least || y == most) return (y == most) == rises ? INFINITY : -INFINITY;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        if ((function(middle) < y) == rises)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static double erfinv(double x) {
    return fabs(x) < 1e-8 ? x * 0.88622692545275801 : inverse_of(erf, x, true);
}

static double erfcinv(double x) {
    return fabs(1 - x) < 1e-8 ? (1 - x) * 0.88622692545275801 : inverse_of(erfc, x, false);
}

static double ndtri(double x) {
    return -sqrt(2) * erfcinv(2 * x);
}

static double softplus(double x) {
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double log_sigmoid(double x) {
    return -softplus(-x);
}

static double softsign(double x) {
    return isinf(x) ? NAN : x / (1 + fabs(x));
}

static double bessel(double x, int order, bool scaled) {
    const fr_special_operand operand = {&x, 0};
    const fr_special plain = order ? FR_SPECIAL_I1 : FR_SPECIAL_I0;
    if (!scaled && isinf(expf((float)fabs(x)))) /* the power overflows, as in TensorFlow */
        return isinf(x) ? NAN : order ? copysign(INFINITY, x) : INFINITY;
    if (isinf(x)) return order ? copysign(0, x) : 0;
    fr_special_apply(scaled ? plain + 1 : plain, false, &operand, 1, &x);
    return x;
}

static double i0(double x) {
    return bessel(x, 0, false);
}

static double i0e(double x) {
    return bessel(x, 0, true);
}

static double i1(double x) {
    return bessel(x, 1, false);
}

static double i1e(double x) {
    return bessel(x, 1, true);
}

/* And how many floats the approximation may be beside the nearest. */
static const struct {
    double (*exact)(double);
    int most;
} FUNCTIONS[FR_ELEMENTWISE_COUNT] = {{exp, 1},      {log, 3},         {log1p, 4},
                                     {expm1, 4},    {tanh, 6},        {sigmoid, 6},
                                     {sin, 2},      {cos, 2},         {reciprocal_root, 3},
                                     {sign, 0},     {erf, 8},         {erfc, 8},
                                     {erfinv, 8},   {erfcinv, 8},     {ndtri, 8},
                                     {softplus, 8}, {log_sigmoid, 8}, {softsign, 2},
                                     {NULL, 0},     {NULL, 0},        {NULL, 0},
                                     {NULL, 0},     {NULL, 0},        {acos, 4},
                                     {asin, 4},     {atan, 4},        {atanh, 4},
                                     {i0, 16},      {i0e, 16},        {i1, 16},
                                     {i1e, 16},     {acosh, 2},       {asinh, 2},
                                     {cosh, 2},     {sinh, 2},        {tan, 2}};

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
    if (!exact) return; /* products of those that are checked */
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

/* TensorFlow's functions are no more exact near zero. */
static void units_are_powers_less_one(void) {
    uint64_t random = 3;
    float x[MOST], powers[MOST], found[MOST];
    for (size_t i = 0; i < MOST; i++)
        x[i] = test_random_float(&random);
    fr_elementwise_apply(FR_ELEMENTWISE_EXP, x, MOST, 50, powers);
    for (size_t i = 0; i < MOST; i++)
        powers[i] = x[i] < 0 ? powers[i] - 1 : flushed(x[i]);
    fr_elementwise_apply(FR_ELEMENTWISE_ELU, x, MOST, 50, found);
    for (size_t i = 0; i < MOST; i++)
        CHECK_CASE(flushed(found[i]) == powers[i] || x[i] != x[i], "%a gives %a", (double)x[i],
                   (double)found[i]);
    fr_elementwise_apply(FR_ELEMENTWISE_SELU, x, MOST, 50, found);
    for (size_t i = 0; i < MOST; i++) {
        const double expected = 1.0507009873554805 * (x[i] < 0 ? 1.6732632423543772 : 1);
        CHECK_CASE(is_near(found[i], expected * (double)powers[i], 2), "%a gives %a", (double)x[i],
                   (double)found[i]);
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
    units_are_powers_less_one();
    subnormals_of_the_caller_stay();
    puts("elementwise: ok");
    return 0;
}
