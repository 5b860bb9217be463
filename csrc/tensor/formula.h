/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates several operations on arrays of floats in one pass: each run of numbers goes through
 * all steps while it is in the first-level cache. Each step rounds to float32, so that the results
 * have the same bits as those of separate operations.
 */
#ifndef FASTREC_FORMULA_H
#define FASTREC_FORMULA_H

#include "base/bytes.h"

enum { FR_FORMULA_REGISTERS = 64, FR_FORMULA_RANK = 16 }; /* upper limits */

typedef enum {
    FR_FORMULA_ADD,
    FR_FORMULA_SUBTRACT,
    FR_FORMULA_MULTIPLY,
    FR_FORMULA_DIVIDE,
    FR_FORMULA_MINIMUM, /* NaN stays NaN */
    FR_FORMULA_MAXIMUM,
    FR_FORMULA_NEGATE,
    FR_FORMULA_ABSOLUTE,
    FR_FORMULA_LESS, /* compares floats, as the next three do; gives a boolean */
    FR_FORMULA_LESS_EQUAL,
    FR_FORMULA_EQUAL,
    FR_FORMULA_NOT_EQUAL,
    FR_FORMULA_AND, /* combines booleans, as the next four do */
    FR_FORMULA_OR,
    FR_FORMULA_NOT,
    FR_FORMULA_NUMBER, /* converts a boolean to 1 or 0 */
    FR_FORMULA_SELECT, /* b or c, which must have the same type */
    FR_FORMULA_CODE_COUNT
} fr_formula_code;

typedef enum {
    FR_FORMULA_FLOAT32,
    FR_FORMULA_UINT8, /* converted to floats in the registers; not for results */
    FR_FORMULA_BOOL,
    FR_FORMULA_TYPE_COUNT
} fr_formula_type;

/* An operation (fr_formula_code) on registers. Writes to another register. The first registers
   are the inputs. */
typedef struct {
    uint8_t code, a, b, c, out;
} fr_formula_step;

/* A dense array that is broadcast: strides are in bytes, and 0 in the dimensions for which it
   has only one number. */
typedef struct {
    const void *data; /* REQUIRES: floats are aligned */
    fr_formula_type type;
    ptrdiff_t strides[FR_FORMULA_RANK];
} fr_formula_input;

/* The array to store the register at `place` in; no other step writes to that register. The
   array is dense, except that if `width` is not 0, floats are in rows of `width` that are
   `pitch` bytes apart. */
typedef struct {
    void *data;
    fr_formula_type type;
    uint8_t place;
    size_t width;
    ptrdiff_t pitch;
} fr_formula_result;

typedef struct {
    const fr_formula_step *steps;
    const fr_formula_input *inputs;
    const fr_formula_result *results;
    size_t step_count, input_count, result_count;
    size_t rank, sizes[FR_FORMULA_RANK]; /* at least one dimension; sizes are not 0 */
} fr_formula;

/* Returns FR_ERR_ARG for unknown operations, for registers out of range, and for steps that
   write to an input or to a register that they read. */
FR_NODISCARD int fr_formula_check(const fr_formula *self, fr_error *err);

/* Writes the results. REQUIRES: the formula has been checked. */
FR_NODISCARD int fr_formula_run(const fr_formula *self, fr_error *err);

#endif
