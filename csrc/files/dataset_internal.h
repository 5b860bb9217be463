/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a dataset are mapped: what dataset.c has of dataset_maps.c. */
#ifndef FASTREC_DATASET_INTERNAL_H
#define FASTREC_DATASET_INTERNAL_H

#include "files/dataset.h"

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

#endif
