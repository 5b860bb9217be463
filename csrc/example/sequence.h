/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One serialized tf.train.SequenceExample -> one row of columns of its context, and one row, of as
 * many frames as it has, of columns of its feature lists.
 *
 *     SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
 *     FeatureLists    { map<string, FeatureList> feature_list = 1; }
 *     FeatureList     { repeated Feature feature = 1; }
 *
 * The context is read as an Example is (parse.h), whose bytes mean the same.
 */
#ifndef FASTREC_SEQUENCE_H
#define FASTREC_SEQUENCE_H

#include "example/parse.h"

/* All-zero is a valid parser that can only be freed. For one thread at a time. */
typedef struct {
    fr_parser context, lists;
} fr_sequence_parser;

/* Every feature of `lists` is of frames, no feature of `context` is. Both are borrowed. */
FR_NODISCARD int fr_sequence_parser_init(fr_sequence_parser *parser, const fr_schema *context,
                                         const fr_schema *lists, fr_error *err);

/* As fr_parse_rows(). A frame without values is a frame; a feature list without frames is one. */
FR_NODISCARD int fr_sequence_parse_rows(fr_sequence_parser *parser, const fr_span *records,
                                        size_t count, fr_columns *context, fr_columns *lists,
                                        fr_error *err);

void fr_sequence_parser_free(fr_sequence_parser *parser);

#endif
