/* SPDX-License-Identifier: Apache-2.0 */
#include "example/infer.h"

#include <stdlib.h>
#include <string.h>

#include "example/diagnose.h"
#include "format/varint.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)
#define TAG_2 FR_TAG(2, FR_WIRE_SIZED)

static fr_sighting *sighting(fr_infer *infer, size_t number) {
    return (fr_sighting *)(void *)infer->sightings.data + number;
}

static fr_span key_of(const fr_infer *infer, const fr_sighting *seen) {
    static const uint8_t nothing[1]; /* the address before the first key of empty bytes */
    if (!seen->key_size) return (fr_span){nothing, 0};
    return (fr_span){infer->keys.data + seen->key, seen->key_size};
}

static size_t hash(uint64_t seed, fr_span key) {
    uint64_t h = seed ^ key.size;
    for (size_t i = 0; i < key.size; i++)
        h = ((h ^ key.data[i]) + (h >> 32)) * UINT64_C(0xff51afd7ed558ccd);
    return (size_t)(h ^ h >> 29);
}

/* Returns the slot of the key, or the empty slot where it belongs. */
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

static void settle(fr_sighting *seen) {
    const fr_tally *last = &seen->last;
    if (seen->repeats == 0) return;
    for (int kind = 0; kind < 4; kind++) {
        seen->records[kind] += last->kinds[kind] * seen->repeats;
        if (last->kinds[kind] && !seen->first[kind]) seen->first[kind] = seen->begin;
    }
    seen->present += seen->repeats;
    if (last->fewest < seen->fewest) seen->fewest = last->fewest;
    if (last->most > seen->most) seen->most = last->most;
    if (last->frames < seen->least_frames) seen->least_frames = last->frames;
    if (last->frames > seen->most_frames) seen->most_frames = last->frames;
    seen->repeats = 0;
}

void fr_infer_settle(fr_infer *infer) {
    for (size_t i = 0; i < fr_infer_count(infer); i++)
        settle(sighting(infer, i));
}

static int find_or_add(fr_infer *infer, fr_span key, uint32_t *number, fr_error *err) {
    size_t count = fr_infer_count(infer);
    if (!infer->slots || 2 * count > infer->slot_mask) FR_TRY(grow(infer, err));
    uint32_t *slot = slot_of(infer, key);
    if (*slot == 0) {
        if (count == FR_INFER_MAX)
            return fr_fail(err, FR_ERR_SCHEMA, "the records have more than %zu different features",
                           FR_INFER_MAX);
        fr_sighting fresh = {.key = infer->keys.size,
                             .key_size = key.size,
                             .number = (uint32_t)count,
                             .fewest = UINT64_MAX,
                             .least_frames = UINT64_MAX};
        FR_TRY(fr_buffer_append(&infer->sightings, &fresh, sizeof fresh, err));
        FR_TRY(fr_buffer_append(&infer->keys, key.data, key.size, err));
        *slot = (uint32_t)count + 1;
    }
    *number = *slot - 1;
    return FR_OK;
}

static bool is_same(const fr_tally *a, const fr_tally *b) {
    uint64_t difference = (a->fewest ^ b->fewest) | (a->most ^ b->most) | (a->frames ^ b->frames);
    for (int kind = 0; kind < 4; kind++)
        difference |= a->kinds[kind] ^ b->kinds[kind];
    return difference == 0;
}

/* Records one more entry; the last entry of a key replaces earlier ones of the same record. */
static int note(fr_infer *infer, fr_span key, const fr_tally *tally, fr_sighting *previous,
                fr_sighting **noted, fr_error *err) {
    uint32_t number = previous ? previous->next : 0;
    if (number >= fr_infer_count(infer) ||
        !fr_span_equal(key_of(infer, sighting(infer, number)), key)) {
        const size_t place = previous ? previous->number : 0;
        FR_TRY(find_or_add(infer, key, &number, err));
        if (previous) sighting(infer, place)->next = number;
    }
    fr_sighting *seen = *noted = sighting(infer, number);
    const bool replaces = seen->repeats && seen->stamp == infer->records;
    seen->repeats -= replaces;
    if (!replaces && seen->repeats && is_same(&seen->last, tally)) {
        seen->repeats++;
    } else {
        settle(seen);
        seen->begin = infer->records;
        seen->last = *tally;
        seen->repeats = 1;
    }
    seen->stamp = infer->records;
    return FR_OK;
}

/* Returns the number of values of a valid list. */
static uint64_t count_values(fr_kind kind, fr_span list) {
    const uint32_t single = FR_TAG(1, kind == FR_KIND_FLOAT ? FR_WIRE_FIXED32 : FR_WIRE_VARINT);
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    uint64_t count = 0;
    while (fr_wire_next_sized(&fields, TAG_1, &field)) {
        if (kind != FR_KIND_BYTES && field.tag == single) count++;
        if (field.tag != TAG_1) continue;
        count += kind == FR_KIND_BYTES   ? 1
                 : kind == FR_KIND_FLOAT ? field.bytes.size / 4
                                         : fr_varint_count(field.bytes);
    }
    return count;
}

/* Returns whether a run, which has at least eight bytes before it, is exactly one varint. */
static bool is_varint(fr_span run) {
    if (FR_LIKELY(run.size - 1 < 8)) {
        const uint64_t word = fr_load_u64(run.data + run.size - 8) >> (64 - 8 * run.size);
        return fr_wire_is_varint(word, (unsigned)run.size);
    }
    if (run.size == 0 || run.size > FR_VARINT_MAX) return false;
    for (size_t i = 0; i + 1 < run.size; i++)
        if (run.data[i] < 0x80) return false;
    return run.data[run.size - 1] < 0x80;
}

/* Reads a Feature that is one list in one run, the common encoding. Returns false for any other,
   and for one that requires a full check. */
static bool read_plain(fr_span value, fr_kind *kind, uint64_t *count, fr_span *values) {
    fr_span list = {0}, run = {0};
    const uint8_t *end = value.data + value.size;
    if (value.size < 2 || (value.data[0] & 7) != FR_WIRE_SIZED) return false;
    fr_kind found = (fr_kind)(value.data[0] >> 3);
    if (found < FR_KIND_BYTES || found > FR_KIND_INT64) return false;
    if (fr_wire_sized(value.data + 1, end, &list) != end) return false;
    if (!list.size || list.data[0] != TAG_1 || fr_wire_sized(list.data + 1, end, &run) != end)
        return false;
    if (found == FR_KIND_FLOAT && run.size % 4) return false;
    if (found == FR_KIND_INT64 && !is_varint(run)) return false;
    *kind = found;
    *count = found == FR_KIND_FLOAT ? run.size / 4 : 1;
    *values = run;
    return true;
}

/* Combines the parts of a Feature: values of the same kind are added, and another kind replaces
   them. `run` becomes the bytes of the values if they are the end of `value`, and empty at NULL
   otherwise. */
static bool read_feature(fr_span value, fr_kind *kind, uint64_t *count, fr_span *run) {
    fr_wire_fields fields = fr_wire_begin(value);
    fr_wire_field field;
    if (*kind == FR_KIND_NONE && read_plain(value, kind, count, run)) return true;
    *run = (fr_span){NULL, 0};
    if (!fr_feature_valid(value)) return false;
    while (fr_wire_next(&fields, &field)) {
        fr_kind next = (fr_kind)(field.tag >> 3);
        if ((field.tag & 7) != FR_WIRE_SIZED || next > FR_KIND_INT64) continue;
        uint64_t values = count_values(next, field.bytes);
        *count = next == *kind ? *count + values : values;
        *kind = next;
    }
    return true;
}

static void add_frame(fr_tally *tally, fr_kind kind, uint64_t count) {
    tally->kinds[kind]++;
    tally->frames++;
    if (kind == FR_KIND_NONE) return;
    if (count < tally->fewest) tally->fewest = count;
    if (count > tally->most) tally->most = count;
}

static bool read_list(fr_span list, fr_tally *tally) {
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        fr_kind kind = FR_KIND_NONE;
        uint64_t count = 0;
        if (field.tag != TAG_1) continue;
        fr_span run;
        if (!read_feature(field.bytes, &kind, &count, &run)) return false;
        add_frame(tally, kind, count);
    }
    return !fr_wire_malformed(&fields);
}

/* Reads the key of a map's entry, and a tally of its Feature or, with `lists`, its FeatureList.
   `run` becomes the bytes of the values if they are the end of the entry, and empty at NULL
   otherwise. */
static bool read_entry(fr_span entry, bool lists, fr_span *key, fr_tally *tally, fr_span *run) {
    fr_wire_fields fields = fr_wire_begin(entry);
    fr_wire_field field;
    fr_kind kind = FR_KIND_NONE;
    uint64_t count = 0;
    *key = (fr_span){fields.end, 0};
    *tally = (fr_tally){.fewest = UINT64_MAX};
    *run = (fr_span){NULL, 0};
    uint32_t expected = TAG_1;
    for (; fr_wire_next_sized(&fields, expected, &field); expected = TAG_2) {
        if (field.tag == TAG_1) *key = field.bytes;
        if (field.tag != TAG_2) continue;
        if (lists ? !read_list(field.bytes, tally) : !read_feature(field.bytes, &kind, &count, run))
            return false;
    }
    if (!lists) add_frame(tally, kind, count);
    if (run->data && run->data + run->size != entry.data + entry.size) run->data = NULL;
    return !fr_wire_malformed(&fields);
}

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid tf.train.Example");
}

/* Size of the bytes of an entry between its key and its values: the tag and the size of the
   Feature, of its list, and of the values. */
#define SIZES 6

/* Returns whether `data` begins with the head of a sighting, whose last eight bytes are `tail`. */
static bool begins_with(const uint8_t *data, const fr_sighting *seen, uint64_t tail) {
    const size_t before = seen->head_size - sizeof tail;
    size_t i = 0;
    if (fr_load_u64(data + before) != tail) return false;
    for (; i + sizeof tail <= before; i += sizeof tail)
        if (fr_load_u64(data + i) != fr_load_u64(seen->head + i)) return false;
    const uint64_t difference = fr_load_u64(data + i) ^ fr_load_u64(seen->head + i);
    return (difference & ((UINT64_C(1) << 8 * (before - i)) - 1)) == 0;
}

/* Returns the sighting that last followed another one, or the first of a record. */
static fr_sighting *following(fr_infer *infer, fr_sighting *previous) {
    if (!previous) return fr_infer_count(infer) ? sighting(infer, 0) : NULL;
    /* A processor predicts this branch, but it would have to wait for `next` to find the other
       address. */
    if (FR_LIKELY(previous->next == previous->number + 1)) return previous + 1;
    return sighting(infer, previous->next);
}

/* Records an entry that differs from an earlier one only in the bytes of its values; otherwise
   returns NULL. */
static fr_sighting *note_alike(fr_infer *infer, fr_span entry, fr_sighting *previous) {
    fr_sighting *seen = following(infer, previous);
    if (!seen) return NULL;
    const size_t size = seen->head_size;
    if (!size || !seen->repeats || seen->stamp == infer->records) return NULL;
    if (seen->slope ? entry.size < size || entry.size >= 0x80 : entry.size != seen->entry_size)
        return NULL;
    if (!begins_with(entry.data, seen, seen->tail + seen->slope * entry.size)) return NULL;
    if (seen->last.kinds[FR_KIND_INT64] &&
        !is_varint((fr_span){entry.data + size, entry.size - size}))
        return NULL;
    seen->repeats++;
    seen->stamp = infer->records;
    return seen;
}

/* Returns the change of the last eight bytes of a head with the size of its entry, or 0 if an entry
   of another size may have another number of values. */
static uint64_t slope_of(const fr_sighting *seen, const uint8_t *values, size_t value_size) {
    const uint8_t *sizes = values - SIZES;
    if (seen->last.kinds[FR_KIND_FLOAT] || seen->last.most != 1 || seen->entry_size >= 0x80)
        return 0;
    if (sizes[0] != TAG_2 || sizes[1] != value_size + 4 || sizes[3] != value_size + 2 ||
        sizes[4] != TAG_1 || sizes[5] != value_size)
        return 0;
    return UINT64_C(1) << 24 | UINT64_C(1) << 40 | UINT64_C(1) << 56;
}

static void set_head(fr_sighting *seen, fr_span entry, fr_span run) {
    const size_t size = run.data ? (size_t)(run.data - entry.data) : 0;
    seen->head_size = size >= sizeof seen->tail && size <= sizeof seen->head ? (uint8_t)size : 0;
    if (!seen->head_size) return;
    seen->entry_size = entry.size;
    memcpy(seen->head, entry.data, size);
    seen->slope = slope_of(seen, run.data, run.size);
    seen->tail = fr_load_u64(seen->head + size - sizeof seen->tail) - seen->slope * entry.size;
}

/* Walks the entries of a map, and records them unless `infer` is NULL. */
static int walk(fr_infer *infer, bool lists, fr_span map, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(map);
    fr_wire_field field;
    fr_sighting *previous = NULL;
    while (fr_wire_next_sized(&fields, TAG_1, &field)) {
        fr_span key, run;
        fr_tally tally;
        if (field.tag != TAG_1) continue;
        fr_sighting *seen = infer ? note_alike(infer, field.bytes, previous) : NULL;
        if (!seen) {
            if (!read_entry(field.bytes, lists, &key, &tally, &run)) return malformed(err);
            if (!infer) continue;
            FR_TRY(note(infer, key, &tally, previous, &seen, err));
            set_head(seen, field.bytes, run);
        }
        previous = seen;
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

static int add_record(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(record);
    fr_wire_field field;
    while (fr_wire_next_sized(&fields, TAG_1, &field)) {
        if (field.tag == TAG_1) FR_TRY(walk(context, false, field.bytes, err));
        if (field.tag == TAG_2 && lists && walk(NULL, true, field.bytes, NULL) == FR_OK)
            FR_TRY(walk(lists, true, field.bytes, err));
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

/* Removes the statistics of the last record, which is malformed. */
static void forget(fr_infer *infer) {
    for (size_t i = 0; i < fr_infer_count(infer); i++) {
        fr_sighting *seen = sighting(infer, i);
        if (seen->repeats && seen->stamp == infer->records) seen->repeats--;
    }
}

/* Adds all features of a record, or none if it is malformed. Removing the features of a malformed
   record takes time in proportion to the number of keys, so this happens once. */
static int add_whole(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err) {
    if (record.size > INT32_MAX) return malformed(err);
    if (context->is_wary) FR_TRY(add_record(NULL, NULL, record, err));
    int status = add_record(context, lists, record, err);
    if (status != FR_ERR_MALFORMED) return status;
    context->is_wary = true;
    forget(context);
    if (lists) forget(lists);
    return status;
}

int fr_infer_add(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err) {
    context->records++;
    if (lists) lists->records = context->records;
    int status = add_whole(context, lists, record, err);
    if (status == FR_ERR_MALFORMED) fr_diagnose_format(record, err);
    if (status != FR_OK && err) err->record = (int64_t)context->records - 1;
    return status;
}

void fr_infer_free(fr_infer *infer) {
    fr_buffer_free(&infer->sightings);
    fr_buffer_free(&infer->keys);
    free(infer->slots);
    *infer = (fr_infer){0};
}
