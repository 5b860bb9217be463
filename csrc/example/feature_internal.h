/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of feature; nothing else includes it.
 */
#ifndef FASTREC_FEATURE_INTERNAL_H
#define FASTREC_FEATURE_INTERNAL_H

#include "example/feature.h"

/* One row being filled. */
typedef struct {
    const fr_columns *columns;
    const fr_feature *feature;
    fr_column *column;
    fr_intake *intake;
    uint8_t *dense; /* where the row goes, when it goes into the shared block */
    size_t found;   /* elements so far */
} fr_row;

/* The next value of a raw feature's row. Only the first one is stored: more are counted. */
FR_NODISCARD int fr_feature_put_raw(fr_row *row, fr_span bytes, fr_error *err);

#endif
