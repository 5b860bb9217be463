/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records by number from their files, checks them, and parses them into rows.
 */
#ifndef FASTREC_GATHER_H
#define FASTREC_GATHER_H

#include <stdatomic.h>

#include "example/parallel_parse.h"
#include "files/readahead.h"

/* All pointers are borrowed. */
typedef struct {
    const fr_dataset *dataset;
    fr_parser *parser;
    bool scattered; /* records are in memory, in an order that a processor cannot predict */
    const atomic_bool *stop; /* if it becomes true, reading stops; or NULL */
} fr_gather;

/*
 * Appends one row to `columns` for each record, or leaves the record out (fr_columns_leave_out()).
 * Returns FR_AGAIN if `stop` became true. Errors of reading and parsing have file, record within
 * the file, and offset. After an error or FR_AGAIN, the columns can only be reset or freed.
 * REQUIRES: `columns` has capacity for all rows.
 */
FR_NODISCARD int fr_gather_rows(const fr_gather *gather, const uint64_t *numbers, uint64_t rows,
                                fr_columns *columns, fr_error *err);

/*
 * Does the same as fr_gather_rows(), in `threads` threads (1 to FR_PARALLEL_PARSE_MAX) that each
 * parse one run of the records. The records may be in any order. Records that are not in memory are
 * announced.
 */
FR_NODISCARD int fr_gather_batch(const fr_dataset *dataset, const fr_schema *schema,
                                 fr_readahead *ahead, const uint64_t *numbers, size_t rows,
                                 size_t threads, fr_columns *columns, fr_error *err);

#endif
