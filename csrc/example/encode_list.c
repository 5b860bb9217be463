/* SPDX-License-Identifier: Apache-2.0 */
#include "example/encode_internal.h"
#include "format/pack.h"

/* Size, in bytes, from which values are checksummed while they are copied. */
#define FUSED 1024

/* Shorter lists of integers are measured roughly where that suffices. */
#define FEW_INTS ((size_t)1 << 22)

int fr_fail_long(const fr_value *value, fr_error *err) {
    return fr_fail_feature(err, FR_ERR_LIMIT, value->key, "an Example holds less than 2 GiB");
}

int fr_fail_changed(const fr_value *value, fr_error *err) {
    return fr_fail_feature(err, FR_ERR_STATE, value->key,
                           "the values changed while they were encoded");
}

static inline const uint8_t *element_at(const fr_value *value, size_t index) {
    return value->values + index * fr_dtype_size(value->dtype);
}

static int fail_number(const fr_value *value, size_t index, fr_error *err) {
    const uint8_t *p = element_at(value, index);
    if (value->dtype == FR_FLOAT64) {
        double number;
        memcpy(&number, p, sizeof number);
        return fr_fail_feature(err, FR_ERR_SCHEMA, value->key,
                               "%.9g is beyond float32, which is all that a float list holds",
                               number);
    }
    unsigned long long number;
    memcpy(&number, p, sizeof number);
    return fr_fail_feature(err, FR_ERR_SCHEMA, value->key,
                           "%llu is beyond int64, which is all that an int64 list holds", number);
}

static int measure_numbers(const fr_value *value, bool roughly, fr_measured *part, uint64_t *body,
                           fr_error *err) {
    const uint8_t *p = element_at(value, part->begin);
    if (part->count > FR_MESSAGE_MAX / 4) return fr_fail_long(value, err);
    size_t good = fr_pack_check(value->dtype, p, part->count);
    if (good < part->count) return fail_number(value, part->begin + good, err);
    if (part->kind == FR_KIND_FLOAT)
        *body = part->count * 4;
    else if (roughly && part->count < FEW_INTS)
        *body = part->count * FR_VARINT_MAX;
    else
        *body = fr_pack_ints_size(value->dtype, p, part->count);
    return FR_OK;
}

static int put_ints(fr_put *at, const fr_value *value, const fr_measured *part, fr_error *err) {
    const uint8_t *end = at->p + part->body;
    at->p = fr_pack_ints(at->p, at->end, value->dtype, element_at(value, part->begin), part->count);
    return at->p == end ? FR_OK : fr_fail_changed(value, err);
}

/* Copies data. Long data is checksummed during the copy, while it is in the first-level cache. */
static void put_long(fr_put *at, const uint8_t *data, size_t size) {
    if (!at->framed || size < FUSED) {
        fr_put_copy(at, data, size);
        return;
    }
    uint32_t crc = fr_crc32c_extend(at->crc, at->summed, (size_t)(at->p - at->summed));
    at->crc = fr_crc32c_extend_copy(crc, at->p, data, size);
    at->p += size;
    at->summed = at->p;
}

static void put_floats(fr_put *at, const fr_value *value, const fr_measured *part) {
    const uint8_t *p = element_at(value, part->begin);
    if (value->dtype == FR_FLOAT32 && !FR_BIG_ENDIAN) {
        put_long(at, p, part->body);
        return;
    }
    fr_pack_floats(at->p, value->dtype, p, part->count);
    at->p += part->body;
}

/* Reads the offsets of a bytes element once, and checks them against the size of the values. */
static bool find_string(const fr_value *value, size_t index, fr_span *string) {
    size_t size = value->element_size, begin = index * size;
    if (value->offsets) {
        const int64_t first = value->offsets[index], last = value->offsets[index + 1];
        if (first < 0 || last < first || (uint64_t)last > value->size) return false;
        begin = (size_t)first;
        size = (size_t)(last - first);
    }
    *string = (fr_span){value->values + begin, size};
    return true;
}

static int measure_strings(const fr_value *value, fr_measured *part, uint64_t *body,
                           fr_error *err) {
    if (!value->offsets) {
        if (value->element_size > FR_MESSAGE_MAX) return fr_fail_long(value, err);
        uint64_t each = fr_sized(value->element_size);
        if (part->count > FR_MESSAGE_MAX / each) return fr_fail_long(value, err);
        *body = part->count * each;
        return FR_OK;
    }
    for (size_t i = part->begin; i < part->begin + part->count; i++) {
        fr_span string;
        if (!find_string(value, i, &string))
            return fr_fail_feature(err, FR_ERR_ARG, value->key,
                                   "the offsets lie outside of the data");
        if (string.size > FR_MESSAGE_MAX - *body) return fr_fail_long(value, err);
        *body += fr_sized(string.size);
        if (*body > FR_MESSAGE_MAX) return fr_fail_long(value, err);
    }
    return FR_OK;
}

static int put_strings(fr_put *at, const fr_value *value, const fr_measured *part, fr_error *err) {
    const uint8_t *end = at->p + part->body;
    for (size_t i = part->begin; i < part->begin + part->count; i++) {
        fr_span string;
        if (!find_string(value, i, &string) || fr_sized(string.size) > (uint64_t)(end - at->p))
            return fr_fail_changed(value, err);
        fr_put_size(at, 1, string.size);
        put_long(at, string.data, string.size);
    }
    return at->p == end ? FR_OK : fr_fail_changed(value, err);
}

/* Finds the elements of a row. */
static int find_row(const fr_value *value, size_t row, fr_measured *part, fr_error *err) {
    int64_t begin = (int64_t)(row * value->count), end = begin + (int64_t)value->count;
    if (value->splits) {
        begin = value->splits[row], end = value->splits[row + 1];
        if (begin < 0 || end < begin)
            return fr_fail_feature(err, FR_ERR_ARG, value->key, "the row_splits do not ascend");
    }
    const bool counted = value->splits || (value->offsets && value->kind == FR_KIND_BYTES);
    if (counted && (uint64_t)end > value->elements)
        return fr_fail_feature(err, FR_ERR_ARG, value->key,
                               "the row_splits lie outside of the values");
    part->begin = (size_t)begin;
    part->count = (size_t)(end - begin);
    return FR_OK;
}

static int measure_list(const fr_value *value, bool roughly, fr_measured *part, fr_error *err) {
    uint64_t body = 0;
    if (part->kind == FR_KIND_BYTES) {
        FR_TRY(measure_strings(value, part, &body, err));
        part->body = part->list = (uint32_t)body;
        return FR_OK;
    }
    if (part->count == 0 || part->kind == FR_KIND_NONE) return FR_OK;
    FR_TRY(measure_numbers(value, roughly, part, &body, err));
    if (fr_sized(body) > FR_MESSAGE_MAX) return fr_fail_long(value, err);
    part->body = (uint32_t)body;
    part->list = (uint32_t)fr_sized(body);
    return FR_OK;
}

int fr_measure_feature(const fr_value *value, size_t row, bool roughly, fr_measured *part,
                       fr_error *err) {
    part->kind = value->present && !value->present[row] ? FR_KIND_NONE : value->kind;
    part->body = part->list = 0;
    FR_TRY(find_row(value, row, part, err));
    FR_TRY(measure_list(value, roughly, part, err));
    uint64_t feature = part->kind == FR_KIND_NONE ? 0 : fr_sized(part->list);
    if (feature > FR_MESSAGE_MAX) return fr_fail_long(value, err);
    part->feature = (uint32_t)feature;
    return FR_OK;
}

int fr_put_feature(fr_put *at, const fr_value *value, const fr_measured *part, fr_error *err) {
    if (part->kind == FR_KIND_NONE) return FR_OK;
    fr_put_size(at, part->kind, part->list);
    if (part->kind == FR_KIND_BYTES) return put_strings(at, value, part, err);
    if (part->count == 0) return FR_OK;
    fr_put_size(at, 1, part->body);
    if (part->kind == FR_KIND_INT64) return put_ints(at, value, part, err);
    put_floats(at, value, part);
    return FR_OK;
}
