/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of each step and of arrays spread in every way, between pages not to be touched. */
#include "tensor/formula.h"

#include "test.h"

enum { MOST = 4096, INPUTS = 5, TRIALS = 4000 };

typedef union {
    float number;
    bool truth;
} value;

static value calculated(uint8_t code, value a, value b, value c) {
    const float x = a.number, y = b.number;
    switch (code) {
        case FR_FORMULA_ADD:
            return (value){.number = x + y};
        case FR_FORMULA_SUBTRACT:
            return (value){.number = x - y};
        case FR_FORMULA_MULTIPLY:
            return (value){.number = x * y};
        case FR_FORMULA_DIVIDE:
            return (value){.number = x / y};
        case FR_FORMULA_MINIMUM:
            return (value){.number = isnan(x) || x < y ? x : y};
        case FR_FORMULA_MAXIMUM:
            return (value){.number = isnan(x) || x > y ? x : y};
        case FR_FORMULA_NEGATE:
            return (value){.number = -x};
        case FR_FORMULA_ABSOLUTE:
            return (value){.number = fabsf(x)};
        case FR_FORMULA_LESS:
            return (value){.truth = x < y};
        case FR_FORMULA_LESS_EQUAL:
            return (value){.truth = x <= y};
        case FR_FORMULA_EQUAL:
            return (value){.truth = x == y};
        case FR_FORMULA_NOT_EQUAL:
            return (value){.truth = x != y};
        case FR_FORMULA_AND:
            return (value){.truth = a.truth && b.truth};
        case FR_FORMULA_OR:
            return (value){.truth = a.truth || b.truth};
        case FR_FORMULA_NOT:
            return (value){.truth = !a.truth};
        case FR_FORMULA_NUMBER:
            return (value){.number = a.truth};
        default:
            return a.truth ? b : c;
    }
}

static bool takes_truths(uint8_t code) {
    return code >= FR_FORMULA_AND && code <= FR_FORMULA_SELECT;
}

static bool gives_truths(uint8_t code) {
    return code >= FR_FORMULA_LESS && code <= FR_FORMULA_NOT;
}

/* The first three inputs are floats, the fourth bytes, the last truths; then a comparison, a
   selection by it, and a step of each kind. */
static void one_formula(uint64_t *random, test_guarded *from, test_guarded *to) {
    static const fr_formula_type TYPES[INPUTS] = {FR_FORMULA_FLOAT32, FR_FORMULA_FLOAT32,
                                                  FR_FORMULA_FLOAT32, FR_FORMULA_UINT8,
                                                  FR_FORMULA_BOOL};
    const uint8_t code = (uint8_t)(test_random(random) % FR_FORMULA_SELECT);
    const uint8_t a = takes_truths(code) ? 4 : 3, b = takes_truths(code) ? 5 : 2;
    const fr_formula_step steps[] = {
        {FR_FORMULA_LESS, 0, 1, 0, 5}, {code, a, b, 0, 6}, {FR_FORMULA_SELECT, 5, 1, 3, 7}};
    fr_formula_input inputs[INPUTS];
    fr_formula_result results[] = {
        {.type = gives_truths(code) ? FR_FORMULA_BOOL : FR_FORMULA_FLOAT32, .place = 6},
        {.type = FR_FORMULA_FLOAT32, .place = 7}};
    fr_formula formula = {.steps = steps, .inputs = inputs, .results = results};
    formula.step_count = 3, formula.input_count = INPUTS, formula.result_count = 2;
    formula.rank = 1 + test_random(random) % 4;
    size_t total = 1;
    for (size_t d = 0; d < formula.rank; d++) {
        const size_t most = d + 1 == formula.rank && test_random(random) % 2 ? MOST / total : 7;
        formula.sizes[d] = 1 + test_random(random) % (most < MOST / total ? most : MOST / total);
        total *= formula.sizes[d];
    }
    for (size_t i = 0; i < INPUTS; i++) {
        const size_t width = TYPES[i] == FR_FORMULA_FLOAT32 ? sizeof(float) : 1;
        size_t count = 1;
        for (size_t d = formula.rank; d-- > 0;) {
            const bool spread = test_random(random) % 3 == 0;
            inputs[i].strides[d] = spread ? 0 : (ptrdiff_t)(count * width);
            count *= spread ? 1 : formula.sizes[d];
        }
        uint8_t *const data = from[i].end - count * width;
        for (size_t j = 0; j < count; j++) {
            const int number = (int)(test_random(random) % 9) - 4;
            if (TYPES[i] == FR_FORMULA_FLOAT32)
                ((float *)data)[j] = number == 4 ? NAN : (float)number / 3;
            else
                data[j] = (uint8_t)(TYPES[i] == FR_FORMULA_BOOL ? number > 0 : number);
        }
        inputs[i].data = data, inputs[i].type = TYPES[i];
    }
    uint8_t *const out = to[0].end - total * (gives_truths(code) ? 1 : sizeof(float));
    size_t width = total, gap = 0; /* rows of the other result, and what is between them */
    if (test_random(random) % 2) {
        gap = test_random(random) % 5;
        width = formula.sizes[formula.rank - 1];
        results[1].width = width, results[1].pitch = (ptrdiff_t)((width + gap) * sizeof(float));
    }
    const size_t last = (total / width - 1) * (width + gap) + width;
    float *const selected = (float *)to[1].end - last;
    for (size_t i = 0; i < last; i++)
        selected[i] = 123.0f;
    results[0].data = out, results[1].data = selected;
    CHECK(fr_formula_check(&formula, NULL) == FR_OK);
    CHECK(fr_formula_run(&formula, NULL) == FR_OK);
    for (size_t place = 0; place < total; place++) {
        value found[INPUTS + 1];
        for (size_t i = 0; i < INPUTS; i++) {
            const uint8_t *data = inputs[i].data;
            size_t rest = place;
            for (size_t d = formula.rank; d-- > 0; rest /= formula.sizes[d])
                data += (ptrdiff_t)(rest % formula.sizes[d]) * inputs[i].strides[d];
            if (TYPES[i] == FR_FORMULA_FLOAT32)
                found[i].number = *(const float *)data;
            else if (TYPES[i] == FR_FORMULA_UINT8)
                found[i].number = *data;
            else
                found[i].truth = *data;
        }
        found[5].truth = found[0].number < found[1].number;
        const value wanted = calculated(code, found[a], found[b], found[0]);
        const float chosen = found[5].truth ? found[1].number : found[3].number;
        const float *const got = &selected[place / width * (width + gap) + place % width];
        CHECK(memcmp(got, &chosen, sizeof chosen) == 0);
        if (place % width == width - 1 && place + 1 < total)
            for (size_t i = 1; i <= gap; i++)
                CHECK(got[i] == 123.0f);
        if (gives_truths(code)) {
            CHECK(out[place] == wanted.truth);
        } else {
            const float number = ((const float *)out)[place];
            CHECK(number == wanted.number || (isnan(number) && isnan(wanted.number)));
        }
    }
}

static void refusals(void) {
    const fr_formula_step wrong[] = {
        {FR_FORMULA_CODE_COUNT, 0, 0, 0, 1}, {FR_FORMULA_ADD, 0, 0, 0, 0},
        {FR_FORMULA_ADD, 0, 1, 0, 1},        {FR_FORMULA_ADD, 0, 2, 0, 1},
        {FR_FORMULA_ADD, 0, 64, 0, 1},       {FR_FORMULA_ADD, 0, 0, 0, 64}};
    fr_formula formula = {.step_count = 1, .input_count = 1, .rank = 1, .sizes = {1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        formula.steps = &wrong[i];
        CHECK(fr_formula_check(&formula, NULL) == FR_ERR_ARG);
    }
    const fr_formula_result result = {.type = FR_FORMULA_FLOAT32};
    formula.step_count = 0, formula.results = &result, formula.result_count = 1;
    CHECK(fr_formula_check(&formula, NULL) == FR_ERR_ARG);
    formula.input_count = FR_FORMULA_REGISTERS + 1;
    CHECK(fr_formula_check(&formula, NULL) == FR_ERR_ARG);
}

int main(void) {
    uint64_t random = 1;
    test_guarded from[INPUTS], to[2];
    for (size_t i = 0; i < INPUTS; i++)
        from[i] = test_guarded_new(MOST * sizeof(float));
    for (size_t i = 0; i < 2; i++)
        to[i] = test_guarded_new(5 * MOST * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++)
        one_formula(&random, from, to);
    refusals();
    for (size_t i = 0; i < INPUTS; i++)
        test_guarded_free(&from[i]);
    test_guarded_free(&to[0]), test_guarded_free(&to[1]);
    puts("formula: ok");
    return 0;
}
