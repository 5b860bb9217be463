/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/extremes.h"

#include <float.h>
#include <string.h>

#include "base/cpu.h"

#define INLINE __attribute__((always_inline)) static inline
#define LANES 16
#define TURNED 64 /* numbers of a row that are transposed to columns */

/* Processes adjacent columns; rows are `step` numbers apart. Vectorises if called with
   constants. */
#define LANES_OF(type, name, least, most)                                                          \
    INLINE void name##_lanes(const type *x, size_t count, size_t step, size_t width,               \
                             bool greatest, bool places, type *restrict best,                      \
                             int32_t *restrict at) {                                               \
        for (size_t j = 0; j < width; j++) {                                                       \
            best[j] = !places ? x[j] : greatest ? (least) : (most);                                \
            at[j] = 0;                                                                             \
        }                                                                                          \
        for (size_t i = 0; i < count; i++, x += step)                                              \
            for (size_t j = 0; j < width; j++) {                                                   \
                const type value = x[j];                                                           \
                const bool better = greatest ? value > best[j] : value < best[j];                  \
                if (places) at[j] = better ? (int32_t)i : at[j];                                   \
                best[j] = better ? value : best[j];                                                \
                if (!places) best[j] = value != value ? value : best[j];                           \
            }                                                                                      \
    }                                                                                              \
                                                                                                   \
    INLINE void name##_columns(const type *x, size_t count, size_t step, size_t width,             \
                               bool greatest, bool places, void *out, size_t done) {               \
        type best[LANES];                                                                          \
        int32_t at[LANES];                                                                         \
        if (width == LANES)                                                                        \
            name##_lanes(x, count, step, LANES, greatest, places, best, at);                       \
        else                                                                                       \
            name##_lanes(x, count, step, width, greatest, places, best, at);                       \
        for (size_t j = 0; j < width && places; j++)                                               \
            ((int64_t *)out)[done + j] = at[j];                                                    \
        if (!places) memcpy((type *)out + done, best, width * sizeof(type));                       \
    }                                                                                              \
                                                                                                   \
    INLINE void name##_of(const fr_extreme_source *source, bool greatest, bool places,             \
                          void *out) {                                                             \
        const size_t outer = source->outer, count = source->count, inner = source->inner;          \
        const type *x = source->numbers;                                                           \
        type turned[TURNED * LANES];                                                               \
        size_t row = 0;                                                                            \
        if (inner == 1 && count <= TURNED)                                                         \
            for (; outer - row >= LANES; row += LANES, x += LANES * count) {                       \
                for (size_t j = 0; j < LANES; j++)                                                 \
                    for (size_t i = 0; i < count; i++)                                             \
                        turned[i * LANES + j] = x[j * count + i];                                  \
                name##_columns(turned, count, LANES, LANES, greatest, places, out, row);           \
            }                                                                                      \
        for (; row < outer; row++, x += count * inner)                                             \
            for (size_t j = 0; j < inner; j += LANES)                                              \
                name##_columns(x + j, count, inner, inner - j < LANES ? inner - j : LANES,         \
                               greatest, places, out, row * inner + j);                            \
    }

LANES_OF(float, float32, -FLT_MAX, FLT_MAX)
LANES_OF(double, float64, -DBL_MAX, DBL_MAX)
LANES_OF(int32_t, int32, INT32_MIN, INT32_MAX)
LANES_OF(int64_t, int64, INT64_MIN, INT64_MAX)
LANES_OF(uint8_t, uint8, 0, UINT8_MAX)

INLINE void by_type(const fr_extreme_source *source, bool greatest, bool places, void *out) {
    switch (source->type) {
        case FR_EXTREME_FLOAT32:
            float32_of(source, greatest, places, out);
            break;
        case FR_EXTREME_FLOAT64:
            float64_of(source, greatest, places, out);
            break;
        case FR_EXTREME_INT32:
            int32_of(source, greatest, places, out);
            break;
        case FR_EXTREME_INT64:
            int64_of(source, greatest, places, out);
            break;
        default:
            uint8_of(source, greatest, places, out);
    }
}

INLINE void by_question(const fr_extreme_source *source, bool greatest, bool places, void *out) {
    if (greatest && places)
        by_type(source, true, true, out);
    else if (greatest)
        by_type(source, true, false, out);
    else if (places)
        by_type(source, false, true, out);
    else
        by_type(source, false, false, out);
}

static void plain(const fr_extreme_source *source, bool greatest, bool places, void *out) {
    by_question(source, greatest, places, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void wide(const fr_extreme_source *source, bool greatest,
                                                 bool places, void *out) {
    by_question(source, greatest, places, out);
}
#else
#define wide plain
#endif

void fr_extreme_values(const fr_extreme_source *source, bool greatest, void *out) {
    (fr_cpu_features() & FR_CPU_AVX2 ? wide : plain)(source, greatest, false, out);
}

void fr_extreme_places(const fr_extreme_source *source, bool greatest, int64_t *out) {
    (fr_cpu_features() & FR_CPU_AVX2 ? wide : plain)(source, greatest, true, out);
}

/* Inserts into a sorted list of the largest numbers. Most numbers are below its last element. */
#define TOP_OF(type, name)                                                                         \
    INLINE bool name##_is_above(type a, type b) {                                                  \
        return a > b || (a != a && b == b);                                                        \
    }                                                                                              \
                                                                                                   \
    static void name##_top(const type *x, size_t outer, size_t count, size_t most, type *values,   \
                           int32_t *places) {                                                      \
        for (; outer; outer--, x += count, values += most, places += most) {                       \
            size_t length = 0;                                                                     \
            for (size_t i = 0; i < count; i++) {                                                   \
                if (length == most && !name##_is_above(x[i], values[most - 1])) continue;          \
                size_t at = length < most ? length++ : most - 1;                                   \
                for (; at && name##_is_above(x[i], values[at - 1]); at--) {                        \
                    values[at] = values[at - 1];                                                   \
                    places[at] = places[at - 1];                                                   \
                }                                                                                  \
                values[at] = x[i];                                                                 \
                places[at] = (int32_t)i;                                                           \
            }                                                                                      \
        }                                                                                          \
    }

TOP_OF(float, float32)
TOP_OF(double, float64)
TOP_OF(int32_t, int32)
TOP_OF(int64_t, int64)
TOP_OF(uint8_t, uint8)

void fr_extreme_top(const fr_extreme_source *source, size_t most, void *values, int32_t *places) {
    const size_t outer = source->outer, count = source->count;
    switch (source->type) {
        case FR_EXTREME_FLOAT32:
            float32_top(source->numbers, outer, count, most, values, places);
            break;
        case FR_EXTREME_FLOAT64:
            float64_top(source->numbers, outer, count, most, values, places);
            break;
        case FR_EXTREME_INT32:
            int32_top(source->numbers, outer, count, most, values, places);
            break;
        case FR_EXTREME_INT64:
            int64_top(source->numbers, outer, count, most, values, places);
            break;
        default:
            uint8_top(source->numbers, outer, count, most, values, places);
    }
}

/* Clips the range of `count` positions from `at - before` to `size`: sets `*begin` to its first
   position and returns its end. */
static size_t window_of(size_t at, size_t before, size_t count, size_t size, size_t *begin) {
    const size_t end = at + count > before ? at + count - before : 0;
    *begin = at > before ? at - before : 0;
    return end < size ? end : size;
}

/* Computes one row of windows from the column maxima of its image rows. */
INLINE void pool_row(const fr_windows *w, const float *largest, size_t channels, float *out) {
    for (size_t x = 0; x < w->out_width; x++, out += channels) {
        size_t begin;
        const size_t end = window_of(x * w->stride_x, w->left, w->columns, w->width, &begin);
        for (size_t c = 0; c < channels; c++) {
            float best = -FLT_MAX;
            for (size_t i = begin; i < end; i++)
                best = largest[i * channels + c] > best ? largest[i * channels + c] : best;
            out[c] = best;
        }
    }
}

void fr_extreme_pool(const fr_windows *w, const float *image, float *scratch, float *out) {
    const size_t row = w->width * w->channels;
    for (size_t y = 0; y < w->out_height; y++, out += w->out_width * w->channels) {
        size_t begin;
        const size_t end = window_of(y * w->stride_y, w->top, w->rows, w->height, &begin);
        for (size_t i = 0; i < row; i++)
            scratch[i] = -FLT_MAX;
        for (size_t j = begin; j < end; j++)
            for (size_t i = 0; i < row; i++)
                scratch[i] = image[j * row + i] > scratch[i] ? image[j * row + i] : scratch[i];
        if (w->channels == 3)
            pool_row(w, scratch, 3, out);
        else
            pool_row(w, scratch, w->channels, out);
    }
}
