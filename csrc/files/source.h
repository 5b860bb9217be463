/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a reader: a window that moves forward over a file.
 *
 * A descriptor (regular file, pipe, terminal) is a buffer refilled by read(2). A fed source is a
 * buffer that the caller fills, from a decompressor or a remote file. Both look the same from
 * above: `window`, and `ended` once nothing follows it.
 *
 * A regular file is mapped as well, and fr_source_show_all() makes all of it the window: for what
 * has to be seen as a whole, as damage and very long records. Records are not read from the map,
 * because read(2) into a buffer that stays in the second-level cache costs less than the page
 * faults: 19 ms and 37 ms for 186 MB in small folios, 9.3 ms and 11.5 ms in folios of 2 MiB, both
 * with a checksum.
 *
 * A single source is not safe to use by several threads at once; different sources are
 * independent.
 */
#ifndef FASTREC_SOURCE_H
#define FASTREC_SOURCE_H

#include "files/file_map.h"

/* FR_SOURCE_FED is an empty, fed source. */
typedef struct {
    fr_span window;  /* valid until the next fill, feed or close */
    uint64_t offset; /* file position of the window's first byte */
    bool ended;      /* nothing follows the window */
    bool reads;      /* refilled from `fd`, not fed */
    bool seekable;   /* by pread(2), so that processes may share the descriptor */
    bool mapped;     /* the window is in the map */
    bool follows;    /* the end of the file is not the end: somebody writes to it */
    bool stalls;     /* more bytes may be long in coming: they are asked for where they must be */
    int fd;          /* of a file that is mapped or read, or -1 */
    size_t released; /* bytes of the map that fr_source_release() has been told of */
    fr_file_map map;
    fr_buffer buffer;
} fr_source;

#define FR_SOURCE_FED ((fr_source){.fd = -1})

/* Any file that opens, by path. */
FR_NODISCARD int fr_source_open(fr_source *source, const char *path, fr_error *err);

/* As fr_source_open(), read and never ended: a fill at the end of the file is FR_AGAIN. */
FR_NODISCARD int fr_source_follow(fr_source *source, const char *path, fr_error *err);

/* An open descriptor, which becomes the source's to close, also on failure. */
FR_NODISCARD int fr_source_open_fd(fr_source *source, int fd, fr_error *err);

/* Starts at that file position instead of 0: of a source that was just opened. The bytes that a fed
   source is fed are those from there on. */
FR_NODISCARD int fr_source_seek(fr_source *source, uint64_t offset, fr_error *err);

/* Gives up the window's first `size` bytes, size <= window.size. */
static inline void fr_source_consume(fr_source *source, size_t size) {
    source->window = fr_span_after(source->window, size);
    source->offset += size;
}

/* Makes the rest of a regular file the window, if it could be mapped. */
void fr_source_show_all(fr_source *source);

/* Takes the pages of a mapped file that lie before the window out of this process's memory. They
   come back from the page cache when they are looked at. */
void fr_source_release(fr_source *source);

/*
 * Makes the window at least `want` bytes long, or all that there is. FR_AGAIN on a fed source that
 * must be fed first, and when a signal interrupted the wait. Memory grows with the bytes that
 * arrive, never with `want`.
 */
FR_NODISCARD int fr_source_fill(fr_source *source, size_t want, fr_error *err);

/* Appends bytes to a fed source; size 0 says that no more will come. */
FR_NODISCARD int fr_source_feed(fr_source *source, fr_span bytes, fr_error *err);

/* FR_OK, or FR_ERR_TRUNCATED with FR_FAULT_SHRUNK when a regular file is shorter than it was. */
FR_NODISCARD int fr_source_check(const fr_source *source, fr_error *err);

void fr_source_close(fr_source *source);

#endif
