/* SPDX-License-Identifier: Apache-2.0 */
#include "files/file_map.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/platform.h"
#include "base/thread.h"

/*
 * The handler may run at any time on any thread, so the list that it walks only grows. An entry of
 * a closed map has size 0. It is reused for a later map and never freed. `base` is set before
 * `size` and cleared after it.
 */
struct fr_file_map_entry {
    _Atomic uintptr_t base;
    _Atomic size_t size;
    _Atomic bool lost;
    _Atomic bool scattered;
    struct fr_file_map_entry *next;
    struct fr_file_map_entry *next_spare; /* next entry of a closed map */
};

static _Atomic(fr_file_map_entry *) entries;
static _Atomic uint64_t losses;
static fr_file_map_entry *spare; /* entries of closed maps */
static _Atomic size_t open_maps;
static fr_mutex registry = FR_MUTEX_INIT;

static fr_file_map_entry *entry_at(uintptr_t address) {
    for (fr_file_map_entry *e = atomic_load(&entries); e; e = e->next)
        if (address - atomic_load(&e->base) < atomic_load(&e->size)) return e;
    return NULL;
}

static void mark_lost(fr_file_map_entry *entry) {
    atomic_store(&entry->lost, true);
    atomic_fetch_add(&losses, 1);
}

static bool find_lost(uintptr_t address, void **base, size_t *size) {
    fr_file_map_entry *entry = entry_at(address);
    if (!entry) return false;
    *base = (void *)atomic_load(&entry->base);
    *size = atomic_load(&entry->size);
    mark_lost(entry);
    return true;
}

/* Returns an unused entry. REQUIRES: the registry is locked. */
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
    const int failed = fr_mutex_keep_at_fork(&registry);
    if (failed) return fr_fail_io(err, failed, "pthread_atfork");
    fr_mutex_lock(&registry);
    int status = fr_map_watch(find_lost) == 0 ? FR_OK : fr_fail_io(err, errno, "sigaction");
    fr_file_map_entry *entry = status == FR_OK ? free_entry() : NULL;
    if (entry) {
        atomic_store(&entry->lost, false);
        atomic_store(&entry->scattered, false);
        atomic_store(&entry->base, (uintptr_t)base);
        atomic_store(&entry->size, size);
    } else if (status == FR_OK) {
        status = fr_fail_nomem(err, sizeof *entry);
    }
    fr_mutex_unlock(&registry);
    if (entry) atomic_fetch_add(&open_maps, 1);
    map->entry = entry;
    return status;
}

void fr_file_map_guard(void) {
    static _Atomic uint64_t next;
    const uint64_t now = fr_clock_ns();
    if (FR_LIKELY(now < atomic_load_explicit(&next, memory_order_relaxed))) return;
    atomic_store_explicit(&next, now + FR_FILE_MAP_GUARD_NS, memory_order_relaxed);
    fr_mutex_lock(&registry);
    (void)fr_map_watch(find_lost);
    fr_mutex_unlock(&registry);
}

static int stamp_of(const fr_file_info *info, fr_file_stamp *stamp, fr_error *err) {
    if (info->kind == FR_FILE_FOLDER) return fr_fail_io(err, EISDIR, "open");
    if (info->kind != FR_FILE_REGULAR) return fr_fail(err, FR_ERR_ARG, "not a regular file");
    if (info->size > SIZE_MAX / 2) return fr_fail_io(err, EFBIG, "mmap");
    *stamp = (fr_file_stamp){info->size, info->mtime_ns};
    return FR_OK;
}

int fr_file_map_open_fd(fr_file_map *map, int fd, fr_error *err) {
    *map = (fr_file_map){0};
    fr_file_info info;
    if (fr_fd_stat(fd, &info) != 0) return fr_fail_io(err, errno, "fstat");
    FR_TRY(stamp_of(&info, &map->stamp, err));
    map->device = info.device;
    map->inode = info.inode;
    size_t size = (size_t)info.size;
    if (size == 0) return FR_OK;
    void *base = fr_map_new(fd, size);
    if (!base) return fr_fail_io(err, errno, "mmap");
    int status = enter(map, base, size, err);
    if (status != FR_OK) {
        fr_map_free(base, size);
        return status;
    }
    map->bytes = (fr_span){base, size};
    return FR_OK;
}

static int open_to_read(const char *path) {
    int fd;
    do {
        fd = fr_file_open(path, true);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Returns true if mmap(2) failed because the file system cannot map files (FUSE with direct I/O,
   9p, some cluster file systems) or because the process has too many maps (ENOMEM). */
static bool cannot_map(int sys_errno) {
    return sys_errno == ENODEV || sys_errno == EACCES || sys_errno == EINVAL ||
           sys_errno == ENOMEM || sys_errno == EPERM || sys_errno == ENOSYS ||
           sys_errno == EOPNOTSUPP;
}

int fr_file_map_open(fr_file_map *map, const char *path, fr_error *err) {
    *map = (fr_file_map){0};
    const int fd = open_to_read(path);
    if (fd < 0) return fr_fail_io(err, errno, "open");
    fr_error failed;
    int status = fr_file_map_open_fd(map, fd, &failed);
    if (status == FR_ERR_IO && map->inode && cannot_map(failed.sys_errno)) {
        map->reads = true;
        map->fd = fd;
        map->bytes = (fr_span){NULL, (size_t)map->stamp.size};
        return FR_OK;
    }
    if (status != FR_OK && err) *err = failed;
    fr_fd_close(fd);
    return status;
}

static int fail_shrunk(const fr_file_map *map, fr_error *err) {
    fr_fail(err, FR_ERR_TRUNCATED, "the file shrank while it was read, it had %zu bytes",
            map->bytes.size);
    if (err) err->fault = FR_FAULT_SHRUNK;
    return FR_ERR_TRUNCATED;
}

int fr_file_map_read(const fr_file_map *map, uint64_t offset, uint8_t *data, size_t size,
                     fr_error *err) {
    while (size) {
        const int64_t some = fr_fd_read_at(map->fd, data, size, offset);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return fr_fail_io(err, errno, "pread");
        if (some == 0) return fail_shrunk(map, err);
        data += some, offset += (uint64_t)some, size -= (size_t)some;
    }
    return FR_OK;
}

int fr_file_map_copy(fr_file_map *map, fr_error *err) {
    if (!map->reads) return FR_OK;
    FR_TRY(fr_buffer_reserve(&map->copy, map->bytes.size, err));
    FR_TRY(fr_file_map_read(map, 0, map->copy.data, map->bytes.size, err));
    map->bytes.data = map->copy.data;
    return FR_OK;
}

int fr_file_map_reopen(const fr_file_map *map, const char *path) {
    fr_file_info info;
    const int fd = open_to_read(path);
    if (fd < 0) return -1;
    if (fr_fd_stat(fd, &info) == 0 && info.device == map->device && info.inode == map->inode)
        return fd;
    fr_fd_close(fd);
    return -1;
}

int fr_file_map_stat(const char *path, fr_file_stamp *stamp, fr_error *err) {
    fr_file_info info;
    if (fr_file_stat(path, &info) != 0) return fr_fail_io(err, errno, "stat");
    return stamp_of(&info, stamp, err);
}

int fr_file_map_stat_fd(int fd, fr_file_stamp *stamp, fr_error *err) {
    fr_file_info info;
    if (fr_fd_stat(fd, &info) != 0) return fr_fail_io(err, errno, "fstat");
    return stamp_of(&info, stamp, err);
}

int fr_file_head(const char *path, void *head, size_t *size, fr_error *err) {
    fr_file_info info;
    if (fr_file_stat(path, &info) != 0) return fr_fail_io(err, errno, "stat");
    if (info.kind != FR_FILE_REGULAR) return FR_END;
    const int fd = open_to_read(path);
    if (fd < 0) return fr_fail_io(err, errno, "open");
    int64_t got;
    do {
        got = fr_fd_read_at(fd, head, *size, 0);
    } while (got < 0 && errno == EINTR);
    const int failed = errno;
    fr_fd_close(fd);
    if (got < 0) return fr_fail_io(err, failed, "pread");
    *size = (size_t)got;
    return FR_OK;
}

size_t fr_file_map_room(void) {
    const size_t most = fr_map_limit() / 4 * 3, open = atomic_load(&open_maps);
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
    fr_file_info info;
    if (fr_file_stat(path, &info) != 0) return;
    bool same = info.device == map->device && info.inode == map->inode;
    if (same && info.size < map->stamp.size) fr_file_map_lose(map);
}

int fr_file_map_check(const fr_file_map *map, fr_error *err) {
    return FR_LIKELY(!fr_file_map_lost(map)) ? FR_OK : fail_shrunk(map, err);
}

void fr_file_map_announce(const fr_file_map *map, size_t offset, size_t size) {
    if (map->entry && size) fr_map_announce(map->bytes.data + offset, size);
}

void fr_file_map_scatter(const fr_file_map *map) {
    if (!map->entry || atomic_load_explicit(&map->entry->scattered, memory_order_acquire)) return;
    fr_map_scatter(map->bytes.data, map->bytes.size);
    /* Only now: a thread that sees the mark may touch a page, which would read its neighbours. */
    atomic_store_explicit(&map->entry->scattered, true, memory_order_release);
}

/* The first page can be retired although earlier bytes share it, because they were read before.
   The last page is retired only at the end of the file, because later bytes share it. */
void fr_file_map_retire(const fr_file_map *map, size_t offset, size_t size) {
    const bool last = offset + size == map->bytes.size;
    if (map->entry) fr_map_retire(map->bytes.data + offset, size, last);
}

bool fr_file_map_resident(const fr_file_map *map, size_t offset) {
    return map->entry && fr_map_resident(map->bytes.data + offset);
}

void fr_file_map_close(fr_file_map *map) {
    if (map->entry) {
        atomic_store(&map->entry->size, 0);
        fr_map_free((void *)(uintptr_t)map->bytes.data, map->bytes.size);
        fr_mutex_lock(&registry);
        atomic_store(&map->entry->base, 0);
        map->entry->next_spare = spare;
        spare = map->entry;
        fr_mutex_unlock(&registry);
        atomic_fetch_sub(&open_maps, 1);
    }
    if (map->reads) fr_fd_close(map->fd);
    fr_buffer_free(&map->copy);
    *map = (fr_file_map){0};
}
