/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of each width and step, between pages not to be touched. */
#include "tensor/select.h"

#include "test.h"

enum { MOST = 300, WIDEST = 8, TRIALS = 3000 };

int main(void) {
    uint64_t random = 1;
    test_guarded where = test_guarded_new(MOST), from = test_guarded_new(MOST * WIDEST);
    test_guarded other = test_guarded_new(MOST * WIDEST), to = test_guarded_new(MOST * WIDEST);
    for (int trial = 0; trial < TRIALS; trial++) {
        const size_t width = (size_t)1 << test_random(&random) % 4;
        const size_t count = 1 + test_random(&random) % (MOST - 1);
        const size_t x_step = test_random(&random) % 2, y_step = test_random(&random) % 2;
        uint8_t *const conditions = where.end - count, *const out = to.end - count * width;
        uint8_t *const x = from.end - (x_step ? count : 1) * width;
        uint8_t *const y = other.end - (y_step ? count : 1) * width;
        test_fill(x, (x_step ? count : 1) * width, test_random(&random));
        test_fill(y, (y_step ? count : 1) * width, test_random(&random));
        for (size_t i = 0; i < count; i++)
            conditions[i] = test_random(&random) % 2;
        fr_select(conditions, x, x_step, y, y_step, width, count, out);
        for (size_t i = 0; i < count; i++) {
            const uint8_t *wanted = conditions[i] ? x + i * x_step * width : y + i * y_step * width;
            CHECK(memcmp(out + i * width, wanted, width) == 0);
        }
    }
    test_guarded_free(&where), test_guarded_free(&from);
    test_guarded_free(&other), test_guarded_free(&to);
    puts("select: ok");
    return 0;
}
