/* SPDX-License-Identifier: Apache-2.0 */
#include "files/dataset_internal.h"

/* Returns the file that contains record `number`. REQUIRES: it is in [low, high). */
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
    if (dataset->spans) {
        const fr_dataset_span *span = &dataset->spans[number];
        err->file = (int64_t)span->file;
        err->record = (int64_t)span->record;
        err->offset = (int64_t)span->offset;
        return;
    }
    const size_t i = fr_dataset_find(dataset, number);
    const fr_dataset_file *file = &dataset->files[i];
    fr_dataset_hold hold = {.count = 0};
    err->file = (int64_t)i;
    err->record = (int64_t)(number - file->first);
    if (fr_dataset_hold_one(dataset, i, &hold, NULL) == FR_OK)
        err->offset = (int64_t)fr_index_offset(&file->index, number - file->first);
    fr_dataset_let_go(dataset, &hold);
}

/* Prefetches from the line of the record's index group, which passes close to the record's
   offset. */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number) {
    if (dataset->maps || dataset->spans) return;
    const fr_dataset_range *range = &dataset->ranges[fr_dataset_find(dataset, number)];
    const fr_offsets_place place = fr_offsets_find(range->table, number - range->first);
    if (place.line < 0 || (uint64_t)place.line >= range->size || !range->data) return;
    __builtin_prefetch(place.distance);
    const uint8_t *likely = range->data + place.line;
    for (size_t line = 0; line < 6; line++)
        __builtin_prefetch(likely + 64 * line);
}

/* Returns the frame, empty unless it is within the file. The index is not trusted, because
   another process may write to its file. */
static inline fr_span frame_between(const fr_dataset_range *range, uint64_t begin, uint64_t end) {
    if (FR_UNLIKELY(begin > end || end > range->size)) return (fr_span){range->data, 0};
    return (fr_span){range->data ? range->data + begin : NULL, (size_t)(end - begin)};
}

/* The loads of each loop do not depend on each other, so their latencies overlap. Returns true
   if some frames are in files that are not mapped. */
static bool resolve_frames(const fr_dataset *dataset, fr_dataset_place *places, size_t count) {
    fr_offsets_place begins[FR_DATASET_AT_ONCE], ends[FR_DATASET_AT_ONCE];
    bool some_read = false;
    for (size_t i = 0; i < count; i++) {
        const fr_dataset_range *range = &dataset->ranges[places[i].file];
        const uint64_t within = places[i].number - range->first;
        begins[i] = fr_offsets_find(range->table, within);
        ends[i] = fr_offsets_find(range->table, within + 1);
    }
    for (size_t i = 0; i < count; i++) {
        const fr_dataset_range *range = &dataset->ranges[places[i].file];
        const uint64_t begin = fr_offsets_read(&begins[i]);
        places[i].offset = begin;
        places[i].frame = frame_between(range, begin, fr_offsets_read(&ends[i]));
        places[i].told = range->told;
        some_read |= range->data == NULL;
    }
    return some_read;
}

static int fail_at(const fr_dataset *dataset, const fr_dataset_place *place, int status,
                   fr_error *err);

/* Reads adjacent frames of one file with one call. If it fails, reads them one by one, to find the
   record that cannot be read. */
static int read_run(const fr_dataset *dataset, fr_dataset_place *places, size_t count, size_t size,
                    uint8_t *data, fr_error *err) {
    const fr_file_map *map = &dataset->files[places[0].file].map;
    const bool is_read = fr_file_map_read(map, places[0].offset, data, size, NULL) == FR_OK;
    for (size_t i = 0; i < count; i++) {
        fr_span *frame = &places[i].frame;
        frame->data = data;
        data += frame->size;
        if (is_read) continue;
        int status = fr_file_map_read(map, places[i].offset, data - frame->size, frame->size, err);
        if (status != FR_OK) return fail_at(dataset, &places[i], status, err);
    }
    return FR_OK;
}

static int read_frames(const fr_dataset *dataset, fr_dataset_place *places, size_t count,
                       fr_buffer *frames, fr_error *err) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        if (!places[i].frame.data && fr_add_overflows(total, places[i].frame.size, &total))
            return fr_fail_nomem(err, UINT64_MAX);
    frames->size = 0;
    FR_TRY(fr_buffer_reserve(frames, total, err));
    for (size_t begin = 0, end; begin < count; begin = end) {
        size_t size = places[begin].frame.size;
        end = begin + 1;
        if (places[begin].frame.data) continue;
        for (; end < count && places[end].file == places[begin].file &&
               places[end].offset == places[begin].offset + size;
             end++)
            size += places[end].frame.size;
        FR_TRY(
            read_run(dataset, places + begin, end - begin, size, frames->data + frames->size, err));
        frames->size += size;
    }
    return FR_OK;
}

static int hold_places(const fr_dataset *dataset, const fr_dataset_place *places, size_t count,
                       fr_dataset_hold *hold, fr_error *err) {
    uint32_t files[FR_DATASET_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        files[i] = places[i].file;
    int status = fr_dataset_maps_hold(dataset, files, count, hold, err);
    for (size_t i = 0; status < 0 && err && i < count; i++)
        if ((int64_t)files[i] == err->file && err->record < 0) {
            err->record = (int64_t)(places[i].number - dataset->ranges[files[i]].first);
            break;
        }
    return status;
}

int fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_dataset_place *places, fr_dataset_hold *hold, fr_error *err) {
    for (size_t i = 0; dataset->spans && i < count; i++) {
        const fr_dataset_span *span = &dataset->spans[numbers[i]];
        places[i] = (fr_dataset_place){
            .number = numbers[i], .frame = span->frame, .offset = span->offset, .file = span->file};
    }
    if (dataset->spans) return FR_OK;
    for (size_t i = 0; i < count; i++) {
        places[i].number = numbers[i];
        places[i].file = (uint32_t)find(dataset, numbers[i]);
    }
    if (dataset->maps) {
        fr_dataset_let_go(dataset, hold);
        FR_TRY(hold_places(dataset, places, count, hold, err));
    }
    fr_file_map_guard();
    if (FR_LIKELY(!resolve_frames(dataset, places, count))) return FR_OK;
    return read_frames(dataset, places, count, &hold->frames, err);
}

/* Reports that no record begins at an offset of the index, or that its size differs. */
static int refuse_index(fr_error *err) {
    return fr_fail(err, FR_ERR_INDEX,
                   "no record begins there, or one of another size: the index is of another file, "
                   "or the header is damaged");
}

/* Reports that the frame at `place` is invalid. */
static int fail_at(const fr_dataset *dataset, const fr_dataset_place *place, int status,
                   fr_error *err) {
    if (!dataset->spans) status = fr_dataset_blame(&dataset->files[place->file], status, err);
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
    record->offset = place->offset;
    return FR_OK;
}

int fr_dataset_read(const fr_dataset *dataset, const fr_dataset_place *place, fr_record *record,
                    fr_error *err) {
    return read_frame(dataset, place, &dataset->options, record, err);
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
    fr_dataset_fetch(dataset, places, count);
    for (size_t i = 0; i < count; i++)
        FR_TRY(fr_dataset_peek(dataset, &places[i], &records[i], err));
    return FR_OK;
}

int fr_dataset_copy(const fr_dataset *dataset, uint64_t number, const fr_record *record,
                    uint8_t *dst, fr_error *err) {
    const fr_span data = record->data;
    if (!dataset->options.verify) {
        if (data.size) memcpy(dst, data.data, data.size);
        return FR_OK;
    }
    const int status = fr_frame_copy(data, dst, err);
    if (FR_LIKELY(status == FR_OK)) return FR_OK;
    const uint32_t file = dataset->spans ? 0 : (uint32_t)find(dataset, number);
    return fail_at(dataset, &(fr_dataset_place){.number = number, .file = file}, status, err);
}

static size_t at_once(size_t count) {
    return count < FR_DATASET_AT_ONCE ? count : FR_DATASET_AT_ONCE;
}

static int put_end(fr_buffer *offsets, size_t end, fr_error *err) {
    int64_t value = (int64_t)end;
    return fr_buffer_append(offsets, &value, sizeof value, err);
}

/* Reserves memory for all records with one allocation, from the sizes in the index. An index
   with gaps does not give the sizes of records. */
static int reserve_all(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                       fr_buffer *data, fr_error *err) {
    fr_dataset_place places[FR_DATASET_AT_ONCE];
    fr_dataset_hold hold = {.count = 0};
    size_t total = 0;
    if (dataset->maps || dataset->reads) return FR_OK; /* looking up sizes would read the files */
    for (size_t done = 0, some; done < count; done += some) {
        some = at_once(count - done);
        FR_TRY(fr_dataset_resolve(dataset, numbers + done, some, places, &hold, err));
        for (size_t i = 0; i < some; i++) {
            if (!dataset->spans && dataset->files[places[i].file].index.gaps) return FR_OK;
            if (fr_add_overflows(total, places[i].frame.size, &total))
                return fr_fail_nomem(err, UINT64_MAX);
        }
    }
    return fr_buffer_reserve(data, total, err);
}

static int copy_records(const fr_dataset *dataset, const uint64_t *numbers,
                        const fr_record *records, size_t count, fr_buffer *data, fr_buffer *offsets,
                        fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        FR_TRY(fr_buffer_reserve(data, records[i].data.size, err));
        FR_TRY(fr_dataset_copy(dataset, numbers[i], &records[i], data->data + data->size, err));
        data->size += records[i].data.size;
        FR_TRY(put_end(offsets, data->size, err));
    }
    return FR_OK;
}

static int take_some(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                     fr_dataset_hold *hold, fr_buffer *data, fr_buffer *offsets, fr_error *err) {
    fr_record records[FR_DATASET_AT_ONCE];
    FR_TRY(fr_dataset_records(dataset, numbers, count, records, hold, err));
    FR_TRY(copy_records(dataset, numbers, records, count, data, offsets, err));
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
    if (FR_LIKELY(fr_file_map_losses() == dataset->losses) || dataset->spans) return FR_OK;
    int status = fr_file_map_check(&dataset->files[find(dataset, number)].map, err);
    if (status != FR_OK) fr_dataset_locate(dataset, number, err);
    return status;
}
