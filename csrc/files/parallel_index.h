/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a dataset indexed side by side, a thread a file: what fr_dataset_scan() does one
 * after the other, and what it has nothing left to do of but to number the records.
 *
 * The dataset must not be used until the scan is freed.
 */
#ifndef FASTREC_SCAN_H
#define FASTREC_SCAN_H

#include "files/dataset.h"

typedef struct fr_scan fr_scan;

/* Whether there is enough to do for several threads. */
bool fr_scan_pays(const fr_dataset *dataset);

FR_NODISCARD int fr_scan_start(fr_dataset *dataset, size_t threads, fr_scan **scan, fr_error *err);

/* FR_OK when every file is indexed, FR_AGAIN after `timeout_ms` or sooner until then, or the error
   that fr_dataset_scan() would give. */
FR_NODISCARD int fr_scan_wait(fr_scan *scan, int timeout_ms, fr_error *err);

/* Ends it, also half-way, and waits for its threads. NULL is fine. */
void fr_scan_free(fr_scan *scan);

#endif
