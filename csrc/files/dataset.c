/* SPDX-License-Identifier: Apache-2.0 */
#include "files/dataset_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static int open_file(const fr_dataset *dataset, fr_dataset_file *file, const char *path,
                     fr_error *err) {
    if (dataset->maps) {
        FR_TRY(fr_file_map_stat(path, &file->stamp, err));
    } else {
        FR_TRY(fr_file_map_open(&file->map, path, err));
        file->stamp = file->map.stamp;
    }
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
        size += dataset->files[i].stamp.size;
    return pages > 0 && page > 0 && size / (uint64_t)page < (uint64_t)pages / MEMORY_SHARE;
}

/* Room to remember the windows of every file. */
static int watch_windows(fr_dataset *dataset, fr_error *err) {
    if (!fits_in_memory(dataset)) return FR_OK;
    for (size_t i = 0; i < dataset->file_count; i++) {
        fr_dataset_file *file = &dataset->files[i];
        const size_t words = (size_t)file->stamp.size / WINDOW / 32 + 1;
        file->announced = calloc(words, sizeof *file->announced);
        if (!file->announced) return fr_fail_nomem(err, words * sizeof *file->announced);
    }
    return FR_OK;
}

#define MAPS_A_FILE 2 /* itself, and its index */
#define LEAST_MAPS ((size_t)512)

/* All files are mapped if there is room for them; otherwise some of the room is used. */
static int choose_maps(fr_dataset *dataset, size_t count, fr_error *err) {
    size_t limit = dataset->limit;
    if (limit == 0) {
        const size_t room = fr_file_map_room();
        if (count <= room / MAPS_A_FILE) return FR_OK;
        limit = room - room / 4;
        if (limit < LEAST_MAPS) limit = LEAST_MAPS;
    }
    return count <= limit / MAPS_A_FILE ? FR_OK : fr_dataset_maps_new(dataset, limit, err);
}

static int allocate_files(fr_dataset *dataset, size_t count, fr_error *err) {
    if (count >= UINT32_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of files must be below 2^32, got %zu", count);
    dataset->losses = fr_file_map_losses();
    dataset->ranges = calloc(count, sizeof *dataset->ranges);
    dataset->files = calloc(count, sizeof *dataset->files);
    int status = FR_OK;
    if (!dataset->ranges || !dataset->files)
        status = fr_fail_nomem(err, (uint64_t)count * sizeof *dataset->files);
    if (status == FR_OK) status = choose_maps(dataset, count, err);
    if (status != FR_OK) fr_dataset_close(dataset);
    return status;
}

int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                    const fr_frame_options *options, fr_error *err) {
    dataset->options = *options;
    if (count == 0) return FR_OK;
    if (!dataset->files) FR_TRY(allocate_files(dataset, count, err));
    for (size_t begun = dataset->file_count; dataset->file_count < count; dataset->file_count++) {
        size_t i = dataset->file_count;
        if (i - begun == FILES_AT_ONCE) return FR_AGAIN;
        int status = open_file(dataset, &dataset->files[i], paths[i], err);
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

int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index, const fr_file_stamp *stamp,
                    fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    int status = FR_OK;
    if (!fr_file_stamp_equal(stamp, &file->stamp))
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

int fr_dataset_use_beside(fr_dataset *dataset, size_t number, fr_error *err) {
    int status = fr_dataset_maps_beside(dataset, number, err);
    if (status != FR_OK && err) err->file = (int64_t)number;
    return status;
}

static int hold_one(const fr_dataset *dataset, size_t number, fr_dataset_hold *hold,
                    fr_error *err) {
    const uint32_t file = (uint32_t)number;
    return dataset->maps ? fr_dataset_maps_hold(dataset, &file, 1, hold, err) : FR_OK;
}

static int scan_mapped(fr_dataset *dataset, fr_dataset_file *file, uint64_t limit, fr_error *err) {
    int status = fr_index_scan(&file->index, file->map.bytes, &dataset->options, limit, err);
    if (status == FR_AGAIN) return FR_AGAIN;
    if (status == FR_OK) status = fr_file_map_check(&file->map, err);
    return status == FR_OK ? FR_OK : blame(file, status, err);
}

int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit, fr_error *err) {
    fr_dataset_file *file = &dataset->files[number];
    fr_dataset_hold hold = {.count = 0};
    if (file->index.done) return FR_OK;
    int status = hold_one(dataset, number, &hold, err);
    if (status == FR_OK) status = scan_mapped(dataset, file, limit, err);
    fr_dataset_let_go(dataset, &hold);
    if (status < 0 && err) err->file = (int64_t)number;
    return status;
}

int fr_dataset_copy_index(const fr_dataset *dataset, size_t number, fr_index *copy, fr_error *err) {
    fr_dataset_hold hold = {.count = 0};
    int status = hold_one(dataset, number, &hold, err);
    if (status == FR_OK) status = fr_index_copy(&dataset->files[number].index, copy, err);
    fr_dataset_let_go(dataset, &hold);
    return status;
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
        const uint64_t before = file->index.done ? file->index.count : 0;
        FR_TRY(fr_dataset_scan_file(dataset, dataset->indexed, limit, err));
        limit -= file->index.count - before;
        file->first = dataset->count;
        fr_dataset_range *range = &dataset->ranges[dataset->indexed];
        *range =
            (fr_dataset_range){.first = file->first, .size = file->stamp.size, .told = file->told};
        fr_dataset_maps_publish(dataset, dataset->indexed);
        if (__builtin_add_overflow(dataset->count, file->index.count, &dataset->count))
            return fr_fail(err, FR_ERR_ARG, "the number of records must be below 2^64");
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
    const size_t i = fr_dataset_find(dataset, number);
    const fr_dataset_file *file = &dataset->files[i];
    fr_dataset_hold hold = {.count = 0};
    err->file = (int64_t)i;
    err->record = (int64_t)(number - file->first);
    if (hold_one(dataset, i, &hold, NULL) == FR_OK)
        err->offset = (int64_t)fr_index_offset(&file->index, number - file->first);
    fr_dataset_let_go(dataset, &hold);
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

static void announce_in(const fr_dataset_file *file, size_t begin, size_t end) {
    if (file->announced) announce_around(file, begin, end);
    fr_file_map_announce(&file->map, begin, end - begin);
}

static void retire_in(const fr_dataset_file *file, size_t begin, size_t end) {
    fr_file_map_retire(&file->map, begin, end - begin);
}

/* Advises the system about `count` records from `number` on, a call a file. A file that cannot be
   opened is for the read to tell. */
static void advise(const fr_dataset *dataset, uint64_t number, uint64_t count,
                   void (*about)(const fr_dataset_file *file, size_t begin, size_t end)) {
    while (count) {
        const size_t i = fr_dataset_find(dataset, number);
        const fr_dataset_file *file = &dataset->files[i];
        const uint64_t first = number - file->first, left = file->index.count - first;
        const uint64_t some = count < left ? count : left;
        fr_dataset_hold hold = {.count = 0};
        if (hold_one(dataset, i, &hold, NULL) == FR_OK) {
            const uint64_t begin = fr_index_offset(&file->index, first);
            const uint64_t end = fr_index_offset(&file->index, first + some);
            if (begin <= end && end <= file->map.bytes.size)
                about(file, (size_t)begin, (size_t)end);
        }
        fr_dataset_let_go(dataset, &hold);
        number += some;
        count -= some;
    }
}

void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count) {
    advise(dataset, number, count, announce_in);
}

void fr_dataset_retire(const fr_dataset *dataset, uint64_t number, uint64_t count) {
    advise(dataset, number, count, retire_in);
}

bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number) {
    fr_dataset_place place;
    fr_dataset_hold hold = {.count = 0};
    bool resident = false;
    if (fr_dataset_resolve(dataset, &number, 1, &place, &hold, NULL) == FR_OK && place.frame.size) {
        const fr_file_map *map = &dataset->files[place.file].map;
        resident = fr_file_map_resident(map, (size_t)(place.frame.data - map->bytes.data));
    }
    fr_dataset_let_go(dataset, &hold);
    return resident;
}

/* The first record of its group of the index lies on a line that goes close by. */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number) {
    if (dataset->maps) return;
    const fr_dataset_range *range = &dataset->ranges[fr_dataset_find(dataset, number)];
    const fr_offsets_place place = fr_offsets_find(range->table, number - range->first);
    if (place.line < 0 || (uint64_t)place.line >= range->size) return;
    __builtin_prefetch(place.distance);
    const uint8_t *likely = range->data + place.line;
    for (size_t line = 0; line < 6; line++)
        __builtin_prefetch(likely + 64 * line);
}

/* The bounds are those of the file, whatever an index in a file that others may write to says. */
static inline fr_span frame_between(const fr_dataset_range *range, uint64_t begin, uint64_t end) {
    if (FR_UNLIKELY(begin > end || end > range->size)) return (fr_span){range->data, 0};
    return (fr_span){range->data + begin, (size_t)(end - begin)};
}

/* Each loop is of loads that do not depend on each other, so that their waits overlap. */
static void resolve_frames(const fr_dataset *dataset, fr_dataset_place *places, size_t count) {
    fr_offsets_place begins[FR_DATASET_AT_ONCE], ends[FR_DATASET_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        const fr_dataset_range *range = &dataset->ranges[places[i].file];
        const uint64_t within = places[i].number - range->first;
        begins[i] = fr_offsets_find(range->table, within);
        ends[i] = fr_offsets_find(range->table, within + 1);
    }
    for (size_t i = 0; i < count; i++) {
        const fr_dataset_range *range = &dataset->ranges[places[i].file];
        places[i].frame =
            frame_between(range, fr_offsets_read(&begins[i]), fr_offsets_read(&ends[i]));
        places[i].told = range->told;
    }
}

static int hold_places(const fr_dataset *dataset, const fr_dataset_place *places, size_t count,
                       fr_dataset_hold *hold, fr_error *err) {
    uint32_t files[FR_DATASET_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        files[i] = places[i].file;
    int status = fr_dataset_maps_hold(dataset, files, count, hold, err);
    for (size_t i = 0; status != FR_OK && err && i < count; i++)
        if ((int64_t)files[i] == err->file) {
            err->record = (int64_t)(places[i].number - dataset->ranges[files[i]].first);
            break;
        }
    return status;
}

int fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_dataset_place *places, fr_dataset_hold *hold, fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        places[i].number = numbers[i];
        places[i].file = (uint32_t)find(dataset, numbers[i]);
    }
    if (dataset->maps) {
        fr_dataset_let_go(dataset, hold);
        FR_TRY(hold_places(dataset, places, count, hold, err));
    }
    resolve_frames(dataset, places, count);
    return FR_OK;
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
        if (FR_UNLIKELY(frame.size == 0)) continue;
        bytes += frame.data[0] + frame.data[(frame.size < TOUCHED ? frame.size : TOUCHED) - 1];
    }
    __asm__ volatile("" : : "r"(bytes)); /* the compiler must not leave them out */
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
    if (FR_UNLIKELY((place->told && frame.size != place->frame.size && status != FR_ERR_LIMIT) ||
                    status == FR_END))
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
                      fr_dataset_hold *hold, fr_error *err) {
    fr_dataset_place place;
    FR_TRY(fr_dataset_resolve(dataset, &number, 1, &place, hold, err));
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

int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_record *records, fr_dataset_hold *hold, fr_error *err) {
    fr_dataset_place places[FR_DATASET_AT_ONCE];
    FR_TRY(fr_dataset_resolve(dataset, numbers, count, places, hold, err));
    fr_dataset_touch(places, count);
    for (size_t i = 0; i < count; i++)
        FR_TRY(fr_dataset_read(dataset, &places[i], &records[i], err));
    return FR_OK;
}

static size_t at_once(size_t count) {
    return count < FR_DATASET_AT_ONCE ? count : FR_DATASET_AT_ONCE;
}

static int put_end(fr_buffer *offsets, size_t end, fr_error *err) {
    int64_t value = (int64_t)end;
    return fr_buffer_append(offsets, &value, sizeof value, err);
}

/* Room for all of them at once, by the index; one with gaps does not say how long records are. */
static int reserve_all(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_buffer *data, fr_error *err) {
    fr_dataset_place places[FR_DATASET_AT_ONCE];
    fr_dataset_hold hold = {.count = 0};
    size_t total = 0;
    if (dataset->maps) return FR_OK; /* the files would be opened for that alone */
    for (size_t done = 0, some; done < count; done += some) {
        some = at_once(count - done);
        FR_TRY(fr_dataset_resolve(dataset, numbers + done, some, places, &hold, err));
        for (size_t i = 0; i < some; i++) {
            if (dataset->files[places[i].file].index.gaps) return FR_OK;
            if (fr_add_overflows(total, places[i].frame.size, &total))
                return fr_fail_nomem(err, UINT64_MAX);
        }
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

static int take_some(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                     fr_dataset_hold *hold, fr_buffer *data, fr_buffer *offsets, fr_error *err) {
    fr_record records[FR_DATASET_AT_ONCE];
    FR_TRY(fr_dataset_records(dataset, numbers, count, records, hold, err));
    FR_TRY(copy_records(records, count, data, offsets, err));
    for (size_t i = 0; i < count; i++)
        FR_TRY(fr_dataset_check(dataset, numbers[i], err));
    return FR_OK;
}

int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                    fr_buffer *data, fr_buffer *offsets, fr_error *err) {
    fr_dataset_hold hold = {.count = 0};
    if (offsets->size == 0) FR_TRY(put_end(offsets, 0, err));
    int status = reserve_all(dataset, numbers, count, data, err);
    for (size_t done = 0, some; status == FR_OK && done < count; done += some) {
        some = at_once(count - done);
        status = take_some(dataset, numbers + done, some, &hold, data, offsets, err);
    }
    fr_dataset_let_go(dataset, &hold);
    return status;
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
        fr_file_map_close(&dataset->files[i].beside);
        fr_index_free(&dataset->files[i].index);
    }
    free(dataset->files);
    free(dataset->ranges);
    fr_buffer_free(&dataset->buckets);
    fr_dataset_maps_free(dataset);
    *dataset = (fr_dataset){0};
}
