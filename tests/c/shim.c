/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a process, it stands between the core and the system: for files under SHIM_UNDER
 * it writes down what is asked of the system (SHIM_LOG), and has calls fail, do less than was
 * asked, or be interrupted.
 *
 *   SHIM_CALL=read SHIM_ERRNO=4 SHIM_AT=3   the fourth read(2) fails with EINTR, once
 *   SHIM_AT=-2                              every other one does
 *   SHIM_LIMIT=17                           no read(2) or write(2) does more than 17 bytes
 *   SHIM_NO_MMAP=1                          files cannot be mapped
 *
 * Only what is opened by open(2) is seen: the interpreter uses open64(), the core does not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FDS 1024

static bool ours[FDS];

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static bool is_ours(int fd) {
    return fd >= 0 && fd < FDS && ours[fd];
}

static bool below(const char *path) {
    const char *under = setting("SHIM_UNDER");
    return *under && strncmp(path, under, strlen(under)) == 0;
}

static void note(const char *line, const void *data, size_t size) {
    if (!*setting("SHIM_LOG")) return;
    int fd = REAL(open)(setting("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || REAL(write)(fd, line, strlen(line)) < 0) abort();
    if (size && REAL(write)(fd, data, size) != (ssize_t)size) abort();
    REAL(close)(fd);
}

/* Whether this one is to fail; then errno says how. */
static bool fails(const char *call) {
    static int turn;
    if (strcmp(call, setting("SHIM_CALL")) != 0) return false;
    int at = atoi(setting("SHIM_AT")), now = turn++;
    if (at < 0 ? now % -at != 0 : now != at) return false;
    errno = atoi(setting("SHIM_ERRNO"));
    return true;
}

static size_t limited(size_t size) {
    size_t limit = strtoull(setting("SHIM_LIMIT"), NULL, 10);
    return limit && size > limit ? limit : size;
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (below(path) && fails("open")) return -1;
    int fd = REAL(open)(path, flags, mode);
    if (fd < 0 || fd >= FDS) return fd;
    ours[fd] = below(path);
    char line[5000];
    snprintf(line, sizeof line, "%s %d %s\n", flags & O_CREAT ? "create" : "open", fd, path);
    if (ours[fd]) note(line, NULL, 0);
    return fd;
}

int close(int fd) {
    if (is_ours(fd)) ours[fd] = false;
    return REAL(close)(fd);
}

ssize_t read(int fd, void *data, size_t size) {
    if (!is_ours(fd)) return REAL(read)(fd, data, size);
    return fails("read") ? -1 : REAL(read)(fd, data, limited(size));
}

ssize_t write(int fd, const void *data, size_t size) {
    if (!is_ours(fd)) return REAL(write)(fd, data, size);
    if (fails("write")) return -1;
    ssize_t wrote = REAL(write)(fd, data, limited(size));
    char line[64];
    snprintf(line, sizeof line, "write %d %zd\n", fd, wrote);
    if (wrote > 0) note(line, data, (size_t)wrote);
    return wrote;
}

int fsync(int fd) {
    if (!is_ours(fd)) return REAL(fsync)(fd);
    if (fails("fsync")) return -1;
    char line[64];
    snprintf(line, sizeof line, "fsync %d\n", fd);
    note(line, NULL, 0);
    return REAL(fsync)(fd);
}

int ftruncate(int fd, off_t size) {
    if (is_ours(fd)) {
        char line[64];
        snprintf(line, sizeof line, "truncate %d %lld\n", fd, (long long)size);
        note(line, NULL, 0);
    }
    return REAL(ftruncate)(fd, size);
}

static int renamed(const char *from, const char *to, int status) {
    char line[10000];
    snprintf(line, sizeof line, "rename %s\t%s\n", from, to);
    if (status == 0 && below(to)) note(line, NULL, 0);
    return status;
}

int rename(const char *from, const char *to) {
    if (below(to) && fails("rename")) return -1;
    return renamed(from, to, REAL(rename)(from, to));
}

/* The core asks for renameat2() by its number. */
long syscall(long number, ...) {
    va_list args;
    va_start(args, number);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    long status = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_renameat2) renamed((const char *)a[1], (const char *)a[3], (int)status);
    return status;
}

void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset) {
    if (is_ours(fd) && *setting("SHIM_NO_MMAP")) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return REAL(mmap)(where, size, protection, flags, fd, offset);
}
