/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the queue of a disk full: announces all records of a batch to the system before waiting for
 * the first.
 *
 * If a file is in memory, an announcement is a wasted system call for each record. A thread
 * therefore stops announcing if the system says that the records are in memory, or if its reads
 * have not waited for the disk for some batches. It announces again after a read that had to wait.
 *
 * An fr_readahead belongs to one thread for its lifetime.
 */
#ifndef FASTREC_READAHEAD_H
#define FASTREC_READAHEAD_H

#include "files/dataset.h"

/* All-zero is a valid initial state. */
typedef struct {
    fr_announce how; /* how records are announced */
    bool asked;      /* the system was asked if the file is in memory */
    bool warm;       /* recent reads found the file in memory */
    unsigned calm;   /* batches since one had to wait for the disk */
    int64_t faults;  /* disk faults of this thread when the batch began */
} fr_readahead;

/* Call before reading a batch. Announces its records unless `announced` says that they were
   announced. */
void fr_readahead_begin(fr_readahead *ahead, const fr_dataset *dataset, const uint64_t *numbers,
                        uint64_t rows, bool announced);

/* Announces the records of a batch that is read later. Useful if `ahead` is not warm. */
void fr_readahead_announce(const fr_readahead *ahead, const fr_dataset *dataset,
                           const uint64_t *numbers, uint64_t rows);

/* States that the records of a batch will not be read again soon, see fr_dataset_retire(). */
void fr_readahead_retire(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows);

/* Call after reading the batch. */
void fr_readahead_end(fr_readahead *ahead);

#endif
