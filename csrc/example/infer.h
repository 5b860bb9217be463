/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The features of Examples that nobody described: their keys, their kinds, and in how many records
 * they are.
 *
 * A single fr_infer is not safe to use by several threads at once.
 */
#ifndef FASTREC_INFER_H
#define FASTREC_INFER_H

#include "example/feature.h"

/* More different keys than this are an error: a table of them would be of no use. */
#define FR_INFER_MAX ((size_t)1 << 16)

typedef struct {
    size_t key, key_size; /* where the key is in fr_infer.keys */
    uint64_t records[4];  /* by kind, in how many records it is the last of that key */
    uint64_t stamp;       /* the last record that had it, counted from 1 */
    fr_kind kind;         /* there */
} fr_sighting;

/* All-zero is a valid fr_infer of no records. */
typedef struct {
    fr_buffer sightings; /* of fr_sighting, in the order in which they were first seen */
    fr_buffer keys;
    uint32_t *slots; /* open addressing: number of the sighting + 1, or 0 */
    size_t slot_mask;
    uint64_t records; /* looked at; may begin at the number of the first */
    uint64_t seed;    /* of the table; one that nobody can guess keeps hostile keys apart */
} fr_infer;

/* Adds what is in a record. FR_ERR_MALFORMED when it is no Example, FR_ERR_SCHEMA when there are
   too many keys; then `infer` can only be freed. */
FR_NODISCARD int fr_infer_add(fr_infer *infer, fr_span record, fr_error *err);

static inline size_t fr_infer_count(const fr_infer *infer) {
    return infer->sightings.size / sizeof(fr_sighting);
}

static inline const fr_sighting *fr_infer_sighting(const fr_infer *infer, size_t number) {
    return (const fr_sighting *)(const void *)infer->sightings.data + number;
}

void fr_infer_free(fr_infer *infer);

#endif
