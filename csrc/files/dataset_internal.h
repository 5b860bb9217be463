/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the parts of the dataset (dataset*.c) share. */
#ifndef FASTREC_DATASET_INTERNAL_H
#define FASTREC_DATASET_INTERNAL_H

#include "files/dataset.h"

/* Size in bytes of the window around a short record that is announced with it. */
#define FR_DATASET_WINDOW ((size_t)1 << 18)

/* Limits the number of open maps to `limit`, not counting the maps of held files. */
FR_NODISCARD int fr_dataset_maps_new(fr_dataset *dataset, size_t limit, fr_error *err);
void fr_dataset_maps_free(fr_dataset *dataset);

/* Calls fr_file_map_scatter() for all maps, also those that are opened later. */
void fr_dataset_maps_scatter(const fr_dataset *dataset);

/* Holds and maps up to FR_DATASET_AT_ONCE files. `hold` also holds them after an error, and
   err->file is the number of the file that failed. REQUIRES: `hold` holds no file. */
FR_NODISCARD int fr_dataset_maps_hold(const fr_dataset *dataset, const uint32_t *files,
                                      size_t count, fr_dataset_hold *hold, fr_error *err);

/* Maps that were opened for a file, or taken from it to be closed. */
typedef struct {
    fr_file_map map, beside;
    fr_span table; /* table of the index in `beside` */
} fr_dataset_views;

/*
 * Opens the maps of a file. The caller closes them, also after an error. `now` is a copy of the
 * file's state. If the file was only listed, sets what was unknown in `now`, including an index
 * that the caller must free unless there is an error. Returns FR_AGAIN if `*stop` became true while
 * the file was indexed; `stop` may be NULL.
 */
FR_NODISCARD int fr_dataset_file_open(const fr_dataset *dataset, fr_dataset_file *now,
                                      fr_dataset_views *views, const atomic_bool *stop,
                                      fr_error *err);

/* Maps the index file of a file, or reads all of it or its head. */
FR_NODISCARD int fr_dataset_file_beside(fr_dataset *dataset, size_t number, fr_error *err);

/* Indexes at most `limit` more records of a mapped file. Returns FR_AGAIN until all are indexed. */
FR_NODISCARD int fr_dataset_file_scan(const fr_dataset *dataset, fr_dataset_file *file,
                                      uint64_t limit, fr_error *err);

/* Sets the fields that resolving needs for a file that is mapped and indexed. */
void fr_dataset_maps_publish(const fr_dataset *dataset, size_t number);

/* Holds one file. REQUIRES: `hold` holds no file. */
FR_NODISCARD static inline int fr_dataset_hold_one(const fr_dataset *dataset, size_t number,
                                                   fr_dataset_hold *hold, fr_error *err) {
    const uint32_t file = (uint32_t)number;
    return dataset->maps ? fr_dataset_maps_hold(dataset, &file, 1, hold, err) : FR_OK;
}

/* Replaces an error with FR_ERR_TRUNCATED if the file shrank. This checks the file's size,
   because bytes that are missing from its last page read as zeros without a signal. */
FR_NODISCARD int fr_dataset_blame(const fr_dataset_file *file, int status, fr_error *err);

#endif
