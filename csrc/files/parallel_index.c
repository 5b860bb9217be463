/* SPDX-License-Identifier: Apache-2.0 */
#include "files/parallel_index.h"

#include <stdlib.h>

#include "base/task_ring.h"

#define WORTH_THREADS ((size_t)4 << 20) /* bytes; a smaller file is read before a thread starts */
#define SLICE 65536                     /* records, between looks at whether anybody waits */

struct fr_parallel_index {
    fr_dataset *dataset;
    fr_task_ring *ring;
    atomic_bool stopping;
};

bool fr_parallel_index_pays(const fr_dataset *dataset) {
    size_t large = 0;
    for (size_t i = 0; i < dataset->file_count && large < 2; i++) {
        const fr_dataset_file *file = &dataset->files[i];
        large += !file->index.done && file->map.bytes.size >= WORTH_THREADS;
    }
    return large >= 2;
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
    const fr_task_ring_options options = {.task = scan_file,
                                          .context = made,
                                          .count = dataset->file_count,
                                          .depth = dataset->file_count + 1,
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
