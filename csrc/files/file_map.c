/* SPDX-License-Identifier: Apache-2.0 */
#include "files/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The handler may run at any instant on any thread, so the list it walks only ever grows: an entry
 * of a closed map has size 0 and is used again by a later one, never freed. `base` is published
 * before `size` and withdrawn after it.
 */
struct fr_file_map_entry {
    _Atomic uintptr_t base;
    _Atomic size_t size;
    _Atomic bool lost;
    struct fr_file_map_entry *next;
    struct fr_file_map_entry *next_spare; /* of a closed map */
};

static _Atomic(fr_file_map_entry *) entries;
static _Atomic uint64_t losses;
static fr_file_map_entry *spare; /* entries of closed maps */
static _Atomic size_t open_maps;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;
static uintptr_t page_size;

static fr_file_map_entry *entry_at(uintptr_t address) {
    for (fr_file_map_entry *e = atomic_load(&entries); e; e = e->next)
        if (address - atomic_load(&e->base) < atomic_load(&e->size)) return e;
    return NULL;
}

static void mark_lost(fr_file_map_entry *entry) {
    atomic_store(&entry->lost, true);
    atomic_fetch_add(&losses, 1);
}

/* Puts zeros under the page; the instruction that faulted then runs again. */
static bool rescue(uintptr_t address) {
    fr_file_map_entry *entry = entry_at(address);
    if (!entry) return false;
    mark_lost(entry);
    void *page = (void *)(address & ~(page_size - 1));
    return mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

/* A handler that was there before may put us back and return, so that the same fault comes here
   again: the second time it goes to the system. */
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

/* A child of fork() must not find the registry locked by a thread that it does not have. */
static void lock_registry(void) {
    pthread_mutex_lock(&registry);
}

static void unlock_registry(void) {
    pthread_mutex_unlock(&registry);
}

static int fork_failed;

static void prepare_for_forks(void) {
    fork_failed = pthread_atfork(lock_registry, unlock_registry, unlock_registry);
}

static int install_handler(fr_error *err) {
    struct sigaction current;
    if (sigaction(SIGBUS, NULL, &current) != 0) return fr_fail_io(err, errno, "sigaction");
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_sigbus) return FR_OK;
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    previous = current;
    struct sigaction action = {0};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, NULL) != 0) return fr_fail_io(err, errno, "sigaction");
    return FR_OK;
}

/* Called with the registry locked. */
static fr_file_map_entry *free_entry(void) {
    fr_file_map_entry *entry = spare;
    if (entry) {
        spare = entry->next_spare;
        return entry;
    }
    entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->next = atomic_load(&entries);
    atomic_store(&entries, entry);
    return entry;
}

static int enter(fr_file_map *map, void *base, size_t size, fr_error *err) {
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    pthread_once(&prepared, prepare_for_forks);
    if (fork_failed) return fr_fail_io(err, fork_failed, "pthread_atfork");
    lock_registry();
    int status = install_handler(err);
    fr_file_map_entry *entry = status == FR_OK ? free_entry() : NULL;
    if (entry) {
        atomic_store(&entry->lost, false);
        atomic_store(&entry->base, (uintptr_t)base);
        atomic_store(&entry->size, size);
    } else if (status == FR_OK) {
        status = fr_fail_nomem(err, sizeof *entry);
    }
    unlock_registry();
    if (entry) atomic_fetch_add(&open_maps, 1);
    map->entry = entry;
    return status;
}

static int64_t mtime_of(const struct stat *st) {
#if defined(__APPLE__)
    const struct timespec *time = &st->st_mtimespec;
#else
    const struct timespec *time = &st->st_mtim;
#endif
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int stamp_of(const struct stat *st, fr_file_stamp *stamp, fr_error *err) {
    if (S_ISDIR(st->st_mode)) return fr_fail_io(err, EISDIR, "open");
    if (!S_ISREG(st->st_mode)) return fr_fail(err, FR_ERR_ARG, "not a regular file");
    if ((uint64_t)st->st_size > SIZE_MAX / 2) return fr_fail_io(err, EFBIG, "mmap");
    *stamp = (fr_file_stamp){(uint64_t)st->st_size, mtime_of(st)};
    return FR_OK;
}

int fr_file_map_open_fd(fr_file_map *map, int fd, fr_error *err) {
    *map = (fr_file_map){0};
    struct stat st;
    if (fstat(fd, &st) != 0) return fr_fail_io(err, errno, "fstat");
    FR_TRY(stamp_of(&st, &map->stamp, err));
    map->device = (uint64_t)st.st_dev;
    map->inode = (uint64_t)st.st_ino;
    size_t size = (size_t)st.st_size;
    if (size == 0) return FR_OK;
    void *base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return fr_fail_io(err, errno, "mmap");
    int status = enter(map, base, size, err);
    if (status != FR_OK) {
        munmap(base, size);
        return status;
    }
    map->bytes = (fr_span){base, size};
    return FR_OK;
}

static int open_to_read(const char *path) {
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

int fr_file_map_open(fr_file_map *map, const char *path, fr_error *err) {
    *map = (fr_file_map){0};
    const int fd = open_to_read(path);
    if (fd < 0) return fr_fail_io(err, errno, "open");
    int status = fr_file_map_open_fd(map, fd, err);
    close(fd);
    return status;
}

int fr_file_map_stat(const char *path, fr_file_stamp *stamp, fr_error *err) {
    struct stat st;
    if (stat(path, &st) != 0) return fr_fail_io(err, errno, "stat");
    return stamp_of(&st, stamp, err);
}

int fr_file_map_stat_fd(int fd, fr_file_stamp *stamp, fr_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0) return fr_fail_io(err, errno, "fstat");
    return stamp_of(&st, stamp, err);
}

int fr_file_head(const char *path, void *head, size_t *size, fr_error *err) {
    struct stat st;
    if (stat(path, &st) != 0) return fr_fail_io(err, errno, "stat");
    if (!S_ISREG(st.st_mode)) return FR_END;
    const int fd = open_to_read(path);
    if (fd < 0) return fr_fail_io(err, errno, "open");
    ssize_t got;
    do {
        got = pread(fd, head, *size, 0);
    } while (got < 0 && errno == EINTR);
    const int failed = errno;
    close(fd);
    if (got < 0) return fr_fail_io(err, failed, "pread");
    *size = (size_t)got;
    return FR_OK;
}

#define USUAL_MAPS 65530 /* of Linux, where it does not say */

/* What the system allows a process. */
static size_t map_limit(void) {
    unsigned long limit = USUAL_MAPS;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    if (!file) return limit;
    if (fscanf(file, "%lu", &limit) != 1) limit = USUAL_MAPS;
    fclose(file);
    return limit;
}

size_t fr_file_map_room(void) {
    const size_t most = map_limit() / 4 * 3, open = atomic_load(&open_maps);
    return open < most ? most - open : 0;
}

bool fr_file_map_lost(const fr_file_map *map) {
    return map->entry && atomic_load_explicit(&map->entry->lost, memory_order_relaxed);
}

uint64_t fr_file_map_losses(void) {
    return atomic_load_explicit(&losses, memory_order_relaxed);
}

void fr_file_map_lose(const fr_file_map *map) {
    if (map->entry) mark_lost(map->entry);
}

void fr_file_map_look(const fr_file_map *map, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return;
    bool same = (uint64_t)st.st_dev == map->device && (uint64_t)st.st_ino == map->inode;
    if (same && (uint64_t)st.st_size < map->stamp.size) fr_file_map_lose(map);
}

int fr_file_map_check(const fr_file_map *map, fr_error *err) {
    if (FR_LIKELY(!fr_file_map_lost(map))) return FR_OK;
    fr_fail(err, FR_ERR_TRUNCATED, "the file shrank while it was read, it had %zu bytes",
            map->bytes.size);
    if (err) err->fault = FR_FAULT_SHRUNK;
    return FR_ERR_TRUNCATED;
}

void fr_file_map_announce(const fr_file_map *map, size_t offset, size_t size) {
    if (!map->entry || size == 0) return;
    size_t slack = (size_t)((uintptr_t)(map->bytes.data + offset) & (page_size - 1));
    (void)madvise((void *)(uintptr_t)(map->bytes.data + offset - slack), size + slack,
                  MADV_WILLNEED);
}

/* Those before it that share its first page were read before; of its last page, others are. */
void fr_file_map_retire(const fr_file_map *map, size_t offset, size_t size) {
#if defined(MADV_COLD)
    if (!map->entry) return;
    const uintptr_t base = (uintptr_t)map->bytes.data, page = ~(page_size - 1);
    const bool last = offset + size == map->bytes.size;
    const uintptr_t begin = (base + offset) & page, end = base + offset + size;
    const uintptr_t until = last ? (end + page_size - 1) & page : end & page;
    if (until > begin) (void)madvise((void *)begin, until - begin, MADV_COLD);
#else
    (void)map, (void)offset, (void)size;
#endif
}

bool fr_file_map_resident(const fr_file_map *map, size_t offset) {
    uintptr_t page = (uintptr_t)(map->bytes.data + offset) & ~(page_size - 1);
    unsigned char there[1] = {0};
    int saved = errno;
    bool known = map->entry && mincore((void *)page, 1, (void *)there) == 0;
    errno = saved;
    return known && (there[0] & 1);
}

void fr_file_map_close(fr_file_map *map) {
    if (map->entry) {
        atomic_store(&map->entry->size, 0);
        munmap((void *)(uintptr_t)map->bytes.data, map->bytes.size);
        lock_registry();
        atomic_store(&map->entry->base, 0);
        map->entry->next_spare = spare;
        spare = map->entry;
        unlock_registry();
        atomic_fetch_sub(&open_maps, 1);
    }
    *map = (fr_file_map){0};
}
