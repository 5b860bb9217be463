/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A regular file mapped whole for reading, so that losing its tail cannot kill the process. Where
 * the file system cannot map files, the file stays open and is read by fr_file_map_read().
 *
 * Touching a page of a mapping that the file no longer covers raises SIGBUS. Opening a map
 * installs a handler, unless it is in place, that, for an address inside one of our maps, puts zero
 * pages there and marks the map as lost; for any other address it does what was there before.
 * Whoever read from a map asks fr_file_map_lost() before believing what was read.
 *
 * Reading one map from several threads at once is safe; opening and closing it is not.
 */
#ifndef FASTREC_FILE_MAP_H
#define FASTREC_FILE_MAP_H

#include "base/bytes.h"

typedef struct fr_file_map_entry fr_file_map_entry;

/* Tells a file from what it was before it was written to. */
typedef struct {
    uint64_t size;
    int64_t mtime_ns;
} fr_file_stamp;

static inline bool fr_file_stamp_equal(const fr_file_stamp *a, const fr_file_stamp *b) {
    return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* All-zero is a valid closed map. */
typedef struct {
    fr_span bytes; /* valid until close; without data where the file is read */
    fr_file_stamp stamp;
    uint64_t device, inode;   /* which file it is */
    fr_file_map_entry *entry; /* of a map */
    bool reads;               /* the file is read from `fd` */
    int fd;
    fr_buffer copy; /* all bytes of a file, where it is not mapped and fr_file_map_copy() ran */
} fr_file_map;

/* FR_ERR_IO with the errno of open, fstat or mmap; FR_ERR_ARG when `path` is not a regular file.
   The descriptor of a map is not kept: a file that is replaced by rename stays readable as it
   was. */
FR_NODISCARD int fr_file_map_open(fr_file_map *map, const char *path, fr_error *err);

/* Reads bytes of a file that is not mapped. FR_ERR_TRUNCATED with FR_FAULT_SHRUNK when the file
   has fewer by now. */
FR_NODISCARD int fr_file_map_read(const fr_file_map *map, uint64_t offset, uint8_t *data,
                                  size_t size, fr_error *err);

/* Reads a file that is not mapped into memory, so that `bytes` has data in any case. */
FR_NODISCARD int fr_file_map_copy(fr_file_map *map, fr_error *err);

/* Opens the file at `path` to read it, if it still is the mapped one; -1 if not. */
int fr_file_map_reopen(const fr_file_map *map, const char *path);

/* Maps an open descriptor, which stays the caller's; FR_ERR_IO where it cannot be mapped. */
FR_NODISCARD int fr_file_map_open_fd(fr_file_map *map, int fd, fr_error *err);

/* The stamp of a file that is not mapped; errors are those of fr_file_map_open(). */
FR_NODISCARD int fr_file_map_stat(const char *path, fr_file_stamp *stamp, fr_error *err);
FR_NODISCARD int fr_file_map_stat_fd(int fd, fr_file_stamp *stamp, fr_error *err);

/* The first `size` bytes of a file, or all of a shorter one; FR_END when it is not a regular file,
   which is not opened. */
FR_NODISCARD int fr_file_head(const char *path, void *head, size_t *size, fr_error *err);

/*
 * Maps that a process may still open: a quarter of what the system allows it (vm.max_map_count) is
 * left to everybody else. Those that are open count.
 */
size_t fr_file_map_room(void);

/* Whether a page was touched that the file no longer covers. */
bool fr_file_map_lost(const fr_file_map *map);

/* The number of times that a map of this process was marked as lost; unchanged while none is. */
uint64_t fr_file_map_losses(void);

/* Marks the map as lost by other evidence: within the last page, bytes that are gone read as zeros
   and raise nothing. */
void fr_file_map_lose(const fr_file_map *map);

/* Marks the map as lost when `path` leads to its file and that is shorter than it was. */
void fr_file_map_look(const fr_file_map *map, const char *path);

/* FR_OK, or FR_ERR_TRUNCATED with FR_FAULT_SHRUNK when the map is lost. */
FR_NODISCARD int fr_file_map_check(const fr_file_map *map, fr_error *err);

/* Has the system begin to read `size` bytes from `offset` on, inside the map, without waiting. */
void fr_file_map_announce(const fr_file_map *map, size_t offset, size_t size);

/* Has a page that is touched read alone from now on, unless it was announced. */
void fr_file_map_scatter(const fr_file_map *map);

/* Says that `size` bytes from `offset` on, inside the map, will not be read again soon: the system
   lets go of them before others when memory is short, unless another process uses them. */
void fr_file_map_retire(const fr_file_map *map, size_t offset, size_t size);

/* Whether the byte at `offset`, inside the map, can be read without waiting for the disk. A guess:
   what is true may change, and of files of other users some systems say that all of it is there. */
bool fr_file_map_resident(const fr_file_map *map, size_t offset);

void fr_file_map_close(fr_file_map *map);

/*
 * Before reading mapped bytes: puts the handler of lost pages in place again if other code replaced
 * it since a file was opened (faulthandler.enable(), signal.signal(), a worker that was forked).
 * Looks at most every FR_FILE_MAP_GUARD_NS nanoseconds. Best effort: without it a file that shrinks
 * ends the process.
 */
#define FR_FILE_MAP_GUARD_NS 20000
void fr_file_map_guard(void);

#endif
