/* SPDX-License-Identifier: Apache-2.0 */
#include "files/source.h"

#include <errno.h>
#include <inttypes.h>

#include "base/platform.h"

/* Bytes in one read(2): large enough to make the call cheap, small enough to stay in the
   second-level cache until they are parsed. */
#define READ_SIZE ((size_t)256 << 10)

/* Bytes. Longer records are read from the map, because a buffer would only add a copy. */
#define BUFFERED_MAX ((size_t)4 << 20)

/* Bytes of pages to release together. */
#define RELEASE_SIZE ((size_t)1 << 22)

int fr_source_open_fd(fr_source *source, int fd, fr_error *err) {
    *source = (fr_source){.fd = fd};
    fr_file_info info;
    int status = FR_OK;
    if (fr_fd_stat(fd, &info) != 0)
        status = fr_fail_io(err, errno, "fstat");
    else if (info.kind == FR_FILE_FOLDER)
        status = fr_fail_io(err, EISDIR, "open");
    if (status != FR_OK) {
        fr_fd_close(fd);
        source->fd = -1;
        return status;
    }
    source->reads = true;
    source->seekable = info.kind == FR_FILE_REGULAR && fr_fd_tell(fd) == 0;
    if (source->seekable && fr_file_map_open_fd(&source->map, fd, NULL) != FR_OK)
        source->map = (fr_file_map){0};
    return FR_OK;
}

void fr_source_show_all(fr_source *source) {
    if (!source->map.entry || source->mapped) return;
    const fr_span all = source->map.bytes;
    source->window =
        fr_span_after(all, source->offset < all.size ? (size_t)source->offset : all.size);
    source->mapped = source->ended = true;
    fr_buffer_free(&source->buffer);
}

static int open_file(const char *path, int *fd, fr_error *err) {
    *fd = fr_file_open(path, false);
    if (*fd >= 0) return FR_OK;
    return errno == EINTR ? FR_AGAIN : fr_fail_io(err, errno, "open");
}

int fr_source_open(fr_source *source, const char *path, fr_error *err) {
    *source = FR_SOURCE_FED;
    int fd;
    FR_TRY(open_file(path, &fd, err));
    return fr_source_open_fd(source, fd, err);
}

int fr_source_follow(fr_source *source, const char *path, fr_error *err) {
    *source = FR_SOURCE_FED;
    FR_TRY(open_file(path, &source->fd, err));
    source->reads = source->follows = source->stalls = true;
    return FR_OK;
}

int fr_source_seek(fr_source *source, uint64_t offset, fr_error *err) {
    if (offset && source->reads && !source->seekable && fr_fd_seek(source->fd, offset) != 0)
        return fr_fail_io(err, errno, "lseek");
    source->offset = offset;
    return FR_OK;
}

void fr_source_release(fr_source *source) {
    if (!source->mapped) return;
    const size_t page = fr_page_size();
    const size_t done = (source->map.bytes.size - source->window.size) / page * page;
    if (done - source->released < RELEASE_SIZE) return;
    fr_map_drop(source->map.bytes.data + source->released, done - source->released);
    source->released = done;
}

/* Moves the window to the front of its buffer, so that all free space follows it. */
static int make_room(fr_source *source, size_t size, fr_error *err) {
    fr_buffer *buffer = &source->buffer;
    if (source->window.size && source->window.data != buffer->data)
        memmove(buffer->data, source->window.data, source->window.size);
    buffer->size = source->window.size;
    source->window.data = buffer->data;
    int status = fr_buffer_reserve(buffer, size, err);
    source->window.data = buffer->data;
    return status;
}

/* Checks a followed file, which may only grow. Returns FR_AGAIN if it has not grown yet. */
static int still_there(const fr_source *source, fr_error *err) {
    fr_file_info info;
    const uint64_t had = source->offset + source->window.size;
    if (fr_fd_stat(source->fd, &info) != 0) return fr_fail_io(err, errno, "fstat");
    if (info.kind != FR_FILE_REGULAR || info.size >= had) return FR_AGAIN;
    fr_fail(err, FR_ERR_TRUNCATED,
            "the file shrank while it was read, %" PRIu64 " bytes were there", had);
    if (err) err->fault = FR_FAULT_SHRUNK;
    return FR_ERR_TRUNCATED;
}

/* Returns the bytes after `at`; for a mapped file, of the size it had when it was opened. */
static size_t bytes_left(const fr_source *source, uint64_t at) {
    if (!source->map.entry) return READ_SIZE;
    const uint64_t left = at < source->map.bytes.size ? source->map.bytes.size - at : 0;
    return left < READ_SIZE ? (size_t)left : READ_SIZE;
}

static int read_more(fr_source *source, fr_error *err) {
    const uint64_t at = source->offset + source->window.size;
    const size_t size = bytes_left(source, at);
    FR_TRY(make_room(source, size, err));
    uint8_t *dst = source->buffer.data + source->buffer.size;
    int64_t got = source->seekable ? fr_fd_read_at(source->fd, dst, size, at)
                                   : fr_fd_read(source->fd, dst, size);
    if (got < 0) {
        if (errno == EINTR) return FR_AGAIN;
        return fr_fail_io(err, errno, "read");
    }
    if (got == 0 && source->follows) return still_there(source, err);
    if (got == 0 && size > 0) FR_TRY(fr_source_check(source, err));
    source->buffer.size += (size_t)got;
    source->window.size += (size_t)got;
    source->ended = got == 0 || bytes_left(source, at + (uint64_t)got) == 0;
    return FR_OK;
}

int fr_source_fill(fr_source *source, size_t want, fr_error *err) {
    if (want > BUFFERED_MAX) fr_source_show_all(source);
    while (source->window.size < want && !source->ended) {
        if (!source->reads) return FR_AGAIN;
        FR_TRY(read_more(source, err));
    }
    return FR_OK;
}

int fr_source_feed(fr_source *source, fr_span bytes, fr_error *err) {
    if (source->reads || source->ended)
        return fr_fail(err, FR_ERR_STATE, "this source takes no more bytes");
    if (bytes.size == 0) {
        source->ended = true;
        return FR_OK;
    }
    FR_TRY(make_room(source, bytes.size, err));
    FR_TRY(fr_buffer_append(&source->buffer, bytes.data, bytes.size, err));
    source->window.size += bytes.size;
    return FR_OK;
}

int fr_source_check(const fr_source *source, fr_error *err) {
    fr_file_info info;
    if (!source->map.entry) return FR_OK;
    if (fr_fd_stat(source->fd, &info) == 0 && info.size < source->map.bytes.size)
        fr_file_map_lose(&source->map);
    return fr_file_map_check(&source->map, err);
}

void fr_source_close(fr_source *source) {
    if (source->fd >= 0) fr_fd_close(source->fd);
    fr_file_map_close(&source->map);
    fr_buffer_free(&source->buffer);
    *source = (fr_source){.fd = -1, .ended = true};
}
