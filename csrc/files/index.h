/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offsets of the records of a file, in about 2 bytes per record.
 *
 * An index must not be changed by several threads at once. Once built, any number of threads may
 * read it.
 */
#ifndef FASTREC_INDEX_H
#define FASTREC_INDEX_H

#include "files/file_map.h"
#include "files/offsets.h"
#include "format/frame.h"

/* All-zero is a valid empty index. */
typedef struct {
    fr_span table;  /* once done: the offset of each record, then the end of the last (offsets.h) */
    uint64_t count; /* number of records */
    uint64_t end;   /* file position up to which it was scanned */
    uint64_t mean;  /* mean size of the frames scanned last; 0: none yet */
    bool done;
    bool gaps;                 /* other bytes may be between two records */
    fr_buffer memory;          /* memory of the table; empty if the table is borrowed */
    fr_offsets_packer *packer; /* state of the scan; unused once the index is complete */
} fr_index;

/* Returns the offset of record `record`, or the end of the last record for record == count.
   REQUIRES: the index is done, record <= count. */
static inline uint64_t fr_index_offset(const fr_index *index, uint64_t record) {
    return fr_offsets_at(index->table, record);
}

/* Gets the offset of each of `count` records, and of the record after it. REQUIRES: the index is
   done. */
void fr_index_bounds(const fr_index *index, const uint64_t *records, size_t count, uint64_t *begins,
                     uint64_t *ends);

/* Returns the last record that begins at or before `offset`, or the number of records if
   `offset` is at or after the end of the last. REQUIRES: the index is done, and `offset` is not
   before the first record. */
uint64_t fr_index_find(const fr_index *index, uint64_t offset);

/* The file to scan for an index: mapped, open, or both. */
typedef struct {
    fr_span bytes; /* data is NULL if the file is not mapped */
    int fd;        /* -1 if the file is only mapped */
} fr_index_file;

/*
 * Continues the scan from header to header, for at most `limit` records. If the file is open, reads
 * only the headers of long records. Returns FR_OK when all of the file is scanned, FR_AGAIN at the
 * limit, or an error (with offset and record) where the framing is broken. Does not check the CRC
 * of the data. Returns FR_ERR_TRUNCATED with FR_FAULT_SHRUNK if a file that is not mapped lost
 * bytes.
 */
FR_NODISCARD int fr_index_scan(fr_index *index, const fr_index_file *file,
                               const fr_frame_options *options, uint64_t limit, fr_error *err);

/* Sets the index from `count` + 1 offsets: the start of each record and the end of the last.
   Returns FR_ERR_INDEX if they are impossible for a file of `size` bytes. With `gaps`, other
   bytes may be between records. */
FR_NODISCARD int fr_index_set(fr_index *index, const uint64_t *offsets, uint64_t count,
                              uint64_t size, bool gaps, fr_error *err);

/* Adds the offset of the next record, which must be at or after the end of the previous one. */
FR_NODISCARD int fr_index_add(fr_index *index, uint64_t offset, fr_error *err);

/* Ends the index after the last fr_index_add(): sets the end of the last record, and whether
   other bytes are between records. */
FR_NODISCARD int fr_index_end(fr_index *index, uint64_t end, bool gaps, fr_error *err);

/* Copies a complete index to `copy`, which gets its own memory. REQUIRES: `copy` is empty. */
FR_NODISCARD int fr_index_copy(const fr_index *index, fr_index *copy, fr_error *err);

/* Appends the `count` + 1 uint64 that fr_index_set() takes to `offsets`. */
FR_NODISCARD int fr_index_offsets(const fr_index *index, fr_buffer *offsets, fr_error *err);

/* The name of an index file is the name of its file followed by this suffix. */
#define FR_INDEX_SUFFIX ".frindex"

/* Appends the content of an index file (FORMAT.md). */
FR_NODISCARD int fr_index_save(const fr_index *index, const fr_file_stamp *stamp, fr_buffer *out,
                               fr_error *err);

#define FR_INDEX_HEAD 48

/* The head of an index file, which has its own checksum. */
typedef struct {
    uint32_t version;
    fr_file_stamp stamp;
    uint64_t count;
} fr_index_head;

/* Reads the head of an index file of `size` bytes. `bytes` contains its first FR_INDEX_HEAD
   bytes, or all of a shorter file. Returns FR_ERR_INDEX if it is not a head, or if it belongs to
   an index of another size. */
FR_NODISCARD int fr_index_read_head(fr_span bytes, uint64_t size, fr_index_head *head,
                                    fr_error *err);

/* Loads an index from the content of an index file. Checks magic, version, size, checksums and
   the order of offsets, and returns FR_ERR_INDEX if fr_index_save() cannot have made it. The
   index may refer to `file`, which must outlive it. */
FR_NODISCARD int fr_index_load(fr_index *index, fr_span file, fr_file_stamp *stamp, fr_error *err);

/*
 * Returns FR_OK if `index`, made from a file with the stamp `made`, matches the file at `path`,
 * whose stamp is `now`. A copy of a file has another time. In that case the sizes must be equal,
 * and the headers of up to 5 records are read and must have the lengths that the index gives.
 * Returns FR_ERR_INDEX if the index does not match, FR_ERR_IO if the file cannot be read.
 */
FR_NODISCARD int fr_index_compare(const fr_index *index, const fr_file_stamp *made,
                                  const char *path, const fr_file_stamp *now, fr_error *err);

void fr_index_free(fr_index *index);

#endif
