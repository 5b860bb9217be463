/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions at places whose values are known, and identities that they obey. */
#include "tensor/special.h"

#include <math.h>

#include "test.h"

enum { TRIALS = 2000 };

static double value(fr_special function, double x, double y, double z) {
    const fr_special_operand operands[] = {{&x, 0}, {&y, 0}, {&z, 0}};
    double out;
    fr_special_apply(function, false, operands, 1, &out);
    return out;
}

static void check_near(double found, double expected) {
    const double most = 1e-11 * (1 + fabs(expected));
    CHECK_CASE(fabs(found - expected) <= most, "%.17g is not %.17g", found, expected);
}

int main(void) {
    uint64_t random = 1;
    const double euler = 0.57721566490153286, pi = 3.14159265358979323846;
    check_near(value(FR_SPECIAL_DIGAMMA, 1, 0, 0), -euler);
    check_near(value(FR_SPECIAL_ZETA, 2, 1, 0), pi * pi / 6);
    check_near(value(FR_SPECIAL_POLYGAMMA, 1, 1, 0), pi * pi / 6);
    check_near(value(FR_SPECIAL_I0, 1, 0, 0), 1.2660658777520084);
    check_near(value(FR_SPECIAL_I1, -1, 0, 0), -0.56515910399248503);
    for (int order = 0; order < 2; order++) /* where one series takes over from the other */
        check_near(value(order ? FR_SPECIAL_I1E : FR_SPECIAL_I0E, 30, 0, 0),
                   value(order ? FR_SPECIAL_I1E : FR_SPECIAL_I0E, 30 + 1e-12, 0, 0));
    CHECK(isnan(value(FR_SPECIAL_DIGAMMA, -2, 0, 0)) && isnan(value(FR_SPECIAL_IGAMMA, -1, 1, 0)));
    CHECK(isinf(value(FR_SPECIAL_ZETA, 1, 3, 0)) && isnan(value(FR_SPECIAL_BETAINC, 1, 1, 2)));
    for (int trial = 0; trial < TRIALS; trial++) {
        const double a = 0.1 + (double)(test_random(&random) % 400) / 10;
        const double b = 0.1 + (double)(test_random(&random) % 400) / 10;
        const double x = (double)(test_random(&random) % 1000) / 1000;
        check_near(value(FR_SPECIAL_IGAMMA, a, b, 0) + value(FR_SPECIAL_IGAMMAC, a, b, 0), 1);
        check_near(value(FR_SPECIAL_IGAMMA, 1, b, 0), -expm1(-b));
        check_near(value(FR_SPECIAL_BETAINC, a, b, x) + value(FR_SPECIAL_BETAINC, b, a, 1 - x), 1);
        check_near(value(FR_SPECIAL_BETAINC, a, 1, x), pow(x, a));
        check_near(value(FR_SPECIAL_DIGAMMA, a + 1, 0, 0),
                   value(FR_SPECIAL_DIGAMMA, a, 0, 0) + 1 / a);
        check_near(value(FR_SPECIAL_I0, b, 0, 0), value(FR_SPECIAL_I0E, b, 0, 0) * exp(b));
    }
    for (int function = 0; function < FR_SPECIAL_COUNT; function++)
        for (int trial = 0; trial < TRIALS; trial++) { /* of any numbers at all, they end */
            float numbers[3], out;
            for (int i = 0; i < 3; i++)
                numbers[i] = test_random_float(&random);
            const fr_special_operand operands[] = {
                {numbers, 1}, {numbers + 1, 1}, {numbers + 2, 1}};
            fr_special_apply(function, true, operands, 1, &out);
        }
    puts("special: ok");
    return 0;
}
