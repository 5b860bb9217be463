/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A regular file that is mapped whole for reading. The process survives if the end of the file is
 * cut off. If the file system cannot map files, the file stays open and is read by
 * fr_file_map_read().
 *
 * Touching a mapped page that the file no longer covers raises SIGBUS. Opening a map installs a
 * signal handler, if it is not installed. For an address inside one of these maps, the handler maps
 * zero pages there and marks the map as lost. For any other address it calls the previous handler.
 * A caller that has read from a map must check fr_file_map_lost() before it uses the data.
 *
 * Several threads may read one map. Opening and closing it is not thread-safe.
 */
#ifndef FASTREC_FILE_MAP_H
#define FASTREC_FILE_MAP_H

#include "base/bytes.h"

typedef struct fr_file_map_entry fr_file_map_entry;

/* Identifies the state of a file, to detect that it was written to. */
typedef struct {
    uint64_t size;
    int64_t mtime_ns;
} fr_file_stamp;

static inline bool fr_file_stamp_equal(const fr_file_stamp *a, const fr_file_stamp *b) {
    return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* All-zero is a valid closed map. */
typedef struct {
    fr_span bytes; /* valid until close; data is NULL if the file is read */
    fr_file_stamp stamp;
    uint64_t device, inode;   /* identity of the file */
    fr_file_map_entry *entry; /* registry entry of a map */
    bool reads;               /* the file is read from `fd`, not mapped */
    int fd;
    fr_buffer copy; /* all bytes of a file that is not mapped, after fr_file_map_copy() */
} fr_file_map;

/* Returns FR_ERR_IO with the errno of open, fstat or mmap, or FR_ERR_ARG if `path` is not a
   regular file. The descriptor of a mapped file is closed. A file that is replaced by rename
   stays readable with its old content. */
FR_NODISCARD int fr_file_map_open(fr_file_map *map, const char *path, fr_error *err);

/* Reads bytes of a file that is not mapped. Returns FR_ERR_TRUNCATED with FR_FAULT_SHRUNK if the
   file is now too short. */
FR_NODISCARD int fr_file_map_read(const fr_file_map *map, uint64_t offset, uint8_t *data,
                                  size_t size, fr_error *err);

/* Reads a file that is not mapped into memory, so that `bytes` has data in both cases. */
FR_NODISCARD int fr_file_map_copy(fr_file_map *map, fr_error *err);

/* Opens the file at `path` for reading and returns its descriptor, or -1 if it is not the mapped
   file. */
int fr_file_map_reopen(const fr_file_map *map, const char *path);

/* Maps an open descriptor, which the caller keeps. Returns FR_ERR_IO if it cannot be mapped. */
FR_NODISCARD int fr_file_map_open_fd(fr_file_map *map, int fd, fr_error *err);

/* Gets the stamp of a file without mapping it. Errors are as for fr_file_map_open(). */
FR_NODISCARD int fr_file_map_stat(const char *path, fr_file_stamp *stamp, fr_error *err);
FR_NODISCARD int fr_file_map_stat_fd(int fd, fr_file_stamp *stamp, fr_error *err);

/* Reads the first `size` bytes of a file, or all of a shorter file. Returns FR_END, without
   opening it, if it is not a regular file. */
FR_NODISCARD int fr_file_head(const char *path, void *head, size_t *size, fr_error *err);

/*
 * Returns the number of maps that this process may still open. Open maps are subtracted, and a
 * quarter of the system's limit (vm.max_map_count) is left for other code in the process.
 */
size_t fr_file_map_room(void);

/* Returns true if a page was touched that the file no longer covers. */
bool fr_file_map_lost(const fr_file_map *map);

/* Returns how many times a map of this process was marked as lost. If the number is unchanged,
   no map was lost in between. */
uint64_t fr_file_map_losses(void);

/* Marks the map as lost for another reason than a signal: bytes that are missing from the last
   page read as zeros and raise no signal. */
void fr_file_map_lose(const fr_file_map *map);

/* Marks the map as lost if `path` names its file and the file is shorter than before. */
void fr_file_map_look(const fr_file_map *map, const char *path);

/* Returns FR_ERR_TRUNCATED with FR_FAULT_SHRUNK if the map is lost, otherwise FR_OK. */
FR_NODISCARD int fr_file_map_check(const fr_file_map *map, fr_error *err);

/* Starts reading `size` bytes from `offset`, inside the map, without waiting for them. */
void fr_file_map_announce(const fr_file_map *map, size_t offset, size_t size);

/* From now on, a page that is touched is read without its neighbours, unless it was announced. */
void fr_file_map_scatter(const fr_file_map *map);

/* States that `size` bytes from `offset`, inside the map, will not be read again soon. If memory
   is short, the system drops them before others, unless another process uses them. */
void fr_file_map_retire(const fr_file_map *map, size_t offset, size_t size);

/* Returns true if the byte at `offset`, inside the map, can be read without waiting for the
   disk. The answer may be outdated, and some systems report all of a file of another user as
   resident. */
bool fr_file_map_resident(const fr_file_map *map, size_t offset);

void fr_file_map_close(fr_file_map *map);

/*
 * Call before reading mapped bytes. It reinstalls the handler of lost pages if other code has
 * replaced it since a file was opened (faulthandler.enable(), signal.signal(), a forked worker). It
 * checks at most once every FR_FILE_MAP_GUARD_NS nanoseconds, so this is best effort: if the
 * handler is missing, a file that shrinks ends the process.
 */
#define FR_FILE_MAP_GUARD_NS 20000
void fr_file_map_guard(void);

#endif
