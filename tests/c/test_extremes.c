/* SPDX-License-Identifier: Apache-2.0 */
/* Extremes of arrays of each type and layout, between pages not to be touched. */
#include "tensor/extremes.h"

#include <float.h>

#include "test.h"

enum { MOST = 4096, WIDEST = 8, TRIALS = 3000 };

static const size_t WIDTHS[FR_EXTREME_TYPE_COUNT] = {4, 8, 4, 8, 1};

/* One of few numbers, so that some are equal; some of them infinite or none. */
static double number_of(const void *numbers, fr_extreme_type type, size_t at) {
    switch (type) {
        case FR_EXTREME_FLOAT32:
            return ((const float *)numbers)[at];
        case FR_EXTREME_FLOAT64:
            return ((const double *)numbers)[at];
        case FR_EXTREME_INT32:
            return ((const int32_t *)numbers)[at];
        case FR_EXTREME_INT64:
            return (double)((const int64_t *)numbers)[at];
        default:
            return ((const uint8_t *)numbers)[at];
    }
}

static void put(void *numbers, fr_extreme_type type, size_t at, uint64_t random) {
    const int value = (int)(random % 9) - 4;
    const double odd = value == 4 ? NAN : value == 3 ? INFINITY : value == -3 ? -INFINITY : value;
    if (type == FR_EXTREME_FLOAT32)
        ((float *)numbers)[at] = (float)odd;
    else if (type == FR_EXTREME_FLOAT64)
        ((double *)numbers)[at] = odd;
    else if (type == FR_EXTREME_INT32)
        ((int32_t *)numbers)[at] = value;
    else if (type == FR_EXTREME_INT64)
        ((int64_t *)numbers)[at] = value;
    else
        ((uint8_t *)numbers)[at] = (uint8_t)value;
}

static bool beats(double value, double best, bool greatest) {
    return greatest ? value > best : value < best;
}

int main(void) {
    uint64_t random = 1;
    test_guarded from = test_guarded_new(MOST * WIDEST), to = test_guarded_new(MOST * WIDEST);
    for (int trial = 0; trial < TRIALS; trial++) {
        const fr_extreme_type type =
            (fr_extreme_type)(test_random(&random) % FR_EXTREME_TYPE_COUNT);
        const size_t width = WIDTHS[type], outer = 1 + test_random(&random) % 50;
        const size_t inner = test_random(&random) % 2 ? 1 : 1 + test_random(&random) % 40;
        const size_t count = 1 + test_random(&random) % (MOST / (outer * inner));
        const bool greatest = test_random(&random) % 2;
        void *const numbers = from.end - outer * count * inner * width;
        for (size_t i = 0; i < outer * count * inner; i++)
            put(numbers, type, i, test_random(&random));
        const fr_extreme_source source = {numbers, type, outer, count, inner};
        void *const values = to.end - outer * inner * width;
        fr_extreme_values(&source, greatest, values);
        for (size_t i = 0; i < outer * inner; i++) {
            const size_t first = i / inner * count * inner + i % inner;
            double best = number_of(numbers, type, first);
            for (size_t j = 1; j < count; j++) {
                const double value = number_of(numbers, type, first + j * inner);
                best = beats(value, best, greatest) || isnan(value) ? value : best;
            }
            const double found = number_of(values, type, i);
            CHECK(found == best || (isnan(found) && isnan(best)));
        }
        int64_t *const places = (int64_t *)to.end - outer * inner;
        fr_extreme_places(&source, greatest, places);
        for (size_t i = 0; i < outer * inner; i++) {
            const size_t first = i / inner * count * inner + i % inner;
            const bool floats = type == FR_EXTREME_FLOAT32 || type == FR_EXTREME_FLOAT64;
            double best =
                floats ? (greatest ? -FLT_MAX : FLT_MAX) : number_of(numbers, type, first);
            int64_t place = 0;
            for (size_t j = 0; j < count; j++) {
                const double value = number_of(numbers, type, first + j * inner);
                if (beats(value, best, greatest)) best = value, place = (int64_t)j;
            }
            CHECK(places[i] == place);
        }
    }
    test_guarded_free(&from), test_guarded_free(&to);
    puts("extremes: ok");
    return 0;
}
