/* SPDX-License-Identifier: Apache-2.0 */
#include "example/columns.h"

#include <stdlib.h>

static int start_at_zero(fr_buffer *buffer, fr_error *err) {
    static const int64_t zero;
    buffer->size = 0;
    return fr_buffer_append(buffer, &zero, sizeof zero, err);
}

/* Adds a column at `*end`, and advances `*end` past it. */
static int place_column(const fr_feature *feature, size_t capacity, fr_column *column, size_t *end,
                        fr_error *err) {
    size_t size, row_size;
    if (fr_mul_overflows(feature->count, fr_dtype_size(feature->dtype), &row_size) ||
        fr_mul_overflows(row_size, capacity, &size) || fr_add_overflows(*end, size, &size) ||
        size > SIZE_MAX / 2)
        return fr_fail_nomem(err, UINT64_MAX);
    column->row_size = row_size;
    column->dense = *end;
    *end = (size + FR_ALIGNMENT - 1) & ~(size_t)(FR_ALIGNMENT - 1);
    return FR_OK;
}

int fr_columns_dense_size(const fr_schema *schema, size_t capacity, size_t *size, fr_error *err) {
    fr_column column;
    *size = 0;
    for (size_t i = 0; i < schema->count; i++)
        if (fr_feature_is_dense(&schema->features[i]))
            FR_TRY(place_column(&schema->features[i], capacity, &column, size, err));
    return FR_OK;
}

/* Drops a block that belongs to other columns. */
static void let_go(fr_columns *columns) {
    if (columns->lent) columns->dense = (fr_buffer){0};
    columns->lent = false;
}

/* Reserves one block for the rows of all fixed-size features. */
static int lay_out(fr_columns *columns, size_t capacity, fr_error *err) {
    size_t end = 0;
    for (size_t i = 0; i < columns->column_count; i++)
        if (fr_feature_is_dense(&columns->schema->features[i]))
            FR_TRY(place_column(&columns->schema->features[i], capacity, &columns->columns[i], &end,
                                err));
    if (end + 1 > columns->dense.capacity) let_go(columns);
    columns->dense.size = 0;
    FR_TRY(fr_buffer_reserve(&columns->dense, end + 1,
                             err)); /* rows without bytes need an address, too */
    columns->dense.size = end;
    return FR_OK;
}

static int resize(fr_columns *columns, size_t count, fr_error *err) {
    if (columns->column_count == count) return FR_OK;
    if (columns->column_count) fr_columns_free(columns);
    if (count == 0) return FR_OK;
    columns->columns = calloc(count, sizeof *columns->columns);
    if (!columns->columns) return fr_fail_nomem(err, (uint64_t)count * sizeof *columns->columns);
    columns->column_count = count;
    return FR_OK;
}

static int begin_columns(fr_columns *columns, fr_error *err) {
    for (size_t i = 0; i < columns->column_count; i++) {
        fr_column *column = &columns->columns[i];
        const fr_feature *feature = &columns->schema->features[i];
        column->values.size = 0;
        FR_TRY(fr_buffer_reserve(&column->values, 1, err)); /* empty values need an address, too */
        if (feature->dtype == FR_BYTES) FR_TRY(start_at_zero(&column->offsets, err));
        if (feature->ragged) FR_TRY(start_at_zero(&column->splits, err));
        if (feature->frames) FR_TRY(start_at_zero(&column->frames, err));
    }
    return FR_OK;
}

int fr_columns_begin(fr_columns *columns, const fr_schema *schema, size_t capacity, fr_error *err) {
    FR_TRY(resize(columns, schema->count, err));
    columns->schema = schema;
    columns->rows = columns->first = 0;
    columns->misfits.size = 0;
    columns->capacity = capacity;
    FR_TRY(lay_out(columns, capacity, err));
    return begin_columns(columns, err);
}

/* Shortens positions to `count` items; returns the end of the last one. */
static size_t cut_positions(fr_buffer *positions, size_t count) {
    positions->size = (count + 1) * sizeof(int64_t);
    return (size_t)((const int64_t *)(const void *)positions->data)[count];
}

void fr_columns_rewind(fr_columns *columns, size_t rows) {
    for (size_t i = 0; i < columns->column_count; i++) {
        const fr_feature *feature = &columns->schema->features[i];
        fr_column *column = &columns->columns[i];
        if (fr_feature_is_dense(feature)) continue;
        size_t count = rows - columns->first; /* a part's own blocks begin at 0 */
        if (feature->frames) count = cut_positions(&column->frames, count);
        count = feature->ragged ? cut_positions(&column->splits, count) : count * feature->count;
        column->values.size = feature->dtype == FR_BYTES ? cut_positions(&column->offsets, count)
                                                         : count * fr_dtype_size(feature->dtype);
    }
    columns->rows = rows;
}

static bool concerns_one_record(int status, const fr_error *err) {
    return status == FR_ERR_MALFORMED || status == FR_ERR_SCHEMA ||
           (status == FR_ERR_CORRUPT && err && err->fault == FR_FAULT_DATA_CRC);
}

int fr_columns_leave_out(fr_columns *columns, size_t number, int status, fr_error *err) {
    if (!columns->schema->skips || !concerns_one_record(status, err)) return status;
    fr_misfit misfit = {.number = number, .error = {.status = status}};
    if (err) misfit.error = *err;
    fr_columns_rewind(columns, number - columns->misfits.size / sizeof misfit);
    return fr_buffer_append(&columns->misfits, &misfit, sizeof misfit, err);
}

int fr_columns_split(const fr_columns *whole, size_t first, fr_columns *part, fr_error *err) {
    *part = (fr_columns){
        .schema = whole->schema, .rows = first, .first = first, .capacity = whole->capacity};
    part->columns = calloc(whole->column_count + 1, sizeof *part->columns);
    if (!part->columns) return fr_fail_nomem(err, whole->column_count * sizeof *part->columns);
    part->column_count = whole->column_count;
    part->dense = whole->dense;
    for (size_t i = 0; i < part->column_count; i++)
        part->columns[i] =
            (fr_column){.dense = whole->columns[i].dense, .row_size = whole->columns[i].row_size};
    return begin_columns(part, err);
}

/* Appends positions, whose first is 0, shifted by the end of the existing ones. */
static int join_positions(fr_buffer *whole, const fr_buffer *part, fr_error *err) {
    if (part->size == 0) return FR_OK;
    const int64_t *from = (const int64_t *)(const void *)part->data;
    size_t count = part->size / sizeof *from - 1;
    FR_TRY(fr_buffer_reserve(whole, count * sizeof *from, err));
    int64_t *to = (int64_t *)(void *)(whole->data + whole->size);
    int64_t base = to[-1];
    for (size_t i = 0; i < count; i++)
        to[i] = base + from[i + 1];
    whole->size += count * sizeof *from;
    return FR_OK;
}

/* Moves rows of fixed size to the end of `whole`, closing gaps of records that were left out. */
static void move_dense(fr_columns *whole, const fr_columns *part) {
    if (whole->rows == part->first) return;
    for (size_t i = 0; i < whole->column_count; i++) {
        if (!fr_feature_is_dense(&whole->schema->features[i])) continue;
        const fr_column *column = &whole->columns[i];
        uint8_t *rows = whole->dense.data + column->dense;
        memmove(rows + whole->rows * column->row_size, rows + part->first * column->row_size,
                (part->rows - part->first) * column->row_size);
    }
}

int fr_columns_join(fr_columns *whole, fr_columns *part, fr_error *err) {
    part->dense = (fr_buffer){0};
    move_dense(whole, part);
    FR_TRY(fr_buffer_append(&whole->misfits, part->misfits.data, part->misfits.size, err));
    for (size_t i = 0; i < whole->column_count; i++) {
        fr_column *to = &whole->columns[i];
        const fr_column *from = &part->columns[i];
        FR_TRY(fr_buffer_append(&to->values, from->values.data, from->values.size, err));
        FR_TRY(join_positions(&to->offsets, &from->offsets, err));
        FR_TRY(join_positions(&to->splits, &from->splits, err));
        FR_TRY(join_positions(&to->frames, &from->frames, err));
    }
    whole->rows += part->rows - part->first;
    return FR_OK;
}

void fr_columns_free(fr_columns *columns) {
    for (size_t i = 0; i < columns->column_count; i++) {
        fr_buffer_free(&columns->columns[i].values);
        fr_buffer_free(&columns->columns[i].offsets);
        fr_buffer_free(&columns->columns[i].splits);
        fr_buffer_free(&columns->columns[i].frames);
    }
    free(columns->columns);
    fr_buffer_free(&columns->misfits);
    let_go(columns);
    fr_buffer_free(&columns->dense);
    *columns = (fr_columns){0};
}
