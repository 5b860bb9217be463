/* SPDX-License-Identifier: Apache-2.0 */
#include "files/dataset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static int open_file(fr_dataset_file *file, const char *path, fr_error *err) {
    FR_TRY(fr_file_map_open(&file->map, path, err));
    file->path = strdup(path);
    if (file->path) return FR_OK;
    fr_file_map_close(&file->map);
    return fr_fail_nomem(err, strlen(path) + 1);
}

#define FILES_AT_ONCE 256

#define WINDOW ((size_t)1 << 18)
#define MEMORY_SHARE 4 /* of all memory a part, that files may take in order to be read whole */

static bool fits_in_memory(const fr_dataset *dataset) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t size = 0;
    for (size_t i = 0; i < dataset->file_count; i++)
        size += dataset->files[i].map.bytes.size;
    return pages > 0 && page > 0 && size / (uint64_t)page < (uint64_t)pages / MEMORY_SHARE;
}

/* Room to remember the windows of every file. */
static int watch_windows(fr_dataset *dataset, fr_error *err) {
    if (!fits_in_memory(dataset)) return FR_OK;
    for (size_t i = 0; i < dataset->file_count; i++) {
        fr_dataset_file *file = &dataset->files[i];
        const size_t words = file->map.bytes.size / WINDOW / 32 + 1;
        file->announced = calloc(words, sizeof *file->announced);
        if (!file->announced) return fr_fail_nomem(err, words * sizeof *file->announced);
    }
    return FR_OK;
}

int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                    const fr_frame_options *options, fr_error *err) {
    dataset->options = *options;
    if (count == 0) return FR_OK;
    if (!dataset->files) dataset->files = calloc(count, sizeof *dataset->files);
    if (!dataset->files) return fr_fail_nomem(err, (uint64_t)count * sizeof *dataset->files);
    for (size_t begun = dataset->file_count; dataset->file_count < count; dataset->file_count++) {
        size_t i = dataset->file_count;
        if (i - begun == FILES_AT_ONCE) return FR_AGAIN;
        int status = open_file(&dataset->files[i], paths[i], err);
        if (status == FR_OK) continue;
        if (err) err->file = (int64_t)i;
        fr_dataset_close(dataset);
        return status;
    }
    int status = watch_windows(dataset, err);
    if (status != FR_OK) fr_dataset_close(dataset);
    return status;
}

/* An error on a file that shrank is about the shrinking. What is gone of its last page reads as
   zeros and tells nobody, so the file is looked at. */
static int blame(const fr_dataset_file *file, int status, fr_error *err) {
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

int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index,
                    const fr_index_stamp *stamp, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    int status = FR_OK;
    if (stamp->size != file->map.bytes.size || stamp->mtime_ns != file->map.mtime_ns)
        status = fr_fail(err, FR_ERR_INDEX,
                         "it is of a file of %" PRIu64 " bytes, or the file was changed since",
                         stamp->size);
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

int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    int status = fr_index_scan(&file->index, file->map.bytes, &dataset->options, limit, err);
    if (status == FR_AGAIN) return FR_AGAIN;
    if (status == FR_OK) status = fr_file_map_check(&file->map, err);
    if (status == FR_OK) return FR_OK;
    status = blame(file, status, err);
    if (err) err->file = (int64_t)number;
    return status;
}

/* One offset of so many, and the end. */
#define SAMPLED 64

static int take_samples(fr_dataset_file *file, fr_error *err) {
    const uint64_t count = fr_index_count(&file->index);
    FR_TRY(fr_buffer_reserve(&file->samples, (size_t)(count / SAMPLED + 2) * 8, err));
    for (uint64_t i = 0; i < count + SAMPLED; i += SAMPLED) {
        uint64_t offset = fr_index_offset(&file->index, i < count ? i : count);
        FR_TRY(fr_buffer_append(&file->samples, &offset, sizeof offset, err));
    }
    return FR_OK;
}

int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err) {
    while (dataset->indexed < dataset->file_count) {
        fr_dataset_file *file = &dataset->files[dataset->indexed];
        uint64_t before = fr_index_count(&file->index);
        FR_TRY(fr_dataset_scan_file(dataset, dataset->indexed, limit, err));
        limit -= fr_index_count(&file->index) - before;
        FR_TRY(take_samples(file, err));
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

/* The windows that lie around some bytes, unless they were announced before. */
static void announce_around(const fr_dataset_file *file, size_t begin, size_t end) {
    for (size_t window = begin / WINDOW; window * WINDOW < end; window++) {
        const uint32_t bit = UINT32_C(1) << (window % 32);
        if (atomic_fetch_or_explicit(&file->announced[window / 32], bit, memory_order_relaxed) &
            bit)
            continue;
        const size_t left = file->map.bytes.size - window * WINDOW;
        fr_file_map_announce(&file->map, window * WINDOW, left < WINDOW ? left : WINDOW);
    }
}

static void announce_in(const fr_dataset_file *file, uint64_t first, uint64_t count) {
    uint64_t begin = fr_index_offset(&file->index, first);
    uint64_t end = fr_index_offset(&file->index, first + count);
    if (file->announced) announce_around(file, (size_t)begin, (size_t)end);
    fr_file_map_announce(&file->map, (size_t)begin, (size_t)(end - begin));
}

void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count) {
    while (count) {
        const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
        uint64_t first = number - file->first, left = fr_index_count(&file->index) - first;
        uint64_t some = count < left ? count : left;
        announce_in(file, first, some);
        number += some;
        count -= some;
    }
}

bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    return fr_file_map_resident(&file->map,
                                (size_t)fr_index_offset(&file->index, number - file->first));
}

/* Records of a file are about as long as their neighbours. */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    const uint64_t within = number - file->first;
    const uint64_t *sample = (const uint64_t *)(const void *)file->samples.data + within / SAMPLED;
    const uint64_t on = (sample[1] - sample[0]) * (within % SAMPLED) / SAMPLED;
    const uint8_t *likely = file->map.bytes.data + sample[0] + on;
    for (size_t line = 0; line < 6; line++)
        __builtin_prefetch(likely + 64 * line - 128);
}

/* Where record `number` of `file` stands, by the index. */
static fr_span frame_bytes(const fr_dataset_file *file, uint64_t number) {
    uint64_t offset = fr_index_offset(&file->index, number - file->first);
    uint64_t next = fr_index_offset(&file->index, number - file->first + 1);
    return (fr_span){file->map.bytes.data + offset, (size_t)(next - offset)};
}

fr_span fr_dataset_frame(const fr_dataset *dataset, uint64_t number) {
    return frame_bytes(&dataset->files[fr_dataset_find(dataset, number)], number);
}

/* No header where the index has one, or a record of another size. */
static int refuse_index(fr_error *err) {
    return fr_fail(err, FR_ERR_INDEX,
                   "no record begins there, or one of another size: the index is of another file, "
                   "or the header is damaged");
}

static int read_frame(const fr_dataset_file *file, uint64_t number, const fr_frame_options *options,
                      fr_record *record, fr_error *err) {
    fr_span bytes = frame_bytes(file, number);
    fr_frame frame = {{0}, 0};
    int status = fr_frame_next(bytes, true, options, &frame, err);
    if (file->told && frame.size != bytes.size && status != FR_ERR_LIMIT) return refuse_index(err);
    record->data = frame.data;
    record->offset = (uint64_t)(bytes.data - file->map.bytes.data);
    return status;
}

static int read_record(const fr_dataset *dataset, uint64_t number, const fr_frame_options *options,
                       fr_record *record, fr_error *err) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    int status = read_frame(file, number, options, record, err);
    if (FR_LIKELY(status == FR_OK)) return FR_OK;
    status = blame(file, status, err);
    fr_dataset_locate(dataset, number, err);
    return status;
}

int fr_dataset_record(const fr_dataset *dataset, uint64_t number, fr_record *record,
                      fr_error *err) {
    return read_record(dataset, number, &dataset->options, record, err);
}

int fr_dataset_peek(const fr_dataset *dataset, uint64_t number, fr_record *record, fr_error *err) {
    const fr_frame_options options = {.max_record = dataset->options.max_record};
    return read_record(dataset, number, &options, record, err);
}

int fr_dataset_verify(const fr_dataset *dataset, uint64_t number, const fr_record *record,
                      fr_crc32c_run *run, fr_error *err) {
    int status = fr_frame_check(record->data, fr_crc32c_end(run), err);
    if (FR_LIKELY(status == FR_OK)) return FR_OK;
    status = blame(&dataset->files[fr_dataset_find(dataset, number)], status, err);
    fr_dataset_locate(dataset, number, err);
    return status;
}

/* Enough misses in flight to hide each other, few enough to still be in cache when their turn
   comes. */
#define AHEAD 32

static void prefetch_entry(const fr_dataset *dataset, uint64_t number) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    const uint64_t *offsets = (const uint64_t *)(const void *)file->index.offsets.data;
    __builtin_prefetch(offsets + (number - file->first));
}

static void prefetch_frame(const fr_dataset *dataset, uint64_t number) {
    const uint8_t *frame = fr_dataset_frame(dataset, number).data;
    for (size_t line = 0; line < 4; line++)
        __builtin_prefetch(frame + 64 * line);
}

int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_record *records, fr_error *err) {
    for (size_t i = 0; i < count && i < 2 * AHEAD; i++)
        prefetch_entry(dataset, numbers[i]);
    for (size_t i = 0; i < count && i < AHEAD; i++)
        prefetch_frame(dataset, numbers[i]);
    for (size_t i = 0; i < count; i++) {
        if (count - i > 2 * AHEAD) prefetch_entry(dataset, numbers[i + 2 * AHEAD]);
        if (count - i > AHEAD) prefetch_frame(dataset, numbers[i + AHEAD]);
        FR_TRY(fr_dataset_record(dataset, numbers[i], &records[i], err));
    }
    return FR_OK;
}

static int put_end(fr_buffer *offsets, size_t end, fr_error *err) {
    int64_t value = (int64_t)end;
    return fr_buffer_append(offsets, &value, sizeof value, err);
}

/* Room for all of them at once, by the index; one with gaps does not say how long records are. */
static int reserve_all(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_buffer *data, fr_error *err) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, numbers[i])];
        if (file->index.gaps) return FR_OK;
        size_t size = frame_bytes(file, numbers[i]).size - FR_FRAME_OVERHEAD;
        if (fr_add_overflows(total, size, &total)) return fr_fail_nomem(err, UINT64_MAX);
    }
    return fr_buffer_reserve(data, total, err);
}

static int copy_records(const fr_record *records, size_t count, fr_buffer *data, fr_buffer *offsets,
                        fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        FR_TRY(fr_buffer_append(data, records[i].data.data, records[i].data.size, err));
        FR_TRY(put_end(offsets, data->size, err));
    }
    return FR_OK;
}

int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                    fr_buffer *data, fr_buffer *offsets, fr_error *err) {
    if (offsets->size == 0) FR_TRY(put_end(offsets, 0, err));
    FR_TRY(reserve_all(dataset, numbers, count, data, err));
    while (count > 0) {
        fr_record records[4 * AHEAD];
        size_t some = count < 4 * AHEAD ? count : 4 * AHEAD;
        FR_TRY(fr_dataset_records(dataset, numbers, some, records, err));
        FR_TRY(copy_records(records, some, data, offsets, err));
        numbers += some;
        count -= some;
    }
    return FR_OK;
}

int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err) {
    const fr_dataset_file *file = &dataset->files[fr_dataset_find(dataset, number)];
    if (FR_LIKELY(!fr_file_map_lost(&file->map))) return FR_OK;
    int status = fr_file_map_check(&file->map, err);
    fr_dataset_locate(dataset, number, err);
    return status;
}

void fr_dataset_close(fr_dataset *dataset) {
    for (size_t i = 0; i < dataset->file_count; i++) {
        free(dataset->files[i].path);
        free(dataset->files[i].announced);
        fr_file_map_close(&dataset->files[i].map);
        fr_index_free(&dataset->files[i].index);
        fr_buffer_free(&dataset->files[i].samples);
    }
    free(dataset->files);
    *dataset = (fr_dataset){0};
}
