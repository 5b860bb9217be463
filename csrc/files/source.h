/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a reader: a window that moves forward over a file.
 *
 * A descriptor (regular file, pipe, terminal) has a buffer that read(2) refills. A fed source has a
 * buffer that the caller fills, from a decompressor or a remote file. Both have the same interface:
 * `window`, and `ended` if nothing follows it.
 *
 * A regular file is also mapped. fr_source_show_all() makes all of it the window, for damage and
 * very long records, which must be seen as a whole. Other records are not read from the map,
 * because read(2) into a buffer that stays in the second-level cache costs less than the page
 * faults: 19 ms instead of 37 ms for 186 MB in small folios, 9.3 ms instead of 11.5 ms in folios of
 * 2 MiB, both with a checksum.
 *
 * A source must not be used by several threads at once. Different sources are independent.
 */
#ifndef FASTREC_SOURCE_H
#define FASTREC_SOURCE_H

#include "files/file_map.h"

/* FR_SOURCE_FED is an empty fed source. */
typedef struct {
    fr_span window;  /* valid until the next fill, feed or close */
    uint64_t offset; /* file position of the window's first byte */
    bool ended;      /* nothing follows the window */
    bool reads;      /* refilled from `fd`, not fed */
    bool seekable;   /* read by pread(2), so that processes may share the descriptor */
    bool mapped;     /* the window is in the map */
    bool follows;    /* never ends, because another process writes to the file */
    bool stalls;     /* more bytes may take long, so they are requested only if needed */
    int fd;          /* descriptor of a file that is mapped or read, or -1 */
    size_t released; /* bytes of the map that fr_source_release() has released */
    fr_file_map map;
    fr_buffer buffer;
} fr_source;

#define FR_SOURCE_FED ((fr_source){.fd = -1})

/* Opens a file of any kind by path. */
FR_NODISCARD int fr_source_open(fr_source *source, const char *path, fr_error *err);

/* Opens a file to read it without an end: a fill at the end of the file returns FR_AGAIN. */
FR_NODISCARD int fr_source_follow(fr_source *source, const char *path, fr_error *err);

/* Takes ownership of an open descriptor, also on failure. */
FR_NODISCARD int fr_source_open_fd(fr_source *source, int fd, fr_error *err);

/* Starts at a file position instead of 0. A fed source must then be fed the bytes from that
   position. REQUIRES: nothing was read since the source was opened. */
FR_NODISCARD int fr_source_seek(fr_source *source, uint64_t offset, fr_error *err);

/* Removes the first `size` bytes from the window. REQUIRES: size <= window.size. */
static inline void fr_source_consume(fr_source *source, size_t size) {
    source->window = fr_span_after(source->window, size);
    source->offset += size;
}

/* Makes the rest of a regular file the window, if the file could be mapped. */
void fr_source_show_all(fr_source *source);

/* Removes the mapped pages before the window from the memory of this process. They return from
   the page cache if they are touched. */
void fr_source_release(fr_source *source);

/*
 * Extends the window to at least `want` bytes, or to the end. Returns FR_AGAIN if the source must
 * be fed first, or if a signal interrupted the wait. Memory grows with the bytes that arrive, never
 * with `want`.
 */
FR_NODISCARD int fr_source_fill(fr_source *source, size_t want, fr_error *err);

/* Appends bytes to a fed source. A size of 0 marks the end. */
FR_NODISCARD int fr_source_feed(fr_source *source, fr_span bytes, fr_error *err);

/* Returns FR_ERR_TRUNCATED with FR_FAULT_SHRUNK if a regular file has shrunk, otherwise FR_OK. */
FR_NODISCARD int fr_source_check(const fr_source *source, fr_error *err);

void fr_source_close(fr_source *source);

#endif
