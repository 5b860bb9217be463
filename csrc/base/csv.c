/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include <string.h>

static const uint8_t QUOTE = '"';

void fr_csv_init(fr_csv *csv, uint8_t delimiter, bool quoted) {
    memset(csv->stops, 0, sizeof csv->stops);
    csv->stops[delimiter] = csv->stops['\n'] = csv->stops['\r'] = true;
    csv->delimiter = delimiter;
    csv->quoted = quoted;
}

/* The place after a field that began with a quote; `size` + 1 where it is not there wholly. */
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

/* The place after a field without quotes; `size` + 1 where it is not there wholly. */
static size_t plain(const fr_csv *csv, const uint8_t *data, size_t at, size_t size, bool last,
                    uint8_t *out, int64_t *to) {
    size_t stop = at;
    while (stop < size && !csv->stops[data[stop]])
        stop++;
    if (stop == size && !last) return size + 1;
    if (stop == at) return stop;
    if (csv->quoted && memchr(data + at, QUOTE, stop - at)) return size + 1;
    memcpy(out + *to, data + at, stop - at);
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
