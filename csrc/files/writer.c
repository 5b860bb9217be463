/* SPDX-License-Identifier: Apache-2.0 */
#include "files/writer_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Bytes in one write. The page cache keeps pages that were written together as one unit, and
   maps a unit of 2 MiB at once: indexing a mapped file takes half the time that it takes after
   writes of 1 MiB. A process that writes many shards uses smaller pieces to limit its memory. */
#define PIECE_SIZE ((size_t)2 << 20)
#define SMALL_PIECE_SIZE ((size_t)256 << 10)
#define MOST_PIECES 128

static _Atomic size_t buffers; /* buffers of all writers, in bytes */

/* Bytes of disk space to reserve at once; small enough for thousands of shards. */
#define RESERVE_SIZE ((uint64_t)4 << 20)

/* Bytes. No system writes more in one call, and macOS refuses to try. */
#define WRITE_MAX ((size_t)1 << 30)

/* Reserves blocks for `size` more bytes. Errors are ignored here; write(2) reports a full disk. */
static void reserve(fr_writer *writer, size_t size) {
    while (writer->reserves && writer->reserved < writer->written + size) {
        const uint64_t from = writer->reserved;
        writer->reserved += RESERVE_SIZE;
        writer->reserves = fr_fd_reserve(writer->fd, from, RESERVE_SIZE) == 0;
    }
}

/* Releases the blocks after the end of the file. If that fails, they are only wasted. */
static void unreserve(const fr_writer *writer) {
    if (writer->reserved <= writer->written) return;
    if (fr_fd_truncate(writer->fd, writer->written) != 0) return;
}

/* Truncates the file to its size before the append. This is safe even if this writer created the
   file: it holds the lock, so no other writer has appended. */
static void cut_off(const fr_writer *writer) {
    if (fr_fd_truncate(writer->fd, writer->start) != 0) return; /* nothing more can be done */
    if (writer->created && fr_writer_has_path(writer)) fr_file_remove(writer->path);
}

/* A child made by fork() may only close its descriptor. The file belongs to the parent. */
static int check_process(const fr_writer *writer, fr_error *err) {
    return fr_check_process(writer->pid, "the writer", err);
}

static int write_all(fr_writer *writer, const uint8_t *data, size_t size, fr_error *err) {
    FR_TRY(check_process(writer, err));
    if (writer->reserved || size >= writer->piece) reserve(writer, size);
    while (size > 0) {
        int64_t wrote = fr_fd_write(writer->fd, data, size < WRITE_MAX ? size : WRITE_MAX);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return fr_fail_io(err, wrote < 0 ? errno : EIO, "writing");
        data += wrote;
        size -= (size_t)wrote;
        writer->written += (uint64_t)wrote;
    }
    return FR_OK;
}

static int drain(fr_writer *writer, fr_error *err) {
    FR_TRY(write_all(writer, writer->buffer.data, writer->buffer.size, err));
    writer->buffer.size = 0;
    return FR_OK;
}

static size_t room(const fr_writer *writer) {
    return writer->piece - writer->buffer.size;
}

/* Extends the buffer by `size` bytes, which the caller fills in. REQUIRES: they fit. */
static uint8_t *take(fr_writer *writer, size_t size) {
    uint8_t *p = writer->buffer.data + writer->buffer.size;
    writer->buffer.size += size;
    return p;
}

/* Does the same as put_bytes() and computes the checksum while copying. The stored bytes are
   then the checksummed ones even if another thread changes `data`, and a buffer in cache costs
   no memory traffic. */
static int put_summed(fr_writer *writer, fr_span data, uint32_t *crc, fr_error *err) {
    for (size_t done = 0; done < data.size;) {
        if (room(writer) == 0) FR_TRY(drain(writer, err));
        size_t piece = data.size - done < room(writer) ? data.size - done : room(writer);
        *crc = fr_crc32c_extend_copy(*crc, take(writer, piece), data.data + done, piece);
        done += piece;
    }
    return FR_OK;
}

/* Copies bytes through the buffer, so that every write is a full buffer. */
static int put_bytes(fr_writer *writer, const uint8_t *data, size_t size, fr_error *err) {
    while (size > 0) {
        if (room(writer) == 0) FR_TRY(drain(writer, err));
        size_t piece = size < room(writer) ? size : room(writer);
        memcpy(take(writer, piece), data, piece);
        data += piece;
        size -= piece;
    }
    return FR_OK;
}

static int put_long(fr_writer *writer, fr_span data, fr_error *err) {
    uint8_t header[FR_HEADER_SIZE], footer[FR_FOOTER_SIZE];
    uint32_t crc = 0;
    fr_frame_put_header(header, data.size);
    FR_TRY(put_bytes(writer, header, sizeof header, err));
    FR_TRY(put_summed(writer, data, &crc, err));
    fr_store_u32(footer, fr_crc_mask(crc));
    return put_bytes(writer, footer, sizeof footer, err);
}

static int put_record(fr_writer *writer, fr_span data, fr_error *err) {
    size_t left = room(writer);
    if (FR_UNLIKELY(left < FR_FRAME_OVERHEAD || data.size > left - FR_FRAME_OVERHEAD))
        return put_long(writer, data, err);
    fr_frame_put(take(writer, data.size + FR_FRAME_OVERHEAD), data);
    return FR_OK;
}

/* Writes data that fills whole buffers directly, without copying it to the buffer. */
static int put_frames(fr_writer *writer, fr_span frames, fr_error *err) {
    size_t head = writer->buffer.size ? room(writer) : 0;
    if (head > frames.size) head = frames.size;
    FR_TRY(put_bytes(writer, frames.data, head, err));
    frames = fr_span_after(frames, head);
    size_t whole = frames.size - frames.size % writer->piece;
    if (whole) {
        FR_TRY(drain(writer, err));
        FR_TRY(write_all(writer, frames.data, whole, err));
    }
    return put_bytes(writer, frames.data + whole, frames.size - whole, err);
}

/* Closes the file. A writer that appends releases its lock first, because a child made by fork()
   may still have the file open. */
static int close_file(fr_writer *writer) {
    if (writer->options.append && writer->pid == fr_process_id()) fr_fd_unlock(writer->fd);
    int fd = writer->fd;
    writer->fd = -1;
    return fr_fd_close(fd);
}

/* Closes a file that is appended to. On failure, keeps a descriptor and the lock, so that the
   file can be truncated. */
static int close_appended(fr_writer *writer) {
    int twin = fr_fd_duplicate(writer->fd);
    if (twin < 0) return close_file(writer);
    int failed = fr_fd_close(writer->fd) == 0 || errno == EINTR ? 0 : errno;
    writer->fd = twin;
    if (!failed) (void)close_file(writer);
    errno = failed;
    return failed ? -1 : 0;
}

static int take_buffer(fr_writer *writer, fr_error *err) {
    const bool are_many = atomic_fetch_add(&buffers, 1) >= MOST_PIECES;
    writer->piece = are_many ? SMALL_PIECE_SIZE : PIECE_SIZE;
    return fr_buffer_reserve(&writer->buffer, writer->piece, err);
}

static void give_buffer(fr_writer *writer) {
    if (writer->piece) atomic_fetch_sub(&buffers, 1);
    writer->piece = 0;
    fr_buffer_free(&writer->buffer);
}

/* Writes everything to the file, and the file to the disk. */
static int finish(fr_writer *writer, fr_error *err) {
    if (writer->fd < 0) return FR_OK;
    FR_TRY(drain(writer, err));
    unreserve(writer);
    if (!writer->options.no_sync) FR_TRY(fr_writer_sync(writer, err));
    if (writer->options.append) FR_TRY(fr_writer_check_path(writer, err));
    int closed = writer->options.append ? close_appended(writer) : close_file(writer);
    int failed = closed == 0 || errno == EINTR ? 0 : errno;
    give_buffer(writer);
    return failed ? fr_fail_io(err, failed, "closing") : FR_OK;
}

static int put_in_place(fr_writer *writer, bool keep, fr_error *err) {
    FR_TRY(check_process(writer, err));
    FR_TRY(finish(writer, err));
    return fr_writer_move(writer, keep, err);
}

static int publish(fr_writer *writer, fr_error *err) {
    FR_TRY(put_in_place(writer, false, err));
    if (!writer->in_place && !writer->created) return FR_OK;
    return writer->options.no_sync ? FR_OK : fr_writer_sync_directory(writer, err);
}

/* Aborts the writer after an error. All later calls return the same error. */
static int settle(fr_writer *writer, int status, fr_error *err) {
    if (FR_LIKELY(status == FR_OK)) return FR_OK;
    fr_writer_abort(writer);
    if (err) *err = writer->failed;
    return status;
}

static int check_open(const fr_writer *writer, fr_error *err) {
    if (FR_LIKELY(writer->open)) return FR_OK;
    if (writer->failed.status == FR_OK) return fr_fail(err, FR_ERR_STATE, "the writer is closed");
    if (err) *err = writer->failed;
    return writer->failed.status;
}

static int begin(fr_writer *writer, const char *path, fr_error *err) {
    FR_TRY(fr_writer_resolve(writer, path, err));
    FR_TRY(take_buffer(writer, err));
    return fr_writer_create(writer, err);
}

/* Checks that the writer is open and not finished. A finished file can only be published. */
static int check_writable(const fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    if (FR_LIKELY(writer->fd >= 0)) return FR_OK;
    return fr_fail(err, FR_ERR_STATE, "the writer is finished");
}

int fr_writer_open(fr_writer *writer, const char *path, const fr_writer_options *options,
                   fr_error *err) {
    *writer = (fr_writer){.options = *options, .fd = -1, .pid = fr_process_id()};
    return settle(writer, begin(writer, path, &writer->failed), err);
}

int fr_writer_record(fr_writer *writer, fr_span data, fr_error *err) {
    FR_TRY(check_writable(writer, err));
    FR_TRY(settle(writer, put_record(writer, data, &writer->failed), err));
    writer->count++;
    writer->size += (uint64_t)data.size + FR_FRAME_OVERHEAD;
    return FR_OK;
}

int fr_writer_spans(fr_writer *writer, const fr_span *records, size_t count, fr_error *err) {
    for (size_t i = 0; i < count; i++)
        FR_TRY(fr_writer_record(writer, records[i], err));
    return FR_OK;
}

int fr_writers_deal(fr_writer *const *writers, size_t writer_count, size_t *turn,
                    const fr_span *records, size_t count, fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        FR_TRY(fr_writer_record(writers[*turn], records[i], err));
        *turn = *turn + 1 < writer_count ? *turn + 1 : 0;
    }
    return FR_OK;
}

int fr_writer_frames(fr_writer *writer, fr_span frames, uint64_t count, fr_error *err) {
    FR_TRY(check_writable(writer, err));
    FR_TRY(settle(writer, put_frames(writer, frames, &writer->failed), err));
    writer->count += count;
    writer->size += frames.size;
    return FR_OK;
}

int fr_writer_flush(fr_writer *writer, fr_error *err) {
    FR_TRY(check_writable(writer, err));
    return settle(writer, drain(writer, &writer->failed), err);
}

int fr_writer_finish(fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    return settle(writer, finish(writer, &writer->failed), err);
}

int fr_writer_rename(fr_writer *writer, const char *path, fr_error *err) {
    FR_TRY(check_open(writer, err));
    char *before = writer->path;
    writer->path = NULL;
    int status = fr_writer_resolve(writer, path, err);
    if (status == FR_OK && writer->options.exclusive) {
        fr_file_info there;
        status = fr_writer_look(writer, &there, err);
    }
    if (status == FR_OK) {
        free(before);
        return FR_OK;
    }
    free(writer->path);
    writer->path = before;
    return status;
}

int fr_writer_put_in_place(fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    return settle(writer, put_in_place(writer, true, &writer->failed), err);
}

int fr_writer_close(fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    FR_TRY(settle(writer, publish(writer, &writer->failed), err));
    fr_writer_abort(writer);
    return FR_OK;
}

void fr_writer_abort(fr_writer *writer) {
    const bool ours = writer->pid == fr_process_id();
    if (writer->open && writer->fd >= 0) {
        if (writer->options.append && ours) cut_off(writer);
        close_file(writer);
    }
    if (writer->temporary && ours) fr_file_remove(writer->temporary);
    if (writer->replaced && ours) fr_file_remove(writer->replaced);
    free(writer->temporary);
    free(writer->replaced);
    free(writer->path);
    writer->temporary = writer->replaced = writer->path = NULL;
    writer->fd = -1;
    writer->open = writer->in_place = false;
    give_buffer(writer);
}
