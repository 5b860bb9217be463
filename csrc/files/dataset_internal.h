/* SPDX-License-Identifier: Apache-2.0 */
/* What dataset.c and the files named after it have of each other. */
#ifndef FASTREC_DATASET_INTERNAL_H
#define FASTREC_DATASET_INTERNAL_H

#include "files/dataset.h"

/* Bytes around a short record that are announced with it. */
#define FR_DATASET_WINDOW ((size_t)1 << 18)

/* Begins to keep only `limit` maps open, beyond those of files that are held. */
FR_NODISCARD int fr_dataset_maps_new(fr_dataset *dataset, size_t limit, fr_error *err);
void fr_dataset_maps_free(fr_dataset *dataset);

/* Has `hold`, which holds nothing, hold up to FR_DATASET_AT_ONCE files, and maps them. After an
   error it holds them all the same; err->file says which one failed. */
FR_NODISCARD int fr_dataset_maps_hold(const fr_dataset *dataset, const uint32_t *files,
                                      size_t count, fr_dataset_hold *hold, fr_error *err);

/* The maps of a file, on their way to it or from it. */
typedef struct {
    fr_file_map map, beside;
    fr_span table; /* in `beside` */
} fr_dataset_views;

/*
 * Opens the maps of a file, which are closed by the caller, also after an error. `now` is a copy of
 * it. Where a file was only listed, what is found is put into `now`, which then has an index of its
 * own, to be freed unless there is an error. FR_AGAIN when `stop`, unless that is
 * NULL, became true while it was indexed.
 */
FR_NODISCARD int fr_dataset_file_open(const fr_dataset *dataset, fr_dataset_file *now,
                                      fr_dataset_views *views, const atomic_bool *stop,
                                      fr_error *err);

/* Maps the index beside a file, or reads it, or its head. */
FR_NODISCARD int fr_dataset_file_beside(fr_dataset *dataset, size_t number, fr_error *err);

/* Indexes at most `limit` more records of a file that is mapped. FR_AGAIN until all are. */
FR_NODISCARD int fr_dataset_file_scan(const fr_dataset *dataset, fr_dataset_file *file,
                                      uint64_t limit, fr_error *err);

/* Fills in what resolving needs of a file that is mapped and indexed. */
void fr_dataset_maps_publish(const fr_dataset *dataset, size_t number);

/* Has `hold`, which holds nothing, hold one file. */
FR_NODISCARD static inline int fr_dataset_hold_one(const fr_dataset *dataset, size_t number,
                                                   fr_dataset_hold *hold, fr_error *err) {
    const uint32_t file = (uint32_t)number;
    return dataset->maps ? fr_dataset_maps_hold(dataset, &file, 1, hold, err) : FR_OK;
}

/* An error on a file that shrank is about the shrinking. What is gone of its last page reads as
   zeros and tells nobody, so the file is looked at. */
FR_NODISCARD int fr_dataset_blame(const fr_dataset_file *file, int status, fr_error *err);

#endif
