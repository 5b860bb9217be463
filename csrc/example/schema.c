/* SPDX-License-Identifier: Apache-2.0 */
#include "example/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/wire.h"

const char *fr_kind_name(fr_kind kind) {
    switch (kind) {
        case FR_KIND_NONE:
            break;
        case FR_KIND_BYTES:
            return "bytes_list";
        case FR_KIND_FLOAT:
            return "float_list";
        case FR_KIND_INT64:
            return "int64_list";
    }
    return "no kind";
}

void fr_key_text(fr_span key, char text[FR_FEATURE_TEXT_SIZE]) {
    size_t at = 0;
    for (size_t i = 0; i < key.size; i++) {
        if (at > FR_FEATURE_TEXT_SIZE - 8) {
            memcpy(text + at, "...", 3);
            at += 3;
            break;
        }
        uint8_t c = key.data[i];
        if (c >= 0x20 && c < 0x7f && c != '\'' && c != '\\') {
            text[at++] = (char)c;
        } else {
            text[at++] = '\\';
            text[at++] = 'x';
            text[at++] = "0123456789abcdef"[c >> 4];
            text[at++] = "0123456789abcdef"[c & 15];
        }
    }
    text[at] = 0;
}

void fr_name_feature(fr_error *err, fr_span key) {
    if (err) fr_key_text(key, err->feature);
}

int fr_fail_feature(fr_error *err, int status, fr_span key, const char *format, ...) {
    char cause[sizeof err->cause];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    fr_fail(err, status, "%s", cause);
    fr_name_feature(err, key);
    return status;
}

/* Keys that are looked up come from files, but the table contains only those of the schema. A
   hostile file can therefore choose the slot but not the length of the search. */
static uint64_t hash(fr_span key) {
    uint64_t h = key.size * UINT64_C(0x9e3779b97f4a7c15);
    const uint8_t *p = key.data;
    size_t left = key.size;
    for (; left >= 8; left -= 8, p += 8) {
        h = (h ^ fr_load_u64(p)) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < left; i++)
        tail |= (uint64_t)p[i] << (8 * i);
    h = (h ^ tail) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

ptrdiff_t fr_schema_find(const fr_schema *schema, fr_span key) {
    if (schema->count == 0) return -1;
    for (size_t at = (size_t)hash(key);; at++) {
        uint32_t slot = schema->slots[at & schema->slot_mask];
        if (slot == 0) return -1;
        if (fr_span_equal(schema->features[slot - 1].key, key)) return (ptrdiff_t)slot - 1;
    }
}

/* Inserts into the table, or after the feature that has the same key. */
static void insert(fr_schema *schema, size_t number) {
    fr_span key = schema->features[number].key;
    ptrdiff_t first = fr_schema_find(schema, key);
    schema->plans[number].source = (uint32_t)(first < 0 ? number : (size_t)first);
    if (first >= 0) {
        schema->plans[first].scalar = schema->plans[number].scalar = FR_SCALAR_NONE;
        return;
    }
    size_t at = (size_t)hash(key);
    while (schema->slots[at & schema->slot_mask])
        at++;
    schema->slots[at & schema->slot_mask] = (uint32_t)number + 1;
}

static fr_scalar scalar_of(const fr_feature *feature) {
    if (feature->ragged || feature->raw || feature->frames || feature->presence ||
        feature->count != 1)
        return FR_SCALAR_NONE;
    if (feature->kind == FR_KIND_INT64)
        return feature->dtype == FR_INT64 ? FR_SCALAR_INT64 : FR_SCALAR_INT_AS;
    if (feature->kind == FR_KIND_FLOAT)
        return feature->dtype == FR_FLOAT32 ? FR_SCALAR_FLOAT32 : FR_SCALAR_FLOAT_AS;
    return FR_SCALAR_NONE;
}

static size_t prefix_size(fr_span key) {
    return 1 + fr_wire_varint_size(key.size) + key.size + 1;
}

/* Copies key and fallback to *at; the key is copied with the bytes around it in an entry. */
static void keep(fr_schema *schema, size_t number, uint8_t **at) {
    fr_feature *feature = &schema->features[number];
    fr_plan *plan = &schema->plans[number];
    uint8_t *p = *at;
    *p++ = FR_TAG(1, FR_WIRE_SIZED);
    p = fr_wire_put_varint(p, feature->key.size);
    if (feature->key.size) memcpy(p, feature->key.data, feature->key.size);
    feature->key.data = p;
    p += feature->key.size;
    *p++ = FR_TAG(2, FR_WIRE_SIZED);
    plan->prefix = (fr_span){*at, (size_t)(p - *at)};
    plan->scalar = scalar_of(feature);
    if (feature->fallback.data) {
        if (feature->fallback.size) memcpy(p, feature->fallback.data, feature->fallback.size);
        feature->fallback.data = p;
        p += feature->fallback.size;
    }
    *at = p;
}

static int allocate(fr_schema *schema, const fr_feature *features, size_t count, fr_error *err) {
    size_t slot_count = 4, bytes = 1;
    while (slot_count < 2 * count)
        slot_count *= 2;
    for (size_t i = 0; i < count; i++)
        bytes += prefix_size(features[i].key) + features[i].fallback.size;
    schema->features = calloc(count, sizeof *schema->features);
    schema->plans = calloc(count, sizeof *schema->plans);
    schema->slots = calloc(slot_count, sizeof *schema->slots);
    schema->bytes = malloc(bytes);
    schema->seen = calloc(count, sizeof *schema->seen);
    schema->slot_mask = slot_count - 1;
    if (schema->features && schema->plans && schema->slots && schema->bytes && schema->seen)
        return FR_OK;
    fr_schema_free(schema);
    return fr_fail_nomem(err, (uint64_t)count * sizeof *features + bytes);
}

int fr_schema_init(fr_schema *schema, const fr_feature *features, size_t count, fr_error *err) {
    *schema = (fr_schema){0};
    if (count == 0) return FR_OK;
    FR_TRY(allocate(schema, features, count, err));
    uint8_t *at = schema->bytes;
    memcpy(schema->features, features, count * sizeof *features);
    for (; schema->count < count; schema->count++) {
        keep(schema, schema->count, &at);
        insert(schema, schema->count);
    }
    return FR_OK;
}

bool fr_schema_has_seen(const fr_schema *schema, size_t number) {
    const uint32_t source = schema->plans[number].source;
    return atomic_load_explicit(&schema->seen[source], memory_order_relaxed);
}

void fr_schema_free(fr_schema *schema) {
    free(schema->features);
    free(schema->plans);
    free(schema->slots);
    free(schema->bytes);
    free(schema->seen);
    *schema = (fr_schema){0};
}
