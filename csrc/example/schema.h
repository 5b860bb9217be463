/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requested features of an Example, and their types.
 *
 * A schema is immutable after initialisation, except for `seen`, which is atomic, so any number of
 * threads may use it.
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

/* Returns "bytes_list", "float_list" or "int64_list"; "no kind" for FR_KIND_NONE. */
const char *fr_kind_name(fr_kind kind);

/* Largest number of dimensions of an array. */
#define FR_MAX_RANK 8

typedef enum {
    FR_FIT_NONE = 0,
    FR_FIT_PAD,         /* zeros are appended in every dimension; larger arrays are an error */
    FR_FIT_CROP_OR_PAD, /* cropped or padded with zeros around the centre */
} fr_fit;

/* The source of a dimension of a record's array. */
typedef enum {
    FR_EXTENT_FIXED = 0, /* the dimension is `value` */
    FR_EXTENT_ONE,       /* the one int64 of an earlier ragged feature with number `value` */
    FR_EXTENT_ALL        /* the shape feature holds all dimensions */
} fr_extent_kind;

typedef struct {
    fr_extent_kind kind;
    size_t value;
} fr_extent;

typedef struct {
    fr_span key;
    fr_kind kind;   /* kind in the record */
    fr_dtype dtype; /* dtype of the column */
    bool ragged;    /* any number of elements per row; otherwise `count` */
    bool raw;       /* FR_KIND_BYTES: one value, whose bytes are the elements */
    bool swap;      /* raw, in the byte order that is not native */
    bool frames;    /* in feature_lists of a SequenceExample: any number of such rows */
    bool presence;  /* FR_BOOL: whether the record has the feature with a kind, of any kind, or the
                       feature list; no other member but `key` and `kind` is used */
    size_t count;   /* elements per row, unless ragged */
    /* A serialized tf.train.Feature (frames: FeatureList) that replaces a missing one. If its data
       is NULL, a row without the feature is an error (ragged: is empty). */
    fr_span fallback;
    /* For a raw feature whose array takes its shape from the record: how it gets the shape of
       the row. */
    fr_fit fit;
    size_t rank;                   /* 1 to FR_MAX_RANK, if there is a fit */
    size_t target[FR_MAX_RANK];    /* shape of a row; `count` is its product */
    fr_extent extent[FR_MAX_RANK]; /* shape of a record's array; the first entry may stand for all
                                      of it */
} fr_feature;

/* The fast path of a feature: one value is read directly from its entry. */
typedef enum {
    FR_SCALAR_NONE = 0,
    FR_SCALAR_INT64,
    FR_SCALAR_FLOAT32,
    FR_SCALAR_INT_AS,  /* an integer, for a column of another type */
    FR_SCALAR_FLOAT_AS /* a float, for a column of another type */
} fr_scalar;

/* Data derived from a feature and its position among the others. */
typedef struct {
    fr_span prefix;   /* start of an entry with its key: tag, size, key, tag of the value */
    fr_scalar scalar; /* only for a feature with a unique key */
    uint32_t source;  /* first feature with the same key; usually itself */
} fr_plan;

/* Writes a key in printable ASCII, with everything else and quotes escaped, clipped to about 120
   characters. Keys come from files and appear in messages. */
void fr_key_text(fr_span key, char text[FR_FEATURE_TEXT_SIZE]);

/* Gives an error the coordinate of a feature. */
void fr_name_feature(fr_error *err, fr_span key);

/* As fr_fail(), of a feature. */
int fr_fail_feature(fr_error *err, int status, fr_span key, const char *format, ...)
    FR_PRINTF(4, 5);

/* All zeros is a valid empty schema. */
typedef struct {
    fr_feature *features;
    fr_plan *plans;
    size_t count;
    uint32_t *slots; /* open addressing: feature number + 1, or 0 */
    size_t slot_mask;
    uint8_t *bytes;         /* prefixes, which contain the keys, and fallbacks */
    _Atomic(uint8_t) *seen; /* per feature: 1 once a parser has found its key in a record */
    bool skips;             /* whether unusable records are left out: fr_columns_leave_out() */
} fr_schema;

/* Copies `features` with their keys and fallbacks. Several may have the same key. */
FR_NODISCARD int fr_schema_init(fr_schema *schema, const fr_feature *features, size_t count,
                                fr_error *err);

/* Returns the number of the first feature with this key, or -1. */
ptrdiff_t fr_schema_find(const fr_schema *schema, fr_span key);

/* Notes that a record contains the key of feature `number`. */
static inline void fr_schema_note_seen(const fr_schema *schema, size_t number) {
    _Atomic(uint8_t) *seen = &schema->seen[number];
    if (!atomic_load_explicit(seen, memory_order_relaxed))
        atomic_store_explicit(seen, 1, memory_order_relaxed);
}

/* Returns whether any parsed record contained the key of feature `number`. */
bool fr_schema_has_seen(const fr_schema *schema, size_t number);

void fr_schema_free(fr_schema *schema);

#endif
