/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records sequentially from a source. This layer knows framing and sources, but not the
 * content of records.
 *
 * A reader must not be used by several threads at once. Different readers are independent.
 */
#ifndef FASTREC_READER_H
#define FASTREC_READER_H

#include "files/index.h"
#include "files/resync.h"
#include "files/source.h"

typedef struct {
    fr_span data;    /* valid until the next call on the reader */
    uint64_t offset; /* file position of the record's header */
} fr_record;

/* Damage that was skipped. The bytes in [begin, end) gave no record. */
typedef struct {
    uint64_t begin, end; /* file positions */
    bool searched;       /* the end was found by searching, not from the record's length */
    bool whole;          /* one record with a damaged header and valid data */
    bool ambiguous;      /* the bytes contain valid frames that look like data of another record */
} fr_skipped;

/* With the source FR_SOURCE_FED and all else zero, a valid reader of bytes that the caller
   feeds. */
typedef struct {
    fr_source source;
    fr_frame_options options;
    uint64_t count;      /* records returned so far, and so the number of the next one */
    uint64_t stop;       /* file position where the last record must end; 0: end of the file */
    size_t need;         /* window size that the next record needs */
    size_t pending;      /* bytes of the last record, not yet consumed */
    fr_error failed;     /* after an error, every call returns it again */
    fr_skipped skipping; /* state of a search in progress: its start, and that it is active */
    size_t searched;   /* bytes of the window, from skipping.begin, that the search has excluded */
    bool looks_ahead;  /* the search asked for bytes beyond the window, which may not exist */
    uint64_t credit;   /* see FR_RESYNC_CREDIT */
    uint64_t guard_at; /* file position at which the next fr_file_map_guard() is due */
    uint64_t near;     /* file position up to which fr_reader_stage() has read the map */
    fr_index *index;   /* index to which each record is added; NULL: none, or out of memory */
} fr_reader;

/*
 * Gets the next record. Returns FR_END after the last record, which must end at `stop` if that is
 * set. Returns FR_AGAIN if fr_reader_fill() must be called first. This never happens once the
 * window is in the map.
 */
FR_NODISCARD int fr_reader_next(fr_reader *reader, fr_record *record, fr_error *err);

/*
 * Do the work of fr_reader_next() in two steps, so that the checksum is computed from the copy. The
 * first returns the record after checking only its header, and does not advance the reader. The
 * second copies the data, checks the copy as the options say, and advances the reader. If `dst` is
 * NULL, it checks the record in place.
 */
FR_NODISCARD int fr_reader_peek(fr_reader *reader, fr_record *record, fr_error *err);
FR_NODISCARD int fr_reader_copy(fr_reader *reader, const fr_record *record, uint8_t *dst,
                                fr_error *err);

/*
 * Reads the next FR_READER_STAGED bytes of a mapped file from the disk, unless half of them were
 * read before. Afterwards, reading records that are shorter does not wait for the disk.
 */
#define FR_READER_STAGED ((size_t)256 << 10)
void fr_reader_stage(fr_reader *reader);

static inline bool fr_reader_is_near(const fr_reader *reader) {
    return !reader->source.mapped ||
           reader->source.offset + reader->pending + FR_READER_STAGED / 2 <= reader->near;
}

/*
 * Searches for the first true frame and skips the bytes before it, or all bytes if there is none.
 * Does not check whether the frame is part of another record's data: if a record contains a record
 * file, its frames are found, too. Returns FR_AGAIN if fr_reader_fill() must be called first.
 */
FR_NODISCARD int fr_reader_find(fr_reader *reader, fr_error *err);

/* Reads more bytes, and may block. Returns FR_AGAIN if the source must be fed, or after a
   signal. */
FR_NODISCARD int fr_reader_fill(fr_reader *reader, fr_error *err);

/*
 * Appends up to `count` records to `data`, and stops once it has `size` bytes. Appends the end of
 * each record to `offsets` (int64; begins with a 0 if `offsets` was empty). Returns FR_OK with
 * *taken > 0; otherwise the same as fr_reader_next().
 */
FR_NODISCARD int fr_reader_take(fr_reader *reader, size_t count, size_t size, fr_buffer *data,
                                fr_buffer *offsets, size_t *taken, fr_error *err);

/*
 * Checks and skips up to `count` records, or until they have more than `size` bytes. A long walk is
 * done in such slices. Returns FR_OK with *walked > 0; otherwise the same as fr_reader_next().
 */
FR_NODISCARD int fr_reader_walk(fr_reader *reader, uint64_t count, size_t size, uint64_t *walked,
                                fr_error *err);

/*
 * Skips damage after a call has failed, so that the next call returns the next record. If only the
 * data disagrees with its CRC, skips that record. After other damage, skips to the next true
 * header, or to the end.
 *
 * Returns FR_OK and the damage that was skipped, FR_AGAIN if fr_reader_fill() must be called first,
 * or the error again if reading cannot continue after it. To distinguish records from frames in a
 * damaged record's data, the search requests FR_READER_AHEAD bytes from a source that does not
 * stall.
 */
#define FR_READER_AHEAD ((size_t)16 << 20)
FR_NODISCARD int fr_reader_skip(fr_reader *reader, fr_skipped *skipped, fr_error *err);

/* Returns FR_ERR_TRUNCATED if the file shrank while the last record was read, otherwise FR_OK.
   Call it after copying the data. */
FR_NODISCARD int fr_reader_check(fr_reader *reader, fr_error *err);

void fr_reader_close(fr_reader *reader);

#endif
