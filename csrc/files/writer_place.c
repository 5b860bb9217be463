/* SPDX-License-Identifier: Apache-2.0 */
/* Creating a writer's file, and renaming it to its target. */
#include "files/writer_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "format/crc32c.h"

#define NAMES_TRIED 100
#define HEAD_SIZE 4096

int fr_writer_look(const fr_writer *writer, fr_file_info *there, fr_error *err) {
    if (fr_file_stat(writer->path, there) != 0) {
        *there = (fr_file_info){.kind = FR_FILE_NONE};
        return errno == ENOENT ? FR_OK : fr_fail_io(err, errno, "looking at it");
    }
    if (writer->options.exclusive) return fr_fail_io(err, EEXIST, "creating it");
    if (there->kind == FR_FILE_FOLDER) return fr_fail_io(err, EISDIR, "creating it");
    if (there->kind == FR_FILE_REGULAR) return FR_OK;
    return fr_fail(err, FR_ERR_ARG, "not a regular file: only regular files can be replaced");
}

/* Gets the target and the checksum of its first bytes, at most `size` and HEAD_SIZE. Both are from
   one descriptor, because the target may be replaced at any time. Returns -1 and may leave `there`
   unchanged if the target cannot be read. */
static int64_t head_of_target(const fr_writer *writer, uint64_t size, fr_file_info *there) {
    uint8_t head[HEAD_SIZE];
    const int fd = fr_file_open(writer->path, true);
    if (fd < 0) return -1;
    int64_t count = -1;
    if (fr_fd_stat(fd, there) == 0 && there->kind == FR_FILE_REGULAR) {
        if (size > there->size) size = there->size;
        if (size > sizeof head) size = sizeof head;
        do
            count = fr_fd_read_at(fd, head, (size_t)size, 0);
        while (count < 0 && errno == EINTR);
    }
    fr_fd_close(fd);
    return count < 0 ? -1 : (int64_t)fr_crc32c(head, (size_t)count);
}

/* Creates the file with `mode` less the umask of the process, which only the kernel knows. */
static int create_temporary(fr_writer *writer, unsigned mode, fr_error *err) {
    fr_path path;
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < NAMES_TRIED; attempt++) {
        FR_TRY(fr_writer_name_temporary(writer, attempt, &path, err));
        fd = fr_file_create(path.text, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (fd < 0) return fr_fail_io(err, errno, "creating a temporary file beside it");
    int status = fr_path_copy(&writer->temporary, &path, err);
    if (status != FR_OK) {
        fr_file_remove(path.text);
        fr_fd_close(fd);
        return status;
    }
    writer->fd = fd;
    writer->open = true;
    writer->reserves = fr_fd_allocates_late(fd);
    return FR_OK;
}

static int open_temporary(fr_writer *writer, fr_error *err) {
    fr_file_info there;
    FR_TRY(fr_writer_look(writer, &there, err));
    if (there.kind == FR_FILE_NONE) return create_temporary(writer, 0666, err);
    writer->target_head = head_of_target(writer, HEAD_SIZE, &there);
    writer->target_device = there.device;
    writer->target_inode = there.inode;
    writer->target_size = there.size;
    FR_TRY(create_temporary(writer, 0600, err));
    if (fr_fd_set_mode(writer->fd, there.mode) == 0) return FR_OK;
    const bool fixed = errno == EPERM || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL;
    return fixed ? FR_OK : fr_fail_io(err, errno, "setting its mode"); /* fixed by the mount */
}

static int open_or_create(fr_writer *writer, fr_error *err) {
    do {
        writer->fd = fr_file_append(writer->path, false);
        if (writer->fd < 0 && errno == ENOENT) {
            writer->fd = fr_file_append(writer->path, true);
            writer->created = writer->fd >= 0;
        }
    } while (writer->fd < 0 && errno == EINTR);
    return writer->fd < 0 ? fr_fail_io(err, errno, "opening it to append") : FR_OK;
}

bool fr_writer_has_path(const fr_writer *writer) {
    fr_file_info own, there;
    return fr_fd_stat(writer->fd, &own) == 0 && fr_file_stat(writer->path, &there) == 0 &&
           own.device == there.device && own.inode == there.inode;
}

int fr_writer_check_path(const fr_writer *writer, fr_error *err) {
    if (fr_writer_has_path(writer)) return FR_OK;
    fr_fail_io(err, EBUSY, "closing");
    if (err) err->fault = FR_FAULT_CHANGED;
    return FR_ERR_IO;
}

/* Locks the file. If another writer has the lock, the file is not removed even if this writer
   created it, because the other one has opened it since. */
static int lock(fr_writer *writer, fr_error *err) {
    int status;
    do
        status = fr_fd_lock(writer->fd);
    while (status != 0 && errno == EINTR);
    if (status == 0) return FR_OK;
    const bool taken = errno == EWOULDBLOCK || errno == EAGAIN;
    if (writer->options.empty && !taken) return FR_OK; /* the file system lacks locks */
    fr_fail_io(err, taken ? EAGAIN : errno, "locking it");
    if (err) err->fault = FR_FAULT_LOCKED;
    if (writer->created && !taken && fr_writer_has_path(writer)) fr_file_remove(writer->path);
    return FR_ERR_IO;
}

static void close_again(fr_writer *writer) {
    fr_fd_close(writer->fd);
    writer->fd = -1;
    writer->created = false;
}

/* Opens and locks the file that is appended to. In between, the file may be replaced, or removed
   by an aborted writer that created it. In these cases, opens the file that now has the name. */
static int open_to_append(fr_writer *writer, fr_error *err) {
    fr_file_info there;
    FR_TRY(fr_writer_look(writer, &there, err));
    for (int attempt = 0; attempt < NAMES_TRIED; attempt++) {
        FR_TRY(open_or_create(writer, err));
        int status = lock(writer, err);
        if (status == FR_OK && fr_writer_has_path(writer)) {
            if (fr_fd_stat(writer->fd, &there) != 0) return fr_fail_io(err, errno, "opening it");
            writer->start = writer->options.empty ? 0 : there.size;
            writer->open = true;
            if (writer->start == there.size || fr_fd_truncate(writer->fd, 0) == 0) return FR_OK;
            return fr_fail_io(err, errno, "emptying it");
        }
        close_again(writer);
        if (status != FR_OK) return status;
    }
    return fr_fail_io(err, EBUSY, "opening it to append");
}

int fr_writer_create(fr_writer *writer, fr_error *err) {
    return writer->options.append ? open_to_append(writer, err) : open_temporary(writer, err);
}

int fr_writer_sync(const fr_writer *writer, fr_error *err) {
    return fr_fd_sync(writer->fd) == 0 ? FR_OK : fr_fail_io(err, errno, "syncing");
}

int fr_writer_sync_directory(const fr_writer *writer, fr_error *err) {
    fr_path directory;
    FR_TRY(fr_path_set(&directory, writer->path, fr_file_folder_size(writer->path), ".", err));
    if (fr_file_sync_folder(directory.text) == 0) return FR_OK;
    fr_fail_io(err, errno, "syncing the directory");
    if (err) err->fault = FR_FAULT_UNSYNCED;
    return FR_ERR_IO;
}

/* Gives the file at the target a second name, without which it could not be restored. */
static int keep_replaced(fr_writer *writer, fr_error *err) {
    fr_path path;
    for (int attempt = 0; attempt < NAMES_TRIED; attempt++) {
        FR_TRY(fr_writer_name_temporary(writer, attempt, &path, err));
        if (fr_file_link(writer->path, path.text) == 0) {
            writer->was_there = true;
            if (fr_path_copy(&writer->replaced, &path, err) == FR_OK) return FR_OK;
            fr_file_remove(path.text);
            return FR_ERR_NOMEM;
        }
        if (errno != EEXIST) break;
    }
    writer->was_there = errno != ENOENT;
    return FR_OK;
}

/* Fails if the target has records that another writer appended since this writer was opened. A
   file with other first bytes is a new one, to which the system gave the inode of the target. */
static int check_target(const fr_writer *writer, fr_error *err) {
    fr_file_info there;
    if (writer->target_inode == 0 || fr_file_stat(writer->path, &there) != 0) return FR_OK;
    const int64_t head = head_of_target(writer, writer->target_size, &there);
    const bool same = there.device == writer->target_device && there.inode == writer->target_inode;
    if (!same || there.size <= writer->target_size) return FR_OK;
    if (head >= 0 && writer->target_head >= 0 && head != writer->target_head) return FR_OK;
    fr_fail_io(err, EBUSY, "putting it in its place");
    if (err) err->fault = FR_FAULT_GROWN;
    return FR_ERR_IO;
}

int fr_writer_move(fr_writer *writer, bool keep, fr_error *err) {
    if (!writer->temporary) return FR_OK;
    FR_TRY(check_target(writer, err));
    if (keep && !writer->options.exclusive) FR_TRY(keep_replaced(writer, err));
    if (fr_file_rename(writer->temporary, writer->path, !writer->options.exclusive) != 0)
        return fr_fail_io(err, errno, "putting it in its place");
    free(writer->temporary);
    writer->temporary = NULL;
    writer->in_place = true;
    return FR_OK;
}

bool fr_writer_take_back(fr_writer *writer) {
    if (!writer->in_place) return true;
    bool done = false;
    if (writer->replaced)
        done = fr_file_rename(writer->replaced, writer->path, true) == 0;
    else if (!writer->was_there)
        done = fr_file_remove(writer->path) == 0;
    if (done) {
        free(writer->replaced);
        writer->replaced = NULL;
        writer->in_place = false;
    }
    return done;
}
