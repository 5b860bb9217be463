/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey of the features of Examples and SequenceExamples: their keys, their kinds, and how many
 * values they have.
 *
 * A single fr_infer is not safe to use by several threads at once.
 */
#ifndef FASTREC_INFER_H
#define FASTREC_INFER_H

#include "example/feature.h"

/* More different keys than this are an error: a table of them would be of no use. */
#define FR_INFER_MAX ((size_t)1 << 16)

/* What a feature or a feature list of one record holds: a feature is one frame. */
typedef struct {
    uint64_t kinds[4];     /* frames by kind */
    uint64_t fewest, most; /* values of a frame that has a kind; UINT64_MAX and 0 without any */
    uint64_t frames;
} fr_tally;

typedef struct {
    size_t key, key_size;  /* the place of the key in fr_infer.keys */
    uint64_t records[4];   /* by kind: number of records, or of frames of feature lists */
    uint64_t first[4];     /* by kind: the first record that has it, counted from 1, or 0 */
    uint64_t present;      /* records that have the key */
    uint64_t fewest, most; /* as in fr_tally, of all records */
    uint64_t least_frames, most_frames; /* in a record that has the key */
    /* Records in a row that had the same tally are added to the sums above together. A later entry
       of the last record would replace its tally. */
    fr_tally last;
    uint64_t repeats;      /* number of these records, 0 when they are in the sums */
    uint64_t begin, stamp; /* the first and the last of them, counted from 1 */
    uint32_t next;         /* number of the sighting that followed this one last time */
    /* An entry of this size that begins with `head` has that tally, too: only the bytes of its
       values differ. A `head_size` of 0 marks an entry of another form. */
    uint8_t head_size;
    uint8_t head[48];
    size_t entry_size;
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

/*
 * Adds the features of a record to `context`, and its feature lists to `lists` unless that is NULL.
 * A second field that holds no feature lists is a field that an Example does not know.
 *
 * FR_ERR_MALFORMED when the record is not an Example, FR_ERR_SCHEMA when there are too many keys;
 * then both can only be freed.
 */
FR_NODISCARD int fr_infer_add(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err);

/* Brings the sums of all sightings up to date. */
void fr_infer_settle(fr_infer *infer);

static inline size_t fr_infer_count(const fr_infer *infer) {
    return infer->sightings.size / sizeof(fr_sighting);
}

static inline const fr_sighting *fr_infer_sighting(const fr_infer *infer, size_t number) {
    return (const fr_sighting *)(const void *)infer->sightings.data + number;
}

void fr_infer_free(fr_infer *infer);

#endif
