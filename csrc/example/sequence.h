/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts one serialized tf.train.SequenceExample to one row of columns of its context, and one
 * row with any number of frames for each column of its feature lists.
 *
 *     SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
 *     FeatureLists    { map<string, FeatureList> feature_list = 1; }
 *     FeatureList     { repeated Feature feature = 1; }
 *
 * The context has the encoding of an Example and is read in the same way (parse.h).
 */
#ifndef FASTREC_SEQUENCE_H
#define FASTREC_SEQUENCE_H

#include "example/parse.h"

/* All zeros is a valid parser, which can only be freed. It is used by one thread at a time. */
typedef struct {
    fr_parser context, lists;
} fr_sequence_parser;

/* REQUIRES: every feature of `lists` and no feature of `context` is of frames. Both must outlive
   the parser. */
FR_NODISCARD int fr_sequence_parser_init(fr_sequence_parser *parser, const fr_schema *context,
                                         const fr_schema *lists, fr_error *err);

/* Parses as fr_parse_rows() does. A frame without values counts as a frame, and a feature list
   without frames counts as present. */
FR_NODISCARD int fr_sequence_parse_rows(fr_sequence_parser *parser, const fr_span *records,
                                        size_t count, fr_columns *context, fr_columns *lists,
                                        fr_error *err);

void fr_sequence_parser_free(fr_sequence_parser *parser);

#endif
