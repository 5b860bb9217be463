/* SPDX-License-Identifier: Apache-2.0 */
/* Splits rows of comma-separated values into fields. */
#ifndef FASTREC_CSV_H
#define FASTREC_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool stops[256]; /* bytes that end a field: delimiter, line feed, carriage return */
    uint8_t delimiter;
    bool quoted; /* fields may be in quotes */
} fr_csv;

/* The fields of consecutive rows. Row i has the fields splits[i]..splits[i + 1], field k has the
   bytes out[begins[k]..begins[k + 1]). */
typedef struct {
    uint8_t *out;
    int64_t *begins, *splits;
    size_t rows;
} fr_csv_fields;

/* REQUIRES: `delimiter` is not a quote, line feed or carriage return. */
void fr_csv_init(fr_csv *csv, uint8_t delimiter, bool quoted);

/* Returns the number of bytes that end fields, including such bytes in quotes. */
size_t fr_csv_stops(const fr_csv *csv, const uint8_t *data, size_t size);

/*
 * Adds the fields of the row at `data`, of which `size` bytes are available, or all if it is the
 * `last`. Returns the row's size including its line end. Returns 0, and adds nothing, if the row is
 * incomplete or its quotes do not match.
 *
 * REQUIRES: `fields` has space for `size` more bytes (which may be overwritten after the row's own
 * bytes), and for one field and one row more than the number of bytes that end fields.
 */
size_t fr_csv_row(const fr_csv *csv, const uint8_t *data, size_t size, bool last,
                  fr_csv_fields *fields);

#endif
