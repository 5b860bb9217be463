/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

#define INLINE __attribute__((always_inline)) static inline
#define RUN 256 /* numbers in a register */
#define SHORT 64

/* A register has floats, or booleans, for which true has all bits set. */
typedef float __attribute__((may_alias)) number;
typedef uint32_t __attribute__((may_alias)) lane;

typedef struct {
    lane memory[FR_FORMULA_REGISTERS][RUN];
    void *at[FR_FORMULA_REGISTERS];
} registers;

static const uint8_t OPERANDS[FR_FORMULA_CODE_COUNT] = {2, 2, 2, 2, 2, 2, 1, 1, 2,
                                                        2, 2, 2, 2, 2, 1, 1, 3};

int fr_formula_check(const fr_formula *self, fr_error *err) {
    if (self->input_count > FR_FORMULA_REGISTERS)
        return fr_fail(err, FR_ERR_ARG, "inputs must be at most %d, got %zu", FR_FORMULA_REGISTERS,
                       self->input_count);
    uint64_t known = self->input_count < 64 ? ((uint64_t)1 << self->input_count) - 1 : UINT64_MAX;
    for (size_t i = 0; i < self->step_count; i++) {
        const fr_formula_step *step = &self->steps[i];
        const uint8_t operands[] = {step->a, step->b, step->c};
        if (step->code >= FR_FORMULA_CODE_COUNT)
            return fr_fail(err, FR_ERR_ARG, "step %u is out of range (0 to %d)", step->code,
                           FR_FORMULA_CODE_COUNT - 1);
        if (step->out < self->input_count || step->out >= FR_FORMULA_REGISTERS)
            return fr_fail(err, FR_ERR_ARG, "register %u cannot be written to", step->out);
        for (int j = 0; j < OPERANDS[step->code]; j++)
            if (operands[j] >= FR_FORMULA_REGISTERS || operands[j] == step->out ||
                !(known >> operands[j] & 1))
                return fr_fail(err, FR_ERR_ARG, "register %u cannot be read", operands[j]);
        known |= (uint64_t)1 << step->out;
    }
    for (size_t i = 0; i < self->result_count; i++) {
        const uint8_t from = self->results[i].place;
        if (from < self->input_count || from >= FR_FORMULA_REGISTERS || !(known >> from & 1))
            return fr_fail(err, FR_ERR_ARG, "register %u cannot be a result", from);
    }
    return FR_OK;
}

#define EACH(type, expression)                                                                     \
    for (size_t i = 0; i < count; i++)                                                             \
        ((type *)out)[i] = (expression);                                                           \
    break

#define A ((const number *)a)[i]
#define B ((const number *)b)[i]
#define MASK_A ((const lane *)a)[i]
#define MASK_B ((const lane *)b)[i]
#define MASK(condition) ((condition) ? ~(uint32_t)0 : 0)

INLINE void calculate(uint8_t code, const void *restrict a, const void *restrict b,
                      const void *restrict c, size_t count, void *restrict out) {
    switch (code) {
        case FR_FORMULA_ADD:
            EACH(number, A + B);
        case FR_FORMULA_SUBTRACT:
            EACH(number, A - B);
        case FR_FORMULA_MULTIPLY:
            EACH(number, A * B);
        case FR_FORMULA_DIVIDE:
            EACH(number, A / B);
        case FR_FORMULA_MINIMUM:
            for (size_t i = 0; i < count; i++) {
                const float least = A < B ? A : B;
                ((number *)out)[i] = A != A ? A : least;
            }
            break;
        case FR_FORMULA_MAXIMUM:
            for (size_t i = 0; i < count; i++) {
                const float most = A > B ? A : B;
                ((number *)out)[i] = A != A ? A : most;
            }
            break;
        case FR_FORMULA_NEGATE:
            EACH(number, -A);
        case FR_FORMULA_ABSOLUTE:
            EACH(number, fabsf(A));
        case FR_FORMULA_LESS:
            EACH(lane, MASK(A < B));
        case FR_FORMULA_LESS_EQUAL:
            EACH(lane, MASK(A <= B));
        case FR_FORMULA_EQUAL:
            EACH(lane, MASK(A == B));
        case FR_FORMULA_NOT_EQUAL:
            EACH(lane, MASK(A != B));
        case FR_FORMULA_AND:
            EACH(lane, MASK_A & MASK_B);
        case FR_FORMULA_OR:
            EACH(lane, MASK_A | MASK_B);
        case FR_FORMULA_NOT:
            EACH(lane, ~MASK_A);
        case FR_FORMULA_NUMBER:
            EACH(number, MASK_A ? 1.0f : 0.0f);
        default:
            EACH(lane, (MASK_A & MASK_B) | (~MASK_A & ((const lane *)c)[i]));
    }
}

/* Loads `count` numbers, `stride` bytes apart, to a register. */
INLINE void spread(const uint8_t *data, fr_formula_type type, ptrdiff_t stride, size_t count,
                   void *restrict out) {
    if (type == FR_FORMULA_FLOAT32 && stride == sizeof(float)) {
        memcpy(out, data, count * sizeof(float));
    } else if (type == FR_FORMULA_FLOAT32) {
        for (size_t i = 0; i < count; i++, data += stride)
            ((number *)out)[i] = *(const number *)data;
    } else if (type == FR_FORMULA_UINT8 && stride == 1) {
        for (size_t i = 0; i < count; i++)
            ((number *)out)[i] = (float)data[i];
    } else if (type == FR_FORMULA_UINT8) {
        for (size_t i = 0; i < count; i++)
            ((number *)out)[i] = (float)data[(ptrdiff_t)i * stride];
    } else {
        for (size_t i = 0; i < count; i++)
            ((lane *)out)[i] = MASK(data[(ptrdiff_t)i * stride]);
    }
}

/* Loads short rows, `pitch` bytes apart, of numbers that are `stride` bytes apart. */
INLINE void spread_rows(const uint8_t *data, ptrdiff_t pitch, ptrdiff_t stride, size_t width,
                        size_t rows, number *restrict out) {
    for (size_t row = 0; row < rows; row++, data += pitch, out += width) {
        const float first = *(const number *)data;
        for (size_t i = 0; i < width; i++)
            out[i] = stride ? ((const number *)data)[i] : first;
    }
}

/* Loads the numbers from position `begin` to a register. */
INLINE void load(const fr_formula *self, const fr_formula_input *input, size_t begin, size_t count,
                 void *out) {
    const size_t last = self->rank - 1, width = self->sizes[last];
    const ptrdiff_t *strides = input->strides;
    const bool is_short = last && width < SHORT && input->type == FR_FORMULA_FLOAT32;
    size_t index[FR_FORMULA_RANK];
    const uint8_t *data = input->data;
    for (size_t d = self->rank; d-- > 0; begin /= self->sizes[d]) {
        index[d] = begin % self->sizes[d];
        data += (ptrdiff_t)index[d] * strides[d];
    }
    for (lane *to = out; count;) {
        const bool rows = is_short && !index[last] && count >= width;
        const size_t along = last - rows, unit = rows ? width : 1;
        const size_t left = self->sizes[along] - index[along];
        const size_t done = left < count / unit ? left : count / unit;
        if (rows)
            spread_rows(data, strides[along], strides[last], width, done, (number *)to);
        else
            spread(data, input->type, strides[last], done, to);
        data += (ptrdiff_t)done * strides[along], index[along] += done;
        for (size_t d = along; d && index[d] == self->sizes[d]; d--) {
            data += strides[d - 1] - (ptrdiff_t)self->sizes[d] * strides[d];
            index[d] = 0, index[d - 1]++;
        }
        to += done * unit, count -= done * unit;
    }
}

typedef enum { DENSE, ONCE, EACH_RUN } reading;

/* Decides how often an input is loaded. From dimension `once` on, all runs are the same. */
static reading reading_of(const fr_formula *self, const fr_formula_input *input, size_t once) {
    size_t first = 0;
    while (first < self->rank && !input->strides[first])
        first++;
    ptrdiff_t stride = sizeof(float);
    for (size_t d = self->rank; d-- > 0; stride *= (ptrdiff_t)self->sizes[d])
        if (input->strides[d] != stride || input->type != FR_FORMULA_FLOAT32)
            return first < once ? EACH_RUN : ONCE;
    return DENSE;
}

/* Stores numbers of a register to the result from position `begin`. */
INLINE void store(const fr_formula_result *result, size_t begin, size_t count, const void *from) {
    if (result->type == FR_FORMULA_BOOL) {
        uint8_t *to = (uint8_t *)result->data + begin;
        for (size_t i = 0; i < count; i++)
            to[i] = ((const lane *)from)[i] & 1;
        return;
    }
    const size_t width = result->width;
    size_t column = begin % width, done;
    uint8_t *to = (uint8_t *)result->data + (ptrdiff_t)(begin / width) * result->pitch;
    for (const number *at = from; count; at += done, count -= done) {
        done = width - column < count ? width - column : count;
        memcpy((number *)to + column, at, done * sizeof *at);
        to += result->pitch, column = 0;
    }
}

static bool is_dense(const fr_formula_result *result) {
    return result->type == FR_FORMULA_FLOAT32 && !result->width;
}

INLINE void run(const fr_formula *self, registers *found) {
    size_t total = 1, period = 1, once = self->rank; /* from `once` on, a run is a whole period */
    for (size_t d = self->rank; d-- > 0;) {
        total *= self->sizes[d];
        if (once == d + 1 && period * self->sizes[d] <= RUN) period *= self->sizes[d], once = d;
    }
    const size_t size = RUN / period * period;
    reading how[FR_FORMULA_REGISTERS];
    for (size_t i = 0; i < self->input_count; i++)
        how[i] = reading_of(self, &self->inputs[i], once);
    for (size_t begin = 0; begin < total; begin += size) {
        const size_t count = total - begin < size ? total - begin : size;
        for (size_t i = 0; i < self->input_count; i++) {
            if (how[i] == DENSE)
                found->at[i] = (number *)self->inputs[i].data + begin;
            else if (!begin || how[i] == EACH_RUN)
                load(self, &self->inputs[i], begin, count, found->at[i]);
        }
        for (size_t i = 0; i < self->result_count; i++)
            if (is_dense(&self->results[i]))
                found->at[self->results[i].place] = (number *)self->results[i].data + begin;
        for (size_t i = 0; i < self->step_count; i++) {
            const fr_formula_step *step = &self->steps[i];
            calculate(step->code, found->at[step->a], found->at[step->b], found->at[step->c], count,
                      found->at[step->out]);
        }
        for (size_t i = 0; i < self->result_count; i++)
            if (!is_dense(&self->results[i]))
                store(&self->results[i], begin, count, found->at[self->results[i].place]);
    }
}

static void run_plain(const fr_formula *self, registers *found) {
    run(self, found);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void run_wide(const fr_formula *self, registers *found) {
    run(self, found);
}
#else
#define run_wide run_plain
#endif

int fr_formula_run(const fr_formula *self, fr_error *err) {
    registers *found = malloc(sizeof *found);
    if (!found) return fr_fail_nomem(err, sizeof *found);
    for (size_t i = 0; i < FR_FORMULA_REGISTERS; i++)
        found->at[i] = found->memory[i];
    (fr_cpu_features() & FR_CPU_AVX2 ? run_wide : run_plain)(self, found);
    free(found);
    return FR_OK;
}
