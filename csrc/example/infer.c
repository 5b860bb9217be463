/* SPDX-License-Identifier: Apache-2.0 */
#include "example/infer.h"

#include <stdlib.h>

#include "example/diagnose.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)
#define TAG_2 FR_TAG(2, FR_WIRE_SIZED)

static fr_sighting *sighting(fr_infer *infer, size_t number) {
    return (fr_sighting *)(void *)infer->sightings.data + number;
}

static fr_span key_of(const fr_infer *infer, const fr_sighting *seen) {
    return (fr_span){infer->keys.data + seen->key, seen->key_size};
}

static size_t hash(uint64_t seed, fr_span key) {
    uint64_t h = seed ^ key.size;
    for (size_t i = 0; i < key.size; i++)
        h = ((h ^ key.data[i]) + (h >> 32)) * UINT64_C(0xff51afd7ed558ccd);
    return (size_t)(h ^ h >> 29);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t *slot_of(const fr_infer *infer, fr_span key) {
    for (size_t at = hash(infer->seed, key);; at++) {
        uint32_t *slot = &infer->slots[at & infer->slot_mask];
        if (*slot == 0) return slot;
        const fr_sighting *seen = fr_infer_sighting(infer, *slot - 1);
        if (fr_span_equal(key_of(infer, seen), key)) return slot;
    }
}

static int grow(fr_infer *infer, fr_error *err) {
    size_t count = infer->slots ? 4 * (infer->slot_mask + 1) : 256;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) return fr_fail_nomem(err, count * sizeof *slots);
    free(infer->slots);
    infer->slots = slots;
    infer->slot_mask = count - 1;
    for (size_t i = 0; i < fr_infer_count(infer); i++)
        *slot_of(infer, key_of(infer, sighting(infer, i))) = (uint32_t)i + 1;
    return FR_OK;
}

static int find_or_add(fr_infer *infer, fr_span key, fr_sighting **seen, fr_error *err) {
    size_t count = fr_infer_count(infer);
    if (!infer->slots || 2 * count > infer->slot_mask) FR_TRY(grow(infer, err));
    uint32_t *slot = slot_of(infer, key);
    if (*slot == 0) {
        if (count == FR_INFER_MAX)
            return fr_fail(err, FR_ERR_SCHEMA, "the records have more than %zu different features",
                           FR_INFER_MAX);
        fr_sighting fresh = {.key = infer->keys.size, .key_size = key.size};
        FR_TRY(fr_buffer_append(&infer->sightings, &fresh, sizeof fresh, err));
        FR_TRY(fr_buffer_append(&infer->keys, key.data, key.size, err));
        *slot = (uint32_t)count + 1;
    }
    *seen = sighting(infer, *slot - 1);
    return FR_OK;
}

/* Notes one more entry; the last of a key takes the place of those before it in the record. */
static int note(fr_infer *infer, fr_span key, fr_kind kind, fr_error *err) {
    fr_sighting *seen = NULL;
    FR_TRY(find_or_add(infer, key, &seen, err));
    if (seen->stamp == infer->records) seen->records[seen->kind]--;
    seen->stamp = infer->records;
    seen->kind = kind;
    seen->records[kind]++;
    return FR_OK;
}

/* The kind that is set last, of a Feature that is valid; `before` when there is none. */
static fr_kind last_kind(fr_span value, fr_kind before) {
    fr_wire_fields fields = fr_wire_begin(value);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if ((field.tag & 7) == FR_WIRE_SIZED && field.tag >> 3 <= FR_KIND_INT64)
            before = (fr_kind)(field.tag >> 3);
    return before;
}

static bool read_entry(fr_span entry, fr_span *key, fr_kind *kind) {
    fr_wire_fields fields = fr_wire_begin(entry);
    fr_wire_field field;
    *key = (fr_span){fields.end, 0};
    *kind = FR_KIND_NONE;
    while (fr_wire_next(&fields, &field)) {
        if (field.tag == TAG_1) *key = field.bytes;
        if (field.tag != TAG_2) continue;
        if (!fr_feature_valid(field.bytes)) return false;
        *kind = last_kind(field.bytes, *kind);
    }
    return !fr_wire_malformed(&fields);
}

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid tf.train.Example");
}

static int add_features(fr_infer *infer, fr_span features, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(features);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        fr_span key;
        fr_kind kind;
        if (field.tag != TAG_1) continue;
        if (!read_entry(field.bytes, &key, &kind)) return malformed(err);
        FR_TRY(note(infer, key, kind, err));
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

static int add_example(fr_infer *infer, fr_span record, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(record);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (field.tag == TAG_1) FR_TRY(add_features(infer, field.bytes, err));
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

int fr_infer_add(fr_infer *infer, fr_span record, fr_error *err) {
    infer->records++;
    int status = record.size > INT32_MAX ? malformed(err) : add_example(infer, record, err);
    if (status == FR_ERR_MALFORMED) fr_diagnose_format(record, err);
    if (status != FR_OK && err) err->record = (int64_t)infer->records - 1;
    return status;
}

void fr_infer_free(fr_infer *infer) {
    fr_buffer_free(&infer->sightings);
    fr_buffer_free(&infer->keys);
    free(infer->slots);
    *infer = (fr_infer){0};
}
