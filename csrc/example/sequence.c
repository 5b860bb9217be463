/* SPDX-License-Identifier: Apache-2.0 */
#include "example/sequence.h"

#include "example/diagnose.h"
#include "example/frames.h"
#include "format/wire.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)
#define TAG_2 FR_TAG(2, FR_WIRE_SIZED)

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid tf.train.SequenceExample");
}

/* Returns whether the bytes are a FeatureList. */
static bool list_valid(fr_span value) {
    fr_wire_fields fields = fr_wire_begin(value);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (field.tag == TAG_1 && !fr_feature_valid(field.bytes)) return false;
    return !fr_wire_malformed(&fields);
}

int fr_sequence_parser_init(fr_sequence_parser *parser, const fr_schema *context,
                            const fr_schema *lists, fr_error *err) {
    *parser = (fr_sequence_parser){0};
    FR_TRY(fr_parser_init(&parser->context, context, err));
    int status = fr_parser_init(&parser->lists, lists, err);
    if (status != FR_OK) fr_parser_free(&parser->context);
    parser->lists.valid = list_valid;
    return status;
}

void fr_sequence_parser_free(fr_sequence_parser *parser) {
    fr_parser_free(&parser->context);
    fr_parser_free(&parser->lists);
}

static int note(fr_sequence_parser *parser, fr_span record, fr_columns *context, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(record);
    fr_wire_field field;
    fr_parser_begin(&parser->context, record);
    fr_parser_begin(&parser->lists, record);
    while (fr_wire_next_sized(&fields, TAG_2, &field)) {
        if (field.tag == TAG_1) FR_TRY(fr_parser_note(&parser->context, field.bytes, context, err));
        if (field.tag == TAG_2) FR_TRY(fr_parser_note(&parser->lists, field.bytes, NULL, err));
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

static int missing(const fr_sequence_parser *parser, fr_columns *lists, size_t number,
                   fr_error *err) {
    int status = fr_feature_append_missing(lists, number, err);
    fr_diagnose_list(parser->lists.message, lists->schema->features[number].key, err);
    return status;
}

static int append_list(fr_sequence_parser *parser, fr_columns *lists, size_t number,
                       fr_error *err) {
    const fr_schema *schema = parser->lists.schema;
    const fr_feature *feature = &schema->features[number];
    fr_span list = parser->lists.values[schema->plans[number].source];
    int64_t count = 0;
    if (feature->presence) {
        *fr_columns_dense_row(lists, number) = list.data != NULL;
        return FR_OK;
    }
    if (!list.data) list = feature->fallback;
    if (!list.data && !feature->ragged) return missing(parser, lists, number, err);
    if (list.size)
        FR_TRY(fr_frames_append(lists, number, list, &parser->lists.intake, &count, err));
    fr_buffer *frames = &lists->columns[number].frames;
    int64_t before;
    memcpy(&before, frames->data + frames->size - sizeof before, sizeof before);
    count += before;
    return fr_buffer_append(frames, &count, sizeof count, err);
}

static int parse_row(fr_sequence_parser *parser, fr_span record, fr_columns *context,
                     fr_columns *lists, fr_error *err) {
    if (record.size > INT32_MAX)
        return fr_fail(err, FR_ERR_MALFORMED, "%zu bytes are more than a protobuf message can have",
                       record.size);
    int status = note(parser, record, context, err);
    if (status == FR_ERR_MALFORMED) fr_diagnose_format(record, err);
    FR_TRY(status);
    FR_TRY(fr_parser_fill(&parser->context, context, err));
    for (size_t i = 0; i < parser->lists.schema->count; i++)
        FR_TRY(append_list(parser, lists, i, err));
    lists->rows++;
    return FR_OK;
}

int fr_sequence_parse_rows(fr_sequence_parser *parser, const fr_span *records, size_t count,
                           fr_columns *context, fr_columns *lists, fr_error *err) {
    const size_t before = fr_columns_records(context);
    for (size_t i = 0; i < count; i++) {
        int status = parse_row(parser, records[i], context, lists, err);
        if (FR_LIKELY(status == FR_OK)) continue;
        if (err) err->record = (int64_t)i;
        FR_TRY(fr_columns_leave_out(context, before + i, status, err));
        fr_columns_rewind(lists, context->rows);
    }
    return FR_OK;
}
