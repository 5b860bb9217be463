/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records out of a source, one after the other. Knows framing and sources, not what is in a
 * record.
 *
 * A single reader is not safe to use by several threads at once; different readers are
 * independent.
 */
#ifndef FASTREC_READER_H
#define FASTREC_READER_H

#include "files/index.h"
#include "files/resync.h"
#include "files/source.h"

typedef struct {
    fr_span data;    /* valid until the next call on the reader */
    uint64_t offset; /* file position of its header */
} fr_record;

/* Damage that was gone past: the bytes from `begin` to `end` gave no record. */
typedef struct {
    uint64_t begin, end; /* file positions */
    bool searched;       /* the end was found by searching, not from the record's own length */
    bool whole;          /* one record whose header is wrong and whose data is sound */
    bool ambiguous; /* sound frames are among the bytes, which look like another record's data */
} fr_skipped;

/* With a source of FR_SOURCE_FED and the rest zero, a valid reader of bytes that are fed. */
typedef struct {
    fr_source source;
    fr_frame_options options;
    uint64_t count;      /* records given so far: the number of the next one */
    uint64_t stop;       /* where records end, and no record of this reader begins; 0: at the end */
    size_t need;         /* the window that the next record needs */
    size_t pending;      /* bytes of the record given last, not yet consumed */
    fr_error failed;     /* once status is not 0, every call says this again */
    fr_skipped skipping; /* of a search that is under way: its begin, and that it is */
    size_t searched;     /* how much of the window, which begins at that, it has ruled out */
    bool looks_ahead;    /* the search would like to see more bytes, and can do without */
    uint64_t credit;     /* see FR_RESYNC_CREDIT */
    uint64_t guard_at;   /* the position from which on fr_file_map_guard() is due */
    uint64_t near;       /* file position; fr_reader_stage() has read the map up to it */
    fr_index *index;     /* each record given is added to it; NULL: to none, or memory ran out */
} fr_reader;

/*
 * The next record. FR_END after the last, which has to end at `stop` where that is given; FR_AGAIN
 * when fr_reader_fill() has to run first, which never happens once the window is in the map.
 */
FR_NODISCARD int fr_reader_next(fr_reader *reader, fr_record *record, fr_error *err);

/*
 * As fr_reader_next() in two steps, so that the checksum is that of the copy: the record, of which
 * only the header was checked, and which the reader stays before; then a copy of its data, which is
 * checked as the options say, and the reader goes past the record. With `dst` NULL the record is
 * checked where it lies.
 */
FR_NODISCARD int fr_reader_peek(fr_reader *reader, fr_record *record, fr_error *err);
FR_NODISCARD int fr_reader_copy(fr_reader *reader, const fr_record *record, uint8_t *dst,
                                fr_error *err);

/*
 * Reads the next FR_READER_STAGED bytes of a mapped file from the disk, unless half of them were
 * read before. Reading shorter records does not wait for the disk afterwards.
 */
#define FR_READER_STAGED ((size_t)256 << 10)
void fr_reader_stage(fr_reader *reader);

static inline bool fr_reader_is_near(const fr_reader *reader) {
    return !reader->source.mapped ||
           reader->source.offset + reader->pending + FR_READER_STAGED / 2 <= reader->near;
}

/*
 * Gives up what is before the first true frame, by searching; everything, if there is none. What a
 * frame is inside of is not asked: of a record file in a record, frames are found as well. FR_AGAIN
 * when fr_reader_fill() has to run first.
 */
FR_NODISCARD int fr_reader_find(fr_reader *reader, fr_error *err);

/* Reads more bytes; may block. FR_AGAIN on a fed source, which must be fed, and on a signal. */
FR_NODISCARD int fr_reader_fill(fr_reader *reader, fr_error *err);

/*
 * Appends up to `count` records to `data`, but no more once it holds `size` bytes, and after each
 * the end of it to `offsets` (int64, and a leading 0 if it was empty). FR_OK with *taken > 0;
 * otherwise as fr_reader_next().
 */
FR_NODISCARD int fr_reader_take(fr_reader *reader, size_t count, size_t size, fr_buffer *data,
                                fr_buffer *offsets, size_t *taken, fr_error *err);

/*
 * Goes past, and checks, up to `count` records or a record more than `size` bytes, whichever comes
 * first: a slice of a long walk. FR_OK with *walked > 0; otherwise as fr_reader_next().
 */
FR_NODISCARD int fr_reader_walk(fr_reader *reader, uint64_t count, size_t size, uint64_t *walked,
                                fr_error *err);

/*
 * After a call failed on damage: goes past it, so that the next call gives the next record. Data
 * that disagrees with its CRC costs that record; any other damage the bytes up to the next true
 * header, or up to the end.
 *
 * FR_OK, with what was gone past; FR_AGAIN when fr_reader_fill() has to run first; the failure
 * again when it is none that reading can go on after. To tell records from data of a damaged one a
 * search wants FR_READER_AHEAD bytes of a source that does not stall.
 */
#define FR_READER_AHEAD ((size_t)16 << 20)
FR_NODISCARD int fr_reader_skip(fr_reader *reader, fr_skipped *skipped, fr_error *err);

/* FR_OK, or FR_ERR_TRUNCATED when the file shrank under what was given last: ask after copying. */
FR_NODISCARD int fr_reader_check(fr_reader *reader, fr_error *err);

void fr_reader_close(fr_reader *reader);

#endif
