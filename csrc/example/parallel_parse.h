/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one batch on several threads.
 *
 * The records are divided into runs of about the same size in bytes, one per thread. Each thread
 * has a separate parser and separate columns: rows of a fixed size are written directly to the
 * shared block, and the rest is concatenated at the end. Threads share no mutable data, so no lock
 * is needed, and the result does not depend on their number.
 */
#ifndef FASTREC_PARALLEL_PARSE_H
#define FASTREC_PARALLEL_PARSE_H

#include "example/parse.h"

#define FR_PARALLEL_PARSE_MAX 16

/* Bytes per thread from which a thread pays off. Starting one takes about 20 microseconds, in which
   this many bytes are parsed several times. */
#define FR_PARALLEL_PARSE_BYTES ((size_t)1 << 19)

/*
 * Parses `records` into `columns`, which were begun for that many. Uses at most `threads` threads
 * (1 to FR_PARALLEL_PARSE_MAX), including the calling one, and only as many as pay off. Returns the
 * error of the first record that has one; err->record is its number.
 */
FR_NODISCARD int fr_parallel_parse(const fr_schema *schema, const fr_span *records, size_t count,
                                   size_t threads, fr_columns *columns, fr_error *err);

/* A source of records: `parse` appends the rows of `count` records, starting at `first`. */
typedef struct {
    const void *self;
    int (*parse)(const void *self, fr_parser *parser, size_t first, size_t count,
                 fr_columns *columns, fr_error *err);
} fr_row_source;

/*
 * Appends rows to `columns`, which must have memory for them. Thread i of `threads` (1 to
 * FR_PARALLEL_PARSE_MAX) makes rows firsts[i] to firsts[i + 1]; firsts[0] is 0. Returns the error
 * of the first run that has one, as `parse` reported it.
 */
FR_NODISCARD int fr_parallel_rows(const fr_schema *schema, const fr_row_source *source,
                                  const size_t *firsts, size_t threads, fr_columns *columns,
                                  fr_error *err);

#endif
