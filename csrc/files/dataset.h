/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of many files under one numbering, from 0, in the order of the files.
 *
 * All files are mapped, or, when there are more than the system lets a process map, those that were
 * used lately, with their indexes where these are kept beside them. So whoever reads records holds
 * their files meanwhile (fr_dataset_hold). A file that is mapped again must be what it was: one
 * that vanished is FR_ERR_IO, one that is shorter FR_ERR_TRUNCATED with FR_FAULT_SHRUNK, any other
 * change FR_ERR_CORRUPT with FR_FAULT_CHANGED.
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
    fr_file_stamp stamp; /* of the file when the dataset was opened */
    fr_file_map map;     /* closed while it is not mapped */
    fr_file_map beside;  /* of the index that is kept beside the file; as `map` */
    fr_index index;
    uint64_t first;             /* number of its first record */
    _Atomic(uint64_t) *pages;   /* a bit for each 4 KiB that was announced or read; or NULL */
    fr_file_stamp beside_stamp; /* of the index file */
    uint32_t holds;             /* how often it is held, of a dataset that maps some files */
    uint32_t older, newer;      /* among those that are mapped and not held */
    bool mapped;                /* of a dataset that maps some files */
    bool is_beside;             /* the index file is mapped in `beside` */
    bool checked;               /* all of the index was checked */
    bool listed;                /* not opened yet: its size and records are a manifest's */
    bool told; /* the index was not found by scanning: what it says is checked on use */
} fr_dataset_file;

/* The part of a file that resolving a record needs. */
typedef struct {
    uint64_t first;      /* number of its first record */
    const uint8_t *data; /* NULL: the file is read */
    fr_span table;       /* of its index */
    uint64_t size : 63;  /* of the file */
    uint64_t told : 1;
} fr_dataset_range;

/* A record whose frame is in memory: a part of a remote object, or of a file that was inflated. */
typedef struct {
    fr_span frame;
    uint64_t record; /* number within its file */
    uint64_t offset; /* file position of the frame */
    uint32_t file;
} fr_dataset_span;

/* What a manifest says of a file. */
typedef struct {
    uint64_t size;  /* bytes */
    uint64_t count; /* records */
} fr_dataset_listed;

/* Which files are mapped, where all cannot be. */
typedef struct fr_dataset_maps fr_dataset_maps;

/* All-zero is a valid dataset of no files. With `spans`, the records are those and no others, and
   nothing else is set but `count`, `options` and `losses`. */
typedef struct {
    fr_dataset_file *files;
    size_t file_count;
    size_t indexed; /* files whose index is done */
    uint64_t count; /* records in the indexed files */
    fr_frame_options options;
    fr_dataset_range *ranges; /* one a file, `indexed` of them filled in */
    fr_buffer buckets; /* uint32: file of record number << bucket_shift; once all are indexed */
    unsigned bucket_shift;
    bool reads;                      /* some files, which cannot be mapped */
    fr_dataset_span *spans;          /* for each record, if all are in memory; or NULL */
    uint64_t losses;                 /* fr_file_map_losses() before the first file was mapped */
    size_t limit;                    /* maps that are kept open; 0: as many as the system lets us */
    fr_dataset_maps *maps;           /* NULL when all files stay mapped */
    const fr_dataset_listed *listed; /* one a file, while they are opened; NULL: no manifest */
    bool looks_beside;               /* of files that are listed: for indexes that fit */
} fr_dataset;

#define FR_DATASET_AT_ONCE 64

/* Files whose records are being read. All-zero holds none. For one thread. */
typedef struct {
    uint32_t files[FR_DATASET_AT_ONCE];
    size_t count;
    const atomic_bool *stop; /* or NULL: whether to give up, FR_AGAIN, while a file is indexed */
    fr_buffer frames;        /* of records in files that are not mapped */
} fr_dataset_hold;

/* The stop of those who look ahead: a file that has to be indexed first is left to the read. */
extern const atomic_bool fr_dataset_no_indexing;

/* The position of a record, by the index. Valid until its hold lets go. */
typedef struct {
    uint64_t number;
    fr_span frame;   /* reading it may wait for the disk; empty where there cannot be a record */
    uint64_t offset; /* of the frame in its file */
    uint32_t file;
    bool told; /* the frame is only what an index from elsewhere says */
} fr_dataset_place;

/*
 * Opens the files, some hundreds a call: FR_AGAIN until all are. All-zero but for `limit`, `listed`
 * and `looks_beside` before the first call. err->file says which one failed.
 *
 * Files that are listed are not looked at: each is opened, and indexed, when a record of it is
 * wanted first, and FR_ERR_MANIFEST when it is not as long or has not as many records as listed.
 */
FR_NODISCARD int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                                 const fr_frame_options *options, fr_error *err);

/*
 * Makes a dataset of records in memory, whose frames must stay where they are until it is closed.
 * `spans` was allocated by malloc(); the dataset frees it.
 */
void fr_dataset_open_spans(fr_dataset *dataset, fr_dataset_span *spans, uint64_t count,
                           const fr_frame_options *options);

/* Has a file's index from elsewhere, before it is scanned. FR_ERR_INDEX when it is not the index of
   the file, see fr_index_compare(). `index` is left empty. */
FR_NODISCARD int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index,
                                 const fr_file_stamp *stamp, fr_error *err);

/*
 * Takes the index that is kept beside a file, before it is scanned. FR_ERR_IO with ENOENT when
 * there is none; FR_ERR_INDEX when it is not one, or not that of the file. Of a dataset that maps
 * some files it is looked at as a whole when the file is read first.
 */
FR_NODISCARD int fr_dataset_use_beside(fr_dataset *dataset, size_t number, fr_error *err);

/* Indexes at most `limit` more records of one file, which get no numbers yet. FR_AGAIN until all
   are. Different threads may index different files. Errors name file and offset. */
FR_NODISCARD int fr_dataset_scan_file(fr_dataset *dataset, size_t number, uint64_t limit,
                                      fr_error *err);

/* Indexes at most `limit` more records, and numbers them. FR_AGAIN until all are. Errors name file
   and offset. */
FR_NODISCARD int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err);

/* Makes `copy`, an empty index, one like that of a file that is indexed. */
FR_NODISCARD int fr_dataset_copy_index(const fr_dataset *dataset, size_t number, fr_index *copy,
                                       fr_error *err);

/* The number of the file that record `number` is in; number < count. */
size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number);

/* Resolves up to FR_DATASET_AT_ONCE record numbers, with the waits for the index overlapping, and
   has `hold` hold their files instead of those it held. Reads the frames in files that are not
   mapped. Errors have the file. */
FR_NODISCARD int fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers,
                                    size_t count, fr_dataset_place *places, fr_dataset_hold *hold,
                                    fr_error *err);

/* Lets go of the files that are held. What was read from them must not be looked at any more. */
void fr_dataset_let_go(const fr_dataset *dataset, fr_dataset_hold *hold);

/* Reads the frames at `places`, or the first 4 KiB of longer ones, into the processor's cache, with
   the waits for memory overlapping. */
void fr_dataset_touch(const fr_dataset_place *places, size_t count);

/* Whether fr_dataset_fetch() read the whole frame before, so that reading it again does not wait
   for the disk, unless memory has become short. */
bool fr_dataset_is_near(const fr_dataset *dataset, const fr_dataset_place *place);

/*
 * Reads the frames of up to FR_DATASET_AT_ONCE places from the disk, and nothing around them: all
 * of a frame of up to 16 KiB, the first page of a longer one, whose other pages are on their way.
 */
void fr_dataset_fetch(const fr_dataset *dataset, const fr_dataset_place *places, size_t count);

/* Whether the records are so long that a disk reads one alone about as fast as its neighbours. */
bool fr_dataset_has_long(const fr_dataset *dataset);

/*
 * Reads the record at `place`, its frame checked as the options say; `data` is valid as `place` is.
 * After using the data of records that were not verified, ask fr_dataset_check(). Errors have file,
 * record within the file, and offset.
 */
FR_NODISCARD int fr_dataset_read(const fr_dataset *dataset, const fr_dataset_place *place,
                                 fr_record *record, fr_error *err);

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
 * Call before fr_dataset_resolve() for a single record: prefetches the bytes around its likely
 * position while the index is read, which is another wait for memory.
 */
void fr_dataset_expect(const fr_dataset *dataset, uint64_t number);

/*
 * Reads up to FR_DATASET_AT_ONCE records, with the waits for the disk and for memory overlapping;
 * records[i] is that of numbers[i]. Only the headers are checked: fr_dataset_copy() checks the
 * rest. Errors as fr_dataset_read().
 */
FR_NODISCARD int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers,
                                    size_t count, fr_record *records, fr_dataset_hold *hold,
                                    fr_error *err);

/* Copies the data of record `number`, which is held, and checks the copy as the options say: what
   another process writes to the file meanwhile cannot come between. Errors as fr_dataset_read(). */
FR_NODISCARD int fr_dataset_copy(const fr_dataset *dataset, uint64_t number,
                                 const fr_record *record, uint8_t *dst, fr_error *err);

/* Appends copies of records to `data` and after each the end of it to `offsets` (int64, and
   a leading 0 if it was empty). Of a file that shrank meanwhile, as fr_dataset_check(). */
FR_NODISCARD int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                                 fr_buffer *data, fr_buffer *offsets, fr_error *err);

/* FR_OK, or FR_ERR_TRUNCATED when the file of record `number`, which is held, shrank while it was
   read. */
FR_NODISCARD int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err);

typedef enum {
    FR_ANNOUNCE_AROUND,    /* the system may read ahead */
    FR_ANNOUNCE_SCATTERED, /* a page that was not announced is read alone from now on */
    FR_ANNOUNCE_EXACT      /* so it is, and nothing around the records is announced */
} fr_announce;

/*
 * Has the system begin to read `count` records from `number` on, without waiting for them. Of files
 * that fit in memory several times over, the bytes around short records are read once, too: they
 * will be wanted sooner or later, and a disk reads large pieces many times as fast as such records.
 */
void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count,
                         fr_announce how);

/* Says that `count` records from `number` on will not be read again soon: fr_file_map_retire(). */
void fr_dataset_retire(const fr_dataset *dataset, uint64_t number, uint64_t count);

/* Whether the middle of record `number` is in memory: fr_file_map_resident(). */
bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number);

/* Gives `err` the coordinates of record `number` (file, record within it, and the offset unless the
   file cannot be opened). */
void fr_dataset_locate(const fr_dataset *dataset, uint64_t number, fr_error *err);

void fr_dataset_close(fr_dataset *dataset);

#endif
