/* SPDX-License-Identifier: Apache-2.0 */
/* Making a writer's file, and putting it under its name. */
#define _GNU_SOURCE /* renameat2 */
#include "files/writer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

#define EXT4_MAGIC 0xef53

#define NAMES_TRIED 100

/*
 * ext4 decides where a file's blocks go when it is synced or renamed over another file, and has
 * the caller wait: for twice as long as writing took. Blocks that are there by then spare that.
 */
static bool allocates_late(int fd) {
#if defined(__linux__)
    struct statfs there;
    return fstatfs(fd, &there) == 0 && there.f_type == EXT4_MAGIC;
#else
    (void)fd;
    return false;
#endif
}

int fr_writer_look(const fr_writer *writer, mode_t *mode, fr_error *err) {
    struct stat there;
    *mode = 0;
    if (stat(writer->path, &there) != 0)
        return errno == ENOENT ? FR_OK : fr_fail_io(err, errno, "looking at it");
    if (writer->options.exclusive) return fr_fail_io(err, EEXIST, "creating it");
    if (S_ISDIR(there.st_mode)) return fr_fail_io(err, EISDIR, "creating it");
    if (!S_ISREG(there.st_mode))
        return fr_fail(err, FR_ERR_ARG, "not a regular file: only regular files can be replaced");
    *mode = there.st_mode;
    return FR_OK;
}

/* Creates the file with `mode` less the process's umask, which the kernel knows. */
static int create_temporary(fr_writer *writer, mode_t mode, fr_error *err) {
    fr_path path;
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < NAMES_TRIED; attempt++) {
        FR_TRY(fr_writer_name_temporary(writer, attempt, &path, err));
        fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (fd < 0) return fr_fail_io(err, errno, "creating a temporary file beside it");
    int status = fr_path_copy(&writer->temporary, &path, err);
    if (status != FR_OK) {
        unlink(path.text);
        close(fd);
        return status;
    }
    writer->fd = fd;
    writer->open = true;
    writer->reserves = allocates_late(fd);
    return FR_OK;
}

static int open_temporary(fr_writer *writer, fr_error *err) {
    mode_t mode;
    FR_TRY(fr_writer_look(writer, &mode, err));
    if (!mode) return create_temporary(writer, 0666, err);
    FR_TRY(create_temporary(writer, 0600, err));
    if (fchmod(writer->fd, mode & 07777) != 0) return fr_fail_io(err, errno, "setting its mode");
    return FR_OK;
}

static int open_or_create(fr_writer *writer, fr_error *err) {
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
    do {
        writer->fd = open(writer->path, flags);
        if (writer->fd < 0 && errno == ENOENT) {
            writer->fd = open(writer->path, flags | O_CREAT | O_EXCL, 0666);
            writer->created = writer->fd >= 0;
        }
    } while (writer->fd < 0 && errno == EINTR);
    return writer->fd < 0 ? fr_fail_io(err, errno, "opening it to append") : FR_OK;
}

static int open_to_append(fr_writer *writer, fr_error *err) {
    mode_t mode;
    struct stat there;
    FR_TRY(fr_writer_look(writer, &mode, err));
    FR_TRY(open_or_create(writer, err));
    if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0 || fstat(writer->fd, &there) != 0) {
        fr_fail_io(err, errno, "locking it");
        if (writer->created) unlink(writer->path);
        close(writer->fd);
        writer->fd = -1;
        return FR_ERR_IO;
    }
    writer->start = (uint64_t)there.st_size;
    writer->open = true;
    return FR_OK;
}

int fr_writer_create(fr_writer *writer, fr_error *err) {
    return writer->options.append ? open_to_append(writer, err) : open_temporary(writer, err);
}

static int sync_descriptor(int fd) {
    int status;
    do
        status = fsync(fd);
    while (status != 0 && errno == EINTR);
    return status;
}

int fr_writer_sync(const fr_writer *writer, fr_error *err) {
#if defined(__APPLE__)
    if (fcntl(writer->fd, F_FULLFSYNC) == 0) return FR_OK; /* fsync() ends in the disk's cache */
#endif
    return sync_descriptor(writer->fd) == 0 ? FR_OK : fr_fail_io(err, errno, "syncing");
}

/* rename(2) that refuses to replace. */
static int rename_new(const char *from, const char *to) {
#if defined(__linux__) && defined(SYS_renameat2)
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL) return -1;
#elif defined(__APPLE__)
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#endif
    if (link(from, to) != 0) return -1;
    unlink(from);
    return 0;
}

/* Not every directory can be opened, nor every file system sync one. */
int fr_writer_sync_directory(const fr_writer *writer, fr_error *err) {
    fr_path directory;
    FR_TRY(fr_path_set(&directory, writer->path, fr_path_directory(writer->path), ".", err));
    int fd;
    do
        fd = open(directory.text, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return FR_OK;
    int failed = sync_descriptor(fd) == 0 ? 0 : errno;
    close(fd);
    if (failed != EIO && failed != ENOSPC) return FR_OK;
    fr_fail_io(err, failed, "syncing the directory");
    if (err) err->fault = FR_FAULT_UNSYNCED;
    return FR_ERR_IO;
}

/* A second name for what is at the target; without one it cannot be had again. */
static int keep_replaced(fr_writer *writer, fr_error *err) {
    fr_path path;
    for (int attempt = 0; attempt < NAMES_TRIED; attempt++) {
        FR_TRY(fr_writer_name_temporary(writer, attempt, &path, err));
        if (link(writer->path, path.text) == 0) {
            writer->was_there = true;
            if (fr_path_copy(&writer->replaced, &path, err) == FR_OK) return FR_OK;
            unlink(path.text);
            return FR_ERR_NOMEM;
        }
        if (errno != EEXIST) break;
    }
    writer->was_there = errno != ENOENT;
    return FR_OK;
}

int fr_writer_move(fr_writer *writer, bool keep, fr_error *err) {
    if (!writer->temporary) return FR_OK;
    if (keep && !writer->options.exclusive) FR_TRY(keep_replaced(writer, err));
    int moved = writer->options.exclusive ? rename_new(writer->temporary, writer->path)
                                          : rename(writer->temporary, writer->path);
    if (moved != 0) return fr_fail_io(err, errno, "putting it in its place");
    free(writer->temporary);
    writer->temporary = NULL;
    writer->in_place = true;
    return FR_OK;
}

bool fr_writer_take_back(fr_writer *writer) {
    if (!writer->in_place) return true;
    bool done = false;
    if (writer->replaced)
        done = rename(writer->replaced, writer->path) == 0;
    else if (!writer->was_there)
        done = unlink(writer->path) == 0;
    if (done) {
        free(writer->replaced);
        writer->replaced = NULL;
        writer->in_place = false;
    }
    return done;
}
