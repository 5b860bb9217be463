/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several operations on arrays of floats, in one pass: a few numbers at a time go through all steps
 * while they are in the nearest cache. Each step rounds to float32, so that one after the other
 * gives what all at once does, to the bit.
 */
#ifndef FASTREC_FORMULA_H
#define FASTREC_FORMULA_H

#include "base/bytes.h"

enum { FR_FORMULA_REGISTERS = 64, FR_FORMULA_RANK = 16 }; /* at most */

typedef enum {
    FR_FORMULA_ADD,
    FR_FORMULA_SUBTRACT,
    FR_FORMULA_MULTIPLY,
    FR_FORMULA_DIVIDE,
    FR_FORMULA_MINIMUM, /* what is no number stays none */
    FR_FORMULA_MAXIMUM,
    FR_FORMULA_NEGATE,
    FR_FORMULA_ABSOLUTE,
    FR_FORMULA_LESS, /* of floats, as the next three; what they give is true or false */
    FR_FORMULA_LESS_EQUAL,
    FR_FORMULA_EQUAL,
    FR_FORMULA_NOT_EQUAL,
    FR_FORMULA_AND, /* of what is true or false, as the next four */
    FR_FORMULA_OR,
    FR_FORMULA_NOT,
    FR_FORMULA_NUMBER, /* 1 or 0 */
    FR_FORMULA_SELECT, /* b or c, which are of one type */
    FR_FORMULA_CODE_COUNT
} fr_formula_code;

typedef enum {
    FR_FORMULA_FLOAT32,
    FR_FORMULA_UINT8, /* floats in the registers; not of a result */
    FR_FORMULA_BOOL,
    FR_FORMULA_TYPE_COUNT
} fr_formula_type;

/* A fr_formula_code of registers, into another one. The first registers are the inputs. */
typedef struct {
    uint8_t code, a, b, c, out;
} fr_formula_step;

/* A dense array that is spread over all dimensions: with a stride of 0, in bytes, along those for
   which it has one number. */
typedef struct {
    const void *data; /* floats are aligned */
    fr_formula_type type;
    ptrdiff_t strides[FR_FORMULA_RANK];
} fr_formula_input;

/* An array of the register at `place`, in which nothing else is put. It is dense, but floats may be
   in rows of `width`, each `pitch` bytes after the one before, unless `width` is 0. */
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
    size_t rank, sizes[FR_FORMULA_RANK]; /* of at least one dimension; no size is 0 */
} fr_formula;

/* FR_ERR_ARG for steps that there are not, and for registers out of range or written to that are
   inputs, or by the step that reads them. */
FR_NODISCARD int fr_formula_check(const fr_formula *self, fr_error *err);

/* Writes the results of a formula that has been checked. */
FR_NODISCARD int fr_formula_run(const fr_formula *self, fr_error *err);

#endif
