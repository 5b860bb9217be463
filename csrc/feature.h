/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One serialized tf.train.Feature -> one row of one column.
 *
 *     Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
 *                            Int64List int64_list = 3; } }
 */
#ifndef FASTREC_FEATURE_H
#define FASTREC_FEATURE_H

#include "columns.h"

/*
 * Appends the values in `value` to column `number` as the next row. `pieces` is where a list that
 * comes in pieces is put together.
 *
 * FR_END, and nothing appended, when no kind is set. FR_ERR_MALFORMED when the bytes are no
 * Feature; FR_ERR_SCHEMA, naming the feature, on values of another kind, number or range.
 */
FR_NODISCARD int fr_feature_append(fr_columns *columns, size_t number, fr_span value,
                                   fr_buffer *pieces, fr_error *err);

/* Appends the row of a record that lacks the feature and has no fallback for it: empty when
   ragged, FR_ERR_SCHEMA otherwise. */
FR_NODISCARD int fr_feature_append_missing(fr_columns *columns, size_t number, fr_error *err);

/* Whether the bytes are a Feature. */
bool fr_feature_valid(fr_span value);

#endif
