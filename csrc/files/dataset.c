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

static int allocate_files(fr_dataset *dataset, size_t count, fr_error *err) {
    if (count >= UINT32_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of files must be below 2^32, got %zu", count);
    dataset->losses = fr_file_map_losses();
    dataset->ranges = calloc(count, sizeof *dataset->ranges);
    dataset->files = calloc(count, sizeof *dataset->files);
    if (dataset->ranges && dataset->files) return FR_OK;
    fr_dataset_close(dataset);
    return fr_fail_nomem(err, (uint64_t)count * sizeof *dataset->files);
}

int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                    const fr_frame_options *options, fr_error *err) {
    dataset->options = *options;
    if (count == 0) return FR_OK;
    if (!dataset->files) FR_TRY(allocate_files(dataset, count, err));
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
        status =
            fr_fail(err, FR_ERR_INDEX,
                    "it was made from a file of %" PRIu64 " bytes, or the file was changed since",
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

/* Buckets of record numbers, a few for each file, with the file that each begins in: finding the
   file of a record is one look, or a bisection of the few files that begin in its bucket. */
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
        uint64_t before = fr_index_count(&file->index);
        FR_TRY(fr_dataset_scan_file(dataset, dataset->indexed, limit, err));
        limit -= fr_index_count(&file->index) - before;
        FR_TRY(take_samples(file, err));
        file->first = dataset->count;
        dataset->ranges[dataset->indexed] = (fr_dataset_range){
            file->first, (const uint64_t *)(const void *)file->index.offsets.data,
            file->map.bytes.data, file->told};
        dataset->count += fr_index_count(&file->index);
        dataset->indexed++;
    }
    return make_buckets(dataset, err);
}

/* The file among those from `low` to before `high` that record `number` is in. */
static size_t bisect(const fr_dataset *dataset, uint64_t number, size_t low, size_t high) {
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (dataset->ranges[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline size_t find(const fr_dataset *dataset, uint64_t number) {
    if (dataset->buckets.size == 0) return bisect(dataset, number, 0, dataset->indexed);
    const uint32_t *files = (const uint32_t *)(const void *)dataset->buckets.data;
    const uint64_t bucket = number >> dataset->bucket_shift;
    const size_t low = files[bucket], high = (size_t)files[bucket + 1] + 1;
    return high - low == 1 ? low : bisect(dataset, number, low, high);
}

size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number) {
    return find(dataset, number);
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

static void resolve_frame(const fr_dataset *dataset, fr_dataset_place *place) {
    const fr_dataset_range *range = &dataset->ranges[place->file];
    const uint64_t *offsets = range->offsets + (place->number - range->first);
    place->frame = (fr_span){range->data + offsets[0], (size_t)(offsets[1] - offsets[0])};
    place->told = range->told;
}

void fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                        fr_dataset_place *places) {
    for (size_t i = 0; i < count; i++) {
        places[i].number = numbers[i];
        places[i].file = (uint32_t)find(dataset, numbers[i]);
    }
    for (size_t i = 0; i < count; i++)
        resolve_frame(dataset, &places[i]);
}

/*
 * Loads that nothing depends on, one after the other, wait for memory together. A prefetch would
 * not do: where the page is not in the translation buffer, which scattered records are not,
 * processors drop it. (Measured on 10 million records of 59 bytes: 320 ns a record by prefetches,
 * 110 by loads.)
 */
#define TOUCHED 4096

void fr_dataset_touch(const fr_dataset_place *places, size_t count) {
    unsigned bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const fr_span frame = places[i].frame;
        bytes += frame.data[0] + frame.data[(frame.size < TOUCHED ? frame.size : TOUCHED) - 1];
    }
    __asm__ volatile("" : : "r"(bytes)); /* the compiler must not leave them out */
}

static fr_dataset_place place_of(const fr_dataset *dataset, uint64_t number) {
    fr_dataset_place place = {.number = number, .file = (uint32_t)find(dataset, number)};
    resolve_frame(dataset, &place);
    return place;
}

fr_span fr_dataset_frame(const fr_dataset *dataset, uint64_t number) {
    return place_of(dataset, number).frame;
}

/* No header where the index has one, or a record of another size. */
static int refuse_index(fr_error *err) {
    return fr_fail(err, FR_ERR_INDEX,
                   "no record begins there, or one of another size: the index is of another file, "
                   "or the header is damaged");
}

/* The frame at `place` is not what it should be. */
static int fail_at(const fr_dataset *dataset, const fr_dataset_place *place, int status,
                   fr_error *err) {
    status = blame(&dataset->files[place->file], status, err);
    fr_dataset_locate(dataset, place->number, err);
    return status;
}

static inline int read_frame(const fr_dataset *dataset, const fr_dataset_place *place,
                             const fr_frame_options *options, fr_record *record, fr_error *err) {
    fr_frame frame = {{0}, 0};
    int status = fr_frame_next(place->frame, true, options, &frame, err);
    if (FR_UNLIKELY(place->told && frame.size != place->frame.size && status != FR_ERR_LIMIT))
        status = refuse_index(err);
    record->data = frame.data;
    if (FR_UNLIKELY(status != FR_OK)) return fail_at(dataset, place, status, err);
    record->offset = (uint64_t)(place->frame.data - dataset->ranges[place->file].data);
    return FR_OK;
}

int fr_dataset_read(const fr_dataset *dataset, const fr_dataset_place *place, fr_record *record,
                    fr_error *err) {
    return read_frame(dataset, place, &dataset->options, record, err);
}

int fr_dataset_record(const fr_dataset *dataset, uint64_t number, fr_record *record,
                      fr_error *err) {
    const fr_dataset_place place = place_of(dataset, number);
    return fr_dataset_read(dataset, &place, record, err);
}

int fr_dataset_peek(const fr_dataset *dataset, const fr_dataset_place *place, fr_record *record,
                    fr_error *err) {
    const fr_frame_options options = {.max_record = dataset->options.max_record};
    return read_frame(dataset, place, &options, record, err);
}

int fr_dataset_verify(const fr_dataset *dataset, const fr_dataset_place *place,
                      const fr_record *record, fr_crc32c_run *run, fr_error *err) {
    int status = fr_frame_check(record->data, fr_crc32c_end(run), err);
    return FR_LIKELY(status == FR_OK) ? FR_OK : fail_at(dataset, place, status, err);
}

#define AT_ONCE 64

static int read_some(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                     fr_record *records, fr_error *err) {
    fr_dataset_place places[AT_ONCE];
    fr_dataset_resolve(dataset, numbers, count, places);
    fr_dataset_touch(places, count);
    for (size_t i = 0; i < count; i++)
        FR_TRY(fr_dataset_read(dataset, &places[i], &records[i], err));
    return FR_OK;
}

int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_record *records, fr_error *err) {
    for (size_t i = 0; i < count; i += AT_ONCE)
        FR_TRY(read_some(dataset, numbers + i, count - i < AT_ONCE ? count - i : AT_ONCE,
                         records + i, err));
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
        const fr_dataset_place place = place_of(dataset, numbers[i]);
        if (dataset->files[place.file].index.gaps) return FR_OK;
        const size_t size = place.frame.size - FR_FRAME_OVERHEAD;
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
        fr_record records[AT_ONCE];
        size_t some = count < AT_ONCE ? count : AT_ONCE;
        FR_TRY(fr_dataset_records(dataset, numbers, some, records, err));
        FR_TRY(copy_records(records, some, data, offsets, err));
        numbers += some;
        count -= some;
    }
    return FR_OK;
}

int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err) {
    if (FR_LIKELY(fr_file_map_losses() == dataset->losses)) return FR_OK;
    int status = fr_file_map_check(&dataset->files[find(dataset, number)].map, err);
    if (status != FR_OK) fr_dataset_locate(dataset, number, err);
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
    free(dataset->ranges);
    fr_buffer_free(&dataset->buckets);
    *dataset = (fr_dataset){0};
}
