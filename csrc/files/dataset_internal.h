/* SPDX-License-Identifier: Apache-2.0 */
/* What dataset.c, dataset_open.c and dataset_maps.c have of each other. */
#ifndef FASTREC_DATASET_INTERNAL_H
#define FASTREC_DATASET_INTERNAL_H

#include "files/dataset.h"

/* Bytes of a file that are announced at once. */
#define FR_DATASET_WINDOW ((size_t)1 << 18)

/* Begins to keep only `limit` maps open, beyond those of files that are held. */
FR_NODISCARD int fr_dataset_maps_new(fr_dataset *dataset, size_t limit, fr_error *err);
void fr_dataset_maps_free(fr_dataset *dataset);

/* Has `hold`, which holds nothing, hold up to FR_DATASET_AT_ONCE files, and maps them. After an
   error it holds them all the same; err->file says which one failed. */
FR_NODISCARD int fr_dataset_maps_hold(const fr_dataset *dataset, const uint32_t *files,
                                      size_t count, fr_dataset_hold *hold, fr_error *err);

/* Maps the index beside a file, or reads it, or its head. */
FR_NODISCARD int fr_dataset_maps_beside(fr_dataset *dataset, size_t number, fr_error *err);

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
