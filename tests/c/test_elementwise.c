/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats of all kinds against libm's of doubles, rounded; between pages not to be
   touched. */
#include "image/elementwise.h"

#include <math.h>

#include "test.h"

enum { MOST = 700, TRIALS = 4000 };

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double (*const FUNCTIONS[FR_ELEMENTWISE_COUNT])(double) = {exp,     log, log1p, tanh,
                                                                  sigmoid, sin, cos};

/* Any float but one that signals. */
static float random_float(uint64_t *random) {
    const uint64_t kind = test_random(random) % 4;
    const uint32_t bits = (uint32_t)test_random(random);
    float x;
    if (kind == 0) return (float)(bits % 1000) / 250 - 2;
    if (kind == 1) return (float)(bits % 16) / 4 - 2;
    memcpy(&x, &bits, sizeof x);
    return isnan(x) ? NAN : x;
}

/* Whether it is the nearest float, or one beside it. */
static bool is_near(float found, double expected) {
    const float nearest = (float)expected;
    if (isnan(nearest) || isnan(found)) return isnan(nearest) && isnan(found);
    return found == nearest || found == nextafterf(nearest, INFINITY) ||
           found == nextafterf(nearest, -INFINITY);
}

static void functions_are_those_of_libm(void) {
    uint64_t random = 1;
    test_guarded from = test_guarded_new(MOST * sizeof(float));
    test_guarded to = test_guarded_new(MOST * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++) {
        const fr_elementwise function = (fr_elementwise)(trial % FR_ELEMENTWISE_COUNT);
        const size_t count = test_random(&random) % MOST;
        float *x = (float *)(void *)from.end - count, *out = (float *)(void *)to.end - count;
        const bool in_place = test_random(&random) % 2;
        for (size_t i = 0; i < count; i++)
            x[i] = random_float(&random);
        float before[MOST];
        memcpy(before, x, count * sizeof *x);
        fr_elementwise_apply(function, x, count, in_place ? x : out);
        for (size_t i = 0; i < count; i++)
            CHECK_CASE(is_near((in_place ? x : out)[i], FUNCTIONS[function]((double)before[i])),
                       "function %d of %a", (int)function, (double)before[i]);
    }
    test_guarded_free(&from);
    test_guarded_free(&to);
}

static void powers_are_those_of_libm(void) {
    uint64_t random = 2;
    test_guarded from = test_guarded_new(MOST * sizeof(float));
    test_guarded by = test_guarded_new(MOST * sizeof(float));
    test_guarded to = test_guarded_new(MOST * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++) {
        const size_t count = test_random(&random) % MOST;
        const bool one = test_random(&random) % 2;
        const bool is_plain = test_random(&random) % 2; /* as images are */
        float *x = (float *)(void *)from.end - count, *out = (float *)(void *)to.end - count;
        float *powers = (float *)(void *)by.end - (one ? 1 : count);
        for (size_t i = 0; i < (one ? 1 : count); i++)
            powers[i] = random_float(&random);
        for (size_t i = 0; i < count; i++)
            x[i] = is_plain ? fabsf(random_float(&random)) : random_float(&random);
        fr_elementwise_power(x, powers, one, count, out);
        for (size_t i = 0; i < count; i++) {
            const float power = powers[one ? 0 : i];
            CHECK_CASE(is_near(out[i], pow((double)x[i], (double)power)), "%a to the power of %a",
                       (double)x[i], (double)power);
        }
    }
    test_guarded_free(&from);
    test_guarded_free(&by);
    test_guarded_free(&to);
}

int main(void) {
    functions_are_those_of_libm();
    powers_are_those_of_libm();
    puts("elementwise: ok");
    return 0;
}
