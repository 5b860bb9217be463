/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system: files, maps of files, memory, clocks, processes.
 *
 * Whatever differs between POSIX and Windows is behind these functions, in platform_posix.c and
 * platform_windows.c, and behind those of thread.h; no other file includes a system's headers,
 * except cpu.c.
 *
 * A function that returns an int is 0, or a descriptor, when it did what it says, and -1 with
 * `errno` when it did not, on Windows too. Descriptors are those of the C library, as Python's.
 * Paths are as in open(2); on Windows they are UTF-8, with either slash, and of any length.
 */
#ifndef FASTREC_PLATFORM_H
#define FASTREC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Files ----------------------------------------------------------------------------------- */

#define FR_PATH_MAX 4096 /* bytes of a path, with its NUL */

typedef enum { FR_FILE_NONE = 0, FR_FILE_REGULAR, FR_FILE_FOLDER, FR_FILE_OTHER } fr_file_kind;

typedef struct {
    fr_file_kind kind;
    unsigned mode; /* permissions; 0 on Windows */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode; /* which file it is */
} fr_file_info;

int fr_file_stat(const char *path, fr_file_info *info);
int fr_fd_stat(int fd, fr_file_info *info);

/* To read. With `at_once` nobody has to have opened the other end of a pipe. */
int fr_file_open(const char *path, bool at_once);

/* To write a file that is not there. `mode` is subject to the process's umask. */
int fr_file_create(const char *path, unsigned mode);

/* To write behind the end of a file that is there, or, with `create`, is not. */
int fr_file_append(const char *path, bool create);

int fr_file_remove(const char *path);
int fr_file_link(const char *path, const char *name); /* gives the file another name */

/* Gives a file another name, whoever has either of them open. Without `replace` it is EEXIST where
   there is a file of that name. On Windows a file that is mapped may refuse to be replaced. */
int fr_file_rename(const char *from, const char *to, bool replace);

/* Has the names in a folder on the disk. 0 where they are, and where folders cannot be synced. */
int fr_file_sync_folder(const char *path);

/* What a symbolic link says, in `target`, of FR_PATH_MAX bytes. */
int fr_file_read_link(const char *path, char *target);

/* The folder's name from the root, without links, in `root`, of FR_PATH_MAX bytes. */
int fr_file_real_path(const char *path, char *root);

/* The number of bytes of `path` before the name of the file. */
size_t fr_file_folder_size(const char *path);
bool fr_file_is_absolute(const char *path);

int64_t fr_fd_read(int fd, void *data, size_t size);                     /* read(2) */
int64_t fr_fd_read_at(int fd, void *data, size_t size, uint64_t offset); /* pread(2), thread-safe */
int64_t fr_fd_write(int fd, const void *data, size_t size);              /* write(2) */
void fr_fd_scatter(int fd);              /* turns off the system's readahead */
size_t fr_fd_limit(void);                /* descriptors that a process may have */
int fr_fd_seek(int fd, uint64_t offset); /* -1 where there are no positions */
int64_t fr_fd_tell(int fd);
int fr_fd_truncate(int fd, uint64_t size);
int fr_fd_set_mode(int fd, unsigned mode); /* does nothing on Windows */
int fr_fd_sync(int fd);                    /* to the disk, not just to its cache */
int fr_fd_duplicate(int fd);
int fr_fd_close(int fd);

/* A lock between those who ask for it; EWOULDBLOCK while somebody else has it. */
int fr_fd_lock(int fd);
void fr_fd_unlock(int fd);

/* Whether blocks of the file are best asked for before they are written to, and doing so. */
bool fr_fd_allocates_late(int fd);
int fr_fd_reserve(int fd, uint64_t offset, uint64_t size);

/* ---- Maps of files --------------------------------------------------------------------------- */

/* Maps a file's first `size` bytes, not 0, for reading. NULL and errno. */
void *fr_map_new(int fd, size_t size);
void fr_map_free(void *base, size_t size);

/* Which map an address is in, if in any; called for one that cannot be read any more. */
typedef bool (*fr_map_lost)(uintptr_t address, void **base, size_t *size);

/*
 * From then on a map survives that its file loses bytes: `lost` is asked, on the thread that reads,
 * inside a signal handler, and where it knows the address, zeros are put there and reading goes on.
 * On Windows, the whole map becomes zeros. To be called, with the same `lost`, before each map:
 * others may have installed handlers in the meantime.
 */
int fr_map_watch(fr_map_lost lost);

/* Advice about bytes of a map: pages are read alone, each when it is touched. */
void fr_map_scatter(const void *data, size_t size);

/* Advice about bytes of a map: they are soon read; they are not soon read again, nor are those
   before them on their first page, and the map ends there if it is the `last` time; they need not
   be in this process's memory. */
void fr_map_announce(const void *data, size_t size);
void fr_map_retire(const void *data, size_t size, bool last);
void fr_map_drop(const void *data, size_t size);

/* Whether the page of that byte is in memory, if the system says so. */
bool fr_map_resident(const void *data);

size_t fr_map_limit(void); /* maps that a process may have */

/* ---- Memory, time, processes ----------------------------------------------------------------- */

size_t fr_page_size(void);
uint64_t fr_memory_size(void); /* of the machine; 0 if unknown */

/* `alignment` is a power of two. Huge pages where the system leaves them to programs to ask for. */
void *fr_memory_new(size_t alignment, size_t size, bool huge);
void fr_memory_free(void *data);

uint64_t fr_clock_ns(void);      /* of the clock that nobody sets */
uint64_t fr_clock_date_ns(void); /* since 1970 */
int64_t fr_process_id(void);

/* Page faults of this thread, or process, that waited for the disk; 0 if unknown. */
int64_t fr_process_disk_faults(void);

#endif
