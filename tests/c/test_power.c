/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of floats of all kinds against libm's of doubles, rounded; between pages not to be
   touched. */
#include "tensor/power.h"

#include <math.h>

#include "test.h"

enum { MOST = 700, TRIALS = 4000 };

/* Whether it is the nearest float, or one beside it. */
static bool is_near(float found, double expected) {
    const float nearest = (float)expected;
    if (isnan(nearest) || isnan(found)) return isnan(nearest) && isnan(found);
    return found == nearest || found == nextafterf(nearest, INFINITY) ||
           found == nextafterf(nearest, -INFINITY);
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
            powers[i] = test_random_float(&random);
        for (size_t i = 0; i < count; i++)
            x[i] = is_plain ? fabsf(test_random_float(&random)) : test_random_float(&random);
        fr_power(x, powers, one, count, out);
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
    powers_are_those_of_libm();
    puts("power: ok");
    return 0;
}
