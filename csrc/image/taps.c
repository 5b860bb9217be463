/* SPDX-License-Identifier: Apache-2.0 */
#include "image/taps.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define SIDE_MAX ((size_t)1 << 24) /* largest range of integers that a float represents exactly */
#define CUBIC_STEPS 1024

/* --- kernels ---------------------------------------------------------------------------------- */

static float triangle(float x) {
    return x < 1 ? 1 - x : 0;
}

static float keys(float x) {
    if (x >= 2) return 0;
    if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
    return ((1.5f * x - 2.5f) * x) * x + 1;
}

static float mitchell(float x) {
    if (x >= 2) return 0;
    if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
    return (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
}

static float lanczos(float x, float radius) {
    const float pi = 3.14159265359f;
    if (x > radius) return 0;
    if (x <= 1e-3f) return 1;
    return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float gaussian(float x) {
    return x < 1.5f ? (float)exp(-x * x / (2.0 * 0.5f * 0.5f)) : 0;
}

static float kernel(fr_filter filter, float x) {
    switch (filter) {
        case FR_FILTER_BILINEAR:
            return triangle(x);
        case FR_FILTER_BICUBIC:
        case FR_FILTER_BICUBIC_TORCH:
            return keys(x);
        case FR_FILTER_LANCZOS3:
            return lanczos(x, 3);
        case FR_FILTER_LANCZOS5:
            return lanczos(x, 5);
        case FR_FILTER_GAUSSIAN:
            return gaussian(x);
        default:
            return mitchell(x);
    }
}

static float radius_of(fr_filter filter) {
    switch (filter) {
        case FR_FILTER_BILINEAR:
            return 1;
        case FR_FILTER_LANCZOS3:
            return 3;
        case FR_FILTER_LANCZOS5:
            return 5;
        case FR_FILTER_GAUSSIAN:
            return 1.5f;
        default:
            return 2;
    }
}

/* --- weights ---------------------------------------------------------------------------------- */

typedef struct {
    const fr_sampling *side;
    const fr_interpolation *how;
    float scale;  /* source pixels per sample */
    size_t reach; /* largest number of pixels of a sample */
} plan;

static size_t clamp(int64_t place, size_t size) {
    return place < 0 ? 0 : (size_t)place >= size ? size - 1 : (size_t)place;
}

bool fr_interpolation_is_kernel(const fr_interpolation *how) {
    const fr_filter f = how->filter;
    return f > FR_FILTER_AREA || (how->antialias && f != FR_FILTER_NEAREST && f != FR_FILTER_AREA);
}

static plan plan_of(const fr_sampling *side, const fr_interpolation *how) {
    plan p = {side, how, side->length / (float)side->total, 0};
    if (fr_interpolation_is_kernel(how))
        p.scale = (float)(1 / (double)((float)side->total / side->length));
    else if (how->align_corners && side->total > 1)
        p.scale = (side->length - 1) / (float)(side->total - 1);
    return p;
}

static float widened(const plan *p) {
    return p->how->antialias && p->scale > 1 ? p->scale : 1;
}

static size_t reach_of(const plan *p) {
    if (p->how->filter == FR_FILTER_NEAREST) return 1;
    if (p->how->filter == FR_FILTER_AREA) return (size_t)ceilf(p->scale) + 2;
    if (!fr_interpolation_is_kernel(p->how)) return p->how->filter == FR_FILTER_BILINEAR ? 2 : 4;
    return 2 * (size_t)ceilf(radius_of(p->how->filter) * widened(p)) + 1;
}

typedef struct {
    uint32_t *places;
    float *weights;
    size_t used;
} sample;

static void add(sample *s, size_t place, float weight) {
    s->places[s->used] = (uint32_t)place;
    s->weights[s->used++] = weight;
}

/* Returns the position of sample `at`, in coordinates where pixels begin at integers. */
static float legacy_place(const plan *p, size_t at) {
    const bool whole = p->how->legacy_centers || p->how->align_corners;
    if (whole) return (float)at * p->scale + p->side->begin;
    return ((float)at + 0.5f) * p->scale + p->side->begin - 0.5f;
}

static void add_nearest(const plan *p, size_t at, sample *s) {
    float place = ((float)at + 0.5f) * p->scale + p->side->begin;
    if (p->how->legacy_centers || p->how->align_corners)
        place = (float)at * p->scale + p->side->begin;
    place = p->how->align_corners ? roundf(place) : floorf(place);
    add(s, clamp((int64_t)place, p->side->size), 1);
}

static void add_bilinear(const plan *p, size_t at, sample *s) {
    const float place = legacy_place(p, at), low = floorf(place);
    add(s, clamp((int64_t)low, p->side->size), 1 - (place - low));
    add(s, clamp((int64_t)ceilf(place), p->side->size), place - low);
}

/* Returns the weights of the pixels at distances `x` and 1 + `x`, in the order of reading. */
static float cubic_near(double a, float x) {
    return (float)(((a + 2) * x - (a + 3)) * x * x + 1);
}

static float cubic_far(double a, float x) {
    return (float)(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

static void normalize(sample *s) {
    float sum = 0;
    for (size_t k = 0; k < s->used; k++)
        sum += s->weights[k];
    const float one = fabsf(sum) >= 1000 * FLT_MIN ? 1 / sum : 0;
    for (size_t k = 0; k < s->used; k++)
        s->weights[k] *= one;
}

static void add_bicubic(const plan *p, size_t at, sample *s) {
    const bool torch = p->how->filter == FR_FILTER_BICUBIC_TORCH;
    const bool is_keys = !torch && !p->how->legacy_centers && !p->how->align_corners;
    const double a = is_keys ? -0.5 : -0.75;
    const float place = legacy_place(p, at);
    const int64_t from = (int64_t)floorf(place);
    float x = place - (float)from, y = 1 - x;
    if (!torch) {
        const long step = lrintf(x * CUBIC_STEPS);
        x = (float)(step * 1.0 / CUBIC_STEPS);
        y = (float)((CUBIC_STEPS - step) * 1.0 / CUBIC_STEPS);
    }
    const float weights[] = {cubic_far(a, x + 1), cubic_near(a, x), cubic_near(a, y),
                             cubic_far(a, y + 1)};
    for (int k = 0; k < 4; k++) {
        const size_t source = clamp(from - 1 + k, p->side->size);
        if (!is_keys || (int64_t)source == from - 1 + k) add(s, source, weights[k]);
    }
    if (is_keys) normalize(s);
}

static void add_area(const plan *p, size_t at, sample *s) {
    const float begin = (float)at * p->scale + p->side->begin;
    const float end = (float)(at + 1) * p->scale + p->side->begin;
    const int64_t stop = (int64_t)ceilf(end);
    for (int64_t i = (int64_t)floorf(begin); i < stop && s->used < p->reach; i++) {
        const float from = (float)i < begin ? begin : (float)i;
        float weight = (float)(i + 1) - from;
        if ((float)(i + 1) > end) weight = (float)i < begin ? p->scale : end - (float)i;
        add(s, clamp(i, p->side->size), weight);
    }
}

static void add_kernel(const plan *p, size_t at, sample *s) {
    const fr_sampling *side = p->side;
    const float width = widened(p), one = 1 / width;
    const float reach = radius_of(p->how->filter) * width;
    const float place = ((float)at + 0.5f) * p->scale + side->begin;
    if (place < 0 || place > (float)side->size) return;
    const size_t low = clamp((int64_t)ceilf(place - reach - 0.5f), side->size);
    const size_t high = clamp((int64_t)floorf(place + reach - 0.5f), side->size);
    for (size_t i = low; i <= high && s->used < p->reach; i++)
        add(s, i, kernel(p->how->filter, fabsf(((float)i + 0.5f - place) * one)));
    normalize(s);
}

static void add_taps(const plan *p, size_t at, sample *s) {
    if (fr_interpolation_is_kernel(p->how))
        add_kernel(p, at, s);
    else if (p->how->filter == FR_FILTER_NEAREST)
        add_nearest(p, at, s);
    else if (p->how->filter == FR_FILTER_BILINEAR)
        add_bilinear(p, at, s);
    else if (p->how->filter == FR_FILTER_AREA)
        add_area(p, at, s);
    else
        add_bicubic(p, at, s);
}

static int check_side(const fr_sampling *side, fr_error *err) {
    const size_t sizes[] = {side->size, side->total, side->count};
    for (int i = 0; i < 3; i++)
        if (sizes[i] < 1 || sizes[i] > SIDE_MAX)
            return fr_fail(err, FR_ERR_MALFORMED, "image side must be 1 to %zu, got %zu", SIDE_MAX,
                           sizes[i]);
    if (!(side->length > 0 && side->length <= (float)SIDE_MAX &&
          fabsf(side->begin) <= (float)SIDE_MAX))
        return fr_fail(err, FR_ERR_MALFORMED, "no pixels to resize");
    return FR_OK;
}

int fr_taps_init(fr_taps *taps, const fr_sampling *side, const fr_interpolation *how, bool mirror,
                 fr_error *err) {
    memset(taps, 0, sizeof *taps);
    FR_TRY(check_side(side, err));
    plan p = plan_of(side, how);
    size_t all, bytes;
    taps->count = side->count;
    taps->reach = p.reach = reach_of(&p);
    taps->scale = p.scale;
    if (fr_mul_overflows(taps->count, 2 * taps->reach + 1, &all) ||
        fr_mul_overflows(all, sizeof(uint32_t), &bytes))
        return fr_fail(err, FR_ERR_MALFORMED, "an image of %zu pixels cannot become one of %zu",
                       side->size, side->total);
    taps->used = malloc(bytes);
    if (!taps->used) return fr_fail_nomem(err, bytes);
    taps->places = taps->used + taps->count;
    taps->weights = (float *)(void *)(taps->places + taps->count * taps->reach);
    for (size_t i = 0; i < side->count; i++) {
        const size_t to = mirror ? side->count - 1 - i : i;
        sample s = {taps->places + to * taps->reach, taps->weights + to * taps->reach, 0};
        add_taps(&p, side->first + i, &s);
        taps->used[to] = (uint32_t)s.used;
    }
    return FR_OK;
}

void fr_taps_range(const fr_taps *taps, size_t *low, size_t *high) {
    *low = SIZE_MAX, *high = 0;
    for (size_t i = 0; i < taps->count; i++)
        for (size_t k = 0; k < taps->used[i]; k++) {
            const size_t place = taps->places[i * taps->reach + k];
            if (place < *low) *low = place;
            if (place + 1 > *high) *high = place + 1;
        }
    if (*high == 0) *low = 0;
}

void fr_taps_free(fr_taps *taps) {
    free(taps->used);
    memset(taps, 0, sizeof *taps);
}
