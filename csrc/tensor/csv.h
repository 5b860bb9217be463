/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of comma-separated values, cut into fields. */
#ifndef FASTREC_CSV_H
#define FASTREC_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool stops[256]; /* the bytes that end a field: the delimiter, line feed, carriage return */
    uint8_t delimiter;
    bool quoted; /* whether fields may stand in quotes */
} fr_csv;

/* Fields of rows, one after the other. Row i has the fields splits[i]..splits[i + 1], field k the
   bytes out[begins[k]..begins[k + 1]). */
typedef struct {
    uint8_t *out;
    int64_t *begins, *splits;
    size_t rows;
} fr_csv_fields;

/* `delimiter` is no quote, line feed or carriage return. */
void fr_csv_init(fr_csv *csv, uint8_t delimiter, bool quoted);

/* How many bytes end fields, or stand in quotes and would. */
size_t fr_csv_stops(const fr_csv *csv, const uint8_t *data, size_t size);

/*
 * Adds the fields of the row at `data`, of which `size` bytes are there, and all if it is the
 * `last`. Returns its bytes with those that end it; 0, with nothing added, for a row that is not
 * there wholly or whose quotes do not go together. `fields` has room for `size` bytes more, which
 * are changed also behind those of the row, and for one more field and row than the bytes that end
 * fields.
 */
size_t fr_csv_row(const fr_csv *csv, const uint8_t *data, size_t size, bool last,
                  fr_csv_fields *fields);

#endif
