/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One serialized tf.train.Example -> one row of columns.
 *
 * The verdict on a message is protobuf's: fields in any order, unknown fields, repeated and merged
 * messages, packed and unpacked lists; the last of several entries of one key counts. Values of
 * features that nobody asked for are skipped without being looked at.
 *
 * A single parser is not safe to use by several threads at once; different parsers may share a
 * schema.
 */
#ifndef FASTREC_PARSE_H
#define FASTREC_PARSE_H

#include "example/feature.h"

/* All-zero is a valid parser that can only be freed. */
typedef struct {
    const fr_schema *schema; /* borrowed */
    fr_span *values;         /* per feature: its Feature message in this record; see parse.c */
    fr_span message;         /* being read */
    size_t position;         /* number of the entry that comes next */
    size_t taken;            /* features of this record whose value is in the row already */
    uint32_t *predicted;     /* entry i of the last record was feature predicted[i] - 1 */
    size_t predicted_count;
    bool (*valid)(fr_span); /* whether bytes are a value; fr_feature_valid() */
    fr_buffer merged;       /* values of this record that came in pieces */
    fr_intake intake;       /* its run may be begun before a record, and ended after it */
} fr_parser;

FR_NODISCARD int fr_parser_init(fr_parser *parser, const fr_schema *schema, fr_error *err);

/*
 * Appends the row of `record` to `columns`, begun for as many rows. FR_ERR_MALFORMED when the
 * bytes are no Example, FR_ERR_SCHEMA when they are not the Example that the schema describes;
 * the message names the feature, what was expected and what came. After an error the columns can
 * only be begun anew or freed.
 */
FR_NODISCARD int fr_parse_row(fr_parser *parser, fr_span record, fr_columns *columns,
                              fr_error *err);

/* As fr_parse_row() for each record in turn, or fr_columns_leave_out() for one that fails.
   err->record is the number among these. */
FR_NODISCARD int fr_parse_rows(fr_parser *parser, const fr_span *records, size_t count,
                               fr_columns *columns, fr_error *err);

/*
 * The steps of fr_parse_row(), for messages that have a map<string, Feature> among other things:
 * begin with the whole message; note each piece of the map, in which all entries are walked; then
 * fill the row with what was noted last of each key. Noting may write to the row that comes next.
 *
 * With `valid` and without columns, the values of the map are another message, which `valid` knows;
 * parser->values has what was noted, with data NULL where nothing was.
 */
void fr_parser_begin(fr_parser *parser, fr_span message);
FR_NODISCARD int fr_parser_note(fr_parser *parser, fr_span map, fr_columns *columns, fr_error *err);
FR_NODISCARD int fr_parser_fill(fr_parser *parser, fr_columns *columns, fr_error *err);

void fr_parser_free(fr_parser *parser);

#endif
