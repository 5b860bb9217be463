/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the records of a file begin, in about 2 bytes a record.
 *
 * A single index is not safe to change by several threads at once; once built, any number of
 * threads may read it.
 */
#ifndef FASTREC_INDEX_H
#define FASTREC_INDEX_H

#include "files/file_map.h"
#include "files/offsets.h"
#include "format/frame.h"

/* All-zero is a valid index of nothing. */
typedef struct {
    fr_span table;  /* once done: offsets.h, where each record begins, then where the last ends */
    uint64_t count; /* records */
    uint64_t end;   /* how far the scan has come */
    uint64_t mean;  /* of the sizes of the frames that were scanned last; 0: of none */
    bool done;
    bool gaps;                 /* bytes that are no record may lie between two */
    fr_buffer memory;          /* of the table; empty when it is somebody else's */
    fr_offsets_packer *packer; /* until it is done */
} fr_index;

/* Of one that is done: where record `record` begins, or the last one ends; record <= count. */
static inline uint64_t fr_index_offset(const fr_index *index, uint64_t record) {
    return fr_offsets_at(index->table, record);
}

/* Of one that is done: where each of `count` records begins, and the next one does. */
void fr_index_bounds(const fr_index *index, const uint64_t *records, size_t count, uint64_t *begins,
                     uint64_t *ends);

/* Of one that is done: the last record that begins at or before `offset`, which is not before the
   first one; the number of records at or behind the end of the last. */
uint64_t fr_index_find(const fr_index *index, uint64_t offset);

/* The file of an index that is scanned: mapped, or open, or both. */
typedef struct {
    fr_span bytes; /* without data where the file is not mapped */
    int fd;        /* -1 where it is only mapped */
} fr_index_file;

/*
 * Scans on from where the last call stopped, hopping from header to header, for at most `limit`
 * records. Reads only the headers of long records, if the file is open. FR_OK when the whole of
 * `file` is known, FR_AGAIN when the limit came first, an error (with offset and record) where the
 * framing breaks; the data's CRC is not checked. FR_ERR_TRUNCATED with FR_FAULT_SHRUNK when a file
 * that is not mapped lost bytes.
 */
FR_NODISCARD int fr_index_scan(fr_index *index, const fr_index_file *file,
                               const fr_frame_options *options, uint64_t limit, fr_error *err);

/* Takes over where records begin and where the last one ends, `count` + 1 numbers, which somebody
   else found. FR_ERR_INDEX unless they could be those of a file of `size` bytes; with `gaps`,
   bytes that are no record may lie between. */
FR_NODISCARD int fr_index_set(fr_index *index, const uint64_t *offsets, uint64_t count,
                              uint64_t size, bool gaps, fr_error *err);

/* Takes over, one by one, where the next record begins, at or behind the end of the one before. */
FR_NODISCARD int fr_index_add(fr_index *index, uint64_t offset, fr_error *err);

/* After the last was added: where it ends, whether bytes that are no record were between two. */
FR_NODISCARD int fr_index_end(fr_index *index, uint64_t end, bool gaps, fr_error *err);

/* Makes `copy`, an empty index, one like `index`, which is done, with memory of its own. */
FR_NODISCARD int fr_index_copy(const fr_index *index, fr_index *copy, fr_error *err);

/* Appends `count` + 1 uint64, what fr_index_set() takes, to `offsets`. */
FR_NODISCARD int fr_index_offsets(const fr_index *index, fr_buffer *offsets, fr_error *err);

/* Beside a file is its index, under its name and this. */
#define FR_INDEX_SUFFIX ".frindex"

/* Appends a whole index as it is kept beside its file (FORMAT.md). */
FR_NODISCARD int fr_index_save(const fr_index *index, const fr_file_stamp *stamp, fr_buffer *out,
                               fr_error *err);

#define FR_INDEX_HEAD 48

/* The head of an index that is kept, checked by itself. */
typedef struct {
    uint32_t version;
    fr_file_stamp stamp;
    uint64_t count;
} fr_index_head;

/* `bytes` begin a file of `size`, FR_INDEX_HEAD of it, or all if it is shorter. FR_ERR_INDEX for
   one that is no head, or of a file of another size. */
FR_NODISCARD int fr_index_read_head(fr_span bytes, uint64_t size, fr_index_head *head,
                                    fr_error *err);

/* The way back. FR_ERR_INDEX for anything but what fr_index_save() makes: magic, version, size,
   checksums and order are looked at before a record is believed to be anywhere. The index may be
   in `file`, which must outlive it. */
FR_NODISCARD int fr_index_load(fr_index *index, fr_span file, fr_file_stamp *stamp, fr_error *err);

/*
 * FR_OK when `index`, made from a file with the stamp `made`, is that of the file at `path`, whose
 * stamp is `now`. A copy of a file has another time: then the sizes have to be equal, and the
 * headers of a few records in the file have to be where the index says, with its lengths. This
 * reads up to 5 headers. FR_ERR_INDEX otherwise; FR_ERR_IO when the file cannot be read.
 */
FR_NODISCARD int fr_index_compare(const fr_index *index, const fr_file_stamp *made,
                                  const char *path, const fr_file_stamp *now, fr_error *err);

void fr_index_free(fr_index *index);

#endif
