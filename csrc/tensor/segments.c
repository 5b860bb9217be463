/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/segments.h"

#include <math.h>

#define INLINE __attribute__((always_inline)) static inline

/* An id. It is compared with the limit where it is used, because another thread may change it after
   the check; as an unsigned number a negative id is beyond every limit. */
INLINE int64_t id_at(const fr_segment_ids *ids, size_t i) {
    return ids->are_wide ? ((const int64_t *)ids->values)[i] : ((const int32_t *)ids->values)[i];
}

size_t fr_segments_check(const fr_segment_ids *ids, bool allow_negative) {
    const int64_t least = allow_negative ? INT64_MIN : 0;
    for (size_t i = 0; i < ids->count; i++) {
        const int64_t id = id_at(ids, i);
        if (id < least || id >= (int64_t)ids->limit) return i;
    }
    return ids->count;
}

/* Integers are added in the unsigned type `sum`, so that they wrap around. */
#define COMBINE(type, sum, name)                                                                   \
    INLINE type name##_of(fr_segment_kind kind, type a, type b) {                                  \
        if (kind == FR_SEGMENT_SUM) return (type)((sum)a + (sum)b);                                \
        if (kind == FR_SEGMENT_PROD) return (type)((sum)a * (sum)b);                               \
        if (kind == FR_SEGMENT_MAX) return a >= b || a != a ? a : b; /* NaN of either */           \
        return a <= b || a != a ? a : b;                                                           \
    }                                                                                              \
                                                                                                   \
    INLINE void name##_rows(const fr_segment_ids *ids, fr_segment_kind kind, const type *rows,     \
                            size_t width, type *out) {                                             \
        for (size_t i = 0; i < ids->count; i++) {                                                  \
            const uint64_t id = (uint64_t)id_at(ids, i);                                           \
            if (id >= ids->limit) continue;                                                        \
            type *restrict const to = out + id * width;                                            \
            const type *const from = rows + i * width;                                             \
            for (size_t j = 0; j < width; j++)                                                     \
                to[j] = name##_of(kind, to[j], from[j]);                                           \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Consecutive numbers of one segment are combined in a register. */                           \
    INLINE void name##_runs(const fr_segment_ids *ids, fr_segment_kind kind, const type *rows,     \
                            type *out) {                                                           \
        for (size_t i = 0; i < ids->count;) {                                                      \
            const uint64_t id = (uint64_t)id_at(ids, i);                                           \
            if (id >= ids->limit) {                                                                \
                i++;                                                                               \
                continue;                                                                          \
            }                                                                                      \
            type total = name##_of(kind, out[id], rows[i++]);                                      \
            for (; i < ids->count && (uint64_t)id_at(ids, i) == id; i++)                           \
                total = name##_of(kind, total, rows[i]);                                           \
            out[id] = total;                                                                       \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    INLINE void name##_width(const fr_segment_ids *ids, fr_segment_kind kind, const type *rows,    \
                             size_t width, type *out) {                                            \
        if (width == 1)                                                                            \
            name##_runs(ids, kind, rows, out);                                                     \
        else                                                                                       \
            name##_rows(ids, kind, rows, width, out);                                              \
    }                                                                                              \
                                                                                                   \
    static void name(const fr_segment_ids *ids, fr_segment_kind kind, const type *rows,            \
                     size_t width, type *out) {                                                    \
        switch (kind) {                                                                            \
            case FR_SEGMENT_SUM:                                                                   \
                name##_width(ids, FR_SEGMENT_SUM, rows, width, out);                               \
                break;                                                                             \
            case FR_SEGMENT_PROD:                                                                  \
                name##_width(ids, FR_SEGMENT_PROD, rows, width, out);                              \
                break;                                                                             \
            case FR_SEGMENT_MAX:                                                                   \
                name##_width(ids, FR_SEGMENT_MAX, rows, width, out);                               \
                break;                                                                             \
            default:                                                                               \
                name##_width(ids, FR_SEGMENT_MIN, rows, width, out);                               \
        }                                                                                          \
    }

COMBINE(float, float, combine_floats)
COMBINE(double, double, combine_doubles)
COMBINE(int32_t, uint32_t, combine_integers)
COMBINE(int64_t, uint64_t, combine_long_integers)

void fr_segments_combine(const fr_segment_ids *ids, fr_segment_kind kind, fr_segment_type type,
                         const void *rows, size_t width, void *out) {
    switch (type) {
        case FR_SEGMENT_FLOAT32:
            combine_floats(ids, kind, rows, width, out);
            break;
        case FR_SEGMENT_FLOAT64:
            combine_doubles(ids, kind, rows, width, out);
            break;
        case FR_SEGMENT_INT32:
            combine_integers(ids, kind, rows, width, out);
            break;
        default:
            combine_long_integers(ids, kind, rows, width, out);
    }
}

void fr_segments_count(const fr_segment_ids *ids, int64_t *counts) {
    for (size_t i = 0; i < ids->count; i++) {
        const uint64_t id = (uint64_t)id_at(ids, i);
        if (id < ids->limit) counts[id]++;
    }
}

INLINE void sort_rows(const fr_segment_ids *ids, const uint8_t *rows, size_t size, int64_t *starts,
                      uint8_t *out) {
    for (size_t i = 0; i < ids->count; i++) {
        const uint64_t id = (uint64_t)id_at(ids, i);
        if (id >= ids->limit || (size_t)starts[id] >= ids->count) continue;
        memcpy(out + (size_t)starts[id]++ * size, rows + i * size, size);
    }
}

void fr_segments_sort(const fr_segment_ids *ids, const uint8_t *rows, size_t size, int64_t *starts,
                      uint8_t *out) {
    if (size == 4) /* with a constant size, each copy is one instruction */
        sort_rows(ids, rows, 4, starts, out);
    else if (size == 8)
        sort_rows(ids, rows, 8, starts, out);
    else
        sort_rows(ids, rows, size, starts, out);
}

#define HISTOGRAM(type, name)                                                                      \
    static void name(const type *numbers, size_t count, double low, double high, size_t bins,      \
                     int64_t *counts) {                                                            \
        const double width = high - low, last = (double)bins - 1;                                  \
        for (size_t i = 0; i < count; i++) {                                                       \
            double bin = ((double)numbers[i] - low) / width * (double)bins;                        \
            bin = bin > 0 ? bin : 0;                                                               \
            counts[(size_t)(bin < last ? bin : last)]++;                                           \
        }                                                                                          \
    }

HISTOGRAM(float, count_floats)
HISTOGRAM(double, count_doubles)
HISTOGRAM(int32_t, count_integers)
HISTOGRAM(int64_t, count_long_integers)

void fr_segments_histogram(const void *numbers, fr_segment_type type, size_t count, double low,
                           double high, size_t bins, int64_t *counts) {
    switch (type) {
        case FR_SEGMENT_FLOAT32:
            count_floats(numbers, count, low, high, bins, counts);
            break;
        case FR_SEGMENT_FLOAT64:
            count_doubles(numbers, count, low, high, bins, counts);
            break;
        case FR_SEGMENT_INT32:
            count_integers(numbers, count, low, high, bins, counts);
            break;
        default:
            count_long_integers(numbers, count, low, high, bins, counts);
    }
}
