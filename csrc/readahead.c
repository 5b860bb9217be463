/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first record of each batch is never announced. It has to be waited for in any case, with the
 * others on their way, and whether it was (a major page fault) tells if the file is still cold.
 */
#include "readahead.h"

#include <sys/resource.h>

#define CALM_BATCHES 16

/* Page faults of this thread that waited for the disk; of the process where threads are not told
   apart. */
static int64_t major_faults(void) {
    struct rusage usage;
#if defined(RUSAGE_THREAD)
    int failed = getrusage(RUSAGE_THREAD, &usage);
#else
    int failed = getrusage(RUSAGE_SELF, &usage);
#endif
    return failed ? 0 : (int64_t)usage.ru_majflt;
}

void fr_readahead_announce(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows) {
    for (uint64_t row = 1; row < rows; row++)
        fr_dataset_announce(dataset, numbers[row]);
}

void fr_readahead_begin(fr_readahead *ahead, const fr_dataset *dataset, const uint64_t *numbers,
                        uint64_t rows, bool announced) {
    ahead->faults = major_faults();
    if (ahead->warm || rows == 0) return;
    if (!announced) fr_readahead_announce(dataset, numbers, rows);
    (void)*(const volatile uint8_t *)fr_dataset_frame(dataset, numbers[0]);
    ahead->calm = major_faults() > ahead->faults ? 0 : ahead->calm + 1;
    if (ahead->calm >= CALM_BATCHES) ahead->warm = true;
    fr_dataset_announce(dataset, numbers[0]);
    ahead->faults = INT64_MAX;
}

void fr_readahead_end(fr_readahead *ahead) {
    if (!ahead->warm || major_faults() <= ahead->faults) return;
    ahead->warm = false;
    ahead->calm = 0;
}
