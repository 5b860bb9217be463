/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system: files, memory maps, memory, clocks, processes.
 *
 * All differences between POSIX and Windows are behind these functions, in platform_posix.c and
 * platform_windows.c, and behind those of thread.h. No other file includes a system's headers,
 * except cpu.c.
 *
 * A function that returns an int returns 0 or a descriptor on success, and -1 with `errno` set on
 * failure, on Windows too. Descriptors belong to the C library, as Python's do. Paths are as in
 * open(2); on Windows they are UTF-8, with either slash, and may have any length.
 */
#ifndef FASTREC_PLATFORM_H
#define FASTREC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Files ----------------------------------------------------------------------------------- */

#define FR_PATH_MAX 4096 /* bytes of a path, including its NUL */

typedef enum { FR_FILE_NONE = 0, FR_FILE_REGULAR, FR_FILE_FOLDER, FR_FILE_OTHER } fr_file_kind;

typedef struct {
    fr_file_kind kind;
    unsigned mode; /* permissions; 0 on Windows */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode; /* identity of the file */
} fr_file_info;

int fr_file_stat(const char *path, fr_file_info *info);
int fr_fd_stat(int fd, fr_file_info *info);

/* Opens a file for reading. With `at_once`, does not wait for the writer of a pipe. */
int fr_file_open(const char *path, bool at_once);

/* Creates a new file for writing. The process's umask applies to `mode`. */
int fr_file_create(const char *path, unsigned mode);

/* Opens a file for appending. With `create`, creates it if it does not exist. */
int fr_file_append(const char *path, bool create);

int fr_file_remove(const char *path);
int fr_file_link(const char *path, const char *name); /* gives the file a second name */

/* Renames a file, even if another process has it open. Without `replace`, fails with EEXIST if the
   new name exists. On Windows, a mapped file may refuse to be replaced. */
int fr_file_rename(const char *from, const char *to, bool replace);

/* Writes the names in a directory to the disk. Returns 0 also if the directory cannot be synced. */
int fr_file_sync_folder(const char *path);

/* Writes the target of a symbolic link to `target`, which has FR_PATH_MAX bytes. */
int fr_file_read_link(const char *path, char *target);

/* Writes the directory's absolute path, without links, to `root`, which has FR_PATH_MAX bytes. */
int fr_file_real_path(const char *path, char *root);

/* Returns the number of bytes of `path` before the file name. */
size_t fr_file_folder_size(const char *path);
bool fr_file_is_absolute(const char *path);

int64_t fr_fd_read(int fd, void *data, size_t size);                     /* read(2) */
int64_t fr_fd_read_at(int fd, void *data, size_t size, uint64_t offset); /* pread(2), thread-safe */
int64_t fr_fd_write(int fd, const void *data, size_t size);              /* write(2) */
void fr_fd_scatter(int fd);              /* turns off the system's readahead */
size_t fr_fd_limit(void);                /* largest number of descriptors of a process */
int fr_fd_seek(int fd, uint64_t offset); /* -1 if the file is not seekable */
int64_t fr_fd_tell(int fd);
int fr_fd_truncate(int fd, uint64_t size);
int fr_fd_set_mode(int fd, unsigned mode); /* does nothing on Windows */
int fr_fd_sync(int fd);                    /* writes data to the disk, not only to its cache */
int fr_fd_duplicate(int fd);
int fr_fd_close(int fd);

/* Takes an advisory lock; fails with EWOULDBLOCK while another process holds it. */
int fr_fd_lock(int fd);
void fr_fd_unlock(int fd);

/* Returns whether blocks of the file should be allocated before writing. */
bool fr_fd_allocates_late(int fd);
int fr_fd_reserve(int fd, uint64_t offset, uint64_t size);

/* ---- Maps of files --------------------------------------------------------------------------- */

/* Maps the first `size` bytes of a file for reading; size > 0. Returns NULL and sets errno on
   failure. */
void *fr_map_new(int fd, size_t size);
void fr_map_free(void *base, size_t size);

/* Finds the map that contains an address which became unreadable. Returns false if there is
   none. */
typedef bool (*fr_map_lost)(uintptr_t address, void **base, size_t *size);

/*
 * Lets maps survive the loss of bytes of their file. Inside a signal handler, on the thread that
 * reads, `lost` finds the map of the address; if it finds one, zeros replace the lost bytes and
 * reading continues. On Windows, the whole map becomes zeros. Call this with the same `lost`
 * before each map, because other code may have installed its handlers in the meantime.
 */
int fr_map_watch(fr_map_lost lost);

/* Advises that pages of a map are accessed in random order, so only touched pages are read. */
void fr_map_scatter(const void *data, size_t size);

/*
 * Advice about bytes of a map. fr_map_announce: they are about to be read. fr_map_retire: neither
 * they nor the bytes before them on their first page will be read again soon; `last` means that the
 * map ends there. fr_map_drop: they need not stay in this process's memory.
 */
void fr_map_announce(const void *data, size_t size);
void fr_map_retire(const void *data, size_t size, bool last);
void fr_map_drop(const void *data, size_t size);

/* Returns whether the page of a byte is in memory, if the system can tell. */
bool fr_map_resident(const void *data);

size_t fr_map_limit(void); /* largest number of maps of a process */

/* ---- Memory, time, processes ----------------------------------------------------------------- */

size_t fr_page_size(void);
uint64_t fr_memory_size(void); /* bytes of the machine's memory; 0 if unknown */

/* Allocates memory with an alignment that is a power of two, with huge pages where programs may
   choose them. */
void *fr_memory_new(size_t alignment, size_t size, bool huge);
void fr_memory_free(void *data);

/* Asks for huge pages inside `size` bytes of memory that was not used yet. Their first use then
   takes half the time, and freeing them a twentieth. */
void fr_memory_use_huge(void *data, size_t size);

uint64_t fr_clock_ns(void);      /* monotonic clock */
uint64_t fr_clock_date_ns(void); /* time since 1970 */
int64_t fr_process_id(void);

/* Resources that the calling thread has used since it started; 0 where the system does not
   measure them. */
uint64_t fr_thread_cpu_ns(void);      /* time on a processor */
uint64_t fr_thread_starved_ns(void);  /* time that it waited for a processor; takes microseconds */
uint64_t fr_thread_disk_faults(void); /* page faults that waited for the disk; of the process,
                                         except on Linux */

/* Pauses the calling thread for at least `us` microseconds, or a little less after a signal. */
void fr_thread_pause(uint32_t us);

#endif
