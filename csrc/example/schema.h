/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The features that are wanted of an Example, and their types.
 *
 * A schema does not change once it is made, except for `seen`, which is atomic. So any number of
 * threads may use one.
 */
#ifndef FASTREC_SCHEMA_H
#define FASTREC_SCHEMA_H

#include <stdatomic.h>

#include "format/dtype.h"

/* A Feature's kind is the number of its field in tf.train.Feature. */
typedef enum {
    FR_KIND_NONE = 0, /* in a schema: the whole record, as bytes */
    FR_KIND_BYTES = 1,
    FR_KIND_FLOAT = 2,
    FR_KIND_INT64 = 3
} fr_kind;

/* "bytes_list", "float_list", "int64_list"; "no kind" for FR_KIND_NONE. */
const char *fr_kind_name(fr_kind kind);

/* More dimensions than any array has here. */
#define FR_MAX_RANK 8

typedef enum {
    FR_FIT_NONE = 0,
    FR_FIT_PAD,         /* zeros follow, in every dimension; what is larger is an error */
    FR_FIT_CROP_OR_PAD, /* cut or surrounded by zeros, about the centre */
} fr_fit;

/* The source of a dimension of a record's array. */
typedef enum {
    FR_EXTENT_FIXED = 0, /* it is `value` */
    FR_EXTENT_ONE,       /* the one int64 that an earlier feature, ragged and number `value`, has */
    FR_EXTENT_ALL        /* that feature has all dimensions */
} fr_extent_kind;

typedef struct {
    fr_extent_kind kind;
    size_t value;
} fr_extent;

typedef struct {
    fr_span key;
    fr_kind kind;   /* what the record must hold */
    fr_dtype dtype; /* what the column holds */
    bool ragged;    /* any number of elements a row; otherwise `count` */
    bool raw;       /* of FR_KIND_BYTES: one value, whose bytes are the elements */
    bool swap;      /* raw, in the other byte order than this machine's */
    bool frames;    /* of a SequenceExample's feature_lists: as many such rows as there are */
    size_t count;   /* elements a row, unless ragged */
    /* A serialized tf.train.Feature (frames: FeatureList) that stands for a missing one; data NULL
       when a row that misses the feature is an error (ragged: is empty). */
    fr_span fallback;
    /* Of a raw feature whose array has its shape from the record: how it gets that of the row. */
    fr_fit fit;
    size_t rank;                /* 1 to FR_MAX_RANK, when there is a fit */
    size_t target[FR_MAX_RANK]; /* the shape of a row; `count` is its product */
    fr_extent
        extent[FR_MAX_RANK]; /* the shape of a record's array, or in the first one all of it */
} fr_feature;

/* The fast path of a feature: one value is read straight from where it stands. */
typedef enum {
    FR_SCALAR_NONE = 0,
    FR_SCALAR_INT64,
    FR_SCALAR_FLOAT32,
    FR_SCALAR_INT_AS,  /* an integer, into a column of another type */
    FR_SCALAR_FLOAT_AS /* a float, into a column of another type */
} fr_scalar;

/* Derived from a feature and its place among the others. */
typedef struct {
    fr_span prefix;   /* how an entry for its key begins: tag, size, key, tag of the value */
    fr_scalar scalar; /* only of a feature whose key no other has */
    uint32_t source;  /* the first feature of the same key; mostly itself */
} fr_plan;

/* A key in printable ASCII, everything else and quotes escaped, clipped to about 120 characters:
   keys come from files, and end up in messages. */
#define FR_KEY_TEXT_SIZE 128
void fr_key_text(fr_span key, char text[FR_KEY_TEXT_SIZE]);

/* All-zero is a valid empty schema. */
typedef struct {
    fr_feature *features;
    fr_plan *plans;
    size_t count;
    uint32_t *slots; /* open addressing: feature number + 1, or 0 */
    size_t slot_mask;
    uint8_t *bytes;         /* prefixes, of which keys are pieces, and fallbacks */
    _Atomic(uint8_t) *seen; /* per feature: 1 once a parser has found its key in a record */
    bool skips;             /* unusable records are left out of the rows: fr_columns_leave_out() */
} fr_schema;

/* Copies `features` with their keys and fallbacks. Several may have the same key. */
FR_NODISCARD int fr_schema_init(fr_schema *schema, const fr_feature *features, size_t count,
                                fr_error *err);

/* The number of the first feature of that key, or -1. */
ptrdiff_t fr_schema_find(const fr_schema *schema, fr_span key);

/* Notes that a record has the key of feature `number`. */
static inline void fr_schema_note_seen(const fr_schema *schema, size_t number) {
    _Atomic(uint8_t) *seen = &schema->seen[number];
    if (!atomic_load_explicit(seen, memory_order_relaxed))
        atomic_store_explicit(seen, 1, memory_order_relaxed);
}

/* Whether any record that was parsed so far had the key of feature `number`. */
bool fr_schema_has_seen(const fr_schema *schema, size_t number);

void fr_schema_free(fr_schema *schema);

#endif
