/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#define BUFFER_SIZE ((size_t)1 << 20)

/* No system writes more at once, and macOS refuses to try. */
#define WRITE_MAX ((size_t)1 << 30)

/* What a temporary file's name keeps of the target's: some file systems end names at 143 bytes. */
#define NAME_KEPT 96

#define LINKS_MAX 40
#define NAMES_TRIED 100

typedef struct {
    char text[PATH_MAX];
} path_text;

/* `head`, its first `size` bytes, and `tail`. */
static int set_path(path_text *path, const char *head, size_t size, const char *tail,
                    fr_error *err) {
    path_text joined;
    int length = snprintf(joined.text, sizeof joined.text, "%.*s%s", (int)size, head, tail);
    if (size >= PATH_MAX || length >= PATH_MAX) return fr_fail_io(err, ENAMETOOLONG, "naming it");
    *path = joined;
    return FR_OK;
}

/* How many bytes of `path` come before the name of the file. */
static size_t directory_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Replaces a path that is a symbolic link by what the link points to, there or not. */
static int follow_links(path_text *path, fr_error *err) {
    for (int i = 0; i < LINKS_MAX; i++) {
        char target[PATH_MAX];
        ssize_t size = readlink(path->text, target, sizeof target);
        if (size < 0) return FR_OK; /* no link; what else may be wrong shows when it is opened */
        if (size == sizeof target) return fr_fail_io(err, ENAMETOOLONG, "following its link");
        target[size] = 0;
        size_t head = target[0] == '/' ? 0 : directory_size(path->text);
        FR_TRY(set_path(path, path->text, head, target, err));
    }
    return fr_fail_io(err, ELOOP, "following its links");
}

/* Names the file from the root: the process may go elsewhere before the writer closes. */
static int make_absolute(path_text *path, fr_error *err) {
    path_text directory, root;
    size_t head = directory_size(path->text);
    if (!path->text[head]) return fr_fail_io(err, head ? EISDIR : ENOENT, "creating it");
    FR_TRY(set_path(&directory, path->text, head, ".", err));
    if (!realpath(directory.text, root.text)) return fr_fail_io(err, errno, "finding its place");
    const char *slash = root.text[1] ? "/" : "";
    FR_TRY(set_path(&directory, slash, strlen(slash), path->text + head, err));
    return set_path(path, root.text, strlen(root.text), directory.text, err);
}

static int copy_path(char **out, const path_text *path, fr_error *err) {
    *out = strdup(path->text);
    return *out ? FR_OK : fr_fail_nomem(err, strlen(path->text) + 1);
}

static int resolve(fr_writer *writer, const char *path, fr_error *err) {
    path_text resolved;
    FR_TRY(set_path(&resolved, path, strlen(path), "", err));
    FR_TRY(follow_links(&resolved, err));
    FR_TRY(make_absolute(&resolved, err));
    return copy_path(&writer->path, &resolved, err);
}

/* Not secret, only unlikely to be in use: O_EXCL decides. */
static uint64_t random_name(const fr_writer *writer, int attempt) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    x ^= (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)writer ^ (uint64_t)attempt << 56;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* `.name.0123456789abcdef.tmp` beside the target, the name cut between two characters. */
static int name_temporary(const fr_writer *writer, int attempt, path_text *path, fr_error *err) {
    size_t head = directory_size(writer->path);
    const char *name = writer->path + head;
    size_t kept = strlen(name);
    if (kept > NAME_KEPT) kept = NAME_KEPT;
    while (kept > 0 && (name[kept] & 0xc0) == 0x80)
        kept--;
    char tail[NAME_KEPT + 32];
    snprintf(tail, sizeof tail, ".%.*s.%016llx.tmp", (int)kept, name,
             (unsigned long long)random_name(writer, attempt));
    return set_path(path, writer->path, head, tail, err);
}

/* Creates the file with `mode` less the process's umask, which the kernel knows. */
static int create_temporary(fr_writer *writer, mode_t mode, fr_error *err) {
    path_text path;
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < NAMES_TRIED; attempt++) {
        FR_TRY(name_temporary(writer, attempt, &path, err));
        fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (fd < 0) return fr_fail_io(err, errno, "creating a temporary file beside it");
    int status = copy_path(&writer->temporary, &path, err);
    if (status != FR_OK) {
        unlink(path.text);
        close(fd);
        return status;
    }
    writer->fd = fd;
    writer->open = true;
    return FR_OK;
}

/* The st_mode of the file at the target; 0 when there is none. */
static int look_at_target(const fr_writer *writer, mode_t *mode, fr_error *err) {
    struct stat there;
    *mode = 0;
    if (stat(writer->path, &there) != 0)
        return errno == ENOENT ? FR_OK : fr_fail_io(err, errno, "looking at it");
    if (writer->options.exclusive) return fr_fail_io(err, EEXIST, "creating it");
    if (S_ISDIR(there.st_mode)) return fr_fail_io(err, EISDIR, "creating it");
    if (!S_ISREG(there.st_mode))
        return fr_fail(err, FR_ERR_ARG, "not a regular file, which is all that can be replaced");
    *mode = there.st_mode;
    return FR_OK;
}

static int open_temporary(fr_writer *writer, fr_error *err) {
    mode_t mode;
    FR_TRY(look_at_target(writer, &mode, err));
    if (!mode) return create_temporary(writer, 0666, err);
    FR_TRY(create_temporary(writer, 0600, err));
    if (fchmod(writer->fd, mode & 07777) != 0) return fr_fail_io(err, errno, "setting its mode");
    return FR_OK;
}

static int open_or_create(fr_writer *writer, fr_error *err) {
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
    writer->fd = open(writer->path, flags);
    if (writer->fd < 0 && errno == ENOENT) {
        writer->fd = open(writer->path, flags | O_CREAT | O_EXCL, 0666);
        writer->created = writer->fd >= 0;
    }
    return writer->fd < 0 ? fr_fail_io(err, errno, "opening it to append") : FR_OK;
}

static int open_to_append(fr_writer *writer, fr_error *err) {
    mode_t mode;
    struct stat there;
    FR_TRY(look_at_target(writer, &mode, err));
    FR_TRY(open_or_create(writer, err));
    if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0 || fstat(writer->fd, &there) != 0) {
        fr_fail_io(err, errno, "locking it");
        close(writer->fd);
        writer->fd = -1;
        return FR_ERR_IO;
    }
    writer->start = (uint64_t)there.st_size;
    writer->open = true;
    return FR_OK;
}

/* What was appended is cut off again. */
static void take_back(const fr_writer *writer) {
    if (ftruncate(writer->fd, (off_t)writer->start) != 0) return; /* nothing more can be done */
    if (writer->created) unlink(writer->path);
}

/* The file is its parent's: a child made by fork() may only close its descriptor. */
static int check_process(const fr_writer *writer, fr_error *err) {
    if (writer->pid == (int64_t)getpid()) return FR_OK;
    return fr_fail(err, FR_ERR_STATE, "the writer was made in process %lld and works only there",
                   (long long)writer->pid);
}

static int write_all(const fr_writer *writer, const uint8_t *data, size_t size, fr_error *err) {
    FR_TRY(check_process(writer, err));
    while (size > 0) {
        ssize_t wrote = write(writer->fd, data, size < WRITE_MAX ? size : WRITE_MAX);
        if (wrote < 0 && errno == EINTR) continue;
        if (FASTREC_MUTANT == 6 && wrote < 0) return FR_OK;
        if (wrote <= 0) return fr_fail_io(err, wrote < 0 ? errno : EIO, "writing");
        data += wrote;
        size -= (size_t)wrote;
    }
    return FR_OK;
}

static int drain(fr_writer *writer, fr_error *err) {
    FR_TRY(write_all(writer, writer->buffer.data, writer->buffer.size, err));
    writer->buffer.size = 0;
    return FR_OK;
}

static size_t room(const fr_writer *writer) {
    return BUFFER_SIZE - writer->buffer.size;
}

/* The `size` bytes at the end of the buffer, which must be in it, are taken. */
static uint8_t *take(fr_writer *writer, size_t size) {
    uint8_t *p = writer->buffer.data + writer->buffer.size;
    writer->buffer.size += size;
    return p;
}

/* Copied piece by piece, checksummed as it is copied: what is stored and what is summed are the
   same even while somebody changes `data`, and a buffer that stays in cache costs no memory
   traffic. */
static int put_long(fr_writer *writer, fr_span data, fr_error *err) {
    if (room(writer) < FR_HEADER_SIZE) FR_TRY(drain(writer, err));
    fr_frame_put_header(take(writer, FR_HEADER_SIZE), data.size);
    uint32_t crc = 0;
    for (size_t done = 0; done < data.size;) {
        if (room(writer) == 0) FR_TRY(drain(writer, err));
        size_t piece = data.size - done < room(writer) ? data.size - done : room(writer);
        crc = fr_crc32c_extend_copy(crc, take(writer, piece), data.data + done, piece);
        done += piece;
    }
    if (room(writer) < FR_FOOTER_SIZE) FR_TRY(drain(writer, err));
    fr_store_u32(take(writer, FR_FOOTER_SIZE), fr_crc_mask(crc));
    return FR_OK;
}

static int put_record(fr_writer *writer, fr_span data, fr_error *err) {
    if (FR_UNLIKELY(data.size > BUFFER_SIZE - FR_FRAME_OVERHEAD))
        return put_long(writer, data, err);
    if (FR_UNLIKELY(data.size + FR_FRAME_OVERHEAD > room(writer))) FR_TRY(drain(writer, err));
    fr_frame_put(take(writer, data.size + FR_FRAME_OVERHEAD), data);
    return FR_OK;
}

static int put_frames(fr_writer *writer, fr_span frames, fr_error *err) {
    if (frames.size > room(writer)) FR_TRY(drain(writer, err));
    if (frames.size > room(writer)) return write_all(writer, frames.data, frames.size, err);
    if (frames.size) memcpy(take(writer, frames.size), frames.data, frames.size);
    return FR_OK;
}

/* To the disk, not just to its cache. */
static int sync_fd(int fd) {
#if defined(__APPLE__)
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
    return fsync(fd);
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

/* The file is in place by now. Not every directory can be opened, nor every file system sync one.
 */
static int sync_directory(const fr_writer *writer, fr_error *err) {
    path_text directory;
    FR_TRY(set_path(&directory, writer->path, directory_size(writer->path), ".", err));
    int fd = open(directory.text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return FR_OK;
    int failed = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    if (failed == EIO || failed == ENOSPC)
        return fr_fail_io(err, failed, "syncing the directory; the file is in its place");
    return FR_OK;
}

/* Everything is in the file, and the file on the disk. */
static int finish(fr_writer *writer, fr_error *err) {
    if (writer->fd < 0) return FR_OK;
    FR_TRY(drain(writer, err));
    if (!writer->options.no_sync && sync_fd(writer->fd) != 0)
        return fr_fail_io(err, errno, "syncing");
    int failed = close(writer->fd) == 0 || errno == EINTR ? 0 : errno;
    writer->fd = -1;
    fr_buffer_free(&writer->buffer);
    return failed ? fr_fail_io(err, failed, "closing") : FR_OK;
}

static int publish(fr_writer *writer, fr_error *err) {
    FR_TRY(check_process(writer, err));
    FR_TRY(finish(writer, err));
    if (writer->temporary) {
        int moved = writer->options.exclusive ? rename_new(writer->temporary, writer->path)
                                              : rename(writer->temporary, writer->path);
        if (moved != 0) return fr_fail_io(err, errno, "putting it in its place");
        free(writer->temporary);
        writer->temporary = NULL;
    } else if (!writer->created) {
        return FR_OK;
    }
    return writer->options.no_sync ? FR_OK : sync_directory(writer, err);
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
    FR_TRY(resolve(writer, path, err));
    FR_TRY(fr_buffer_reserve(&writer->buffer, BUFFER_SIZE, err));
    return writer->options.append ? open_to_append(writer, err) : open_temporary(writer, err);
}

/* Open, and not finished: a file that was finished is only there to be published. */
static int check_writable(const fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    if (FR_LIKELY(writer->fd >= 0)) return FR_OK;
    return fr_fail(err, FR_ERR_STATE, "the writer is finished");
}

int fr_writer_open(fr_writer *writer, const char *path, const fr_writer_options *options,
                   fr_error *err) {
    *writer = (fr_writer){.options = *options, .fd = -1, .pid = (int64_t)getpid()};
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
    int status = resolve(writer, path, err);
    if (status == FR_OK && writer->options.exclusive) {
        mode_t mode;
        status = look_at_target(writer, &mode, err);
    }
    if (status == FR_OK) {
        free(before);
        return FR_OK;
    }
    free(writer->path);
    writer->path = before;
    return status;
}

int fr_writer_close(fr_writer *writer, fr_error *err) {
    FR_TRY(check_open(writer, err));
    FR_TRY(settle(writer, publish(writer, &writer->failed), err));
    fr_writer_abort(writer);
    return FR_OK;
}

void fr_writer_abort(fr_writer *writer) {
    const bool ours = writer->pid == (int64_t)getpid();
    if (writer->open && writer->fd >= 0) {
        if (writer->options.append && ours) take_back(writer);
        close(writer->fd);
    }
    if (writer->temporary && ours) unlink(writer->temporary);
    free(writer->temporary);
    free(writer->path);
    writer->temporary = writer->path = NULL;
    writer->fd = -1;
    writer->open = false;
    fr_buffer_free(&writer->buffer);
}
