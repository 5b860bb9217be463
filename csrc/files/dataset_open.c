/* SPDX-License-Identifier: Apache-2.0 */
#include "files/dataset_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/platform.h"

/* Sets a file's size and record count from the manifest, and refuses impossible numbers. They
   are compared with the file when it is opened. */
static int list_file(const fr_dataset *dataset, fr_dataset_file *file, size_t number,
                     fr_error *err) {
    const fr_dataset_listed *listed = &dataset->listed[number];
    if (listed->size >= FR_OFFSETS_LIMIT || listed->count > listed->size / FR_FRAME_OVERHEAD)
        return fr_fail(err, FR_ERR_MANIFEST,
                       "cannot have %" PRIu64 " records in %" PRIu64 " bytes, as the manifest says",
                       listed->count, listed->size);
    file->stamp = (fr_file_stamp){.size = listed->size};
    file->index = (fr_index){.count = listed->count, .end = listed->size, .done = true};
    file->listed = true;
    return FR_OK;
}

static int open_file(fr_dataset *dataset, fr_dataset_file *file, size_t number, const char *path,
                     fr_error *err) {
    if (dataset->listed) {
        FR_TRY(list_file(dataset, file, number, err));
    } else if (dataset->maps) {
        FR_TRY(fr_file_map_stat(path, &file->stamp, err));
    } else {
        FR_TRY(fr_file_map_open(&file->map, path, err));
        file->stamp = file->map.stamp;
        dataset->reads |= file->map.reads;
    }
    file->path = strdup(path);
    if (file->path) return FR_OK;
    fr_file_map_close(&file->map);
    return fr_fail_nomem(err, strlen(path) + 1);
}

#define FILES_AT_ONCE 256

#define MEMORY_SHARE 4 /* files that take less than 1/4 of all memory are read whole */

static bool fits_in_memory(const fr_dataset *dataset) {
    uint64_t size = 0;
    for (size_t i = 0; i < dataset->file_count; i++)
        size += dataset->files[i].stamp.size;
    return size < fr_memory_size() / MEMORY_SHARE;
}

/* Keeps marks only if the files fit in memory; otherwise the system may drop pages again. */
static int remember_pages(fr_dataset *dataset, fr_error *err) {
    if (!fits_in_memory(dataset)) return FR_OK;
    for (size_t i = 0; i < dataset->file_count; i++) {
        fr_dataset_file *file = &dataset->files[i];
        const size_t words = (size_t)file->stamp.size / FR_DATASET_WINDOW + 1;
        file->pages = calloc(words, sizeof *file->pages);
        if (!file->pages) return fr_fail_nomem(err, words * sizeof *file->pages);
    }
    return FR_OK;
}

#define MAPS_A_FILE 2 /* the file and its index */
#define LEAST_MAPS ((size_t)512)

/* Returns the number of maps that may be open, or of descriptors if the files cannot be mapped. */
static size_t room_for(fr_dataset *dataset, const char *path, size_t count) {
    const size_t descriptors = fr_fd_limit() / 4;
    fr_file_map map;
    if (count <= descriptors || fr_file_map_open(&map, path, NULL) != FR_OK)
        return fr_file_map_room();
    dataset->reads = map.reads;
    fr_file_map_close(&map);
    return dataset->reads ? descriptors : fr_file_map_room();
}

/* Maps all files if the system allows it; otherwise limits the maps to a part of those
   available. */
static int choose_maps(fr_dataset *dataset, const char *path, size_t count, fr_error *err) {
    size_t limit = dataset->limit;
    if (limit == 0) {
        const size_t room = room_for(dataset, path, count);
        if (count <= room / MAPS_A_FILE && !dataset->listed) return FR_OK;
        limit = room - room / 4;
        if (limit < LEAST_MAPS && !dataset->reads) limit = LEAST_MAPS;
    }
    if (count <= limit / MAPS_A_FILE && !dataset->listed) return FR_OK;
    return fr_dataset_maps_new(dataset, limit, err);
}

static int allocate_files(fr_dataset *dataset, const char *path, size_t count, fr_error *err) {
    if (count >= UINT32_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of files must be below 2^32, got %zu", count);
    dataset->losses = fr_file_map_losses();
    dataset->ranges = calloc(count, sizeof *dataset->ranges);
    dataset->files = calloc(count, sizeof *dataset->files);
    int status = FR_OK;
    if (!dataset->ranges || !dataset->files)
        status = fr_fail_nomem(err, (uint64_t)count * sizeof *dataset->files);
    if (status == FR_OK) status = choose_maps(dataset, path, count, err);
    if (status != FR_OK) fr_dataset_close(dataset);
    return status;
}

int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                    const fr_frame_options *options, fr_error *err) {
    dataset->options = *options;
    if (count == 0) return FR_OK;
    if (!dataset->files) FR_TRY(allocate_files(dataset, paths[0], count, err));
    for (size_t begun = dataset->file_count; dataset->file_count < count; dataset->file_count++) {
        size_t i = dataset->file_count;
        if (i - begun == FILES_AT_ONCE) return FR_AGAIN;
        int status = open_file(dataset, &dataset->files[i], i, paths[i], err);
        if (status == FR_OK) continue;
        if (err) err->file = (int64_t)i;
        fr_dataset_close(dataset);
        return status;
    }
    dataset->listed = NULL;
    int status = remember_pages(dataset, err);
    if (status != FR_OK) fr_dataset_close(dataset);
    return status;
}

void fr_dataset_open_spans(fr_dataset *dataset, fr_dataset_span *spans, uint64_t count,
                           const fr_frame_options *options) {
    *dataset = (fr_dataset){
        .spans = spans, .count = count, .options = *options, .losses = fr_file_map_losses()};
}

int fr_dataset_blame(const fr_dataset_file *file, int status, fr_error *err) {
    if (status == FR_ERR_NOMEM) return status;
    fr_file_map_look(&file->map, file->path);
    if (!fr_file_map_lost(&file->map)) return status;
    fr_error where = err ? *err : (fr_error){0};
    status = fr_file_map_check(&file->map, err);
    if (err) {
        err->record = where.record;
        err->offset = where.offset;
    }
    return status;
}

int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index, const fr_file_stamp *stamp,
                    fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    int status = fr_index_compare(index, stamp, file->path, &file->stamp, err);
    if (status == FR_OK) {
        fr_index_free(&file->index);
        file->index = *index;
        file->told = !index->gaps;
        *index = (fr_index){0};
    } else if (err) {
        err->file = (int64_t)number;
    }
    return status;
}

int fr_dataset_use_beside(fr_dataset *dataset, size_t number, fr_error *err) {
    int status = fr_dataset_file_beside(dataset, number, err);
    if (status != FR_OK && err) err->file = (int64_t)number;
    return status;
}

int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    fr_dataset_hold hold = {.count = 0};
    if (file->index.done) return FR_OK;
    int status = fr_dataset_hold_one(dataset, number, &hold, err);
    if (status == FR_OK) status = fr_dataset_file_scan(dataset, file, limit, err);
    fr_dataset_let_go(dataset, &hold);
    if (status < 0 && err) err->file = (int64_t)number;
    return status;
}

int fr_dataset_copy_index(const fr_dataset *dataset, size_t number, fr_index *copy, fr_error *err) {
    fr_dataset_hold hold = {.count = 0};
    int status = fr_dataset_hold_one(dataset, number, &hold, err);
    if (status == FR_OK) status = fr_index_copy(&dataset->files[number].index, copy, err);
    fr_dataset_let_go(dataset, &hold);
    return status;
}

/* Makes buckets of record numbers, a few for each file. Each bucket has the file in which it
   begins. Finding the file of a record takes one lookup, or a bisection of the few files in its
   bucket. */
static int make_buckets(fr_dataset *dataset, fr_error *err) {
    if (dataset->file_count < 2 || dataset->buckets.size) return FR_OK;
    unsigned shift = 0;
    while (dataset->count >> shift > 4 * (uint64_t)dataset->file_count)
        shift++;
    const size_t buckets = (size_t)(dataset->count >> shift) + 2;
    FR_TRY(fr_buffer_reserve(&dataset->buckets, buckets * sizeof(uint32_t), err));
    uint32_t *files = (uint32_t *)(void *)dataset->buckets.data, file = 0;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        while (file + 1 < dataset->file_count && dataset->ranges[file + 1].first <= (uint64_t)bucket
                                                                                        << shift)
            file++;
        files[bucket] = file;
    }
    dataset->bucket_shift = shift;
    dataset->buckets.size = buckets * sizeof(uint32_t);
    return FR_OK;
}

int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err) {
    while (dataset->indexed < dataset->file_count) {
        fr_dataset_file *file = &dataset->files[dataset->indexed];
        const uint64_t before = file->index.count;
        FR_TRY(fr_dataset_scan_file(dataset, dataset->indexed, limit, err));
        limit -= file->index.count - before;
        file->first = dataset->count;
        fr_dataset_range *range = &dataset->ranges[dataset->indexed];
        *range =
            (fr_dataset_range){.first = file->first, .size = file->stamp.size, .told = file->told};
        fr_dataset_maps_publish(dataset, dataset->indexed);
        if (__builtin_add_overflow(dataset->count, file->index.count, &dataset->count) ||
            dataset->count > INT64_MAX)
            return fr_fail(err, FR_ERR_ARG, "the number of records must be below 2^63");
        dataset->indexed++;
    }
    return make_buckets(dataset, err);
}

void fr_dataset_close(fr_dataset *dataset) {
    for (size_t i = 0; i < dataset->file_count; i++) {
        free(dataset->files[i].path);
        free((void *)dataset->files[i].pages);
        fr_file_map_close(&dataset->files[i].map);
        fr_file_map_close(&dataset->files[i].beside);
        fr_index_free(&dataset->files[i].index);
    }
    free(dataset->files);
    free(dataset->ranges);
    free(dataset->spans);
    fr_buffer_free(&dataset->buckets);
    fr_dataset_maps_free(dataset);
    *dataset = (fr_dataset){0};
}
