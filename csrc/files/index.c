/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/platform.h"

/*
 * A header gives only the position of the next one, so a scan would wait for memory at every
 * record. Records of a file have about the same size. The scan therefore prefetches the bytes where
 * the average size predicts a header some records ahead, and a header is within a few bytes of that
 * position.
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
        err->record = (int64_t)index->count;
    }
    return status;
}

static int begin(fr_index *index, fr_error *err) {
    if (index->packer) return FR_OK;
    index->packer = calloc(1, sizeof *index->packer);
    return index->packer ? FR_OK : fr_fail_nomem(err, sizeof *index->packer);
}

/* Appends the end of the last record, and packs all offsets. */
static int finish(fr_index *index, fr_error *err) {
    FR_TRY(fr_offsets_push(index->packer, index->end, err));
    FR_TRY(fr_offsets_finish(index->packer, &index->memory, err));
    free(index->packer);
    index->packer = NULL;
    index->table = (fr_span){index->memory.data, index->memory.size};
    index->done = true;
    return FR_OK;
}

#define LONG_FRAME ((uint64_t)64 << 10) /* a disk reads the header sooner than such a frame */
#define READ_AT_ONCE ((size_t)256 << 10)

/* A part of a file that is not mapped. All-zero is a valid empty part. */
typedef struct {
    fr_buffer bytes;
    uint64_t offset;
} piece;

static int fail_shrunk(const fr_index_file *file, fr_error *err) {
    fr_fail(err, FR_ERR_TRUNCATED, "the file shrank while it was read, it had %zu bytes",
            file->bytes.size);
    if (err) err->fault = FR_FAULT_SHRUNK;
    return FR_ERR_TRUNCATED;
}

static int read_piece(piece *p, const fr_index_file *file, uint64_t offset, size_t size,
                      fr_error *err) {
    p->bytes.size = 0;
    FR_TRY(fr_buffer_reserve(&p->bytes, size, err));
    p->offset = offset;
    while (p->bytes.size < size) {
        uint8_t *data = p->bytes.data + p->bytes.size;
        const int64_t some =
            fr_fd_read_at(file->fd, data, size - p->bytes.size, offset + p->bytes.size);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return fr_fail_io(err, errno, "pread");
        if (some == 0) return fail_shrunk(file, err);
        p->bytes.size += (size_t)some;
    }
    return FR_OK;
}

/* Returns the bytes of the file from the end of the scan: all of them if the file is mapped, and
   at least a header if it is read. */
static int next_head(const fr_index *index, const fr_index_file *file, piece *p, fr_span *head,
                     fr_error *err) {
    const size_t left = file->bytes.size - (size_t)index->end;
    const size_t header = left < FR_HEADER_SIZE ? left : FR_HEADER_SIZE;
    const bool is_long = index->mean == 0 || index->mean >= LONG_FRAME;
    *head = (fr_span){NULL, 0};
    if (left == 0) return FR_OK;
    if (file->bytes.data && (!is_long || file->fd < 0)) {
        *head = fr_span_after(file->bytes, (size_t)index->end);
        return FR_OK;
    }
    const uint64_t skipped = index->end - p->offset; /* wraps around if before the piece */
    if (skipped >= p->bytes.size || p->bytes.size - skipped < header) {
        const size_t wanted = is_long ? header : READ_AT_ONCE;
        FR_TRY(read_piece(p, file, index->end, wanted < left ? wanted : left, err));
    }
    *head =
        fr_span_after((fr_span){p->bytes.data, p->bytes.size}, (size_t)(index->end - p->offset));
    return FR_OK;
}

static int scan(fr_index *index, const fr_index_file *file, const fr_frame_options *options,
                uint64_t limit, piece *p, fr_error *err) {
    uint64_t sixteen = index->mean * 16;
    for (; limit; limit--) {
        const uint64_t left = file->bytes.size - index->end;
        fr_span head;
        uint64_t size;
        int status = next_head(index, file, p, &head, err);
        if (status == FR_OK) status = fr_frame_measure(head, left, options->max_record, &size, err);
        if (status == FR_END) return finish(index, err);
        if (status != FR_OK) return fail_at(err, index, status);
        sixteen = sixteen ? sixteen - sixteen / 16 + size : size * 16;
        index->mean = sixteen / 16;
        prefetch_header(head, (size_t)index->mean);
        FR_TRY(fr_offsets_push(index->packer, index->end, err));
        index->end += size;
        index->count++;
    }
    return FR_AGAIN;
}

int fr_index_scan(fr_index *index, const fr_index_file *file, const fr_frame_options *options,
                  uint64_t limit, fr_error *err) {
    if (index->done) return FR_OK;
    if (file->bytes.size >= FR_OFFSETS_LIMIT)
        return fr_fail(err, FR_ERR_ARG, "the file must be below 64 PiB, got %zu bytes",
                       file->bytes.size);
    FR_TRY(begin(index, err));
    piece p = {.bytes = {0}};
    int status = scan(index, file, options, limit, &p, err);
    fr_buffer_free(&p.bytes);
    return status;
}

/* Checks offsets in sequence, and refuses those where no record can begin. */
typedef struct {
    uint64_t size; /* file size in bytes */
    bool gaps;
    uint64_t count; /* number of offsets accepted */
    uint64_t last;
} follower;

static int refuse_order(fr_error *err, uint64_t i, uint64_t offset) {
    return fr_fail(err, FR_ERR_INDEX,
                   "its entry %" PRIu64 ", %" PRIu64 ", cannot be where a record begins", i,
                   offset);
}

static int follow(follower *f, const uint64_t *offsets, uint64_t count, fr_error *err) {
    for (uint64_t i = 0; i < count; i++, f->count++) {
        const uint64_t offset = offsets[i];
        const bool fits = f->count ? offset >= f->last && offset - f->last >= FR_FRAME_OVERHEAD
                                   : offset == 0 || f->gaps;
        if (!fits || offset > f->size || offset >= FR_OFFSETS_LIMIT)
            return refuse_order(err, f->count, offset);
        f->last = offset;
    }
    return FR_OK;
}

static int check_end(const follower *f, fr_error *err) {
    if (f->last == f->size || f->gaps) return FR_OK;
    return fr_fail(err, FR_ERR_INDEX, "it ends at %" PRIu64 ", the file at %" PRIu64, f->last,
                   f->size);
}

/* Appends the next `some` of `count` + 1 offsets, except the last offset, where no record
   begins. */
static int push_some(fr_index *index, const uint64_t *offsets, uint64_t some, uint64_t count,
                     fr_error *err) {
    FR_TRY(begin(index, err));
    for (uint64_t i = 0; i < some && index->packer->count < count; i++)
        FR_TRY(fr_offsets_push(index->packer, offsets[i], err));
    return FR_OK;
}

static int end_at(fr_index *index, uint64_t count, const follower *f, fr_error *err) {
    FR_TRY(check_end(f, err));
    index->count = count;
    index->end = f->last;
    index->gaps = f->gaps;
    return finish(index, err);
}

int fr_index_set(fr_index *index, const uint64_t *offsets, uint64_t count, uint64_t size, bool gaps,
                 fr_error *err) {
    follower f = {.size = size, .gaps = gaps};
    fr_index_free(index);
    FR_TRY(follow(&f, offsets, count + 1, err));
    FR_TRY(push_some(index, offsets, count, count, err));
    return end_at(index, count, &f, err);
}

int fr_index_add(fr_index *index, uint64_t offset, fr_error *err) {
    if (offset < index->end || offset >= FR_OFFSETS_LIMIT)
        return refuse_order(err, index->count, offset);
    FR_TRY(begin(index, err));
    FR_TRY(fr_offsets_push(index->packer, offset, err));
    index->end = offset;
    index->count++;
    return FR_OK;
}

int fr_index_end(fr_index *index, uint64_t end, bool gaps, fr_error *err) {
    if (end < index->end || end >= FR_OFFSETS_LIMIT) return refuse_order(err, index->count, end);
    FR_TRY(begin(index, err));
    index->end = end;
    index->gaps = gaps;
    return finish(index, err);
}

int fr_index_copy(const fr_index *index, fr_index *copy, fr_error *err) {
    FR_TRY(fr_buffer_append(&copy->memory, index->table.data, index->table.size, err));
    copy->table = (fr_span){copy->memory.data, copy->memory.size};
    copy->count = index->count;
    copy->end = index->end;
    copy->done = index->done;
    copy->gaps = index->gaps;
    return FR_OK;
}

void fr_index_bounds(const fr_index *index, const uint64_t *records, size_t count, uint64_t *begins,
                     uint64_t *ends) {
    for (size_t i = 0; i < count; i++) {
        begins[i] = fr_index_offset(index, records[i]);
        ends[i] = fr_index_offset(index, records[i] + 1);
    }
}

uint64_t fr_index_find(const fr_index *index, uint64_t offset) {
    uint64_t low = 0, high = index->count + 1;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (fr_index_offset(index, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int fr_index_offsets(const fr_index *index, fr_buffer *offsets, fr_error *err) {
    size_t size;
    if (fr_mul_overflows((size_t)index->count + 1, 8, &size)) return fr_fail_nomem(err, UINT64_MAX);
    FR_TRY(fr_buffer_reserve(offsets, size, err));
    uint64_t some[FR_OFFSETS_GROUP];
    for (uint64_t i = 0, left = index->count + 1; left; i++) {
        const uint64_t count = left < FR_OFFSETS_GROUP ? left : FR_OFFSETS_GROUP;
        fr_offsets_unpack(index->table, i, some);
        FR_TRY(fr_buffer_append(offsets, some, (size_t)count * 8, err));
        left -= count;
    }
    return FR_OK;
}

/*
 *   0  magic        8 bytes, chosen like PNG's: text mode and seven-bit channels spoil it
 *   8  version      u32le
 *  12  zero         u32le
 *  16  data size    u64le   \ of the indexed file
 *  24  data mtime   i64le   /
 *  32  count        u64le
 *  40  body CRC32C  u32le
 *  44  head CRC32C  u32le   of bytes 0 to 43
 *  48  body         count + 1 offsets; version 1: u64le each; version 2: a table (offsets.h)
 */
#define VERSION 2
static const uint8_t magic[8] = {0x89, 'F', 'R', 'I', '\r', '\n', 0x1a, '\n'};

int fr_index_save(const fr_index *index, const fr_file_stamp *stamp, fr_buffer *out,
                  fr_error *err) {
    const fr_span table = index->table;
    FR_TRY(fr_buffer_reserve(out, FR_INDEX_HEAD + table.size, err));
    uint8_t *head = out->data + out->size;
    memcpy(head + FR_INDEX_HEAD, table.data, table.size);
    memcpy(head, magic, sizeof magic);
    fr_store_u32(head + 8, VERSION);
    fr_store_u32(head + 12, 0);
    fr_store_u64(head + 16, stamp->size);
    fr_store_u64(head + 24, (uint64_t)stamp->mtime_ns);
    fr_store_u64(head + 32, index->count);
    fr_store_u32(head + 40, fr_crc32c(table.data, table.size));
    fr_store_u32(head + 44, fr_crc32c(head, 44));
    out->size += FR_INDEX_HEAD + table.size;
    return FR_OK;
}

/* Returns true if a body of `size` bytes can contain `count` records. */
static bool can_hold(uint32_t version, uint64_t size, uint64_t count) {
    if (count == UINT64_MAX || size % 8 != 0) return false;
    if (version == 1) return size / 8 == count + 1;
    return size >= FR_OFFSETS_SPARE &&
           fr_offsets_groups(count + 1) <= (size - FR_OFFSETS_SPARE) / FR_OFFSETS_HEAD;
}

int fr_index_read_head(fr_span bytes, uint64_t size, fr_index_head *head, fr_error *err) {
    if (bytes.size < sizeof magic || memcmp(bytes.data, magic, sizeof magic) != 0)
        return fr_fail(err, FR_ERR_INDEX, "it is not a fastrec index");
    if (bytes.size < FR_INDEX_HEAD)
        return fr_fail(err, FR_ERR_INDEX, "it is truncated to %zu bytes", bytes.size);
    if (fr_crc32c(bytes.data, 44) != fr_load_u32(bytes.data + 44))
        return fr_fail(err, FR_ERR_INDEX, "its header is damaged");
    head->version = fr_load_u32(bytes.data + 8);
    if (head->version < 1 || head->version > VERSION || fr_load_u32(bytes.data + 12) != 0)
        return fr_fail(err, FR_ERR_INDEX, "its version is %" PRIu32 ", must be 1 to %d",
                       head->version, VERSION);
    head->stamp.size = fr_load_u64(bytes.data + 16);
    head->stamp.mtime_ns = (int64_t)fr_load_u64(bytes.data + 24);
    head->count = fr_load_u64(bytes.data + 32);
    if (!can_hold(head->version, size - FR_INDEX_HEAD, head->count))
        return fr_fail(err, FR_ERR_INDEX, "it claims %" PRIu64 " records in %" PRIu64 " bytes",
                       head->count, size);
    return FR_OK;
}

/* Loads a body of version 1, which is packed into memory. */
static int load_offsets(fr_index *index, fr_span body, const fr_index_head *head, fr_error *err) {
    follower f = {.size = head->stamp.size};
    uint64_t some[FR_OFFSETS_GROUP];
    while (f.count <= head->count) {
        const uint64_t left = head->count + 1 - f.count;
        const uint64_t count = left < FR_OFFSETS_GROUP ? left : FR_OFFSETS_GROUP;
        for (uint64_t i = 0; i < count; i++)
            some[i] = fr_load_u64(body.data + 8 * (size_t)(f.count + i));
        FR_TRY(follow(&f, some, count, err));
        FR_TRY(push_some(index, some, count, head->count, err));
    }
    return end_at(index, head->count, &f, err);
}

/* Uses a body of version 2 in place. */
static int use_table(fr_index *index, fr_span table, const fr_index_head *head, fr_error *err) {
    follower f = {.size = head->stamp.size};
    uint64_t some[FR_OFFSETS_GROUP];
    if (!fr_offsets_sound(table, head->count + 1))
        return fr_fail(err, FR_ERR_INDEX, "its groups do not follow each other");
    for (uint64_t group = 0; f.count <= head->count; group++) {
        const uint64_t left = head->count + 1 - f.count;
        fr_offsets_unpack(table, group, some);
        FR_TRY(follow(&f, some, left < FR_OFFSETS_GROUP ? left : FR_OFFSETS_GROUP, err));
    }
    FR_TRY(check_end(&f, err));
    index->table = table;
    index->count = head->count;
    index->end = head->stamp.size;
    index->done = true;
    return FR_OK;
}

int fr_index_load(fr_index *index, fr_span file, fr_file_stamp *stamp, fr_error *err) {
    fr_index_head head;
    fr_index_free(index);
    FR_TRY(fr_index_read_head(file, file.size, &head, err));
    const fr_span body = fr_span_after(file, FR_INDEX_HEAD);
    if (fr_crc32c(body.data, body.size) != fr_load_u32(file.data + 40))
        return fr_fail(err, FR_ERR_INDEX, "its entries are damaged");
    *stamp = head.stamp;
    return (head.version == 1 ? load_offsets : use_table)(index, body, &head, err);
}

/* Returns FR_OK if the file has the header of a record where the index says. */
static int compare_header(const fr_index *index, uint64_t record, int fd, fr_error *err) {
    const uint64_t begin = fr_index_offset(index, record);
    const uint64_t room = fr_index_offset(index, record + 1) - begin;
    uint8_t header[FR_HEADER_SIZE];
    uint64_t length;
    int64_t size;
    do {
        size = fr_fd_read_at(fd, header, sizeof header, begin);
    } while (size < 0 && errno == EINTR);
    if (size < 0) return fr_fail_io(err, errno, "pread");
    if (size == sizeof header && fr_frame_header(header, &length) && room >= FR_FRAME_OVERHEAD &&
        (index->gaps ? length <= room - FR_FRAME_OVERHEAD : length == room - FR_FRAME_OVERHEAD))
        return FR_OK;
    return fr_fail(err, FR_ERR_INDEX,
                   "it was made from another file: at %" PRIu64 " there is no record of %" PRIu64
                   " bytes",
                   begin, room - FR_FRAME_OVERHEAD);
}

#define SAMPLES 5 /* headers to compare: the first, the last, and some between them */

static int compare_headers(const fr_index *index, int fd, fr_error *err) {
    const uint64_t count = index->count, most = count < SAMPLES ? count : SAMPLES;
    for (uint64_t i = 0; i < most; i++) {
        const uint64_t last = count - 1, step = most > 1 ? last / (most - 1) : 0;
        FR_TRY(compare_header(index, i + 1 < most ? i * step : last, fd, err));
    }
    return FR_OK;
}

int fr_index_compare(const fr_index *index, const fr_file_stamp *made, const char *path,
                     const fr_file_stamp *now, fr_error *err) {
    if (fr_file_stamp_equal(made, now)) return FR_OK;
    if (made->size != now->size)
        return fr_fail(err, FR_ERR_INDEX,
                       "it was made from a file of %" PRIu64 " bytes, the file has %" PRIu64,
                       made->size, now->size);
    int fd;
    do {
        fd = fr_file_open(path, true);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return fr_fail_io(err, errno, "open");
    fr_file_stamp opened;
    int status = fr_file_map_stat_fd(fd, &opened, err);
    if (status == FR_OK && !fr_file_stamp_equal(&opened, now))
        status = fr_fail(err, FR_ERR_INDEX, "the file was changed while it was opened");
    if (status == FR_OK) status = compare_headers(index, fd, err);
    fr_fd_close(fd);
    return status;
}

void fr_index_free(fr_index *index) {
    fr_buffer_free(&index->memory);
    if (index->packer) fr_offsets_packer_free(index->packer);
    free(index->packer);
    *index = (fr_index){0};
}
