/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps come and go under one lock, which is taken once for the records of some dozen rows: while it
 * is held files are only counted and moved between lists. They are opened and closed without it.
 *
 * Two threads may open a file at the same time; the second finds the maps of the first and closes
 * its own.
 */
#include "files/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NONE UINT32_MAX

/* The files that are mapped and that nobody holds, by when they were let go. */
struct fr_dataset_maps {
    size_t limit, open; /* maps */
    uint32_t oldest, newest;
};

/* The maps of a file. */
typedef struct {
    fr_file_map map, beside;
    fr_span table; /* in `beside` */
} maps_of_file;

/* One lock for all datasets, so that a child of fork() finds it open. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fork_failed;

static void take_lock(void) {
    pthread_mutex_lock(&lock);
}

static void leave_lock(void) {
    pthread_mutex_unlock(&lock);
}

static void prepare_for_forks(void) {
    fork_failed = pthread_atfork(take_lock, leave_lock, leave_lock);
}

int fr_dataset_maps_new(fr_dataset *dataset, size_t limit, fr_error *err) {
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    pthread_once(&prepared, prepare_for_forks);
    if (fork_failed) return fr_fail_io(err, fork_failed, "pthread_atfork");
    dataset->maps = malloc(sizeof *dataset->maps);
    if (!dataset->maps) return fr_fail_nomem(err, sizeof *dataset->maps);
    *dataset->maps = (struct fr_dataset_maps){.limit = limit, .oldest = NONE, .newest = NONE};
    return FR_OK;
}

void fr_dataset_maps_free(fr_dataset *dataset) {
    free(dataset->maps);
    dataset->maps = NULL;
}

static void close_maps(maps_of_file *maps) {
    fr_file_map_close(&maps->map);
    fr_file_map_close(&maps->beside);
}

/* ---- Opening a file, or opening it again ----------------------------------------------------- */

static int compare_stamps(const fr_file_stamp *was, const fr_file_stamp *is, fr_error *err) {
    if (fr_file_stamp_equal(was, is)) return FR_OK;
    if (is->size < was->size) {
        fr_fail(err, FR_ERR_TRUNCATED,
                "the file shrank while it was read, it had %" PRIu64 " bytes", was->size);
        if (err) err->fault = FR_FAULT_SHRUNK;
        return FR_ERR_TRUNCATED;
    }
    fr_fail(err, FR_ERR_CORRUPT, "the file was replaced or written to while it was read");
    if (err) err->fault = FR_FAULT_CHANGED;
    return FR_ERR_CORRUPT;
}

static char *name_beside(const fr_dataset_file *file) {
    const size_t size = strlen(file->path) + sizeof FR_INDEX_SUFFIX;
    char *name = malloc(size);
    if (name) snprintf(name, size, "%s%s", file->path, FR_INDEX_SUFFIX);
    return name;
}

static int open_beside(const fr_dataset_file *file, fr_file_map *map, fr_error *err) {
    char *name = name_beside(file);
    if (!name) return fr_fail_nomem(err, strlen(file->path));
    int status = fr_file_map_open(map, name, err);
    free(name);
    return status;
}

static int compare_file(const fr_dataset_file *file, const fr_file_stamp *stamp, fr_error *err) {
    if (fr_file_stamp_equal(stamp, &file->stamp)) return FR_OK;
    return fr_fail(err, FR_ERR_INDEX,
                   "it was made from a file of %" PRIu64 " bytes, or the file was changed since",
                   stamp->size);
}

/* The index in `bytes`, looked at as a whole. */
static int load_beside(const fr_dataset_file *file, fr_span bytes, fr_index *index, fr_error *err) {
    fr_file_stamp stamp;
    FR_TRY(fr_index_load(index, bytes, &stamp, err));
    return compare_file(file, &stamp, err);
}

/* An index that is mapped again is believed to be what it was. */
static int read_beside(const fr_dataset_file *file, bool checked, maps_of_file *maps,
                       fr_error *err) {
    if (!fr_file_stamp_equal(&maps->beside.stamp, &file->beside_stamp))
        return fr_fail(err, FR_ERR_INDEX, "it was changed while the file was read");
    maps->table = fr_span_after(maps->beside.bytes, FR_INDEX_HEAD);
    if (checked) return FR_OK;
    fr_index index = {0};
    int status = load_beside(file, maps->beside.bytes, &index, err);
    fr_index_free(&index);
    return status;
}

static int open_maps(const fr_dataset_file *file, bool checked, maps_of_file *maps, fr_error *err) {
    FR_TRY(fr_file_map_open(&maps->map, file->path, err));
    FR_TRY(compare_stamps(&file->stamp, &maps->map.stamp, err));
    if (!file->is_beside) return FR_OK;
    FR_TRY(open_beside(file, &maps->beside, err));
    return read_beside(file, checked, maps, err);
}

/* The index stays where it is when it can be used as it is, and else is in memory. */
static int map_beside(fr_dataset_file *file, fr_error *err) {
    FR_TRY(open_beside(file, &file->beside, err));
    int status = load_beside(file, file->beside.bytes, &file->index, err);
    if (status == FR_OK) status = fr_file_map_check(&file->beside, err);
    file->told = status == FR_OK;
    file->is_beside = file->told && file->index.memory.data == NULL;
    if (!file->is_beside) fr_file_map_close(&file->beside);
    if (!file->told) fr_index_free(&file->index);
    return status;
}

/* A shorter index is kept in memory: a map of it would take as much. */
#define SHORT 4096

/* The beginning of an index. */
typedef struct {
    uint8_t bytes[SHORT];
    size_t size;
    fr_file_stamp stamp;
} opening;

static int read_opening(int fd, opening *o, fr_error *err) {
    ssize_t size;
    FR_TRY(fr_file_map_stat_fd(fd, &o->stamp, err));
    do {
        size = pread(fd, o->bytes, SHORT, 0);
    } while (size < 0 && errno == EINTR);
    if (size < 0) return fr_fail_io(err, errno, "pread");
    o->size = (size_t)size;
    return FR_OK;
}

static int open_opening(const fr_dataset_file *file, opening *o, fr_error *err) {
    char *name = name_beside(file);
    if (!name) return fr_fail_nomem(err, strlen(file->path));
    int fd;
    do {
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    int status = fd < 0 ? fr_fail_io(err, errno, "open") : read_opening(fd, o, err);
    if (fd >= 0) close(fd);
    free(name);
    return status;
}

static int keep_short(fr_dataset_file *file, const opening *o, fr_error *err) {
    fr_index index = {0};
    int status = load_beside(file, (fr_span){o->bytes, o->size}, &index, err);
    if (status == FR_OK && index.memory.data) {
        file->index = index;
        return FR_OK;
    }
    if (status == FR_OK) status = fr_index_copy(&index, &file->index, err);
    fr_index_free(&index);
    return status;
}

/* Of an index that will be mapped only the head is looked at. */
static int use_opening(fr_dataset_file *file, const opening *o, fr_error *err) {
    fr_index_head head;
    FR_TRY(fr_index_read_head((fr_span){o->bytes, o->size}, o->stamp.size, &head, err));
    FR_TRY(compare_file(file, &head.stamp, err));
    if (o->stamp.size <= SHORT) return keep_short(file, o, err);
    if (head.version == 1) return map_beside(file, err);
    file->index = (fr_index){.count = head.count, .end = head.stamp.size, .done = true};
    file->beside_stamp = o->stamp;
    file->is_beside = true;
    return FR_OK;
}

int fr_dataset_maps_beside(fr_dataset *dataset, size_t number, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    opening o;
    if (!dataset->maps) return map_beside(file, err);
    FR_TRY(open_opening(file, &o, err));
    FR_TRY(use_opening(file, &o, err));
    file->told = true;
    return FR_OK;
}

/* ---- Which files are mapped; with the lock ----------------------------------------------------*/

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

/* Those of the files that have to be opened. */
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
}

/* Gives the file its maps, unless another thread did, and leaves the others in `maps`. */
static void give_maps(const fr_dataset *dataset, uint32_t number, maps_of_file *maps) {
    fr_dataset_file *file = &dataset->files[number];
    if (file->mapped) return;
    file->map = maps->map;
    file->beside = maps->beside;
    if (file->is_beside) file->index.table = maps->table;
    *maps = (maps_of_file){0};
    file->mapped = file->checked = true;
    dataset->maps->open += 1 + file->is_beside;
    fr_dataset_maps_publish(dataset, number);
}

static void take_maps(const fr_dataset *dataset, uint32_t number, maps_of_file *maps) {
    fr_dataset_file *file = &dataset->files[number];
    *maps = (maps_of_file){.map = file->map, .beside = file->beside};
    file->map = file->beside = (fr_file_map){0};
    if (file->is_beside) file->index.table = (fr_span){0};
    file->mapped = false;
    dataset->maps->open -= 1 + file->is_beside;
    fr_dataset_maps_publish(dataset, number);
}

/* The maps that are too many, the oldest first. */
static size_t drop_some(const fr_dataset *dataset, maps_of_file *dropped) {
    size_t count = 0;
    while (dataset->maps->open > dataset->maps->limit && dataset->maps->oldest != NONE &&
           count < FR_DATASET_AT_ONCE) {
        const uint32_t number = dataset->maps->oldest;
        leave_list(dataset, number);
        take_maps(dataset, number, &dropped[count++]);
    }
    return count;
}

/* ---- Holding ---------------------------------------------------------------------------------*/

static int map_file(const fr_dataset *dataset, uint32_t number, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    maps_of_file maps = {0};
    take_lock();
    const bool mapped = file->mapped, checked = file->checked;
    leave_lock();
    if (mapped) return FR_OK; /* it was among the missing twice */
    int status = open_maps(file, checked, &maps, err);
    if (status == FR_OK) {
        take_lock();
        give_maps(dataset, number, &maps);
        leave_lock();
    } else if (err) {
        err->file = (int64_t)number;
    }
    close_maps(&maps);
    return status;
}

int fr_dataset_maps_hold(const fr_dataset *dataset, const uint32_t *files, size_t count,
                         fr_dataset_hold *hold, fr_error *err) {
    uint32_t missing[FR_DATASET_AT_ONCE];
    memcpy(hold->files, files, count * sizeof *files);
    hold->count = count;
    take_lock();
    const size_t opened = hold_files(dataset, hold, missing);
    leave_lock();
    for (size_t i = 0; i < opened; i++)
        FR_TRY(map_file(dataset, missing[i], err));
    return FR_OK;
}

void fr_dataset_let_go(const fr_dataset *dataset, fr_dataset_hold *hold) {
    if (hold->count == 0) return;
    maps_of_file dropped[FR_DATASET_AT_ONCE];
    take_lock();
    for (size_t i = 0; i < hold->count; i++) {
        fr_dataset_file *file = &dataset->files[hold->files[i]];
        if (--file->holds == 0 && file->mapped) enter_list(dataset, hold->files[i]);
    }
    const size_t count = drop_some(dataset, dropped);
    leave_lock();
    for (size_t i = 0; i < count; i++)
        close_maps(&dropped[i]);
    hold->count = 0;
}
