/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include <stdlib.h>

int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                    const fr_frame_options *options, fr_error *err) {
    *dataset = (fr_dataset){.options = *options};
    if (count == 0) return FR_OK;
    dataset->files = calloc(count, sizeof *dataset->files);
    if (!dataset->files) return fr_fail_nomem(err, (uint64_t)count * sizeof *dataset->files);
    for (; dataset->file_count < count; dataset->file_count++) {
        size_t i = dataset->file_count;
        int status = fr_map_open(&dataset->files[i].map, paths[i], err);
        if (status == FR_OK) continue;
        if (err) err->file = (int64_t)i;
        fr_dataset_close(dataset);
        return status;
    }
    return FR_OK;
}

/* An error on a file that shrank is about the shrinking. The record may have lain in a page that is
   still there; the file's last page tells. */
static int blame(const fr_dataset_file *file, int status, fr_error *err) {
    fr_map_probe(&file->map);
    if (!fr_map_lost(&file->map)) return status;
    fr_error where = err ? *err : (fr_error){0};
    status = fr_map_check(&file->map, err);
    if (err) {
        err->record = where.record;
        err->offset = where.offset;
    }
    return status;
}

int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err) {
    while (dataset->indexed < dataset->file_count) {
        fr_dataset_file *file = &dataset->files[dataset->indexed];
        uint64_t before = fr_index_count(&file->index);
        int status = fr_index_scan(&file->index, file->map.bytes, &dataset->options, limit, err);
        if (status == FR_AGAIN) return FR_AGAIN;
        if (status == FR_OK) status = fr_map_check(&file->map, err);
        if (status != FR_OK) {
            status = blame(file, status, err);
            if (err) err->file = (int64_t)dataset->indexed;
            return status;
        }
        limit -= fr_index_count(&file->index) - before;
        file->first = dataset->count;
        dataset->count += fr_index_count(&file->index);
        dataset->indexed++;
    }
    return FR_OK;
}

size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number) {
    size_t low = 0, high = dataset->indexed;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (dataset->files[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void fr_dataset_locate(const fr_dataset *dataset, uint64_t number, fr_error *err) {
    if (!err) return;
    size_t i = fr_dataset_find(dataset, number);
    const fr_dataset_file *file = &dataset->files[i];
    err->file = (int64_t)i;
    err->record = (int64_t)(number - file->first);
    err->offset = (int64_t)fr_index_offset(&file->index, number - file->first);
}

void fr_dataset_announce(const fr_dataset *dataset, uint64_t number) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    uint64_t begin = fr_index_offset(&file->index, number - file->first);
    uint64_t end = fr_index_offset(&file->index, number - file->first + 1);
    fr_map_announce(&file->map, (size_t)begin, (size_t)(end - begin));
}

const uint8_t *fr_dataset_frame(const fr_dataset *dataset, uint64_t number) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    return file->map.bytes.data + fr_index_offset(&file->index, number - file->first);
}

int fr_dataset_record(const fr_dataset *dataset, uint64_t number, fr_record *record,
                      fr_error *err) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    uint64_t offset = fr_index_offset(&file->index, number - file->first);
    uint64_t next = fr_index_offset(&file->index, number - file->first + 1);
    fr_span frame_bytes = fr_span_after(file->map.bytes, (size_t)offset);
    frame_bytes.size = (size_t)(next - offset);
    fr_frame frame;
    int status = fr_frame_next(frame_bytes, true, &dataset->options, &frame, err);
    if (FR_LIKELY(status == FR_OK)) {
        record->data = frame.data;
        record->offset = offset;
        return FR_OK;
    }
    status = blame(file, status, err);
    fr_dataset_locate(dataset, number, err);
    return status;
}

int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    if (FR_LIKELY(!fr_map_lost(&file->map))) return FR_OK;
    int status = fr_map_check(&file->map, err);
    fr_dataset_locate(dataset, number, err);
    return status;
}

void fr_dataset_close(fr_dataset *dataset) {
    for (size_t i = 0; i < dataset->file_count; i++) {
        fr_map_close(&dataset->files[i].map);
        fr_index_free(&dataset->files[i].index);
    }
    free(dataset->files);
    *dataset = (fr_dataset){0};
}
