/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records by number, read where they lie in their files, checked, and parsed into rows.
 */
#ifndef FASTREC_GATHER_H
#define FASTREC_GATHER_H

#include <stdatomic.h>

#include "example/parallel_parse.h"
#include "files/readahead.h"

/* Everything is borrowed. */
typedef struct {
    const fr_dataset *dataset;
    fr_parser *parser;
    bool scattered; /* the records are in memory, in no order that a processor would foresee */
    const atomic_bool *stop; /* or NULL */
} fr_gather;

/*
 * Appends a row for each record to `columns`, begun for as many, or leaves the record out
 * (fr_columns_leave_out()). FR_AGAIN when `stop` became true.
 * Errors of reading and of parsing have file, record within it and offset; after one, and after
 * FR_AGAIN, the columns can only be begun anew or freed.
 */
FR_NODISCARD int fr_gather_rows(const fr_gather *gather, const uint64_t *numbers, uint64_t rows,
                                fr_columns *columns, fr_error *err);

/*
 * As fr_gather_rows() of records in any order, cut into one run for each of `threads`, 1 to
 * FR_PARALLEL_PARSE_MAX. Records that are not in memory are announced.
 */
FR_NODISCARD int fr_gather_batch(const fr_dataset *dataset, const fr_schema *schema,
                                 fr_readahead *ahead, const uint64_t *numbers, size_t rows,
                                 size_t threads, fr_columns *columns, fr_error *err);

#endif
