/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <stdlib.h>

static int start_at_zero(fr_buffer *buffer, fr_error *err) {
    static const int64_t zero;
    buffer->size = 0;
    return fr_buffer_append(buffer, &zero, sizeof zero, err);
}

/* Room for the rows of every fixed-size feature in one block. */
static int lay_out(fr_columns *columns, size_t capacity, fr_error *err) {
    size_t end = 0;
    for (size_t i = 0; i < columns->column_count; i++) {
        const fr_feature *feature = &columns->schema->features[i];
        if (!fr_feature_is_dense(feature)) continue;
        size_t size;
        if (fr_mul_overflows(fr_feature_row_size(feature), capacity, &size) ||
            fr_add_overflows(end, size, &size) || size > SIZE_MAX / 2)
            return fr_fail_nomem(err, UINT64_MAX);
        columns->columns[i].dense = end;
        end = (size + FR_ALIGNMENT - 1) & ~(size_t)(FR_ALIGNMENT - 1);
    }
    columns->dense.size = 0;
    FR_TRY(fr_buffer_reserve(&columns->dense, end, err));
    columns->dense.size = end;
    return FR_OK;
}

static int resize(fr_columns *columns, size_t count, fr_error *err) {
    if (columns->column_count == count) return FR_OK;
    fr_columns_free(columns);
    if (count == 0) return FR_OK;
    columns->columns = calloc(count, sizeof *columns->columns);
    if (!columns->columns) return fr_fail_nomem(err, (uint64_t)count * sizeof *columns->columns);
    columns->column_count = count;
    return FR_OK;
}

int fr_columns_begin(fr_columns *columns, const fr_schema *schema, size_t capacity, fr_error *err) {
    FR_TRY(resize(columns, schema->count, err));
    columns->schema = schema;
    columns->rows = 0;
    columns->capacity = capacity;
    FR_TRY(lay_out(columns, capacity, err));
    for (size_t i = 0; i < columns->column_count; i++) {
        fr_column *column = &columns->columns[i];
        const fr_feature *feature = &schema->features[i];
        column->values.size = 0;
        if (feature->dtype == FR_BYTES) FR_TRY(start_at_zero(&column->offsets, err));
        if (feature->ragged) FR_TRY(start_at_zero(&column->splits, err));
    }
    return FR_OK;
}

void fr_columns_free(fr_columns *columns) {
    for (size_t i = 0; i < columns->column_count; i++) {
        fr_buffer_free(&columns->columns[i].values);
        fr_buffer_free(&columns->columns[i].offsets);
        fr_buffer_free(&columns->columns[i].splits);
    }
    free(columns->columns);
    fr_buffer_free(&columns->dense);
    *columns = (fr_columns){0};
}
