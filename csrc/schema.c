/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include <stdlib.h>

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

void fr_key_text(fr_span key, char text[FR_KEY_TEXT_SIZE]) {
    size_t at = 0;
    for (size_t i = 0; i < key.size; i++) {
        if (at > FR_KEY_TEXT_SIZE - 8) {
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

/* Keys that are looked up come from files, but the table holds only those of the schema, so that a
   hostile file can choose where to look and not how far. */
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

static int insert(fr_schema *schema, size_t number, fr_error *err) {
    fr_span key = schema->features[number].key;
    if (fr_schema_find(schema, key) >= 0) {
        char text[FR_KEY_TEXT_SIZE];
        fr_key_text(key, text);
        return fr_fail(err, FR_ERR_ARG, "feature '%s' is there twice", text);
    }
    size_t at = (size_t)hash(key);
    while (schema->slots[at & schema->slot_mask])
        at++;
    schema->slots[at & schema->slot_mask] = (uint32_t)number + 1;
    return FR_OK;
}

static void keep_bytes(uint8_t **at, fr_span *span) {
    if (!span->data) return;
    if (span->size) memcpy(*at, span->data, span->size);
    span->data = *at;
    *at += span->size;
}

static int allocate(fr_schema *schema, const fr_feature *features, size_t count, fr_error *err) {
    size_t slot_count = 4, bytes = 1;
    while (slot_count < 2 * count)
        slot_count *= 2;
    for (size_t i = 0; i < count; i++)
        bytes += features[i].key.size + features[i].fallback.size;
    schema->features = calloc(count, sizeof *features);
    schema->slots = calloc(slot_count, sizeof *schema->slots);
    schema->bytes = malloc(bytes);
    schema->slot_mask = slot_count - 1;
    if (schema->features && schema->slots && schema->bytes) return FR_OK;
    return fr_fail_nomem(err, (uint64_t)count * sizeof *features + bytes);
}

int fr_schema_init(fr_schema *schema, const fr_feature *features, size_t count, fr_error *err) {
    *schema = (fr_schema){0};
    if (count == 0) return FR_OK;
    int status = allocate(schema, features, count, err);
    uint8_t *at = schema->bytes;
    for (; status == FR_OK && schema->count < count;) {
        fr_feature *feature = &schema->features[schema->count];
        *feature = features[schema->count];
        keep_bytes(&at, &feature->key);
        keep_bytes(&at, &feature->fallback);
        status = insert(schema, schema->count, err);
        if (status == FR_OK) schema->count++;
    }
    if (status != FR_OK) fr_schema_free(schema);
    return status;
}

void fr_schema_free(fr_schema *schema) {
    free(schema->features);
    free(schema->slots);
    free(schema->bytes);
    *schema = (fr_schema){0};
}
