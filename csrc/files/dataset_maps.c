/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are mapped and unmapped under one lock, which is taken once for the records of some dozen
 * rows. The lock is held only to count files and move them between lists. Files are opened and
 * closed without it.
 *
 * Two threads may open the same file at once. The second one then uses the maps of the first and
 * closes its own.
 */
#include "files/dataset_internal.h"

#include <stdlib.h>

#include "base/thread.h"

#define NONE UINT32_MAX

/* A list of the files that are mapped and not held, in the order in which they were released. */
struct fr_dataset_maps {
    size_t limit, open; /* numbers of maps */
    uint32_t oldest, newest;
    bool scattered; /* whether new maps are for random access */
};

/* One lock for all datasets, because fork() waits for it. */
static fr_mutex lock = FR_MUTEX_INIT;

int fr_dataset_maps_new(fr_dataset *dataset, size_t limit, fr_error *err) {
    const int failed = fr_mutex_keep_at_fork(&lock);
    if (failed) return fr_fail_io(err, failed, "pthread_atfork");
    dataset->maps = malloc(sizeof *dataset->maps);
    if (!dataset->maps) return fr_fail_nomem(err, sizeof *dataset->maps);
    *dataset->maps = (struct fr_dataset_maps){.limit = limit, .oldest = NONE, .newest = NONE};
    return FR_OK;
}

void fr_dataset_maps_free(fr_dataset *dataset) {
    free(dataset->maps);
    dataset->maps = NULL;
}

static void close_views(fr_dataset_views *views) {
    fr_file_map_close(&views->map);
    fr_file_map_close(&views->beside);
}

/* ---- The list of mapped files; call with the lock held ----------------------------------------*/

static void leave_list(const fr_dataset *dataset, uint32_t number) {
    const fr_dataset_file *file = &dataset->files[number];
    if (file->older == NONE)
        dataset->maps->oldest = file->newer;
    else
        dataset->files[file->older].newer = file->newer;
    if (file->newer == NONE)
        dataset->maps->newest = file->older;
    else
        dataset->files[file->newer].older = file->older;
}

static void enter_list(const fr_dataset *dataset, uint32_t number) {
    fr_dataset_file *file = &dataset->files[number];
    file->older = dataset->maps->newest;
    file->newer = NONE;
    if (file->older == NONE)
        dataset->maps->oldest = number;
    else
        dataset->files[file->older].newer = number;
    dataset->maps->newest = number;
}

/* Sets `missing` to the files that have to be opened, and returns their number. */
static size_t hold_files(const fr_dataset *dataset, const fr_dataset_hold *hold,
                         uint32_t *missing) {
    size_t count = 0;
    for (size_t i = 0; i < hold->count; i++) {
        fr_dataset_file *file = &dataset->files[hold->files[i]];
        if (file->mapped && file->holds == 0) leave_list(dataset, hold->files[i]);
        if (!file->mapped) missing[count++] = hold->files[i];
        file->holds++;
    }
    return count;
}

void fr_dataset_maps_publish(const fr_dataset *dataset, size_t number) {
    const fr_dataset_file *file = &dataset->files[number];
    fr_dataset_range *range = &dataset->ranges[number];
    range->data = file->map.bytes.data;
    range->table = file->index.table;
    range->told = file->told;
}

/* Copies the state of a listed file that was opened for the first time. */
static void know_file(fr_dataset_file *file, fr_dataset_file *now) {
    file->stamp = now->stamp;
    file->index = now->index;
    file->beside_stamp = now->beside_stamp;
    file->is_beside = now->is_beside;
    file->told = now->told;
    file->listed = false;
    now->index = (fr_index){0};
}

/* Gives the file the maps in `views`, unless another thread has already given it maps; `views`
   then keeps its maps. Returns false if the state of the file changed since they were opened. */
static bool give_maps(const fr_dataset *dataset, uint32_t number, fr_dataset_file *now,
                      fr_dataset_views *views) {
    fr_dataset_file *file = &dataset->files[number];
    if (file->mapped) return true;
    if (file->listed != now->listed) return false;
    if (file->listed) know_file(file, now);
    if (dataset->maps->scattered) fr_file_map_scatter(&views->map);
    file->map = views->map;
    file->beside = views->beside;
    if (file->is_beside) file->index.table = views->table;
    *views = (fr_dataset_views){0};
    file->mapped = file->checked = true;
    dataset->maps->open += 1 + file->is_beside;
    fr_dataset_maps_publish(dataset, number);
    return true;
}

static void take_maps(const fr_dataset *dataset, uint32_t number, fr_dataset_views *views) {
    fr_dataset_file *file = &dataset->files[number];
    *views = (fr_dataset_views){.map = file->map, .beside = file->beside};
    file->map = file->beside = (fr_file_map){0};
    if (file->is_beside) file->index.table = (fr_span){0};
    file->mapped = false;
    dataset->maps->open -= 1 + file->is_beside;
    fr_dataset_maps_publish(dataset, number);
}

/* Takes maps beyond the limit from the files released first. */
static size_t drop_some(const fr_dataset *dataset, fr_dataset_views *dropped) {
    size_t count = 0;
    while (dataset->maps->open > dataset->maps->limit && dataset->maps->oldest != NONE &&
           count < FR_DATASET_AT_ONCE) {
        const uint32_t number = dataset->maps->oldest;
        leave_list(dataset, number);
        take_maps(dataset, number, &dropped[count++]);
    }
    return count;
}

void fr_dataset_maps_scatter(const fr_dataset *dataset) {
    fr_mutex_lock(&lock);
    for (size_t i = 0; i < dataset->file_count && !dataset->maps->scattered; i++)
        if (dataset->files[i].mapped) fr_file_map_scatter(&dataset->files[i].map);
    dataset->maps->scattered = true;
    fr_mutex_unlock(&lock);
}

/* ---- Holding files ----------------------------------------------------------------------------*/

/* Sets *mapped to false if another thread both opened and released the file in the meantime. */
static int try_to_map(const fr_dataset *dataset, uint32_t number, const atomic_bool *stop,
                      bool *mapped, fr_error *err) {
    fr_dataset_views views = {0};
    fr_mutex_lock(&lock);
    fr_dataset_file now = dataset->files[number];
    fr_mutex_unlock(&lock);
    *mapped = now.mapped;
    if (*mapped) return FR_OK; /* the file was missing twice */
    int status = fr_dataset_file_open(dataset, &now, &views, stop, err);
    if (status == FR_OK) {
        fr_mutex_lock(&lock);
        *mapped = give_maps(dataset, number, &now, &views);
        fr_mutex_unlock(&lock);
        if (now.listed) fr_index_free(&now.index);
    }
    close_views(&views);
    return status;
}

static int map_file(const fr_dataset *dataset, uint32_t number, const atomic_bool *stop,
                    fr_error *err) {
    bool mapped = false;
    int status = FR_OK;
    while (status == FR_OK && !mapped)
        status = try_to_map(dataset, number, stop, &mapped, err);
    if (status < 0 && err) err->file = (int64_t)number;
    return status;
}

int fr_dataset_maps_hold(const fr_dataset *dataset, const uint32_t *files, size_t count,
                         fr_dataset_hold *hold, fr_error *err) {
    uint32_t missing[FR_DATASET_AT_ONCE];
    memcpy(hold->files, files, count * sizeof *files);
    hold->count = count;
    fr_mutex_lock(&lock);
    const size_t opened = hold_files(dataset, hold, missing);
    fr_mutex_unlock(&lock);
    for (size_t i = 0; i < opened; i++)
        FR_TRY(map_file(dataset, missing[i], hold->stop, err));
    return FR_OK;
}

void fr_dataset_let_go(const fr_dataset *dataset, fr_dataset_hold *hold) {
    fr_buffer_free(&hold->frames);
    if (hold->count == 0) return;
    fr_dataset_views dropped[FR_DATASET_AT_ONCE];
    fr_mutex_lock(&lock);
    for (size_t i = 0; i < hold->count; i++) {
        fr_dataset_file *file = &dataset->files[hold->files[i]];
        if (--file->holds == 0 && file->mapped) enter_list(dataset, hold->files[i]);
    }
    const size_t count = drop_some(dataset, dropped);
    fr_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++)
        close_views(&dropped[i]);
    hold->count = 0;
}
