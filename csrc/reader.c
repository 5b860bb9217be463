/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

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

int fr_reader_next(fr_reader *reader, fr_record *record, fr_error *err) {
    fr_source *source = &reader->source;
    if (FR_UNLIKELY(reader->failed.status)) {
        if (err) *err = reader->failed;
        return reader->failed.status;
    }
    if (reader->pending) {
        fr_source_consume(source, reader->pending);
        reader->pending = 0;
    }
    fr_frame frame = {{0}, 0};
    int status =
        fr_frame_next(source->window, source->ended, &reader->options, &frame, &reader->failed);
    if (FR_LIKELY(status == FR_OK)) {
        record->data = frame.data;
        record->offset = source->offset;
        reader->pending = frame.size;
        reader->count++;
        return FR_OK;
    }
    reader->need = frame.size;
    if (status == FR_AGAIN) return FR_AGAIN;
    if (status == FR_END && fr_source_check(&reader->source, &reader->failed) == FR_OK)
        return FR_END;
    return stay_failed(reader, reader->failed.status, err);
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

/* Copies a record that was taken; what cannot be kept would be lost without a word, so failing is
   for good. */
static int put_record(fr_reader *reader, fr_span record, fr_buffer *data, fr_buffer *offsets,
                      fr_error *err) {
    int status = fr_buffer_append(data, record.data, record.size, &reader->failed);
    if (status == FR_OK) status = put_offset(offsets, data->size, &reader->failed);
    if (status != FR_OK && err) *err = reader->failed;
    return status;
}

int fr_reader_take(fr_reader *reader, size_t count, fr_buffer *data, fr_buffer *offsets,
                   size_t *taken, fr_error *err) {
    *taken = 0;
    if (offsets->size == 0) FR_TRY(put_offset(offsets, 0, err));
    while (*taken < count) {
        fr_record record = {{0}, 0};
        int status = fr_reader_next(reader, &record, err);
        if (status != FR_OK) return *taken ? FR_OK : status;
        FR_TRY(put_record(reader, record.data, data, offsets, err));
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

int fr_reader_check(fr_reader *reader, fr_error *err) {
    if (FR_LIKELY(!fr_map_lost(&reader->source.map))) return FR_OK;
    reader->failed.status = FR_ERR_TRUNCATED;
    return stay_failed(reader, FR_ERR_TRUNCATED, err);
}

void fr_reader_close(fr_reader *reader) {
    fr_source_close(&reader->source);
    *reader = (fr_reader){.source = reader->source};
}
