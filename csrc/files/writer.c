/* SPDX-License-Identifier: Apache-2.0 */
#include "files/writer_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The size of one write. The page cache keeps pages together that were written together, and maps
   a piece of 2 MiB at once: indexing a mapped file takes half as long as after writes of 1 MiB. A
   process that writes many shards at a time uses smaller pieces, so as not to need much memory. */
#define PIECE_SIZE ((size_t)2 << 20)
#define SMALL_PIECE_SIZE ((size_t)256 << 10)
#define MOST_PIECES 128

static _Atomic size_t buffers; /* of all writers */

/* Room on the disk that is asked for at once; little enough for thousands of shards. */
#define RESERVE_SIZE ((uint64_t)4 << 20)

/* No system writes more at once, and macOS refuses to try. */
#define WRITE_MAX ((size_t)1 << 30)

/* Has blocks for `size` more bytes. Where there are none, write(2) is to say so. */
static void reserve(fr_writer *writer, size_t size) {
    while (writer->reserves && writer->reserved < writer->written + size) {
        const uint64_t from = writer->reserved;
        writer->reserved += RESERVE_SIZE;
        writer->reserves = fr_fd_reserve(writer->fd, from, RESERVE_SIZE) == 0;
    }
}

/* Gives back the blocks behind the end. If that fails they are only wasted. */
static void unreserve(const fr_writer *writer) {
    if (writer->reserved <= writer->written) return;
    if (fr_fd_truncate(writer->fd, writer->written) != 0) return;
}

/* Truncates the file to its size before the append. The lock is held, so no other writer has
   appended to a file that this one created. */
static void cut_off(const fr_writer *writer) {
    if (fr_fd_truncate(writer->fd, writer->start) != 0) return; /* nothing more can be done */
    if (writer->created && fr_writer_has_path(writer)) fr_file_remove(writer->path);
}

/* The file is its parent's: a child made by fork() may only close its descriptor. */
static int check_process(const fr_writer *writer, fr_error *err) {
    if (writer->pid == fr_process_id()) return FR_OK;
    return fr_fail(err, FR_ERR_STATE, "the writer was made in process %lld and works only there",
                   (long long)writer->pid);
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

/* The `size` bytes at the end of the buffer, which must be in it, are taken. */
static uint8_t *take(fr_writer *writer, size_t size) {
    uint8_t *p = writer->buffer.data + writer->buffer.size;
    writer->buffer.size += size;
    return p;
}

/* As put_bytes(), checksummed as it is copied: what is stored and what is summed are the same even
   while somebody changes `data`, and a buffer that stays in cache costs no memory traffic. */
static int put_summed(fr_writer *writer, fr_span data, uint32_t *crc, fr_error *err) {
    for (size_t done = 0; done < data.size;) {
        if (room(writer) == 0) FR_TRY(drain(writer, err));
        size_t piece = data.size - done < room(writer) ? data.size - done : room(writer);
        *crc = fr_crc32c_extend_copy(*crc, take(writer, piece), data.data + done, piece);
        done += piece;
    }
    return FR_OK;
}

/* Piece by piece, so that all that is ever written is whole buffers. */
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

/* Data that fills whole buffers goes to the file from where it is. */
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

/* The lock of one that appends goes now, though a child made by fork() has the file open, too. */
static int close_file(fr_writer *writer) {
    if (writer->options.append && writer->pid == fr_process_id()) fr_fd_unlock(writer->fd);
    int fd = writer->fd;
    writer->fd = -1;
    return fr_fd_close(fd);
}

/* As close_file(); on failure a descriptor and the lock are left, to truncate the file with. */
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

/* Everything is in the file, and the file on the disk. */
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

/* FR_OK when `status` is; else the writer is done for, and says so. */
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

/* Open, and not finished: a file that was finished is only there to be published. */
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
