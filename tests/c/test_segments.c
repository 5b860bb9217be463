/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of each type and width against a search of all rows; between pages not to be touched. */
#include "tensor/segments.h"

#include "test.h"

enum { MOST = 60, WIDEST = 5, TRIALS = 2000 };

static double value_at(fr_segment_type type, const void *numbers, size_t i) {
    switch (type) {
        case FR_SEGMENT_FLOAT32:
            return (double)((const float *)numbers)[i];
        case FR_SEGMENT_FLOAT64:
            return ((const double *)numbers)[i];
        case FR_SEGMENT_INT32:
            return ((const int32_t *)numbers)[i];
        default:
            return (double)((const int64_t *)numbers)[i];
    }
}

static void set(fr_segment_type type, void *numbers, size_t i, double value) {
    switch (type) {
        case FR_SEGMENT_FLOAT32:
            ((float *)numbers)[i] = (float)value;
            break;
        case FR_SEGMENT_FLOAT64:
            ((double *)numbers)[i] = value;
            break;
        case FR_SEGMENT_INT32:
            ((int32_t *)numbers)[i] = (int32_t)value;
            break;
        default:
            ((int64_t *)numbers)[i] = (int64_t)value;
    }
}

static double combined(fr_segment_kind kind, double a, double b) {
    if (kind == FR_SEGMENT_SUM) return a + b;
    if (kind == FR_SEGMENT_PROD) return a * b;
    return (kind == FR_SEGMENT_MAX) == (b > a) ? b : a;
}

static void check_rows(uint64_t *random, const fr_segment_ids *ids, test_guarded *from,
                       test_guarded *to) {
    static const size_t SIZES[] = {4, 8, 4, 8};
    const size_t width = 1 + test_random(random) % WIDEST, count = ids->count, limit = ids->limit;
    for (int type = 0; type < FR_SEGMENT_TYPES; type++) {
        void *rows = from->end - count * width * SIZES[type];
        void *out = to->end - limit * width * SIZES[type];
        for (size_t i = 0; i < count * width; i++)
            set(type, rows, i, (double)(test_random(random) % 5) - 2);
        for (int kind = 0; kind < FR_SEGMENT_KINDS; kind++) {
            for (size_t i = 0; i < limit * width; i++)
                set(type, out, i, 1);
            fr_segments_combine(ids, kind, type, rows, width, out);
            for (size_t i = 0; i < limit * width; i++) {
                double wanted = 1;
                for (size_t j = 0; j < count; j++)
                    if (((const int32_t *)ids->values)[j] == (int32_t)(i / width))
                        wanted =
                            combined(kind, wanted, value_at(type, rows, j * width + i % width));
                if (wanted < 1e6 && wanted > -1e6) CHECK(value_at(type, out, i) == wanted);
            }
        }
    }
}

static void check_sorted(const fr_segment_ids *ids, test_guarded *to) {
    int64_t starts[MOST + 1] = {0}, counts[MOST] = {0};
    const int32_t *values = ids->values;
    int32_t *out = (int32_t *)(void *)to->end - ids->count;
    fr_segments_count(ids, counts);
    for (size_t i = 0; i < ids->limit; i++)
        starts[i + 1] = starts[i] + counts[i];
    fr_segments_sort(ids, (const uint8_t *)values, sizeof *values, starts, (uint8_t *)out);
    for (size_t i = 1; i < (size_t)starts[ids->limit]; i++)
        CHECK(out[i - 1] <= out[i]);
}

int main(void) {
    uint64_t random = 1;
    test_guarded from = test_guarded_new(MOST * WIDEST * 8),
                 to = test_guarded_new(MOST * WIDEST * 8);
    test_guarded where = test_guarded_new(MOST * sizeof(int32_t));
    for (int trial = 0; trial < TRIALS / 4; trial++) {
        const size_t count = test_random(&random) % MOST, limit = 1 + test_random(&random) % 20;
        const int lowest = trial % 2 ? -1 : 0;
        int32_t *values = (int32_t *)(void *)where.end - count;
        for (size_t i = 0; i < count; i++)
            values[i] = (int32_t)(test_random(&random) % (limit - (size_t)lowest)) + lowest;
        const fr_segment_ids ids = {values, false, count, limit};
        CHECK(fr_segments_check(&ids, true) == count);
        check_rows(&random, &ids, &from, &to);
        check_sorted(&ids, &to);
        if (count) { /* an id that another thread changed after the check drops its row, too */
            values[count / 2] = (int32_t)limit;
            CHECK(fr_segments_check(&ids, true) == count / 2);
            check_rows(&random, &ids, &from, &to);
            check_sorted(&ids, &to);
        }
    }
    const float numbers[] = {-5, 0, 0.5f, 1, 9, 0.0f / 0.0f};
    int64_t counts[2] = {0};
    fr_segments_histogram(numbers, FR_SEGMENT_FLOAT32, 6, 0, 1, 2, counts);
    CHECK(counts[0] == 3 && counts[1] == 3);
    test_guarded_free(&from), test_guarded_free(&to), test_guarded_free(&where);
    puts("segments: ok");
    return 0;
}
