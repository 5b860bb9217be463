/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A regular file mapped whole for reading, so that losing its tail cannot kill the process.
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

/* All-zero is a valid closed map. */
typedef struct {
    fr_span bytes; /* valid until close */
    int64_t mtime_ns;
    uint64_t device, inode; /* which file it is */
    fr_file_map_entry *entry;
} fr_file_map;

/* FR_ERR_IO with the errno of open, fstat or mmap; FR_ERR_ARG when `path` is not a regular file.
   The descriptor is not kept: a file that is replaced by rename stays readable as it was. */
FR_NODISCARD int fr_file_map_open(fr_file_map *map, const char *path, fr_error *err);

/* As fr_file_map_open() of an open descriptor, which stays the caller's. */
FR_NODISCARD int fr_file_map_open_fd(fr_file_map *map, int fd, fr_error *err);

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

/* Whether the byte at `offset`, inside the map, can be read without waiting for the disk. A guess:
   what is true may change, and of files of other users some systems say that all of it is there. */
bool fr_file_map_resident(const fr_file_map *map, size_t offset);

void fr_file_map_close(fr_file_map *map);

#endif
