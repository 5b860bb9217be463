/* SPDX-License-Identifier: Apache-2.0 */
#include "image/tiff.h"

enum { HEADER_SIZE = 8, ENTRY_SIZE = 12, MAGIC = 42, SHORT = 3, LONG = 4 };
enum { MIN_IS_BLACK = 1, RGB = 2 };

/* The fields that determine where the pixels are, and their tags. */
enum { WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER, OFFSETS };
enum { ORIENTATION = OFFSETS + 1, SAMPLES, ROWS, SIZES, PLANES, PREDICTOR, FORMAT, FIELDS };
static const uint16_t tags[FIELDS] = {256, 257, 258, 259, 262, 266, 273,
                                      274, 277, 278, 279, 284, 317, 339};

typedef struct {
    size_t count;  /* number of values; 0 if the field is absent */
    unsigned size; /* bytes of each */
    const uint8_t *values;
} field;

typedef struct {
    fr_span file;
    bool is_big_endian;
    field fields[FIELDS];
} reader;

static uint32_t number(const reader *r, const uint8_t *p, unsigned size) {
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint32_t)p[i] << 8 * (r->is_big_endian ? size - 1 - i : i);
    return value;
}

/* Returns value `index` of a field, or `fallback` if the field is absent. */
static uint32_t value(const reader *r, int name, size_t index, uint32_t fallback) {
    const field *f = &r->fields[name];
    return f->count ? number(r, f->values + index * f->size, f->size) : fallback;
}

static bool read_entry(reader *r, const uint8_t *entry) {
    static const uint8_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8}; /* by type */
    const uint32_t tag = number(r, entry, 2), type = number(r, entry + 2, 2);
    const size_t count = number(r, entry + 4, 4);
    const bool changes_pixels = tag == 320 || (tag >= 322 && tag <= 325) || tag == 338;
    if (changes_pixels) return false; /* a colour map, tiles, or extra samples */
    if (type == 0 || type >= sizeof sizes || count == 0) return false;
    const uint8_t *values = entry + 8;
    if (count > 4 / sizes[type]) {
        const size_t at = number(r, values, 4);
        if (at > r->file.size || count > (r->file.size - at) / sizes[type]) return false;
        values = r->file.data + at;
    }
    for (int name = 0; name < FIELDS; name++) {
        field *f = &r->fields[name];
        if (tags[name] != tag) continue;
        const bool is_list = name == BITS || name == OFFSETS || name == SIZES || name == FORMAT;
        if ((type != SHORT && type != LONG) || f->count || (!is_list && count != 1)) return false;
        *f = (field){count, sizes[type], values};
    }
    return true;
}

static bool read_entries(reader *r) {
    const size_t at = number(r, r->file.data + 4, 4);
    if (at > r->file.size || r->file.size - at < 2) return false;
    const size_t count = number(r, r->file.data + at, 2);
    if (count > (r->file.size - at - 2) / ENTRY_SIZE) return false;
    for (size_t i = 0; i < count; i++)
        if (!read_entry(r, r->file.data + at + 2 + i * ENTRY_SIZE)) return false;
    return true;
}

/* Returns whether every sample has 8 bits and is an unsigned integer. */
static bool has_bytes(const reader *r, size_t samples) {
    const field *bits = &r->fields[BITS], *format = &r->fields[FORMAT];
    if (bits->count != samples || (format->count && format->count != samples)) return false;
    for (size_t i = 0; i < samples; i++)
        if (value(r, BITS, i, 0) != 8 || value(r, FORMAT, i, 1) != 1) return false;
    return true;
}

/* Returns whether the strips have the sizes of their rows, and follow one another. */
static bool is_contiguous(const reader *r, size_t height, size_t row_size) {
    const size_t rows = value(r, ROWS, 0, UINT32_MAX);
    const size_t per_strip = rows < height ? rows : height;
    if (per_strip == 0) return false;
    const size_t strips = (height + per_strip - 1) / per_strip;
    if (r->fields[OFFSETS].count != strips || r->fields[SIZES].count != strips) return false;
    size_t at = value(r, OFFSETS, 0, 0);
    for (size_t i = 0; i < strips; i++) {
        const size_t left = height - i * per_strip;
        const size_t size = (left < per_strip ? left : per_strip) * row_size;
        if (value(r, OFFSETS, i, 0) != at || value(r, SIZES, i, 0) != size) return false;
        at += size;
    }
    return true;
}

bool fr_tiff_read(fr_span data, fr_tiff *tiff) {
    reader r = {.file = data};
    if (data.size < HEADER_SIZE || data.data[0] != data.data[1]) return false;
    if (data.data[0] != 'I' && data.data[0] != 'M') return false;
    r.is_big_endian = data.data[0] == 'M';
    if (number(&r, data.data + 2, 2) != MAGIC || !read_entries(&r)) return false;
    const size_t width = value(&r, WIDTH, 0, 0), height = value(&r, HEIGHT, 0, 0);
    const size_t samples = value(&r, SAMPLES, 0, 1), at = value(&r, OFFSETS, 0, 0);
    const uint32_t photometric = value(&r, PHOTOMETRIC, 0, 0);
    if (!(samples == 3 && photometric == RGB) && !(samples == 1 && photometric == MIN_IS_BLACK))
        return false;
    static const int must_be_one[] = {COMPRESSION, FILL_ORDER, ORIENTATION, PLANES, PREDICTOR};
    for (size_t i = 0; i < sizeof must_be_one / sizeof *must_be_one; i++)
        if (value(&r, must_be_one[i], 0, 1) != 1) return false;
    if (!width || !height || at < HEADER_SIZE || at > data.size) return false;
    if (width > (data.size - at) / samples / height) return false;
    if (!has_bytes(&r, samples) || !is_contiguous(&r, height, width * samples)) return false;
    *tiff = (fr_tiff){height, width, samples, data.data + at};
    return true;
}
