/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the parts of feature share. Only they include this file.
 */
#ifndef FASTREC_FEATURE_INTERNAL_H
#define FASTREC_FEATURE_INTERNAL_H

#include "example/feature.h"

/* A row that is being filled. */
typedef struct {
    const fr_columns *columns;
    const fr_feature *feature;
    fr_column *column;
    fr_intake *intake;
    uint8_t *dense; /* address of the row in the shared block, if it belongs there */
    size_t found;   /* number of elements so far */
} fr_row;

/* Appends the next value of a raw feature's row. Only the first is stored; others are counted. */
FR_NODISCARD int fr_feature_put_raw(fr_row *row, fr_span bytes, fr_error *err);

#endif
