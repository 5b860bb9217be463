/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a feature list of a SequenceExample: each Feature message becomes a row of one
 * column. The messages are many and small, so their headers cost more than their values.
 */
#ifndef FASTREC_FRAMES_H
#define FASTREC_FRAMES_H

#include "example/feature.h"

/*
 * Appends a row of column `number` for each frame of `list`, a FeatureList, and adds their number
 * to `*count`. A frame without values is an empty row. The errors are those of
 * fr_feature_append(); their messages name the frame, counted from 0.
 */
FR_NODISCARD int fr_frames_append(fr_columns *columns, size_t number, fr_span list,
                                  fr_intake *intake, int64_t *count, fr_error *err);

#endif
