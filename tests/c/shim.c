/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a process, it stands between the core, the interpreter and the system: for files
 * under SHIM_UNDER it writes down what is asked of the system (SHIM_LOG), and has calls fail, do
 * less than was asked, or be interrupted.
 *
 *   SHIM_CALL=read SHIM_ERRNO=4 SHIM_AT=3   the fourth read(2) fails with EINTR, once
 *   SHIM_AT=-2                              every other one does
 *   SHIM_LIMIT=17                           no read(2) or write(2) does more than 17 bytes
 *   SHIM_NO_MMAP=1                          files cannot be mapped
 *   SHIM_WITHOUT="link flock"               the file system lacks these: of link, renameat2, flock,
 *                                           fallocate, fsyncdir, chmod, utimens
 *   SHIM_UNLINK=path                        the first flock(2) comes after this file was removed
 *
 * The same from within the process, any number of times: shim_arm(), shim_calls(). Calls are open,
 * read, pread, mmap, madvise, write, fsync, rename, link, close, stat, opendir; and for the whole
 * process pthread_create, and malloc for memory that is asked for by code of the library at
 * shim_own().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FDS 1024

static _Atomic bool ours[FDS];

/* Which call is to fail: number `at` since it was armed (every -at but one when negative), all from
   there on when `stays`. */
static struct {
    char call[16];
    int at, error;
    bool stays;
    atomic_int turns;
} armed;

static size_t limit;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

void shim_arm(const char *call, int at, int error, bool stays, size_t most) {
    armed.call[0] = 0;
    armed.at = at, armed.error = error, armed.stays = stays;
    armed.turns = 0;
    limit = most;
    snprintf(armed.call, sizeof armed.call, "%s", call);
}

/* How many of the calls in question there were since. */
int shim_calls(void) {
    return armed.turns;
}

__attribute__((constructor)) static void arm_as_set(void) {
    shim_arm(setting("SHIM_CALL"), atoi(setting("SHIM_AT")), atoi(setting("SHIM_ERRNO")), false,
             strtoull(setting("SHIM_LIMIT"), NULL, 10));
}

static bool is_ours(int fd) {
    return fd >= 0 && fd < FDS && ours[fd];
}

static bool below(const char *path) {
    const char *under = setting("SHIM_UNDER");
    return *under && strncmp(path, under, strlen(under)) == 0;
}

/* Fails a process in which the fault of SHIM_CALL did not happen: its test would check nothing. */
__attribute__((destructor)) static void check_that_it_failed(void) {
    if (!*setting("SHIM_CALL") || armed.turns > (armed.at < 0 ? 0 : armed.at)) return;
    fprintf(stderr, "shim: only %d calls of %s\n", armed.turns, armed.call);
    _exit(99);
}

/* Whether this one is to fail; then errno says how. */
static bool fails(const char *call) {
    if (strcmp(call, armed.call) != 0) return false;
    int at = armed.at, now = armed.turns++;
    if (at < 0 ? now % -at != 0 : armed.stays ? now < at : now != at) return false;
    errno = armed.error;
    return true;
}

/* Returns whether the file system lacks a feature, and sets the errno of file systems that do. */
static bool lacks(const char *feature, int error) {
    if (!strstr(setting("SHIM_WITHOUT"), feature)) return false;
    errno = error;
    return true;
}

static size_t limited(size_t size) {
    return limit && size > limit ? limit : size;
}

static void note(const char *line, const void *data, size_t size) {
    if (!*setting("SHIM_LOG")) return;
    int fd = REAL(open)(setting("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || REAL(write)(fd, line, strlen(line)) < 0) abort();
    if (size && REAL(write)(fd, data, size) != (ssize_t)size) abort();
    REAL(close)(fd);
}

static int noted(const char *path, int flags, int fd) {
    if (fd < 0 || fd >= FDS) return fd;
    ours[fd] = below(path);
    char line[5000];
    snprintf(line, sizeof line, "%s %d %s\n", flags & O_CREAT ? "create" : "open", fd, path);
    if (ours[fd]) note(line, NULL, 0);
    return fd;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;                                  \
        va_end(args);                                                                              \
        if (below(path) && fails("open")) return -1;                                               \
        return noted(path, flags, REAL(name)(path, flags, mode));                                  \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (!is_ours(fd)) return REAL(close)(fd);
    ours[fd] = false;
    bool failed = fails("close");
    int error = errno, status = REAL(close)(fd); /* which lets go of it all the same */
    if (!failed) return status;
    errno = error;
    return -1;
}

DIR *opendir(const char *path) {
    return below(path) && fails("opendir") ? NULL : REAL(opendir)(path);
}

#define STAT(name, type)                                                                           \
    int name(const char *path, struct type *found) {                                               \
        return below(path) && fails("stat") ? -1 : REAL(name)(path, found);                        \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define STAT_AT(name, type)                                                                        \
    int name(int fd, const char *path, struct type *found, int flags) {                            \
        return below(path) && fails("stat") ? -1 : REAL(name)(fd, path, found, flags);             \
    }
STAT_AT(fstatat, stat)
STAT_AT(fstatat64, stat64)

#define STAT_FD(name, type)                                                                        \
    int name(int fd, struct type *found) {                                                         \
        return is_ours(fd) && fails("stat") ? -1 : REAL(name)(fd, found);                          \
    }
STAT_FD(fstat, stat)
STAT_FD(fstat64, stat64)

#define PREAD(name, type)                                                                          \
    ssize_t name(int fd, void *data, size_t size, type at) {                                       \
        if (!is_ours(fd)) return REAL(name)(fd, data, size, at);                                   \
        return fails("pread") ? -1 : REAL(name)(fd, data, limited(size), at);                      \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

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
    struct stat found;
    bool is_folder = REAL(fstat)(fd, &found) == 0 && S_ISDIR(found.st_mode);
    if (is_folder && lacks("fsyncdir", EINVAL)) return -1;
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
    if (number == SYS_renameat2 && below((const char *)a[3]) && fails("rename")) return -1;
    if (number == SYS_renameat2 && lacks("renameat2", EINVAL)) return -1;
    long status = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_renameat2) renamed((const char *)a[1], (const char *)a[3], (int)status);
    return status;
}

int link(const char *from, const char *to) {
    if (below(to) && (lacks("link", EPERM) || fails("link"))) return -1;
    return REAL(link)(from, to);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    return lacks("link", EPERM) ? -1 : REAL(linkat)(from_fd, from, to_fd, to, flags);
}

int flock(int fd, int operation) {
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (is_ours(fd) && *setting("SHIM_UNLINK") && !atomic_flag_test_and_set(&done))
        REAL(unlink)(setting("SHIM_UNLINK"));
    return is_ours(fd) && lacks("flock", ENOSYS) ? -1 : REAL(flock)(fd, operation);
}

int fallocate(int fd, int mode, off_t at, off_t size) {
    if (is_ours(fd) && lacks("fallocate", EOPNOTSUPP)) return -1;
    return REAL(fallocate)(fd, mode, at, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t size) {
    return fallocate(fd, mode, at, size);
}

int chmod(const char *path, mode_t mode) {
    return lacks("chmod", EPERM) ? -1 : REAL(chmod)(path, mode);
}

int fchmod(int fd, mode_t mode) {
    return lacks("chmod", EPERM) ? -1 : REAL(fchmod)(fd, mode);
}

int utimensat(int fd, const char *path, const struct timespec times[2], int flags) {
    return lacks("utimens", EPERM) ? -1 : REAL(utimensat)(fd, path, times, flags);
}

int futimens(int fd, const struct timespec times[2]) {
    return lacks("utimens", EPERM) ? -1 : REAL(futimens)(fd, times);
}

#define MMAP(name, type)                                                                           \
    void *name(void *where, size_t size, int protection, int flags, int fd, type offset) {         \
        if (is_ours(fd) && *setting("SHIM_NO_MMAP")) {                                             \
            errno = ENODEV;                                                                        \
            return MAP_FAILED;                                                                     \
        }                                                                                          \
        if (is_ours(fd) && fails("mmap")) return MAP_FAILED;                                       \
        return REAL(name)(where, size, protection, flags, fd, offset);                             \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

int madvise(void *where, size_t size, int advice) {
    return advice == MADV_WILLNEED && fails("madvise") ? -1 : REAL(madvise)(where, size, advice);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    if (fails("pthread_create")) return errno;
    return REAL(pthread_create)(thread, attributes, start, argument);
}

/* -- Memory -- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static uintptr_t own_begin, own_end;

/* The library whose requests for memory fail, by an address inside of it. */
int shim_own(void *inside) {
    char line[1000], name[1000] = "";
    own_begin = own_end = 0;
    for (int pass = 0; pass < 2; pass++) {
        FILE *maps = fopen("/proc/self/maps", "r");
        if (!maps) return -1;
        while (fgets(line, sizeof line, maps)) {
            unsigned long begin, end;
            char path[1000] = "";
            if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %999s", &begin, &end, path) < 2) continue;
            if (pass == 0 && begin <= (uintptr_t)inside && (uintptr_t)inside < end)
                strcpy(name, path);
            if (pass == 0 || !*name || strcmp(path, name) != 0) continue;
            if (!own_begin) own_begin = begin;
            own_end = end;
        }
        fclose(maps);
    }
    return own_begin ? 0 : -1;
}

static bool denied(void *caller) {
    uintptr_t at = (uintptr_t)caller;
    return at >= own_begin && at < own_end && fails("malloc");
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    return denied(CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return denied(CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *data, size_t size) {
    return denied(CALLER) ? NULL : __libc_realloc(data, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return denied(CALLER) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **data, size_t alignment, size_t size) {
    if (denied(CALLER)) return ENOMEM;
    *data = __libc_memalign(alignment, size);
    return *data ? 0 : ENOMEM;
}

char *strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = denied(CALLER) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}
