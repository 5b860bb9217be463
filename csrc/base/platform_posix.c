/* SPDX-License-Identifier: Apache-2.0 */
#if !defined(_WIN32)

#define _GNU_SOURCE /* for fallocate, RUSAGE_THREAD */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

_Static_assert(PATH_MAX <= FR_PATH_MAX, "realpath() writes so much");

/* ---- Files ----------------------------------------------------------------------------------- */

static int64_t mtime_of(const struct stat *st) {
#if defined(__APPLE__)
    const struct timespec *time = &st->st_mtimespec;
#else
    const struct timespec *time = &st->st_mtim;
#endif
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int inform(const struct stat *st, fr_file_info *info) {
    *info = (fr_file_info){
        .kind = S_ISREG(st->st_mode)   ? FR_FILE_REGULAR
                : S_ISDIR(st->st_mode) ? FR_FILE_FOLDER
                                       : FR_FILE_OTHER,
        .mode = st->st_mode & 07777,
        .size = (uint64_t)st->st_size,
        .mtime_ns = mtime_of(st),
        .device = (uint64_t)st->st_dev,
        .inode = (uint64_t)st->st_ino,
    };
    return 0;
}

int fr_file_stat(const char *path, fr_file_info *info) {
    struct stat st;
    return stat(path, &st) == 0 ? inform(&st, info) : -1;
}

int fr_fd_stat(int fd, fr_file_info *info) {
    struct stat st;
    return fstat(fd, &st) == 0 ? inform(&st, info) : -1;
}

int fr_file_open(const char *path, bool at_once) {
    return open(path, O_RDONLY | O_CLOEXEC | (at_once ? O_NONBLOCK : 0));
}

int fr_file_create(const char *path, unsigned mode) {
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
}

int fr_file_append(const char *path, bool create) {
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
    return create ? open(path, flags | O_CREAT | O_EXCL, 0666) : open(path, flags);
}

int fr_file_remove(const char *path) {
    return unlink(path);
}

int fr_file_link(const char *path, const char *name) {
    return link(path, name);
}

/* Creates an empty directory or file, of the kind of `from`, that rename(2) may replace. */
static int claim_name(const char *from, const char *to) {
    struct stat there;
    if (stat(from, &there) == 0 && S_ISDIR(there.st_mode)) return mkdir(to, 0700);
    const int claim = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return claim < 0 ? -1 : close(claim);
}

/* Renames without replacing an existing file. */
static int rename_new(const char *from, const char *to) {
#if defined(__linux__) && defined(SYS_renameat2)
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL && errno != ENOTSUP) return -1;
#elif defined(__APPLE__)
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    if (errno != ENOTSUP && errno != EINVAL) return -1;
#endif
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS && errno != EMLINK) return -1;
    /* Claiming the name separates concurrent calls. This path serves directories, and files on file
       systems without hard links. */
    if (claim_name(from, to) != 0) return -1;
    if (rename(from, to) == 0) return 0;
    const int failed = errno;
    remove(to);
    errno = failed;
    return -1;
}

int fr_file_rename(const char *from, const char *to, bool replace) {
    return replace ? rename(from, to) : rename_new(from, to);
}

int fr_file_read_link(const char *path, char *target) {
    ssize_t size = readlink(path, target, FR_PATH_MAX);
    if (size < 0) return -1;
    if (size == FR_PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    target[size] = 0;
    return 0;
}

int fr_file_real_path(const char *path, char *root) {
    return realpath(path, root) ? 0 : -1;
}

size_t fr_file_folder_size(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

bool fr_file_is_absolute(const char *path) {
    return path[0] == '/';
}

int64_t fr_fd_read(int fd, void *data, size_t size) {
    return read(fd, data, size);
}

void fr_fd_scatter(int fd) {
#if defined(POSIX_FADV_RANDOM)
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
#else
    (void)fd;
#endif
}

size_t fr_fd_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 256;
}

int64_t fr_fd_read_at(int fd, void *data, size_t size, uint64_t offset) {
    return pread(fd, data, size, (off_t)offset);
}

int64_t fr_fd_write(int fd, const void *data, size_t size) {
    return write(fd, data, size);
}

int fr_fd_seek(int fd, uint64_t offset) {
    return lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -1 : 0;
}

int64_t fr_fd_tell(int fd) {
    return lseek(fd, 0, SEEK_CUR);
}

int fr_fd_truncate(int fd, uint64_t size) {
    return ftruncate(fd, (off_t)size);
}

int fr_fd_set_mode(int fd, unsigned mode) {
    return fchmod(fd, (mode_t)mode);
}

static int sync_descriptor(int fd) {
    int status;
    do
        status = fsync(fd);
    while (status != 0 && errno == EINTR);
    return status;
}

int fr_fd_sync(int fd) {
#if defined(__APPLE__)
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0; /* plain fsync() only reaches the disk's cache */
#endif
    return sync_descriptor(fd);
}

/* A directory that is unreadable or vanished cannot be synced, and some file systems cannot sync
   directories. A lack of descriptors or memory also leaves it unsynced. */
int fr_file_sync_folder(const char *path) {
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -1 : 0;
    int failed = sync_descriptor(fd) == 0 ? 0 : errno;
    close(fd);
    if (failed != EIO && failed != ENOSPC) return 0;
    errno = failed;
    return -1;
}

int fr_fd_duplicate(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int fr_fd_close(int fd) {
    return close(fd);
}

int fr_fd_lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB);
}

void fr_fd_unlock(int fd) {
    flock(fd, LOCK_UN);
}

#define EXT4_MAGIC 0xef53

/*
 * ext4 chooses the blocks of a file when the file is synced or renamed over another file, and the
 * caller then waits for twice as long as the writes took. Blocks that were allocated before avoid
 * this.
 */
bool fr_fd_allocates_late(int fd) {
#if defined(__linux__)
    struct statfs there;
    return fstatfs(fd, &there) == 0 && there.f_type == EXT4_MAGIC;
#else
    (void)fd;
    return false;
#endif
}

int fr_fd_reserve(int fd, uint64_t offset, uint64_t size) {
#if defined(__linux__)
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
#else
    (void)fd, (void)offset, (void)size;
    errno = ENOTSUP;
    return -1;
#endif
}

/* ---- Maps of files --------------------------------------------------------------------------- */

void *fr_map_new(int fd, size_t size) {
    void *base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

void fr_map_free(void *base, size_t size) {
    munmap(base, size);
}

static fr_map_lost is_lost;
static struct sigaction previous;
static uintptr_t page_size;

/* Maps zeros at the page, so that the instruction that faulted can run again. */
static bool rescue(uintptr_t address) {
    void *base;
    size_t size;
    if (!is_lost(address, &base, &size)) return false;
    void *page = (void *)(address & ~(page_size - 1));
    return mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

/* An earlier handler may reinstall this one and return, which causes the same fault again. The
   second fault goes to the system. */
static void pass_on(int signo, siginfo_t *info, void *context) {
    static _Atomic uintptr_t last;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (atomic_exchange(&last, address) == address) {
        signal(signo, SIG_DFL);
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signo, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signo);
    } else {
        signal(signo, SIG_DFL);
    }
}

static void on_sigbus(int signo, siginfo_t *info, void *context) {
    int saved = errno;
    if (!rescue((uintptr_t)info->si_addr)) pass_on(signo, info, context);
    errno = saved;
}

int fr_map_watch(fr_map_lost lost) {
    struct sigaction current;
    if (sigaction(SIGBUS, NULL, &current) != 0) return -1;
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_sigbus) return 0;
    /* Other code replaced this handler. Faults outside our maps are passed to its handler. */
    is_lost = lost;
    page_size = (uintptr_t)fr_page_size();
    previous = current;
    struct sigaction action = {0};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL);
}

void fr_map_scatter(const void *data, size_t size) {
    (void)madvise((void *)(uintptr_t)data, size, MADV_RANDOM);
}

/* Linux reads at most the device's readahead per call, which is rarely smaller than this. */
#define ANNOUNCED_AT_ONCE ((size_t)128 << 10)

void fr_map_announce(const void *data, size_t size) {
    uintptr_t at = (uintptr_t)data & ~(page_size - 1);
    for (const uintptr_t end = (uintptr_t)data + size; at < end; at += ANNOUNCED_AT_ONCE) {
        const size_t left = end - at;
        (void)madvise((void *)at, left < ANNOUNCED_AT_ONCE ? left : ANNOUNCED_AT_ONCE,
                      MADV_WILLNEED);
    }
}

void fr_map_retire(const void *data, size_t size, bool last) {
#if defined(MADV_COLD)
    const uintptr_t page = ~(page_size - 1);
    const uintptr_t begin = (uintptr_t)data & page, end = (uintptr_t)data + size;
    const uintptr_t until = last ? (end + page_size - 1) & page : end & page;
    if (until > begin) (void)madvise((void *)begin, until - begin, MADV_COLD);
#else
    (void)data, (void)size, (void)last;
#endif
}

void fr_map_drop(const void *data, size_t size) {
    (void)madvise((void *)(uintptr_t)data, size, MADV_DONTNEED); /* failure is harmless */
}

bool fr_map_resident(const void *data) {
    const uintptr_t page = (uintptr_t)data & ~(page_size - 1);
    unsigned char there[1] = {0};
    int saved = errno;
    bool known = mincore((void *)page, 1, (void *)there) == 0;
    errno = saved;
    return known && (there[0] & 1);
}

#define USUAL_MAPS 65530 /* the default of Linux */

size_t fr_map_limit(void) {
    unsigned long limit = USUAL_MAPS;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (!file) return limit;
    if (fscanf(file, "%lu", &limit) != 1) limit = USUAL_MAPS;
    fclose(file);
    return limit;
}

/* ---- Memory, time, processes ----------------------------------------------------------------- */

size_t fr_page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t fr_memory_size(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

void *fr_memory_new(size_t alignment, size_t size, bool huge) {
    void *data;
    if (posix_memalign(&data, alignment, size) != 0) return NULL;
    if (huge) fr_memory_use_huge(data, size);
    return data;
}

#define HUGE_PAGE ((uintptr_t)2 << 20)

void fr_memory_use_huge(void *data, size_t size) {
#if defined(MADV_HUGEPAGE)
    const uintptr_t begin = ((uintptr_t)data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)data + size) & ~(HUGE_PAGE - 1);
    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)data, (void)size;
#endif
}

void fr_memory_free(void *data) {
    free(data);
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t fr_clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t fr_clock_date_ns(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t fr_process_id(void) {
    return getpid();
}

uint64_t fr_thread_cpu_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t fr_thread_starved_ns(void) {
    unsigned long long starved_ns = 0;
#if defined(__linux__)
    char text[64]; /* time on a processor, time waiting for one, number of turns */
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t size = read(file, text, sizeof text - 1);
    (void)close(file);
    if (size <= 0) return 0;
    text[size] = 0;
    const char *second = strchr(text, ' ');
    if (second) starved_ns = strtoull(second, NULL, 10);
#endif
    return starved_ns;
}

uint64_t fr_thread_disk_faults(void) {
#if defined(RUSAGE_THREAD)
    const int who = RUSAGE_THREAD;
#else
    const int who = RUSAGE_SELF;
#endif
    struct rusage used;
    return getrusage(who, &used) == 0 ? (uint64_t)used.ru_majflt : 0;
}

void fr_thread_pause(uint32_t us) {
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    (void)nanosleep(&time, NULL);
}

#endif
