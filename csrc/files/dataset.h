/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of many mapped files under one numbering, from 0, in the order of the files.
 *
 * Opening and closing are for one thread; once every file is indexed, any number of threads may
 * read records.
 */
#ifndef FASTREC_DATASET_H
#define FASTREC_DATASET_H

#include <stdatomic.h>

#include "files/file_map.h"
#include "files/index.h"
#include "files/reader.h"

typedef struct {
    char *path;
    fr_file_map map;
    fr_index index;
    fr_buffer samples;            /* uint64: few of the index's offsets, close together */
    uint64_t first;               /* number of its first record */
    _Atomic(uint32_t) *announced; /* windows that were; NULL where only records are */
    bool told; /* the index was not found by scanning: what it says is checked on use */
} fr_dataset_file;

/* The part of a file that resolving a record needs: two to a cache line. */
typedef struct {
    uint64_t first;          /* number of its first record */
    const uint64_t *offsets; /* of its index */
    const uint8_t *data;
    bool told;
} fr_dataset_range;

/* All-zero is a valid dataset of no files. */
typedef struct {
    fr_dataset_file *files;
    size_t file_count;
    size_t indexed; /* files whose index is done */
    uint64_t count; /* records in the indexed files */
    fr_frame_options options;
    fr_dataset_range *ranges; /* one a file, `indexed` of them filled in */
    fr_buffer buckets; /* uint32: file of record number << bucket_shift; once all are indexed */
    unsigned bucket_shift;
    uint64_t losses; /* fr_file_map_losses() before the first file was mapped */
} fr_dataset;

/* The position of a record, by the index. Valid until close. */
typedef struct {
    uint64_t number;
    fr_span frame; /* reading it may wait for the disk */
    uint32_t file;
    bool told; /* the frame is only what an index from elsewhere says */
} fr_dataset_place;

/* Maps the files, some hundreds a call: FR_AGAIN until all are. All-zero before the first call.
   err->file says which one failed. */
FR_NODISCARD int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                                 const fr_frame_options *options, fr_error *err);

/* Has a file's index from elsewhere, before it is scanned. FR_ERR_INDEX when the stamp is not that
   of the file that was mapped. `index` is left empty. */
FR_NODISCARD int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index,
                                 const fr_index_stamp *stamp, fr_error *err);

/* Indexes at most `limit` more records of one file, which get no numbers yet. FR_AGAIN until all
   are. Different threads may index different files. Errors name file and offset. */
FR_NODISCARD int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit,
                                      fr_error *err);

/* Indexes at most `limit` more records, and numbers them. FR_AGAIN until all are. Errors name file
   and offset. */
FR_NODISCARD int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err);

/* The number of the file that record `number` is in; number < count. */
size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number);

/* Resolves `count` record numbers, with the waits for the index overlapping. */
void fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                        fr_dataset_place *places);

/*
 * Brings the frames at `places`, or the first 4 KiB of longer ones, on their way into the cache,
 * with the waits for memory overlapping. Waits for the disk where they are not in the page cache.
 */
void fr_dataset_touch(const fr_dataset_place *places, size_t count);

/*
 * Reads the record at `place`, its frame checked as the options say; `data` is valid until close.
 * After using the data of records that were not verified, ask fr_dataset_check(). Errors have file,
 * record within the file, and offset.
 */
FR_NODISCARD int fr_dataset_read(const fr_dataset *dataset, const fr_dataset_place *place,
                                 fr_record *record, fr_error *err);

/* As fr_dataset_read() of one record by its number. */
FR_NODISCARD int fr_dataset_record(const fr_dataset *dataset, uint64_t number, fr_record *record,
                                   fr_error *err);

/*
 * As fr_dataset_read() in two steps: the record, of which only the header was checked; then its
 * data, by a run that was begun with it. Between them the data may be taken apart, but nothing that
 * was made of it may be handed out.
 */
FR_NODISCARD int fr_dataset_peek(const fr_dataset *dataset, const fr_dataset_place *place,
                                 fr_record *record, fr_error *err);
FR_NODISCARD int fr_dataset_verify(const fr_dataset *dataset, const fr_dataset_place *place,
                                   const fr_record *record, fr_crc32c_run *run, fr_error *err);

/*
 * Before fr_dataset_record(), for a record that nobody could announce: has the bytes around where
 * it is likely to be brought into the cache while the index is looked at, which is a wait of its
 * own. A hint.
 */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number);

/*
 * As fr_dataset_record() for each of `count` numbers, with the waits for memory overlapping.
 * records[i] is that of numbers[i].
 */
FR_NODISCARD int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers,
                                    size_t count, fr_record *records, fr_error *err);

/* Appends copies of those records to `data` and after each the end of it to `offsets` (int64, and
   a leading 0 if it was empty). */
FR_NODISCARD int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                                 fr_buffer *data, fr_buffer *offsets, fr_error *err);

/* FR_OK, or FR_ERR_TRUNCATED when the file of record `number` shrank while it was read. */
FR_NODISCARD int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err);

/*
 * Has the system begin to read `count` records from `number` on, without waiting for them. Of files
 * that fit in memory several times over, the bytes around them are read once, too: they will be
 * wanted sooner or later, and a disk reads large pieces many times as fast as records.
 */
void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count);

/* Whether the header of record `number` is in memory: fr_file_map_resident(). */
bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number);

/* The frame of record `number`, by the index; reading it may wait for the disk. */
fr_span fr_dataset_frame(const fr_dataset *dataset, uint64_t number);

/* Gives `err` the coordinates of record `number` (file, record within it, offset). */
void fr_dataset_locate(const fr_dataset *dataset, uint64_t number, fr_error *err);

void fr_dataset_close(fr_dataset *dataset);

#endif
