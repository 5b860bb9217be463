/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts one serialized tf.train.Example to one row of columns.
 *
 * Messages are accepted as protobuf accepts them: fields in any order, unknown fields, repeated and
 * merged messages, packed and unpacked lists; the last of several entries with one key counts. The
 * values of unrequested features are skipped without being examined.
 *
 * A single parser must not be used by several threads at the same time; different parsers may share
 * a schema.
 */
#ifndef FASTREC_PARSE_H
#define FASTREC_PARSE_H

#include "example/feature.h"

/* All zeros is a valid parser, which can only be freed. */
typedef struct {
    const fr_schema *schema; /* borrowed */
    fr_span *values;         /* per feature: its Feature message in this record; see parse.c */
    fr_span message;         /* current message */
    size_t position;         /* number of the next entry */
    size_t taken;            /* features of this record whose value is already in the row */
    uint32_t *predicted;     /* entry i of the last record was feature predicted[i] - 1 */
    size_t predicted_count;
    bool (*valid)(fr_span); /* checks a value; fr_feature_valid() */
    fr_buffer merged;       /* values of this record that were merged from parts */
    uint64_t bytes;         /* size of all parsed records */
    fr_intake intake;       /* its checksum run may begin before a record and end after it */
} fr_parser;

FR_NODISCARD int fr_parser_init(fr_parser *parser, const fr_schema *schema, fr_error *err);

/*
 * Appends the row of `record` to `columns`, which were begun for enough rows. Returns
 * FR_ERR_MALFORMED if the bytes are not an Example, and FR_ERR_SCHEMA if the Example does not match
 * the schema; the message names the feature, the expectation and the actual content. After an error
 * the columns can only be begun again or freed.
 */
FR_NODISCARD int fr_parse_row(fr_parser *parser, fr_span record, fr_columns *columns,
                              fr_error *err);

/* Calls fr_parse_row() for each record, and fr_columns_leave_out() for one that fails. err->record
   is the number within `records`. */
FR_NODISCARD int fr_parse_rows(fr_parser *parser, const fr_span *records, size_t count,
                               fr_columns *columns, fr_error *err);

/*
 * The steps of fr_parse_row(), for messages that contain a map<string, Feature> among other fields:
 * begin with the whole message; note each part of the map, which walks all of its entries; then
 * fill the row with the last value noted for each key. Noting may write to the next row.
 *
 * With `valid` and without columns, the values of the map are another message, which `valid`
 * checks; parser->values holds the noted values, with data NULL for features that were not noted.
 */
void fr_parser_begin(fr_parser *parser, fr_span message);
FR_NODISCARD int fr_parser_note(fr_parser *parser, fr_span map, fr_columns *columns, fr_error *err);
FR_NODISCARD int fr_parser_fill(fr_parser *parser, fr_columns *columns, fr_error *err);

void fr_parser_free(fr_parser *parser);

#endif
