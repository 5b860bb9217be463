/* SPDX-License-Identifier: Apache-2.0 */
/* Opening or reopening one file of a dataset and its index. */
#include "files/dataset_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/platform.h"

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
    return status == FR_OK ? fr_file_map_copy(map, err) : status;
}

/* Loads and checks the whole index in `bytes`. */
static int load_beside(const fr_dataset_file *file, fr_span bytes, fr_index *index, fr_error *err) {
    fr_file_stamp stamp;
    FR_TRY(fr_index_load(index, bytes, &stamp, err));
    return fr_index_compare(index, &stamp, file->path, &file->stamp, err);
}

/* Sets the table of an index file that was mapped again. An index that was checked before is not
   checked again if its stamp is unchanged. */
static int read_beside(const fr_dataset_file *file, fr_dataset_views *views, fr_error *err) {
    if (!fr_file_stamp_equal(&views->beside.stamp, &file->beside_stamp))
        return fr_fail(err, FR_ERR_INDEX, "it was changed while the file was read");
    views->table = fr_span_after(views->beside.bytes, FR_INDEX_HEAD);
    if (file->checked) return FR_OK;
    fr_index index = {0};
    int status = load_beside(file, views->beside.bytes, &index, err);
    fr_index_free(&index);
    return status;
}

/* Uses the mapped index in place if its version allows it; otherwise converts it in memory. */
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

/* Bytes. A shorter index is kept in memory, because its map would take the same amount. */
#define SHORT 4096

/* The first bytes of an index file. */
typedef struct {
    uint8_t bytes[SHORT];
    size_t size;
    fr_file_stamp stamp;
} opening;

static int read_opening(int fd, opening *o, fr_error *err) {
    int64_t size;
    FR_TRY(fr_file_map_stat_fd(fd, &o->stamp, err));
    do {
        size = fr_fd_read_at(fd, o->bytes, SHORT, 0);
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
        fd = fr_file_open(name, true);
    } while (fd < 0 && errno == EINTR);
    int status = fd < 0 ? fr_fail_io(err, errno, "open") : read_opening(fd, o, err);
    if (fd >= 0) fr_fd_close(fd);
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

/* Checks a whole index without keeping it. */
static int try_beside(const fr_dataset_file *file, fr_error *err) {
    fr_file_map map;
    fr_index index = {0};
    FR_TRY(open_beside(file, &map, err));
    int status = load_beside(file, map.bytes, &index, err);
    if (status == FR_OK) status = fr_file_map_check(&map, err);
    fr_index_free(&index);
    fr_file_map_close(&map);
    return status;
}

/* Checks only the head of an index that will be mapped, if its stamp is the stamp of the file. */
static int use_opening(fr_dataset_file *file, const opening *o, fr_error *err) {
    fr_index_head head;
    FR_TRY(fr_index_read_head((fr_span){o->bytes, o->size}, o->stamp.size, &head, err));
    if (o->stamp.size <= SHORT) return keep_short(file, o, err);
    if (head.version == 1) return map_beside(file, err);
    if (!fr_file_stamp_equal(&head.stamp, &file->stamp)) FR_TRY(try_beside(file, err));
    file->index = (fr_index){.count = head.count, .end = head.stamp.size, .done = true};
    file->beside_stamp = o->stamp;
    file->is_beside = true;
    return FR_OK;
}

int fr_dataset_file_beside(fr_dataset *dataset, size_t number, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    opening o;
    if (!dataset->maps) return map_beside(file, err);
    FR_TRY(open_opening(file, &o, err));
    FR_TRY(use_opening(file, &o, err));
    file->told = true;
    return FR_OK;
}

/* ---- Opening a file's maps --------------------------------------------------------------------*/

#define OPENED ((size_t)1 << 20) /* bytes; larger files are also opened to read headers */

int fr_dataset_file_scan(const fr_dataset *dataset, fr_dataset_file *file, uint64_t limit,
                         fr_error *err) {
    fr_index_file opened = {.bytes = file->map.bytes, .fd = file->map.reads ? file->map.fd : -1};
    const bool opens = !file->map.reads && file->map.bytes.size >= OPENED;
    if (opens) opened.fd = fr_file_map_reopen(&file->map, file->path);
    if (opened.fd >= 0) fr_fd_scatter(opened.fd);
    int status = fr_index_scan(&file->index, &opened, &dataset->options, limit, err);
    if (opens && opened.fd >= 0) fr_fd_close(opened.fd);
    if (status == FR_AGAIN) return FR_AGAIN;
    if (status == FR_OK) status = fr_file_map_check(&file->map, err);
    return status == FR_OK ? FR_OK : fr_dataset_blame(file, status, err);
}

const atomic_bool fr_dataset_no_indexing = true;

#define SLICE 1024 /* records indexed between checks of `stop` */

/* Loads or builds the index of a file that is opened for the first time. */
static int find_index(const fr_dataset *dataset, fr_dataset_file *now, fr_dataset_views *views,
                      const atomic_bool *stop, fr_error *err) {
    if (dataset->looks_beside) {
        int status = map_beside(now, err);
        views->beside = now->beside;
        views->table = now->index.table;
        now->beside_stamp = now->beside.stamp;
        if (status == FR_OK || status == FR_ERR_NOMEM) return status;
    }
    now->map = views->map;
    int status = FR_AGAIN;
    while (status == FR_AGAIN && !(stop && atomic_load_explicit(stop, memory_order_relaxed)))
        status = fr_dataset_file_scan(dataset, now, SLICE, err);
    return status;
}

static int compare_listed(const char *what, uint64_t is, uint64_t listed, fr_error *err) {
    if (is == listed) return FR_OK;
    return fr_fail(err, FR_ERR_MANIFEST, "has %" PRIu64 " %s, the manifest says %" PRIu64, is, what,
                   listed);
}

static int open_listed(const fr_dataset *dataset, fr_dataset_file *now, fr_dataset_views *views,
                       const atomic_bool *stop, fr_error *err) {
    const uint64_t listed = now->index.count;
    FR_TRY(compare_listed("bytes", views->map.stamp.size, now->stamp.size, err));
    now->stamp = views->map.stamp;
    now->index = (fr_index){0};
    int status = find_index(dataset, now, views, stop, err);
    if (status == FR_OK) status = compare_listed("records", now->index.count, listed, err);
    if (status != FR_OK) fr_index_free(&now->index);
    return status;
}

int fr_dataset_file_open(const fr_dataset *dataset, fr_dataset_file *now, fr_dataset_views *views,
                         const atomic_bool *stop, fr_error *err) {
    FR_TRY(fr_file_map_open(&views->map, now->path, err));
    if (now->listed) return open_listed(dataset, now, views, stop, err);
    FR_TRY(compare_stamps(&now->stamp, &views->map.stamp, err));
    if (!now->is_beside) return FR_OK;
    FR_TRY(open_beside(now, &views->beside, err));
    return read_beside(now, views, err);
}
