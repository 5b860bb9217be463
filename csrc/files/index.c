/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index.h"

#include <inttypes.h>

/*
 * Each header says only where the next one is, so a scan waits for memory once a record, unless it
 * guesses: records of a file are of about the same size, and some of them further on there will be
 * a header within a few bytes of where their average says.
 */
#define AHEAD 12
#define MARGIN 48

static void prefetch_header(fr_span rest, size_t average) {
    if (average > rest.size / (AHEAD + 1) || average * AHEAD < MARGIN) return;
    const uint8_t *p = rest.data + AHEAD * average;
    __builtin_prefetch(p - MARGIN);
    __builtin_prefetch(p + MARGIN);
}

static int fail_at(fr_error *err, const fr_index *index, int status) {
    if (err) {
        err->offset = (int64_t)index->end;
        err->record = (int64_t)fr_index_count(index);
    }
    return status;
}

int fr_index_scan(fr_index *index, fr_span file, const fr_frame_options *options, uint64_t limit,
                  fr_error *err) {
    if (index->done) return FR_OK;
    if (index->offsets.size == 0)
        FR_TRY(fr_buffer_append(&index->offsets, &index->end, sizeof index->end, err));
    fr_frame_options unverified = {.verify = false, .max_record = options->max_record};
    size_t sixteen = 0; /* of the records lately seen, together */
    for (; limit; limit--) {
        fr_span rest = fr_span_after(file, (size_t)index->end);
        fr_frame frame;
        int status = fr_frame_next(rest, true, &unverified, &frame, err);
        if (status == FR_END) {
            index->done = true;
            return FR_OK;
        }
        if (status != FR_OK) return fail_at(err, index, status);
        sixteen = sixteen ? sixteen - sixteen / 16 + frame.size : frame.size * 16;
        prefetch_header(rest, sixteen / 16);
        index->end += frame.size;
        FR_TRY(fr_buffer_append(&index->offsets, &index->end, sizeof index->end, err));
    }
    return FR_AGAIN;
}

/*
 *   0  magic        8 bytes, chosen like PNG's: text mode and seven-bit channels spoil it
 *   8  version      u32le
 *  12  zero         u32le
 *  16  data size    u64le   \ of the file that it is an index of
 *  24  data mtime   i64le   /
 *  32  count        u64le
 *  40  body CRC32C  u32le
 *  44  head CRC32C  u32le   of the 44 bytes before it
 *  48  body         count + 1 times u64le
 */
#define HEAD_SIZE 48
#define VERSION 1
static const uint8_t magic[8] = {0x89, 'F', 'R', 'I', '\r', '\n', 0x1a, '\n'};

static int refuse_order(fr_error *err, size_t i, uint64_t offset) {
    fr_fail(err, FR_ERR_INDEX, "its entry %zu, %" PRIu64 ", cannot be where a record begins", i,
            offset);
    return FR_ERR_INDEX;
}

/* The entries as they lie in memory of this machine. */
static int check_order(const fr_index *index, uint64_t size, bool gaps, fr_error *err) {
    const uint64_t count = fr_index_count(index);
    uint64_t begin = fr_index_offset(index, 0);
    if (begin > size || (begin && !gaps)) return refuse_order(err, 0, begin);
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t end = fr_index_offset(index, i);
        if (end < begin || end - begin < FR_FRAME_OVERHEAD || end > size)
            return refuse_order(err, (size_t)i, end);
        begin = end;
    }
    if (begin == size || gaps) return FR_OK;
    return fr_fail(err, FR_ERR_INDEX, "it ends at %" PRIu64 ", the file at %" PRIu64, begin, size);
}

int fr_index_set(fr_index *index, const uint64_t *offsets, size_t count, uint64_t size, bool gaps,
                 fr_error *err) {
    size_t bytes;
    if (fr_add_overflows(count, 1, &bytes) || fr_mul_overflows(bytes, sizeof *offsets, &bytes))
        return fr_fail_nomem(err, UINT64_MAX);
    index->offsets.size = 0;
    FR_TRY(fr_buffer_append(&index->offsets, offsets, bytes, err));
    FR_TRY(check_order(index, size, gaps, err));
    index->end = offsets[count];
    index->done = true;
    index->gaps = gaps;
    return FR_OK;
}

int fr_index_save(const fr_index *index, const fr_index_stamp *stamp, fr_buffer *out,
                  fr_error *err) {
    const uint64_t count = fr_index_count(index);
    const size_t body = ((size_t)count + 1) * 8;
    FR_TRY(fr_buffer_reserve(out, HEAD_SIZE + body, err));
    uint8_t *head = out->data + out->size, *p = head + HEAD_SIZE;
    for (uint64_t i = 0; i <= count; i++)
        fr_store_u64(p + 8 * i, index->offsets.size ? fr_index_offset(index, i) : 0);
    memcpy(head, magic, sizeof magic);
    fr_store_u32(head + 8, VERSION);
    fr_store_u32(head + 12, 0);
    fr_store_u64(head + 16, stamp->size);
    fr_store_u64(head + 24, (uint64_t)stamp->mtime_ns);
    fr_store_u64(head + 32, count);
    fr_store_u32(head + 40, fr_crc32c(p, body));
    fr_store_u32(head + 44, fr_crc32c(head, 44));
    out->size += HEAD_SIZE + body;
    return FR_OK;
}

static int check_head(fr_span file, fr_error *err) {
    if (file.size < sizeof magic || memcmp(file.data, magic, sizeof magic) != 0)
        return fr_fail(err, FR_ERR_INDEX, "it is not a fastrec index");
    if (file.size < HEAD_SIZE)
        return fr_fail(err, FR_ERR_INDEX, "it is truncated to %zu bytes", file.size);
    if (fr_crc32c(file.data, 44) != fr_load_u32(file.data + 44))
        return fr_fail(err, FR_ERR_INDEX, "its header is damaged");
    if (fr_load_u32(file.data + 8) != VERSION || fr_load_u32(file.data + 12) != 0)
        return fr_fail(err, FR_ERR_INDEX, "its version is %" PRIu32 ", must be %d",
                       fr_load_u32(file.data + 8), VERSION);
    uint64_t count = fr_load_u64(file.data + 32), entries = (file.size - HEAD_SIZE) / 8;
    if (count == UINT64_MAX || count + 1 != entries || (file.size - HEAD_SIZE) % 8 != 0)
        return fr_fail(err, FR_ERR_INDEX, "it claims %" PRIu64 " records in %zu bytes", count,
                       file.size);
    return FR_OK;
}

int fr_index_load(fr_index *index, fr_span file, fr_index_stamp *stamp, fr_error *err) {
    FR_TRY(check_head(file, err));
    fr_span body = fr_span_after(file, HEAD_SIZE);
    if (fr_crc32c(body.data, body.size) != fr_load_u32(file.data + 40))
        return fr_fail(err, FR_ERR_INDEX, "its entries are damaged");
    stamp->size = fr_load_u64(file.data + 16);
    stamp->mtime_ns = (int64_t)fr_load_u64(file.data + 24);
    index->offsets.size = 0;
    FR_TRY(fr_buffer_append(&index->offsets, body.data, body.size, err));
    for (size_t i = 0; FR_BIG_ENDIAN && i < body.size; i += 8) {
        uint64_t offset = fr_load_u64(body.data + i);
        memcpy(index->offsets.data + i, &offset, sizeof offset);
    }
    FR_TRY(check_order(index, stamp->size, false, err));
    index->end = stamp->size;
    index->done = true;
    return FR_OK;
}

void fr_index_free(fr_index *index) {
    fr_buffer_free(&index->offsets);
    *index = (fr_index){0};
}
