/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of many files, numbered from 0 in the order of the files.
 *
 * All files are mapped if the system allows a process that many maps. Otherwise the most recently
 * used files are mapped, with their index files where these exist. A thread that reads records must
 * therefore hold their files (fr_dataset_hold). A file that is mapped again must be unchanged:
 * FR_ERR_IO if it was removed, FR_ERR_TRUNCATED with FR_FAULT_SHRUNK if it is shorter,
 * FR_ERR_CORRUPT with FR_FAULT_CHANGED after any other change.
 *
 * Only one thread may open or close a dataset. After every file is indexed, any number of threads
 * may read records.
 */
#ifndef FASTREC_DATASET_H
#define FASTREC_DATASET_H

#include <stdatomic.h>

#include "files/file_map.h"
#include "files/index.h"
#include "files/reader.h"

typedef struct {
    char *path;
    fr_file_stamp stamp; /* stamp of the file when the dataset was opened */
    fr_file_map map;     /* closed while the file is not mapped */
    fr_file_map beside;  /* map of the file's index file; closed like `map` */
    fr_index index;
    uint64_t first;             /* number of the file's first record */
    _Atomic(uint64_t) *pages;   /* one bit for each 4 KiB that was announced or read; or NULL */
    fr_file_stamp beside_stamp; /* stamp of the index file */
    uint32_t holds;             /* number of holds; unused if all files stay mapped */
    uint32_t older, newer;      /* list of the files that are mapped and not held */
    bool mapped;                /* the file is mapped; unused if all files stay mapped */
    bool is_beside;             /* `beside` maps the index file */
    bool checked;               /* all of the index was checked */
    bool listed;                /* not opened yet: size and record count are from a manifest */
    bool told; /* the index was not made by scanning, so its offsets are checked when used */
} fr_dataset_file;

/* The fields of a file that resolving a record needs. */
typedef struct {
    uint64_t first;      /* number of the file's first record */
    const uint8_t *data; /* NULL: the file is read, not mapped */
    fr_span table;       /* table of the file's index */
    uint64_t size : 63;  /* file size in bytes */
    uint64_t told : 1;
} fr_dataset_range;

/* A record whose frame is in memory, as part of a remote object or of a decompressed file. */
typedef struct {
    fr_span frame;
    uint64_t record; /* number of the record within its file */
    uint64_t offset; /* file position of the frame */
    uint32_t file;
} fr_dataset_span;

/* The entry of a file in a manifest. */
typedef struct {
    uint64_t size;  /* size in bytes */
    uint64_t count; /* number of records */
} fr_dataset_listed;

/* The list of mapped files, if not all files can stay mapped. */
typedef struct fr_dataset_maps fr_dataset_maps;

/* All-zero is a valid dataset of no files. If `spans` is set, it contains all records, and the
   only other fields that are set are `count`, `options` and `losses`. */
typedef struct {
    fr_dataset_file *files;
    size_t file_count;
    size_t indexed; /* number of files with a complete index */
    uint64_t count; /* number of records in the indexed files */
    fr_frame_options options;
    fr_dataset_range *ranges; /* one for each file; `indexed` of them are set */
    fr_buffer buckets; /* uint32: file of record number << bucket_shift; set when all are indexed */
    unsigned bucket_shift;
    bool reads;             /* some files cannot be mapped and are read */
    fr_dataset_span *spans; /* one for each record, if all are in memory; or NULL */
    uint64_t losses;        /* fr_file_map_losses() before the first file was mapped */
    size_t limit;           /* number of maps to keep open; 0: the number the system allows */
    fr_dataset_maps *maps;  /* NULL if all files stay mapped */
    const fr_dataset_listed *listed; /* one for each file, used while opening; NULL: no manifest */
    bool looks_beside;               /* use index files of listed files, if they match */
} fr_dataset;

#define FR_DATASET_AT_ONCE 64

/* The files whose records a thread is reading. All-zero holds no file. For one thread. */
typedef struct {
    uint32_t files[FR_DATASET_AT_ONCE];
    size_t count;
    const atomic_bool *stop; /* or NULL; if it becomes true, indexing a file ends with FR_AGAIN */
    fr_buffer frames;        /* frames of records in files that are not mapped */
} fr_dataset_hold;

/* A value for `stop` of threads that read ahead: they do not index a file. The read itself does. */
extern const atomic_bool fr_dataset_no_indexing;

/* The position of a record, from the index. Valid until its hold is released. */
typedef struct {
    uint64_t number;
    fr_span frame;   /* may have to be read from the disk; empty if the offsets are invalid */
    uint64_t offset; /* offset of the frame in its file */
    uint32_t file;
    bool told; /* the frame is from an index that was not made by scanning */
} fr_dataset_place;

/*
 * Opens the files, some hundreds in each call. Returns FR_AGAIN until all are open. REQUIRES:
 * before the first call, `dataset` is zero except for `limit`, `listed` and `looks_beside`. On an
 * error, err->file is the number of the file.
 *
 * Files in a manifest are not accessed. Each is opened and indexed when one of its records is first
 * needed. It then fails with FR_ERR_MANIFEST if its size or record count differs from the manifest.
 */
FR_NODISCARD int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                                 const fr_frame_options *options, fr_error *err);

/*
 * Makes a dataset of records in memory. The frames must stay at their addresses until the dataset
 * is closed. REQUIRES: `spans` was allocated by malloc(). The dataset frees it.
 */
void fr_dataset_open_spans(fr_dataset *dataset, fr_dataset_span *spans, uint64_t count,
                           const fr_frame_options *options);

/* Gives a file an existing index, before the file is scanned. Returns FR_ERR_INDEX if the index
   does not match the file, see fr_index_compare(). Empties `index`. */
FR_NODISCARD int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index,
                                 const fr_file_stamp *stamp, fr_error *err);

/*
 * Uses the index file of a file, before the file is scanned. Returns FR_ERR_IO with ENOENT if there
 * is no index file, and FR_ERR_INDEX if it is invalid or does not match the file. If not all files
 * stay mapped, the whole index is checked only when the file is first read.
 */
FR_NODISCARD int fr_dataset_use_beside(fr_dataset *dataset, size_t number, fr_error *err);

/* Indexes at most `limit` more records of one file, without assigning numbers to them. Returns
   FR_AGAIN until all are indexed. Different threads may index different files. Errors have file
   and offset. */
FR_NODISCARD int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit,
                                      fr_error *err);

/* Indexes at most `limit` more records, and assigns numbers to them. Returns FR_AGAIN until all
   are indexed. Errors have file and offset. */
FR_NODISCARD int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err);

/* Copies the index of an indexed file to `copy`. REQUIRES: `copy` is empty. */
FR_NODISCARD int fr_dataset_copy_index(const fr_dataset *dataset, size_t number, fr_index *copy,
                                       fr_error *err);

/* Returns the number of the file that contains record `number`. REQUIRES: number < count. */
size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number);

/* Resolves up to FR_DATASET_AT_ONCE record numbers, with overlapping latencies of the index.
   Afterwards `hold` holds their files and no others. Reads the frames in files that are not
   mapped. Errors have the file. */
FR_NODISCARD int fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers,
                                    size_t count, fr_dataset_place *places, fr_dataset_hold *hold,
                                    fr_error *err);

/* Releases the files of `hold`. Their data must not be used afterwards. */
void fr_dataset_let_go(const fr_dataset *dataset, fr_dataset_hold *hold);

/* Reads the frames at `places`, or the first 4 KiB of longer frames, into the processor's cache,
   with overlapping memory latencies. */
void fr_dataset_touch(const fr_dataset_place *places, size_t count);

/* Returns true if fr_dataset_fetch() has read the whole frame, so that reading it again does not
   wait for the disk unless memory is short. */
bool fr_dataset_is_near(const fr_dataset *dataset, const fr_dataset_place *place);

/*
 * Reads the frames of up to FR_DATASET_AT_ONCE places from the disk, without their surroundings.
 * Waits for all of a frame of up to 16 KiB, and for the first page of a longer frame, whose other
 * pages are then being read.
 */
void fr_dataset_fetch(const fr_dataset *dataset, const fr_dataset_place *places, size_t count);

/* Returns true if records are so long that reading single records from a disk is about as fast
   as reading adjacent ones. */
bool fr_dataset_has_long(const fr_dataset *dataset);

/*
 * Reads the record at `place` and checks its frame as the options say. `data` is valid as long as
 * `place`. After using the data of records that were not verified, call fr_dataset_check(). Errors
 * have file, record within the file, and offset.
 */
FR_NODISCARD int fr_dataset_read(const fr_dataset *dataset, const fr_dataset_place *place,
                                 fr_record *record, fr_error *err);

/*
 * Do the work of fr_dataset_read() in two steps. The first returns the record after checking only
 * its header, and begins a checksum run. The second checks the data with that run. Between the
 * steps the data may be parsed, but results must not be returned to the user.
 */
FR_NODISCARD int fr_dataset_peek(const fr_dataset *dataset, const fr_dataset_place *place,
                                 fr_record *record, fr_error *err);
FR_NODISCARD int fr_dataset_verify(const fr_dataset *dataset, const fr_dataset_place *place,
                                   const fr_record *record, fr_crc32c_run *run, fr_error *err);

/*
 * Prefetches the bytes around the likely position of a record, so that their memory latency
 * overlaps with the lookup in the index. Call it before fr_dataset_resolve() of a single record.
 */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number);

/*
 * Reads up to FR_DATASET_AT_ONCE records, with overlapping latencies of the disk and of memory.
 * records[i] is record numbers[i]. Checks only the headers; fr_dataset_copy() checks the rest.
 * Errors are as for fr_dataset_read().
 */
FR_NODISCARD int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers,
                                    size_t count, fr_record *records, fr_dataset_hold *hold,
                                    fr_error *err);

/* Copies the data of record `number` and checks the copy as the options say, so that the checked
   data cannot change even if another process writes to the file. REQUIRES: the record is held.
   Errors are as for fr_dataset_read(). */
FR_NODISCARD int fr_dataset_copy(const fr_dataset *dataset, uint64_t number,
                                 const fr_record *record, uint8_t *dst, fr_error *err);

/* Appends copies of records to `data`, and the end of each to `offsets` (int64; begins with a 0
   if `offsets` was empty). If a file shrank, the error is as for fr_dataset_check(). */
FR_NODISCARD int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                                 fr_buffer *data, fr_buffer *offsets, fr_error *err);

/* Returns FR_ERR_TRUNCATED if the file of record `number` shrank while it was read, otherwise
   FR_OK. REQUIRES: the record is held. */
FR_NODISCARD int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err);

/* From now on, a page that was not announced is read from the disk without its neighbours. */
void fr_dataset_scatter(const fr_dataset *dataset);

typedef enum {
    FR_ANNOUNCE_AROUND,    /* the system may read ahead */
    FR_ANNOUNCE_SCATTERED, /* the order needs fr_dataset_scatter() */
    FR_ANNOUNCE_EXACT /* as FR_ANNOUNCE_SCATTERED, and only the records themselves are announced */
} fr_announce;

/*
 * Starts reading `count` records from number `number` from the disk, without waiting. If the files
 * are small compared to memory, the bytes around short records are also read, once each: they will
 * be needed later, and a disk reads large blocks many times faster than single short records.
 */
void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count,
                         fr_announce how);

/* States that `count` records from number `number` will not be read again soon, see
   fr_file_map_retire(). */
void fr_dataset_retire(const fr_dataset *dataset, uint64_t number, uint64_t count);

/* Returns true if the middle of record `number` is in memory, see fr_file_map_resident(). */
bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number);

/* Sets file, record within the file and, if the file can be opened, offset of record `number` in
   `err`. */
void fr_dataset_locate(const fr_dataset *dataset, uint64_t number, fr_error *err);

void fr_dataset_close(fr_dataset *dataset);

#endif
