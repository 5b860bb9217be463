/* SPDX-License-Identifier: Apache-2.0 */
#include "image/resample.h"

#include <stdlib.h>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define CHANNELS_MAX 65536

/* --- sums ------------------------------------------------------------------------------------- */

typedef float four __attribute__((vector_size(16)));

static void bytes_to_floats(const uint8_t *from, float scale, size_t count, float *restrict out) {
    for (size_t i = 0; i < count; i++)
        out[i] = (float)from[i] * scale;
}

static void to_floats(const fr_resampler *r, const fr_pixels *source, size_t row, size_t count,
                      float *out) {
    const uint8_t *from = source->data + row * source->row_step;
    if (source->is_float)
        memcpy(out, from, count * sizeof *out);
    else
        bytes_to_floats(from, r->scale, count, out);
}

#define STRIP 16 /* numbers whose sums fit in registers */

/* Computes row `row` of the result as a sum of source rows, starting at number `from`. */
static void sum_bytes(const fr_resampler *r, const fr_pixels *source, size_t row, size_t from,
                      size_t count, float *restrict out) {
    const fr_taps *taps = &r->rows;
    const float scale = r->scale;
    const uint32_t *places = taps->places + row * taps->reach;
    const float *weights = taps->weights + row * taps->reach;
    const size_t used = taps->used[row];
    for (; count - from >= STRIP; from += STRIP) {
        float sums[STRIP] = {0};
        for (size_t k = 0; k < used; k++) {
            const uint8_t *line = source->data + places[k] * source->row_step + from;
            for (size_t i = 0; i < STRIP; i++)
                sums[i] += (float)line[i] * scale * weights[k];
        }
        memcpy(out + from, sums, sizeof sums);
    }
    for (; from < count; from++) {
        float sum = 0;
        for (size_t k = 0; k < used; k++)
            sum += (float)source->data[places[k] * source->row_step + from] * scale * weights[k];
        out[from] = sum;
    }
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline
#define WIDE_STRIP 32

AVX2_INLINE __m256 floats_at(const uint8_t *from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)from)));
}

/* Computes the same bits as sum_bytes(), and returns the number of results. Multiplying by a scale
   of 1 is exact. */
AVX2_INLINE size_t sum_strips(const fr_resampler *r, const fr_pixels *source, size_t row,
                              size_t count, bool scaled, float *restrict out) {
    const fr_taps *taps = &r->rows;
    const __m256 scale = _mm256_set1_ps(r->scale);
    const uint32_t *places = taps->places + row * taps->reach;
    const float *weights = taps->weights + row * taps->reach;
    size_t from = 0;
    for (; count - from >= WIDE_STRIP; from += WIDE_STRIP) {
        __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                          _mm256_setzero_ps()};
        for (size_t k = 0; k < taps->used[row]; k++) {
            const uint8_t *line = source->data + places[k] * source->row_step + from;
            const __m256 weight = _mm256_set1_ps(weights[k]);
            for (int i = 0; i < 4; i++) {
                const __m256 x = floats_at(line + 8 * i);
                sums[i] = _mm256_add_ps(
                    sums[i], _mm256_mul_ps(scaled ? _mm256_mul_ps(x, scale) : x, weight));
            }
        }
        for (int i = 0; i < 4; i++)
            _mm256_storeu_ps(out + from + 8 * i, sums[i]);
    }
    return from;
}

AVX2 static size_t sum_bytes_wide(const fr_resampler *r, const fr_pixels *source, size_t row,
                                  size_t count, float *out) {
    return r->scale == 1 ? sum_strips(r, source, row, count, false, out)
                         : sum_strips(r, source, row, count, true, out);
}

AVX2_INLINE __m256 two_pixels(const float *first, const float *second) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(first)), _mm_loadu_ps(second),
                                1);
}

/* Writes two floats more than the pixels have. */
AVX2_INLINE void store_pixels(float *out, __m256 pixels) {
    const __m256i channels = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(pixels, channels));
}

AVX2_INLINE void sum_taps(const fr_pixel_pairs *p, size_t taps, const float *line, float *out) {
    const float *weights = p->weights;
    for (size_t i = 0; i < p->count; i++, out += 6, weights += 8 * taps) {
        const float *first = line + p->places[2 * i], *second = line + p->places[2 * i + 1];
        __m256 sum = _mm256_setzero_ps();
        for (size_t k = 0; k < taps; k++) {
            const __m256 weight = _mm256_loadu_ps(weights + 8 * k);
            sum = _mm256_add_ps(sum,
                                _mm256_mul_ps(two_pixels(first + 3 * k, second + 3 * k), weight));
        }
        store_pixels(out, sum);
    }
}

AVX2 static void sum_pairs(const fr_pixel_pairs *p, const float *line, float *out) {
    switch (p->taps) {
        case 2:
            sum_taps(p, 2, line, out);
            break;
        case 3:
            sum_taps(p, 3, line, out);
            break;
        case 4:
            sum_taps(p, 4, line, out);
            break;
        default:
            sum_taps(p, p->taps, line, out);
    }
}

AVX2 static void lerp_pairs(const fr_pixel_pairs *p, const float *line, float *out) {
    for (size_t i = 0; i < p->count; i++, out += 6) {
        const float *first = line + p->places[2 * i], *second = line + p->places[2 * i + 1];
        const __m256 a = two_pixels(first, second), b = two_pixels(first + 3, second + 3);
        const __m256 share = _mm256_loadu_ps(p->weights + 16 * i + 8);
        store_pixels(out, _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), share)));
    }
}

/* Does the same as lerp_pairs() for bytes. Reads eight bytes at the first pixel of each pair. */
AVX2 static void lerp_bytes(const fr_pixel_pairs *p, const uint8_t *line, float scale, float *out) {
    const __m128i firsts = _mm_setr_epi8(0, 1, 2, -1, 8, 9, 10, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i seconds =
        _mm_setr_epi8(3, 4, 5, -1, 11, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256 by = _mm256_set1_ps(scale);
    for (size_t i = 0; i < p->count; i++, out += 6) {
        const __m128i x = _mm_loadl_epi64((const void *)(line + p->places[2 * i]));
        const __m128i y = _mm_loadl_epi64((const void *)(line + p->places[2 * i + 1]));
        const __m128i both = _mm_unpacklo_epi64(x, y);
        const __m256i first = _mm256_cvtepu8_epi32(_mm_shuffle_epi8(both, firsts));
        const __m256i second = _mm256_cvtepu8_epi32(_mm_shuffle_epi8(both, seconds));
        const __m256 a = _mm256_mul_ps(_mm256_cvtepi32_ps(first), by);
        const __m256 b = _mm256_mul_ps(_mm256_cvtepi32_ps(second), by);
        const __m256 share = _mm256_loadu_ps(p->weights + 16 * i + 8);
        store_pixels(out, _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), share)));
    }
}
#else
static void sum_pairs(const fr_pixel_pairs *p, const float *line, float *out) {
    (void)p, (void)line, (void)out;
}

static void lerp_pairs(const fr_pixel_pairs *p, const float *line, float *out) {
    (void)p, (void)line, (void)out;
}

static void lerp_bytes(const fr_pixel_pairs *p, const uint8_t *line, float scale, float *out) {
    (void)p, (void)line, (void)scale, (void)out;
}
#endif

static void add_scaled(const uint8_t *from, float weight, size_t count, float *restrict out) {
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, from + i * sizeof x, sizeof x);
        out[i] += x * weight;
    }
}

static void sum_down(const fr_resampler *r, const fr_pixels *source, size_t row, size_t count,
                     float *restrict out) {
    const fr_taps *taps = &r->rows;
    if (!source->is_float) {
        size_t from = 0;
#if defined(__x86_64__)
        if (fr_cpu_features() & FR_CPU_AVX2) from = sum_bytes_wide(r, source, row, count, out);
#endif
        sum_bytes(r, source, row, from, count, out);
        return;
    }
    memset(out, 0, count * sizeof *out);
    for (size_t k = 0; k < taps->used[row]; k++) {
        const size_t at = row * taps->reach + k;
        add_scaled(source->data + taps->places[at] * source->row_step, taps->weights[at], count,
                   out);
    }
}

static inline four load_four(const float *from) {
    four x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void store_four(float *to, four x) {
    memcpy(to, &x, sizeof x);
}

/* Sums pixels of 3 channels, four floats at a time. Rows have space for the extra float. */
static void sum_across_colour(const fr_taps *taps, size_t from, const float *line, float *out) {
    for (size_t x = from; x < taps->count; x++) {
        const float *weights = taps->weights + x * taps->reach;
        const uint32_t *places = taps->places + x * taps->reach;
        four sum = {0};
        for (size_t k = 0; k < taps->used[x]; k++)
            sum += load_four(line + places[k] * 3) * weights[k];
        store_four(out + 3 * x, sum);
    }
}

static void sum_across(const fr_resampler *r, bool is_float, const float *line, float *out) {
    const fr_taps *taps = &r->columns;
    const size_t channels = r->channels;
    if (channels == 3) {
        const size_t paired =
            is_float ? 0 : 2 * r->pairs.count; /* floats skip pairs, because 0 * infinity is NaN */
        if (paired) sum_pairs(&r->pairs, line, out);
        sum_across_colour(taps, paired, line, out);
        return;
    }
    for (size_t x = 0; x < taps->count; x++, out += channels)
        for (size_t c = 0; c < channels; c++) {
            float sum = 0;
            for (size_t k = 0; k < taps->used[x]; k++) {
                const size_t at = x * taps->reach + k;
                sum += line[taps->places[at] * channels + c] * taps->weights[at];
            }
            out[c] = sum;
        }
}

static void lerp_rest(const fr_resampler *r, size_t paired, const float *line, float *out) {
    const fr_taps *taps = &r->columns;
    const size_t channels = r->channels;
    out += paired * channels;
    for (size_t x = paired; x < taps->count; x++, out += channels) {
        const float *a = line + taps->places[2 * x] * channels;
        const float *b = line + taps->places[2 * x + 1] * channels;
        const float share = taps->weights[2 * x + 1];
        if (channels == 3) {
            const four first = load_four(a);
            store_four(out, first + (load_four(b) - first) * share);
            continue;
        }
        for (size_t c = 0; c < channels; c++)
            out[c] = a[c] + (b[c] - a[c]) * share;
    }
}

static void lerp_across(const fr_resampler *r, const fr_pixels *source, size_t row, float *out) {
    const size_t paired = source->is_float ? 0 : 2 * r->pairs.count;
    const size_t size = r->width * r->channels;
    if (paired && r->width > 1 && row + 1 < r->height) { /* the bytes after the row are readable */
        const uint8_t *from = source->data + row * source->row_step;
        lerp_bytes(&r->pairs, from, r->scale, out);
        if (paired < r->columns.count) {
            const size_t begin = r->columns.places[2 * paired] * r->channels;
            const size_t count = size - begin < 6 ? size - begin : 6; /* samples of two pixels */
            bytes_to_floats(from + begin, r->scale, count, r->line + begin);
        }
    } else {
        to_floats(r, source, row, size, r->line);
        if (paired) lerp_pairs(&r->pairs, r->line, out);
    }
    lerp_rest(r, paired, r->line, out);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Returns a source row after summing along it. The row is kept for the next result that needs
   it. */
static const float *line_of(fr_resampler *r, const fr_pixels *source, size_t row) {
    float *line = r->lines[row & 1];
    if (r->held[row & 1] == row) return line;
    if (r->is_lerp) {
        lerp_across(r, source, row, line);
    } else {
        to_floats(r, source, row, r->width * r->channels, r->line);
        sum_across(r, source->is_float, r->line, line);
    }
    r->held[row & 1] = row;
    return line;
}

static void lerp_down(const float *a, const float *b, float share, size_t count,
                      float *restrict out) {
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + (b[i] - a[i]) * share;
}

static void sum_lines(fr_resampler *r, const fr_pixels *source, size_t row, size_t count,
                      float *out) {
    memset(out, 0, count * sizeof *out);
    for (size_t k = 0; k < r->rows.used[row]; k++) {
        const size_t at = row * r->rows.reach + k;
        const float *line = line_of(r, source, r->rows.places[at]);
        add_scaled((const uint8_t *)line, r->rows.weights[at], count, out);
    }
    for (size_t i = 0; i < count; i++)
        out[i] *= r->factor;
}

void fr_resampler_row(fr_resampler *resampler, const fr_pixels *source, size_t row, float *out) {
    fr_resampler *r = resampler;
    const size_t count = r->columns.count * r->channels;
    if (r->is_copy) {
        to_floats(r, source, r->rows.places[row * r->rows.reach], count, out);
    } else if (!r->across_first) {
        float *to = row + 1 < r->rows.count ? out : r->lines[0];
        sum_down(r, source, row, r->width * r->channels, r->line);
        sum_across(r, source->is_float, r->line, to);
        if (to != out) memcpy(out, to, count * sizeof *out);
    } else if (r->is_lerp) {
        const float *a = line_of(r, source, r->rows.places[2 * row]);
        const float *b = line_of(r, source, r->rows.places[2 * row + 1]);
        lerp_down(a, b, r->rows.weights[2 * row + 1], count, out);
    } else {
        sum_lines(r, source, row, count, out);
    }
}

void fr_resampler_restart(fr_resampler *resampler) {
    resampler->held[0] = resampler->held[1] = SIZE_MAX;
}

void fr_resampler_image(fr_resampler *resampler, const fr_pixels *source, float *out) {
    const size_t pitch = resampler->columns.count * resampler->channels;
    fr_resampler_restart(resampler);
    for (size_t row = 0; row < resampler->rows.count; row++)
        fr_resampler_row(resampler, source, row, out + row * pitch);
}

/* Makes places relative to the first pixel that is needed. The region has at least one pixel. */
static void trim(fr_taps *taps, size_t *first, size_t *size) {
    size_t end;
    fr_taps_range(taps, first, &end);
    *size = end > *first ? end - *first : 1;
    for (size_t i = 0; i < taps->count; i++)
        for (size_t k = 0; k < taps->used[i]; k++)
            taps->places[i * taps->reach + k] -= (uint32_t)*first;
}

/* Returns whether each sample is one unchanged pixel, and if `in_order`, whether it is the next
   one. */
static bool is_copy(const fr_taps *taps, bool in_order) {
    for (size_t i = 0; i < taps->count; i++) {
        const size_t at = i * taps->reach;
        if (taps->used[i] != 1 || taps->weights[at] != 1 || (in_order && taps->places[at] != i))
            return false;
    }
    return true;
}

static size_t most_used(const fr_taps *taps) {
    size_t most = 1;
    for (size_t i = 0; i < taps->count; i++)
        if (taps->used[i] > most) most = taps->used[i];
    return most;
}

#define PAIR_TAPS_MAX 32 /* beyond this, the weights exceed the fastest cache */

/* Spreads one sample's weights over `taps` consecutive pixels, in every other group of four
   `weights`. Returns false if the pixels of the sample are not consecutive. */
static bool spread(const fr_resampler *r, size_t x, size_t taps, uint32_t *place, float *weights) {
    const uint32_t *places = r->columns.places + x * r->columns.reach;
    const float *given = r->columns.weights + x * r->columns.reach;
    const size_t used = r->columns.used[x], last = r->width - (r->is_lerp ? 1 : taps);
    const size_t begin = used == 0 ? 0 : places[0] < last ? places[0] : last;
    *place = (uint32_t)(3 * begin);
    for (size_t k = 0; k < used; k++) {
        if (r->is_lerp && places[k] == places[0])
            continue; /* at the same place, the difference from the first is 0 */
        if (places[k] != places[0] + k) return false;
        const size_t at = places[k] - begin;
        for (size_t lane = 0; lane < 4; lane++)
            weights[8 * at + lane] = given[k];
    }
    return true;
}
/* Builds pairs of samples. There are none if a sample's pixels are not consecutive, as at repeated
   edges. */
static int pair(fr_resampler *r, fr_error *err) {
    fr_pixel_pairs *pairs = &r->pairs;
    const size_t count = r->columns.count / 2, taps = most_used(&r->columns);
    const size_t bytes = count * (8 * taps + 2) * sizeof(float);
    if (count == 0 || taps > PAIR_TAPS_MAX || taps > r->width + r->is_lerp) return FR_OK;
    pairs->weights = calloc(1, bytes);
    if (!pairs->weights) return fr_fail_nomem(err, bytes);
    pairs->places = (uint32_t *)(void *)(pairs->weights + 8 * count * taps);
    pairs->taps = taps;
    for (size_t x = 0; x < 2 * count; x++)
        if (!spread(r, x, taps, pairs->places + x, pairs->weights + x / 2 * 8 * taps + x % 2 * 4))
            return FR_OK;
    pairs->count = count;
    return FR_OK;
}

static bool pairs_are_faster(size_t channels) {
#if defined(__x86_64__)
    return channels == 3 && fr_cpu_features() & FR_CPU_AVX2;
#else
    (void)channels;
    return false;
#endif
}

int fr_resampler_init(fr_resampler *resampler, const fr_interpolation *how, const fr_sampling *rows,
                      const fr_sampling *columns, size_t channels, bool mirror, fr_error *err) {
    fr_resampler *r = resampler;
    memset(r, 0, sizeof *r);
    if (channels < 1 || channels > CHANNELS_MAX)
        return fr_fail(err, FR_ERR_ARG, "channels must be 1 to %d, got %zu", CHANNELS_MAX,
                       channels);
    r->channels = channels;
    r->scale = 1;
    r->is_lerp = how->filter == FR_FILTER_BILINEAR && !fr_interpolation_is_kernel(how);
    r->across_first = r->is_lerp || how->filter == FR_FILTER_AREA;
    FR_TRY(fr_taps_init(&r->rows, rows, how, false, err));
    FR_TRY(fr_taps_init(&r->columns, columns, how, mirror, err));
    r->factor = how->filter == FR_FILTER_AREA ? 1 / (r->rows.scale * r->columns.scale) : 1;
    trim(&r->rows, &r->first_row, &r->height);
    trim(&r->columns, &r->first_column, &r->width);
    r->is_copy = r->factor == 1 && is_copy(&r->rows, false) && is_copy(&r->columns, true);
    if (!r->is_copy && pairs_are_faster(channels)) FR_TRY(pair(r, err));
    const size_t wide = r->width * channels + FR_ROW_SLACK;
    const size_t thin = r->columns.count * channels + FR_ROW_SLACK;
    const size_t bytes = (wide + 2 * thin) * sizeof(float);
    r->line = calloc(1, bytes); /* floats after a row are read, so they must be initialised */
    if (!r->line) return fr_fail_nomem(err, bytes);
    r->lines[0] = r->line + wide;
    r->lines[1] = r->lines[0] + thin;
    fr_resampler_restart(r);
    return FR_OK;
}

void fr_resampler_free(fr_resampler *resampler) {
    fr_taps_free(&resampler->rows);
    fr_taps_free(&resampler->columns);
    free(resampler->pairs.weights);
    free(resampler->line);
    memset(resampler, 0, sizeof *resampler);
}
