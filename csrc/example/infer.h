/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey of the features of Examples and SequenceExamples: their keys, their kinds, and their
 * numbers of values.
 *
 * A single fr_infer must not be used by several threads at the same time.
 */
#ifndef FASTREC_INFER_H
#define FASTREC_INFER_H

#include "example/feature.h"

/* Largest number of different keys. More are an error, because such a table would be useless. */
#define FR_INFER_MAX ((size_t)1 << 16)

/* The content of a feature or a feature list of one record; a feature counts as one frame. */
typedef struct {
    uint64_t kinds[4]; /* frames by kind */
    uint64_t fewest,
        most; /* number of values of a frame with a kind; UINT64_MAX and 0 if there is none */
    uint64_t frames;
} fr_tally;

typedef struct {
    size_t key, key_size; /* position of the key in fr_infer.keys */
    uint64_t records[4];  /* by kind: number of records, or of frames of feature lists */
    uint64_t first[4];    /* by kind: number of the first such record, from 1; 0 if there is none */
    uint64_t present;     /* records that have the key */
    uint64_t fewest, most;              /* as in fr_tally, over all records */
    uint64_t least_frames, most_frames; /* number of frames in a record with the key */
    /* Consecutive records with the same tally are added to the sums above together. A later entry
       of the last record would replace its tally. */
    fr_tally last;
    uint64_t repeats;      /* number of these records; 0 if they are in the sums */
    uint64_t begin, stamp; /* first and last of them, counted from 1 */
    uint32_t number;       /* number of this sighting */
    uint32_t next;         /* number of the sighting that last followed this one */
    /* The bytes of the last entry before its values. An entry of the same size that begins with
       them has the same tally: only the bytes of its values differ. With a `slope`, this is also
       true for an entry of another size if the last eight bytes of its head, as a number, are
       `tail` + `slope` x its size: each of its sizes is one byte. A `head_size` of 0 marks an entry
       in another encoding. */
    uint8_t head_size;
    uint8_t head[48];
    size_t entry_size;
    uint64_t tail, slope;
} fr_sighting;

/* All zeros is a valid fr_infer of no records. */
typedef struct {
    fr_buffer sightings; /* array of fr_sighting, in the order of first occurrence */
    fr_buffer keys;
    uint32_t *slots; /* open addressing: number of the sighting + 1, or 0 */
    size_t slot_mask;
    uint64_t records; /* number of surveyed records; may start at the number of the first */
    uint64_t seed;    /* secret seed of the hash table, against keys chosen to collide */
    bool is_wary;     /* whether a record was malformed; later ones are checked before they count */
} fr_infer;

/*
 * Adds the features of a record to `context`, and its feature lists to `lists` unless that is NULL.
 * If field 2 of the record does not contain feature lists, it is skipped as an unknown field.
 *
 * Returns FR_ERR_MALFORMED if the record is not an Example; no count changes then, but keys may
 * have been added that no record has. Returns FR_ERR_SCHEMA if there are too many keys; then both
 * tables can only be freed.
 */
FR_NODISCARD int fr_infer_add(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err);

/* Updates the sums of all sightings. */
void fr_infer_settle(fr_infer *infer);

static inline size_t fr_infer_count(const fr_infer *infer) {
    return infer->sightings.size / sizeof(fr_sighting);
}

static inline const fr_sighting *fr_infer_sighting(const fr_infer *infer, size_t number) {
    return (const fr_sighting *)(const void *)infer->sightings.data + number;
}

void fr_infer_free(fr_infer *infer);

#endif
