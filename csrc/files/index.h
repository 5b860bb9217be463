/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offsets of the records of a file.
 *
 * A single index is not safe to change by several threads at once; once built, any number of
 * threads may read it.
 */
#ifndef FASTREC_INDEX_H
#define FASTREC_INDEX_H

#include "format/frame.h"

/* All-zero is a valid index of nothing. */
typedef struct {
    fr_buffer offsets; /* uint64: where record i begins; then where the last one ends */
    uint64_t end;      /* how far the scan has come */
    bool done;
    bool gaps; /* bytes that are no record may lie between two */
} fr_index;

static inline uint64_t fr_index_count(const fr_index *index) {
    return index->offsets.size >= 8 ? index->offsets.size / 8 - 1 : 0;
}

static inline uint64_t fr_index_offset(const fr_index *index, uint64_t record) {
    return ((const uint64_t *)(const void *)index->offsets.data)[record];
}

/*
 * Scans on from where the last call stopped, hopping from header to header, for at most `limit`
 * records. FR_OK when the whole of `file` is known, FR_AGAIN when the limit came first, an error
 * (with offset and record) where the framing breaks; the data's CRC is not looked at.
 */
FR_NODISCARD int fr_index_scan(fr_index *index, fr_span file, const fr_frame_options *options,
                               uint64_t limit, fr_error *err);

/* Identifies the file that an index was made from: it changes when the file does. */
typedef struct {
    uint64_t size;
    int64_t mtime_ns;
} fr_index_stamp;

/* Takes over where records begin and where the last one ends, `count` + 1 numbers, which somebody
   else found. FR_ERR_INDEX unless they could be those of a file of `size` bytes; with `gaps`,
   bytes that are no record may lie between. */
FR_NODISCARD int fr_index_set(fr_index *index, const uint64_t *offsets, size_t count, uint64_t size,
                              bool gaps, fr_error *err);

/* Appends a whole index as it is kept beside its file (FORMAT.md). */
FR_NODISCARD int fr_index_save(const fr_index *index, const fr_index_stamp *stamp, fr_buffer *out,
                               fr_error *err);

/* The way back. FR_ERR_INDEX for anything but what fr_index_save() makes: magic, version, size,
   checksums and order are looked at before a record is believed to be anywhere. */
FR_NODISCARD int fr_index_load(fr_index *index, fr_span file, fr_index_stamp *stamp, fr_error *err);

void fr_index_free(fr_index *index);

#endif
