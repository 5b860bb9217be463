/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/csv.h"

#include <string.h>

#include "base/bytes.h"

static const uint8_t QUOTE = '"';
static const uint64_t ONES = 0x0101010101010101u;

enum { WORD = 8, COUNTED = 255 };

void fr_csv_init(fr_csv *csv, uint8_t delimiter, bool quoted) {
    memset(csv->stops, 0, sizeof csv->stops);
    csv->stops[delimiter] = csv->stops['\n'] = csv->stops['\r'] = true;
    csv->delimiter = delimiter;
    csv->quoted = quoted;
}

size_t fr_csv_stops(const fr_csv *csv, const uint8_t *data, size_t size) {
    size_t stops = 0;
    for (size_t at = 0; at < size;) {
        const size_t end = size - at < COUNTED ? size : at + COUNTED;
        uint8_t few = 0; /* an 8-bit sum, because a vector has many of them */
        for (; at < end; at++)
            few += (data[at] == csv->delimiter) | (data[at] == '\n') | (data[at] == '\r');
        stops += few;
    }
    return stops;
}

/* Returns a word whose lowest set bit marks the first byte equal to `byte`; it is the highest
   bit of that byte. Bits above it may be wrong. */
static uint64_t find(uint64_t word, uint8_t byte) {
    const uint64_t apart = word ^ (ONES * byte);
    return (apart - ONES) & ~apart & (ONES << 7);
}

/* Returns the position after a field that began with a quote, or `size` + 1 if it is incomplete. */
static size_t unquote(const uint8_t *data, size_t at, size_t size, bool last, uint8_t *out,
                      int64_t *to) {
    for (;;) {
        const uint8_t *quote = memchr(data + at, QUOTE, size - at);
        if (!quote) return size + 1;
        const size_t stop = (size_t)(quote - data);
        memcpy(out + *to, data + at, stop - at);
        *to += (int64_t)(stop - at);
        at = stop + 1;
        if (at == size) return last ? at : size + 1;
        if (data[at] != QUOTE) return at;
        out[(*to)++] = QUOTE;
        at++;
    }
}

/* Copies bytes from `at`. Returns the position of the first byte that ends a field or is a
   misplaced quote. */
static size_t copied(const fr_csv *csv, const uint8_t *data, size_t at, size_t size, uint8_t *out) {
    const uint8_t wrong = csv->quoted ? QUOTE : csv->delimiter;
    for (; size - at >= WORD; at += WORD, out += WORD) {
        const uint64_t word = fr_load_u64(data + at);
        const uint64_t ends =
            find(word, csv->delimiter) | find(word, '\n') | find(word, '\r') | find(word, wrong);
        fr_store_u64(out, word);
        if (ends) return at + (size_t)__builtin_ctzll(ends) / 8;
    }
    for (; at < size && !csv->stops[data[at]] && data[at] != wrong; at++)
        *out++ = data[at];
    return at;
}

/* Returns the position after a field without quotes, or `size` + 1 if it is incomplete. */
static size_t plain(const fr_csv *csv, const uint8_t *data, size_t at, size_t size, bool last,
                    uint8_t *out, int64_t *to) {
    const size_t stop = at < size ? copied(csv, data, at, size, out + *to) : size;
    if (stop < size ? !csv->stops[data[stop]] : !last) return size + 1;
    *to += (int64_t)(stop - at);
    return stop;
}

size_t fr_csv_row(const fr_csv *csv, const uint8_t *data, size_t size, bool last,
                  fr_csv_fields *fields) {
    int64_t count = fields->splits[fields->rows], to = fields->begins[count];
    size_t at = 0;
    for (;;) {
        const bool quoted = csv->quoted && at < size && data[at] == QUOTE;
        at = quoted ? unquote(data, at + 1, size, last, fields->out, &to)
                    : plain(csv, data, at, size, last, fields->out, &to);
        if (at > size || (at < size && !csv->stops[data[at]])) return 0;
        fields->begins[++count] = to;
        if (at == size || data[at] != csv->delimiter) break;
        at++;
    }
    if (at < size && data[at] == '\r') {
        if (at + 1 == size && !last) return 0; /* a line feed may follow */
        at += at + 1 < size && data[at + 1] == '\n';
    }
    fields->splits[++fields->rows] = count;
    return at < size ? at + 1 : size;
}
