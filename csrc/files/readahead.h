/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from a disk with a deep queue: the records of a batch are announced to the system all at
 * once, before the first of them is waited for.
 *
 * On a file that is in memory an announcement is a wasted system call a record. So a thread makes
 * none when the system says that the records are there, or when its reads have not had to wait for
 * the disk for some batches; until one does.
 *
 * A single fr_readahead is for one thread, which must not change.
 */
#ifndef FASTREC_READAHEAD_H
#define FASTREC_READAHEAD_H

#include "files/dataset.h"

/* All-zero is valid. */
typedef struct {
    fr_announce how; /* records are announced */
    bool asked;      /* the system, whether the file is in memory */
    bool warm;       /* the file is in memory, as far as it was read lately */
    unsigned calm;   /* batches since one had to wait for the disk */
    int64_t faults;  /* of this thread, when the batch began */
} fr_readahead;

/* Before a batch is read: announces its records, unless `announced` says that they are. */
void fr_readahead_begin(fr_readahead *ahead, const fr_dataset *dataset, const uint64_t *numbers,
                        uint64_t rows, bool announced);

/* Announces the records of a batch that is read later. For when it is not warm. */
void fr_readahead_announce(const fr_readahead *ahead, const fr_dataset *dataset,
                           const uint64_t *numbers, uint64_t rows);

/* Says of the records of a batch that they will not be read again soon: fr_dataset_retire(). */
void fr_readahead_retire(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows);

/* After it was read. */
void fr_readahead_end(fr_readahead *ahead);

#endif
