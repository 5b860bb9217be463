/* SPDX-License-Identifier: Apache-2.0 */
/* Planned rows have each token once and fit; filled rows have the tokens that the plan says. */
#include "batch/alias.h"
#include "batch/row_fill.h"
#include "test.h"

enum { DOCUMENTS = 200, TURNS = 300 };

static const fr_segment *segments_of(const fr_row_plan *plan) {
    return (const fr_segment *)(const void *)plan->segments.data;
}

static const uint32_t *splits_of(const fr_row_plan *plan) {
    return (const uint32_t *)(const void *)plan->splits.data;
}

static void check_plan(const fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                       const fr_row_options *options) {
    uint64_t next[DOCUMENTS] = {0}, tokens = 0;
    for (uint32_t row = 0; row < plan->rows; row++) {
        uint64_t used = 0;
        for (uint32_t i = splits_of(plan)[row]; i < splits_of(plan)[row + 1]; i++) {
            const fr_segment *segment = &segments_of(plan)[i];
            CHECK(segment->document < count && segment->length > 0);
            CHECK((uint64_t)segment->begin + segment->length <= lengths[segment->document]);
            used += segment->length;
            next[segment->document] += segment->length;
        }
        CHECK(used > 0 && used <= options->length);
        tokens += used;
    }
    CHECK(plan->tokens == tokens);
    for (uint32_t i = 0; i < count; i++) {
        const bool dropped = lengths[i] > options->length && options->overlong == FR_OVERLONG_DROP;
        CHECK(next[i] == (dropped ? 0 : lengths[i]));
    }
}

/* Documents whose token at place t is 1,000 times the document and t. */
static void check_fill(const fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                       uint32_t length) {
    int64_t splits[DOCUMENTS + 1] = {0};
    for (uint32_t i = 0; i < count; i++)
        splits[i + 1] = splits[i] + lengths[i];
    const size_t all = (size_t)splits[count], cells = (size_t)plan->rows * length;
    int64_t *values = malloc((all + 1) * sizeof *values);
    int32_t *out = malloc((cells + 1) * sizeof *out), *ids = malloc((cells + 1) * sizeof *ids);
    int32_t *places = malloc((cells + 1) * sizeof *places);
    CHECK(values && out && ids && places);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t t = 0; t < lengths[i]; t++)
            values[splits[i] + t] = 1000 * (int64_t)i + t;
    const fr_row_part part = {.values = values, .splits = splits};
    const fr_row_layout layout = {
        segments_of(plan), splits_of(plan), plan->rows, length, &part, 1, count};
    fr_error err;
    CHECK(fr_row_layout_check(&layout, &err) == FR_OK);
    CHECK(fr_row_fill_tokens(&layout, FR_INT32, -1, (uint8_t *)out, &err) == FR_OK);
    fr_row_fill_segments(&layout, ids, places);
    for (uint32_t row = 0; row < plan->rows; row++) {
        size_t at = (size_t)row * length;
        for (uint32_t i = splits_of(plan)[row]; i < splits_of(plan)[row + 1]; i++) {
            const fr_segment *segment = &segments_of(plan)[i];
            for (uint32_t t = 0; t < segment->length; t++, at++) {
                CHECK(out[at] == (int32_t)(1000 * segment->document + segment->begin + t));
                CHECK(ids[at] == (int32_t)(i - splits_of(plan)[row] + 1));
                CHECK(places[at] == (int32_t)t);
            }
        }
        for (; at < ((size_t)row + 1) * length; at++)
            CHECK(out[at] == -1 && ids[at] == 0 && places[at] == 0);
    }
    free(values), free(out), free(ids), free(places);
}

static void check(uint64_t *random) {
    uint32_t lengths[DOCUMENTS];
    const uint32_t count = (uint32_t)(test_random(random) % DOCUMENTS);
    const fr_row_options options = {
        .length = (uint32_t)(test_random(random) % 100) + 1,
        .max_segments = test_random(random) % 2 ? (uint32_t)(test_random(random) % 5) : 0,
        .fit = (fr_fit_rows)(test_random(random) % 3),
        .overlong = test_random(random) % 2 ? FR_OVERLONG_SPLIT : FR_OVERLONG_DROP,
        .seed = test_random(random)};
    for (uint32_t i = 0; i < count; i++)
        lengths[i] = (uint32_t)(test_random(random) % 150);
    fr_row_plan plan;
    fr_error err;
    CHECK(fr_row_plan_make(&plan, lengths, count, &options, &err) == FR_OK);
    check_plan(&plan, lengths, count, &options);
    check_fill(&plan, lengths, count, options.length);
    fr_row_plan_free(&plan);
}

static void check_errors(void) {
    const uint32_t lengths[] = {3, 9, UINT32_MAX};
    fr_row_options options = {.length = 4, .overlong = FR_OVERLONG_ERROR};
    fr_row_plan plan;
    fr_error err;
    CHECK(fr_row_plan_make(&plan, lengths, 2, &options, &err) == FR_ERR_LIMIT && err.record == 1);
    options.overlong = FR_OVERLONG_SPLIT;
    options.length = 1;
    CHECK(fr_row_plan_make(&plan, lengths, 3, &options, &err) == FR_ERR_ARG);
    options.length = 0;
    CHECK(fr_row_plan_make(&plan, lengths, 2, &options, &err) == FR_ERR_ARG);
    options.length = FR_ROW_LENGTH_MAX + 1;
    CHECK(fr_row_plan_make(&plan, lengths, 2, &options, &err) == FR_ERR_ARG);
}

static void check_draws(void) {
    enum { ITEMS = 5, DRAWS = 200000 };
    const double weights[ITEMS] = {0, 1, 2, 0, 5};
    const double wrong[] = {-1, (double)NAN, (double)INFINITY};
    fr_alias_slot slots[ITEMS];
    uint64_t seen[ITEMS] = {0};
    fr_error err;
    CHECK(fr_alias_build(weights, ITEMS, slots, &err) == FR_OK);
    for (uint64_t place = 0; place < DRAWS; place++)
        seen[fr_alias_draw(slots, ITEMS, 7, 3, place)]++;
    CHECK(seen[0] == 0 && seen[3] == 0);
    for (size_t i = 0; i < ITEMS; i++) {
        const double expected = weights[i] / 8 * DRAWS;
        CHECK(fabs((double)seen[i] - expected) <= 6 * sqrt(expected));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const double some[] = {1, wrong[i]};
        CHECK(fr_alias_build(some, 2, slots, &err) == FR_ERR_ARG && err.record == 1);
    }
    const double none[] = {0, 0};
    CHECK(fr_alias_build(none, 2, slots, &err) == FR_ERR_ARG);
}

int main(void) {
    uint64_t random = 11;
    for (size_t turn = 0; turn < TURNS; turn++)
        check(&random);
    check_errors();
    check_draws();
    printf("rows: ok\n");
    return 0;
}
