/* SPDX-License-Identifier: Apache-2.0 */
/* Reads bytes values that contain arrays. */
#include <inttypes.h>

#include "example/feature_internal.h"
#include "example/pad_crop.h"

/* Returns a hint for a value that holds more than bare elements; empty for another. */
static const char *remedy_for(fr_span value) {
    const uint8_t *data = value.data;
    if (value.size < 8) return "";
    if (memcmp(data, "\x93NUMPY", 6) == 0) return "it is a .npy file: encoding=\"npy\" reads it";
    if (data[0] == 0x08 && data[1] < 32 && data[2] == 0x12) /* type and shape */
        return "it looks like a TensorProto: encoding=\"tensor\" reads it";
    if (memcmp(data, "\x89PNG", 4) == 0 || memcmp(data, "\xff\xd8\xff", 3) == 0)
        return "it is an image: ImageFeature decodes it";
    return "";
}

static int wrong_size(const fr_row *row, fr_span value, fr_error *err) {
    const fr_feature *feature = row->feature;
    const char *remedy = remedy_for(value);
    const char *dtype = fr_dtype_name(feature->dtype);
    size_t size = fr_dtype_size(feature->dtype);
    fr_fail_feature(err, FR_ERR_SCHEMA, feature->key, "expected %s%zu bytes (%s), found %zu",
                    feature->ragged ? "a multiple of " : "",
                    feature->ragged ? size : feature->count * size, dtype, value.size);
    fr_add_hint(err, "%s", remedy);
    return FR_ERR_SCHEMA;
}

/* Finds the last row of a column of integers: an earlier feature of this record. */
static size_t last_row(const fr_columns *columns, size_t number, const uint8_t **values,
                       fr_dtype *dtype) {
    const fr_column *column = &columns->columns[number];
    int64_t ends[2];
    memcpy(ends, column->splits.data + column->splits.size - sizeof ends, sizeof ends);
    *dtype = columns->schema->features[number].dtype;
    if (ends[0] == ends[1]) return 0;
    *values = column->values.data + (size_t)ends[0] * fr_dtype_size(*dtype);
    return (size_t)(ends[1] - ends[0]);
}

static int64_t load(const uint8_t *values, fr_dtype dtype, size_t index) {
    int32_t narrow;
    int64_t value;
    if (dtype == FR_INT32) {
        memcpy(&narrow, values + 4 * index, sizeof narrow);
        return narrow;
    }
    memcpy(&value, values + 8 * index, sizeof value);
    return value;
}

static int wrong_rank(const fr_row *row, size_t number, size_t found, size_t expected,
                      fr_error *err) {
    char other[FR_FEATURE_TEXT_SIZE];
    fr_key_text(row->columns->schema->features[number].key, other);
    return fr_fail_feature(err, FR_ERR_SCHEMA, row->feature->key,
                           "its shape requires %zu values of '%s', which has %zu", expected, other,
                           found);
}

/* Reads the dimensions that one entry of `extent` describes. */
static int read_extent(const fr_row *row, size_t d, int64_t *from, fr_error *err) {
    const fr_feature *feature = row->feature;
    const fr_extent *extent = &feature->extent[d];
    if (extent->kind == FR_EXTENT_FIXED) {
        from[d] = (int64_t)extent->value;
        return FR_OK;
    }
    const uint8_t *values = NULL;
    fr_dtype dtype;
    size_t wanted = extent->kind == FR_EXTENT_ALL ? feature->rank : 1;
    size_t found = last_row(row->columns, extent->value, &values, &dtype);
    if (found != wanted) return wrong_rank(row, extent->value, found, wanted, err);
    for (size_t i = 0; i < wanted; i++)
        from[d + i] = load(values, dtype, i);
    return FR_OK;
}

/* Reads the shape of the array in this record, and checks that it matches the size of the value. */
static int read_shape(const fr_row *row, size_t size, size_t *from, fr_error *err) {
    const fr_feature *feature = row->feature;
    int64_t dims[FR_MAX_RANK];
    for (size_t d = 0; d < feature->rank; d++) {
        FR_TRY(read_extent(row, d, dims, err));
        if (feature->extent[d].kind == FR_EXTENT_ALL) break;
    }
    size_t product = fr_dtype_size(feature->dtype);
    bool fits = true;
    for (size_t d = 0; d < feature->rank; d++) {
        fits = fits && dims[d] >= 0 && !fr_mul_overflows(product, (size_t)dims[d], &product);
        from[d] = (size_t)dims[d];
    }
    if (fits && product == size) return FR_OK;
    return fr_fail_feature(err, FR_ERR_SCHEMA, feature->key,
                           "%zu bytes do not fill an array of %s of the record's shape", size,
                           fr_dtype_name(feature->dtype));
}

static int put_fitted(const fr_row *row, fr_span bytes, fr_error *err) {
    const fr_feature *feature = row->feature;
    size_t from[FR_MAX_RANK];
    FR_TRY(read_shape(row, bytes.size, from, err));
    for (size_t d = 0; feature->fit == FR_FIT_PAD && d < feature->rank; d++) {
        if (from[d] <= feature->target[d]) continue;
        return fr_fail_feature(err, FR_ERR_SCHEMA, feature->key,
                               "dimension %zu is %zu, more than %zu", d, from[d],
                               feature->target[d]);
    }
    fr_pad_crop_copy(feature, row->dense, bytes.data, from);
    return FR_OK;
}

int fr_feature_put_raw(fr_row *row, fr_span bytes, fr_error *err) {
    const fr_feature *feature = row->feature;
    size_t size = fr_dtype_size(feature->dtype);
    if (row->found++) return FR_OK;
    if (feature->fit != FR_FIT_NONE) return put_fitted(row, bytes, err);
    if (feature->ragged ? bytes.size % size != 0 : bytes.size != feature->count * size)
        return wrong_size(row, bytes, err);
    uint8_t *dst = row->dense;
    if (!dst) {
        fr_buffer *values = &row->column->values;
        FR_TRY(fr_buffer_reserve(values, bytes.size, err));
        dst = values->data + values->size;
        values->size += bytes.size;
    }
    if (fr_dtype_is_plain(feature->dtype, feature->swap))
        fr_crc32c_copy(&row->intake->run, dst, bytes.data, bytes.size);
    else
        fr_dtype_copy(dst, bytes.data, bytes.size / size, feature->dtype, feature->swap);
    return FR_OK;
}
