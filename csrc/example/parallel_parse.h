/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch, parsed by several threads.
 *
 * The records are cut into runs of about the same size in bytes, one a thread. Each thread has a
 * parser and columns of its own: rows of a fixed size go where they belong in the one shared block,
 * and the rest is put together at the end. Threads share nothing that changes, so there is no lock;
 * what comes out does not depend on their number.
 */
#ifndef FASTREC_PARALLEL_PARSE_H
#define FASTREC_PARALLEL_PARSE_H

#include "example/parse.h"

#define FR_PARALLEL_PARSE_MAX 16

/* A thread starts in about 20 microseconds, in which this many bytes are parsed several times. */
#define FR_PARALLEL_PARSE_BYTES ((size_t)1 << 19)

/*
 * Parses `records` into `columns`, begun for that many. At most `threads`, 1 to
 * FR_PARALLEL_PARSE_MAX, are used, the calling one among them, and none that a thread's start would
 * not pay for. The error is that of the first record that has one; err->record is its number.
 */
FR_NODISCARD int fr_parallel_parse(const fr_schema *schema, const fr_span *records, size_t count,
                                   size_t threads, fr_columns *columns, fr_error *err);

/* Records, wherever they are: `parse` appends the rows of `count` of them from `first` on. */
typedef struct {
    const void *self;
    int (*parse)(const void *self, fr_parser *parser, size_t first, size_t count,
                 fr_columns *columns, fr_error *err);
} fr_row_source;

/*
 * Appends rows to `columns`, which has room for them. Thread i of `threads`, 1 to
 * FR_PARALLEL_PARSE_MAX, makes those from firsts[i] to firsts[i + 1], the first of them 0. The
 * error is that of the first run that has one, as `parse` gave it.
 */
FR_NODISCARD int fr_parallel_rows(const fr_schema *schema, const fr_row_source *source,
                                  const size_t *firsts, size_t threads, fr_columns *columns,
                                  fr_error *err);

#endif
