/* SPDX-License-Identifier: Apache-2.0 */
#include "files/reader.h"

#include <inttypes.h>

#include "base/platform.h"

#define GUARDED 1024 /* bytes read between checks of the handler for lost pages */

static int stay_failed(fr_reader *reader, int status, fr_error *err) {
    fr_error *failed = &reader->failed;
    failed->record = (int64_t)reader->count;
    failed->offset = (int64_t)reader->source.offset;
    fr_error shrunk;
    if (fr_source_check(&reader->source, &shrunk) != FR_OK) {
        shrunk.record = failed->record;
        shrunk.offset = failed->offset;
        *failed = shrunk;
        status = shrunk.status;
    }
    if (err) *err = *failed;
    return status;
}

/* Ends reading at `stop`. Fails if the last record ends after it, or if the file ends before it. */
static int stop_at(fr_reader *reader, fr_error *err) {
    const uint64_t offset = reader->source.offset;
    if (offset == reader->stop) return FR_END;
    fr_error *failed = &reader->failed;
    if (offset < reader->stop) {
        fr_fail(failed, FR_ERR_TRUNCATED,
                "the file ends before byte %" PRIu64 ", where the range does", reader->stop);
        failed->fault = FR_FAULT_SHRUNK;
    } else {
        fr_fail(failed, FR_ERR_CORRUPT, "no record ends at byte %" PRIu64 ", where the range does",
                reader->stop);
        failed->fault = FR_FAULT_CUT;
    }
    return stay_failed(reader, failed->status, err);
}

/* Drops the index if memory is short, so that reading does not fail because of the index. */
static void add_to_index(fr_reader *reader) {
    if (fr_index_add(reader->index, reader->source.offset, NULL) == FR_OK) return;
    fr_index_free(reader->index);
    reader->index = NULL;
}

/* Gets the next record without advancing the reader. */
static inline int next_frame(fr_reader *reader, bool verify, fr_record *record, fr_error *err) {
    fr_source *source = &reader->source;
    if (FR_UNLIKELY(reader->failed.status)) {
        if (err) *err = reader->failed;
        return reader->failed.status;
    }
    if (reader->pending) {
        fr_source_consume(source, reader->pending);
        reader->pending = 0;
    }
    if (FR_UNLIKELY(reader->stop && source->offset >= reader->stop)) return stop_at(reader, err);
    if (source->offset >= reader->guard_at) {
        reader->guard_at = source->offset + GUARDED;
        if (source->mapped) fr_file_map_guard();
    }
    fr_frame frame = {{0}, 0};
    const fr_frame_options options = {.verify = verify, .max_record = reader->options.max_record};
    int status = fr_frame_next(source->window, source->ended, &options, &frame, &reader->failed);
    if (FR_LIKELY(status == FR_OK)) {
        record->data = frame.data;
        record->offset = source->offset;
        return FR_OK;
    }
    reader->need = frame.size;
    if (status == FR_AGAIN) return FR_AGAIN;
    if (status == FR_END && fr_source_check(&reader->source, &reader->failed) == FR_OK)
        return reader->stop ? stop_at(reader, err) : FR_END;
    return stay_failed(reader, reader->failed.status, err);
}

static inline int go_behind(fr_reader *reader, const fr_record *record) {
    reader->pending = record->data.size + FR_FRAME_OVERHEAD;
    reader->count++;
    if (FR_UNLIKELY(reader->index != NULL)) add_to_index(reader);
    return FR_OK;
}

int fr_reader_next(fr_reader *reader, fr_record *record, fr_error *err) {
    FR_TRY(next_frame(reader, reader->options.verify, record, err));
    return go_behind(reader, record);
}

int fr_reader_peek(fr_reader *reader, fr_record *record, fr_error *err) {
    return next_frame(reader, false, record, err);
}

void fr_reader_stage(fr_reader *reader) {
    const fr_span window = reader->source.window;
    const size_t page = fr_page_size(), end = reader->pending + FR_READER_STAGED;
    if (fr_reader_is_near(reader)) return;
    for (size_t at = reader->pending; at < end && at < window.size; at += page)
        (void)*(const volatile uint8_t *)(window.data + at);
    reader->near = end < window.size ? reader->source.offset + end : UINT64_MAX;
}

/* Checks a record in place, or copies it and checks the copy. */
static int check_data(const fr_reader *reader, fr_span data, uint8_t *dst, fr_error *err) {
    if (!reader->options.verify) {
        if (data.size && dst) memcpy(dst, data.data, data.size);
        return FR_OK;
    }
    return dst ? fr_frame_copy(data, dst, err)
               : fr_frame_check(data, fr_crc32c(data.data, data.size), err);
}

int fr_reader_copy(fr_reader *reader, const fr_record *record, uint8_t *dst, fr_error *err) {
    if (FR_UNLIKELY(check_data(reader, record->data, dst, &reader->failed) != FR_OK))
        return stay_failed(reader, reader->failed.status, err);
    return go_behind(reader, record);
}

int fr_reader_fill(fr_reader *reader, fr_error *err) {
    if (reader->pending) {
        fr_source_consume(&reader->source, reader->pending);
        reader->pending = 0;
    }
    return fr_source_fill(&reader->source, reader->need, err);
}

static int put_offset(fr_buffer *offsets, size_t end, fr_error *err) {
    int64_t value = (int64_t)end;
    return fr_buffer_append(offsets, &value, sizeof value, err);
}

/* Copies a record to the output. If this fails, the reader stays failed, because the record
   would otherwise be lost silently. */
static int put_record(fr_reader *reader, const fr_record *record, fr_buffer *data,
                      fr_buffer *offsets, fr_error *err) {
    const size_t size = record->data.size;
    int status = fr_buffer_reserve(data, size, &reader->failed);
    if (status == FR_OK) status = put_offset(offsets, data->size + size, &reader->failed);
    if (status != FR_OK) {
        if (err) *err = reader->failed;
        return status;
    }
    status = fr_reader_copy(reader, record, data->data + data->size, err);
    if (status == FR_OK)
        data->size += size;
    else
        offsets->size -= sizeof(int64_t);
    return status;
}

int fr_reader_take(fr_reader *reader, size_t count, size_t size, fr_buffer *data,
                   fr_buffer *offsets, size_t *taken, fr_error *err) {
    *taken = 0;
    if (offsets->size == 0) FR_TRY(put_offset(offsets, 0, err));
    while (*taken < count && (*taken == 0 || data->size < size)) {
        fr_record record = {{0}, 0};
        int status = fr_reader_peek(reader, &record, err);
        if (status == FR_OK) status = put_record(reader, &record, data, offsets, err);
        if (status != FR_OK) return *taken ? FR_OK : status;
        ++*taken;
    }
    return FR_OK;
}

int fr_reader_walk(fr_reader *reader, uint64_t count, size_t size, uint64_t *walked,
                   fr_error *err) {
    *walked = 0;
    for (size_t sum = 0; *walked < count && sum <= size; ++*walked) {
        fr_record record = {{0}, 0};
        int status = fr_reader_next(reader, &record, err);
        if (status != FR_OK) return *walked ? FR_OK : status;
        sum += record.data.size < SIZE_MAX - sum ? record.data.size : SIZE_MAX - sum;
    }
    return FR_OK;
}

static bool can_skip(const fr_error *failed) {
    if (failed->fault == FR_FAULT_NONE || failed->fault == FR_FAULT_SHRUNK ||
        failed->fault == FR_FAULT_CUT)
        return false;
    return failed->status == FR_ERR_CORRUPT || failed->status == FR_ERR_TRUNCATED ||
           failed->status == FR_ERR_LIMIT;
}

/* Decides if a length whose CRC is right also gives the end of the record. Returns FR_OK if a
   header or the end of the file is there, FR_END if not, FR_AGAIN if more bytes are needed. */
static int believe_length(fr_reader *reader, size_t *size) {
    const fr_source *source = &reader->source;
    const fr_error *failed = &reader->failed;
    if (failed->fault != FR_FAULT_DATA_CRC && failed->status != FR_ERR_LIMIT) return FR_END;
    if (failed->length > SIZE_MAX - FR_FRAME_OVERHEAD - FR_HEADER_SIZE) return FR_END;
    *size = (size_t)failed->length + FR_FRAME_OVERHEAD;
    if (source->ended && *size > source->window.size) return FR_END;
    if (!source->ended && source->window.size < *size + FR_HEADER_SIZE) {
        reader->need = *size + FR_HEADER_SIZE;
        return failed->status == FR_ERR_LIMIT ? FR_END : FR_AGAIN;
    }
    uint64_t length;
    fr_span rest = fr_span_after(source->window, *size);
    if (rest.size == 0) return FR_OK;
    if (rest.size < FR_HEADER_SIZE) return FR_END;
    return fr_frame_header(rest.data, &length) ? FR_OK : FR_END;
}

/* Returns true if the window has enough bytes for a search. Half of FR_READER_AHEAD suffices, so
   that the bytes of a stream with much damage are not moved for each search. */
static bool sees_ahead(const fr_source *source) {
    return source->ended || source->stalls || source->window.size >= FR_READER_AHEAD / 2;
}

/* Performs one step of the search, and consumes the bytes that contain no true frame. */
static int search_on(fr_reader *reader) {
    fr_source *source = &reader->source;
    reader->looks_ahead = !sees_ahead(source);
    if (reader->looks_ahead) {
        reader->need = FR_READER_AHEAD;
        return FR_AGAIN;
    }
    fr_resync resync;
    size_t need, from = source->offset == reader->skipping.begin ? reader->searched + 1 : 0;
    int status = fr_resync_find(source->window, source->ended, from, reader->options.max_record,
                                &reader->credit, &resync, &need);
    if (status == FR_END && !source->ended) {
        need = source->window.size - resync.end + FR_FRAME_OVERHEAD;
        status = FR_AGAIN;
    }
    reader->need = need;
    reader->searched = 0;
    if (status == FR_AGAIN && need == 0 && from) {
        reader->searched = resync.end - 1;
        return FR_AGAIN;
    }
    fr_source_consume(source, resync.end);
    reader->skipping.whole = resync.whole;
    reader->skipping.ambiguous = resync.ambiguous;
    return status == FR_AGAIN ? FR_AGAIN : FR_OK;
}

/* Skips a record whose length is right. If its data contains frames that replaced its end, skips
   only to the first of these. */
static void step_over(fr_reader *reader, size_t size) {
    size_t at;
    fr_span frame = {reader->source.window.data, size};
    reader->skipping.searched =
        reader->failed.fault == FR_FAULT_DATA_CRC && fr_resync_inside(frame, &reader->credit, &at);
    fr_source_consume(&reader->source, reader->skipping.searched ? at : size);
}

int fr_reader_find(fr_reader *reader, fr_error *err) {
    if (!reader->credit) reader->credit = FR_RESYNC_CREDIT(reader->source.map.bytes.size);
    fr_source_show_all(&reader->source);
    reader->source.stalls = true; /* no damage has to be resolved, so no bytes are needed ahead */
    reader->skipping.begin = UINT64_MAX;
    if (search_on(reader) == FR_AGAIN) return FR_AGAIN;
    reader->skipping = (fr_skipped){0};
    return fr_source_check(&reader->source, err);
}

static int go_past(fr_reader *reader) {
    size_t size = 0;
    if (!reader->skipping.searched) {
        int status = believe_length(reader, &size);
        if (status == FR_AGAIN) return FR_AGAIN;
        if (status == FR_OK) {
            step_over(reader, size);
            return FR_OK;
        }
        reader->skipping.searched = true;
    }
    return search_on(reader);
}

int fr_reader_skip(fr_reader *reader, fr_skipped *skipped, fr_error *err) {
    fr_source *source = &reader->source;
    if (!can_skip(&reader->failed)) {
        if (err) *err = reader->failed;
        return reader->failed.status;
    }
    fr_source_show_all(source);
    if (reader->skipping.end == 0) {
        reader->skipping = (fr_skipped){.begin = source->offset, .end = UINT64_MAX};
        if (!reader->credit) reader->credit = FR_RESYNC_CREDIT(source->map.bytes.size);
    }
    if (go_past(reader) == FR_AGAIN) return FR_AGAIN;
    fr_error shrunk;
    if (fr_source_check(source, &shrunk) != FR_OK) return stay_failed(reader, shrunk.status, err);
    *skipped = reader->skipping;
    skipped->end = source->offset;
    reader->skipping = (fr_skipped){0};
    reader->failed.status = FR_OK;
    return FR_OK;
}

int fr_reader_check(fr_reader *reader, fr_error *err) {
    if (FR_LIKELY(!fr_file_map_lost(&reader->source.map))) return FR_OK;
    reader->failed.status = FR_ERR_TRUNCATED;
    return stay_failed(reader, FR_ERR_TRUNCATED, err);
}

void fr_reader_close(fr_reader *reader) {
    fr_source_close(&reader->source);
    *reader = (fr_reader){.source = reader->source};
}
