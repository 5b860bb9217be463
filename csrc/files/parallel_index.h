/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a dataset indexed side by side, a thread a file: what fr_dataset_scan() does one
 * after the other, and what it has nothing left to do of but to number the records.
 *
 * The dataset must not be used until the scan is freed.
 */
#ifndef FASTREC_PARALLEL_INDEX_H
#define FASTREC_PARALLEL_INDEX_H

#include "files/dataset.h"

typedef struct fr_parallel_index fr_parallel_index;

/* Whether there is enough to do for several threads. */
bool fr_parallel_index_pays(const fr_dataset *dataset);

FR_NODISCARD int fr_parallel_index_start(fr_dataset *dataset, size_t threads,
                                         fr_parallel_index **scan, fr_error *err);

/* FR_OK when every file is indexed, FR_AGAIN after `timeout_ms` or sooner until then, or the error
   that fr_dataset_scan() would give. */
FR_NODISCARD int fr_parallel_index_wait(fr_parallel_index *scan, int timeout_ms, fr_error *err);

/* Ends it, also half-way, and waits for its threads. NULL is fine. */
void fr_parallel_index_free(fr_parallel_index *scan);

#endif
