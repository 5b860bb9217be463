/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes the files of a dataset in parallel, with one thread for each file. fr_dataset_scan() does
 * the same sequentially; afterwards it only has to number the records.
 *
 * The dataset must not be used until the scan is freed.
 */
#ifndef FASTREC_PARALLEL_INDEX_H
#define FASTREC_PARALLEL_INDEX_H

#include "files/dataset.h"

typedef struct fr_parallel_index fr_parallel_index;

/* Returns true if the files are large enough for several threads to be faster. */
bool fr_parallel_index_pays(const fr_dataset *dataset);

FR_NODISCARD int fr_parallel_index_start(fr_dataset *dataset, size_t threads,
                                         fr_parallel_index **scan, fr_error *err);

/* Returns FR_OK when every file is indexed, FR_AGAIN after at most `timeout_ms`, or the error
   that fr_dataset_scan() would return. */
FR_NODISCARD int fr_parallel_index_wait(fr_parallel_index *scan, int timeout_ms, fr_error *err);

/* Stops the scan, even if it is incomplete, and waits for its threads. NULL is allowed. */
void fr_parallel_index_free(fr_parallel_index *scan);

#endif
