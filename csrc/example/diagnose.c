/* SPDX-License-Identifier: Apache-2.0 */
#include "example/diagnose.h"

#include "format/wire.h"

#define TAG_1 FR_TAG(1, FR_WIRE_SIZED)
#define TAG_2 FR_TAG(2, FR_WIRE_SIZED)

/* Longer keys are not compared, and no more keys than this, because the record may be hostile. */
#define MAX_KEY 48
#define MAX_KEYS 4096
#define SHOWN 8

static bool starts_with(fr_span bytes, const char *magic, size_t size) {
    return bytes.size >= size && memcmp(bytes.data, magic, size) == 0;
}

static bool is_text(fr_span bytes) {
    for (size_t i = 0; i < bytes.size && i < 256; i++) {
        uint8_t c = bytes.data[i];
        if (c >= 0x7f || (c < 0x20 && c != '\n' && c != '\r' && c != '\t')) return false;
    }
    return bytes.size > 0;
}

/* Returns whether a record still has its frame, which begins with the size of the record. */
static bool is_framed(fr_span bytes) {
    return bytes.size >= 16 && fr_load_u64(bytes.data) == bytes.size - 16;
}

void fr_diagnose_format(fr_span record, fr_error *err) {
    static const struct {
        const char *magic;
        uint8_t size;
        const char *name;
    } formats[] = {
        {"\xff\xd8\xff", 3, "a JPEG image"}, {"\x89PNG", 4, "a PNG image"},
        {"GIF8", 4, "a GIF image"},          {"RIFF", 4, "a RIFF file, such as WebP"},
        {"\x1f\x8b", 2, "gzip data"},        {"\x28\xb5\x2f\xfd", 4, "zstd data"},
        {"\x78\x9c", 2, "zlib data"},        {"PK\x03\x04", 4, "a zip file"},
        {"PAR1", 4, "a Parquet file"},       {"\x93NUMPY", 6, "a NumPy file"},
        {"\x80\x04\x95", 3, "a pickle"},
    };
    if (!err) return;
    const char *name = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !name; i++)
        if (starts_with(record, formats[i].magic, formats[i].size)) name = formats[i].name;
    if (!name && is_framed(record)) name = "a record with its TFRecord frame";
    if (!name && is_text(record)) name = "text";
    if (!name) return;
    fr_add_hint(err, "%sit looks like %s", err->hint[0] ? "; " : "", name);
}

void fr_diagnose_bytes(const fr_feature *feature, fr_span list, fr_error *err) {
    uint32_t tag;
    fr_span value = {0};
    const uint8_t *end = list.data + list.size, *p = list.data;
    if (!err || feature->ragged || feature->count < 2) return;
    if (!(p = fr_wire_tag(p, end, &tag)) || tag != TAG_1) return;
    if (fr_wire_sized(p, end, &value) != end) return;
    size_t size = fr_dtype_size(feature->dtype);
    if (value.size / size != feature->count || value.size % size) return;
    fr_add_hint(err, "its value has %zu bytes: a RawFeature of %s?", value.size,
                fr_dtype_name(feature->dtype));
}

/* Returns the edit distance in bytes, ignoring case. REQUIRES: both have at most MAX_KEY bytes. */
static size_t distance(fr_span a, fr_span b) {
    size_t row[MAX_KEY + 1];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            uint8_t x = a.data[i - 1] | 0x20, y = b.data[j - 1] | 0x20; /* ignores case */
            size_t best = diagonal + (x != y);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.size];
}

/* The findings of a walk over the keys of a record. */
typedef struct {
    fr_span wanted, closest;
    size_t distance; /* edit distance of the closest key */
    size_t keys;
    fr_span first[SHOWN]; /* first keys */
    bool has_lists;
    uint32_t map; /* tag of the current map */
} findings;

static void see_key(findings *s, fr_span key) {
    if (s->keys < SHOWN) s->first[s->keys] = key;
    if (s->keys++ >= MAX_KEYS || key.size > MAX_KEY || s->wanted.size > MAX_KEY) return;
    size_t d = distance(s->wanted, key);
    if (d >= s->distance) return;
    s->distance = d;
    s->closest = key;
}

/* Examines the keys of one map. Malformed bytes end the walk; other code reports them. */
static void see_map(findings *s, fr_span map) {
    fr_wire_fields entries = fr_wire_begin(map);
    fr_wire_field entry, key;
    while (fr_wire_next(&entries, &entry)) {
        if (entry.tag != TAG_1) continue;
        fr_wire_fields fields = fr_wire_begin(entry.bytes);
        if (fr_wire_next(&fields, &key) && key.tag == TAG_1) see_key(s, key.bytes);
    }
}

static void see_record(findings *s, fr_span record) {
    fr_wire_fields fields = fr_wire_begin(record);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        if (field.tag == s->map) see_map(s, field.bytes);
        if (field.tag == TAG_2) s->has_lists = true;
    }
}

static findings look(fr_span record, fr_span key, uint32_t map) {
    findings s = {.wanted = key, .distance = key.size / 2 < 3 ? key.size / 2 + 1 : 4, .map = map};
    see_record(&s, record);
    return s;
}

static void add_closest(fr_error *err, const findings *s) {
    char text[FR_FEATURE_TEXT_SIZE];
    if (s->closest.size == s->wanted.size &&
        memcmp(s->closest.data, s->wanted.data, s->wanted.size) == 0) {
        fr_add_hint(err, "the record has it without values; a RaggedFeature reads it as empty");
        return;
    }
    fr_key_text(s->closest, text);
    fr_add_hint(err, "is it '%s'?", text);
}

/* Adds the number of other keys, and as many of them as fit in the hint. */
static void add_keys(fr_error *err, const findings *s, const char *what) {
    char text[FR_FEATURE_TEXT_SIZE];
    fr_add_hint(err, "the record has %zu other %s%s", s->keys, what, s->keys == 1 ? "" : "s");
    size_t shown = 0;
    for (; shown < s->keys && shown < SHOWN; shown++) {
        fr_key_text(s->first[shown], text);
        if (strlen(err->hint) + strlen(text) + sizeof ", '', ..." > sizeof err->hint) break;
        fr_add_hint(err, "%s'%s'", shown ? ", " : ": ", text);
    }
    if (shown && shown < s->keys) fr_add_hint(err, ", ...");
}

void fr_diagnose_key(fr_span record, fr_span key, fr_error *err) {
    if (!err) return;
    findings s = look(record, key, TAG_1);
    if (s.closest.data) {
        add_closest(err, &s);
    } else if (s.has_lists) {
        fr_add_hint(err, "is this a SequenceExample?");
    } else if (s.keys) {
        add_keys(err, &s, "feature");
    } else {
        fr_add_hint(err, "the record has no features");
        fr_diagnose_format(record, err);
    }
}

void fr_diagnose_list(fr_span record, fr_span key, fr_error *err) {
    if (!err) return;
    findings s = look(record, key, TAG_2);
    if (s.closest.data)
        add_closest(err, &s);
    else if (s.has_lists)
        add_keys(err, &s, "feature list");
    else
        fr_add_hint(err, "the record has no feature lists: is it an Example?");
}
