/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first record of each batch is never announced. The read has to wait for it in any case, while
 * the others are being read. Whether it caused a major page fault tells if the file is still cold.
 *
 * The check of which pages are in memory is made only once, for a few records of the first batch.
 * The answer may be wrong, but the reads that follow correct it. One of them then reads a record
 * from the disk that was not announced, and not the whole file around it.
 */
#include "files/readahead.h"

#include "base/platform.h"

#define CALM_BATCHES 16
#define SAMPLES 16

/* Returns the number of leading rows whose records are consecutive. */
static uint64_t run_of(const uint64_t *numbers, uint64_t rows) {
    uint64_t count = 1;
    while (count < rows && numbers[count] == numbers[count - 1] + 1)
        count++;
    return count;
}

void fr_readahead_announce(const fr_readahead *ahead, const fr_dataset *dataset,
                           const uint64_t *numbers, uint64_t rows) {
    for (uint64_t row = 1, run; row < rows; row += run) {
        run = run_of(numbers + row, rows - row);
        fr_dataset_announce(dataset, numbers[row], run, ahead->how);
    }
}

void fr_readahead_retire(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows) {
    for (uint64_t row = 0, run; row < rows; row += run) {
        run = run_of(numbers + row, rows - row);
        fr_dataset_retire(dataset, numbers[row], run);
    }
}

static bool all_resident(const fr_dataset *dataset, const uint64_t *numbers, uint64_t rows) {
    const uint64_t step = rows / SAMPLES + 1;
    for (uint64_t row = 0; row < rows; row += step)
        if (!fr_dataset_resident(dataset, numbers[row])) return false;
    return true;
}

/* Reads the middle of a record, because its ends share pages with headers that an index scan may
   have read. Errors are ignored here; the read of the record reports them. */
static void wait_for(const fr_dataset *dataset, uint64_t number) {
    fr_dataset_place place;
    fr_dataset_hold hold = {.stop = &fr_dataset_no_indexing};
    if (fr_dataset_resolve(dataset, &number, 1, &place, &hold, NULL) == FR_OK && place.frame.size)
        (void)*(const volatile uint8_t *)(place.frame.data + place.frame.size / 2);
    fr_dataset_let_go(dataset, &hold);
}

static int64_t disk_faults(void) {
    return (int64_t)fr_thread_disk_faults();
}

/* Announces the records. Returns true if the first record had to be read from the disk. */
static bool announce_and_wait(const fr_readahead *ahead, const fr_dataset *dataset,
                              const uint64_t *numbers, uint64_t rows, bool announced) {
    if (!announced) fr_readahead_announce(ahead, dataset, numbers, rows);
    wait_for(dataset, numbers[0]);
    return disk_faults() > ahead->faults;
}

void fr_readahead_begin(fr_readahead *ahead, const fr_dataset *dataset, const uint64_t *numbers,
                        uint64_t rows, bool announced) {
    if (rows == 0) return;
    if (dataset->reads || dataset->spans) { /* resolving records reads them */
        ahead->warm = true;
        ahead->faults = INT64_MAX;
        return;
    }
    if (!ahead->asked) {
        ahead->asked = true;
        if (ahead->how != FR_ANNOUNCE_AROUND) fr_dataset_scatter(dataset);
        ahead->warm = all_resident(dataset, numbers, rows);
    }
    ahead->faults = disk_faults();
    if (ahead->warm) return;
    ahead->calm = announce_and_wait(ahead, dataset, numbers, rows, announced) ? 0 : ahead->calm + 1;
    if (ahead->calm >= CALM_BATCHES) ahead->warm = true;
    fr_dataset_announce(dataset, numbers[0], 1, ahead->how);
    ahead->faults = INT64_MAX;
}

void fr_readahead_end(fr_readahead *ahead) {
    if (!ahead->warm || disk_faults() <= ahead->faults) return;
    ahead->warm = false;
    ahead->calm = 0;
}
