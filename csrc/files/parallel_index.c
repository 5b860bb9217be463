/* SPDX-License-Identifier: Apache-2.0 */
#include "files/parallel_index.h"

#include <stdlib.h>

#include "base/task_ring.h"

#define WORTH_THREADS ((uint64_t)8 << 20) /* bytes; fewer are read before a thread starts */
#define OPENING ((uint64_t)16 << 10)      /* bytes read in the time that opening a file takes */
#define DEPTH 1024  /* files that may be scanned ahead of the first unfinished one */
#define SLICE 65536 /* records indexed between checks of `stopping` */

struct fr_parallel_index {
    fr_dataset *dataset;
    fr_task_ring *ring;
    atomic_bool stopping;
};

bool fr_parallel_index_pays(const fr_dataset *dataset) {
    uint64_t work = 0, longest = 0;
    for (size_t i = 0; i < dataset->file_count; i++) {
        if (dataset->files[i].index.done) continue;
        const uint64_t size = dataset->files[i].stamp.size + OPENING;
        work += size;
        longest = size > longest ? size : longest;
    }
    return work - longest >= WORTH_THREADS / 2 && work >= WORTH_THREADS;
}

static int scan_file(void *context, size_t member, size_t number, fr_error *err) {
    (void)member;
    fr_parallel_index *scan = context;
    int status = FR_AGAIN;
    while (status == FR_AGAIN && !atomic_load_explicit(&scan->stopping, memory_order_relaxed))
        status = fr_dataset_scan_file(scan->dataset, number, SLICE, err);
    return status;
}

int fr_parallel_index_start(fr_dataset *dataset, size_t threads, fr_parallel_index **scan,
                            fr_error *err) {
    fr_parallel_index *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    made->dataset = dataset;
    const size_t depth = dataset->file_count < DEPTH ? dataset->file_count + 1 : DEPTH;
    const fr_task_ring_options options = {.task = scan_file,
                                          .context = made,
                                          .count = dataset->file_count,
                                          .depth = depth,
                                          .threads = threads};
    int status = fr_task_ring_start(&options, &made->ring, err);
    if (status != FR_OK) {
        free(made);
        return status;
    }
    *scan = made;
    return FR_OK;
}

int fr_parallel_index_wait(fr_parallel_index *scan, int timeout_ms, fr_error *err) {
    size_t number;
    int status = fr_task_ring_next(scan->ring, timeout_ms, &number, err);
    return status == FR_END ? FR_OK : status == FR_OK ? FR_AGAIN : status;
}

void fr_parallel_index_free(fr_parallel_index *scan) {
    if (!scan) return;
    atomic_store_explicit(&scan->stopping, true, memory_order_relaxed);
    fr_task_ring_free(scan->ring);
    free(scan);
}
