/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of packed varints, which is what the int64 lists of records are.
 *
 * Several implementations stand in one table, fastest first. The first call chooses the first that
 * this machine supports, or the one that the environment variable FASTREC_VARINT names.
 */
#ifndef FASTREC_VARINT_H
#define FASTREC_VARINT_H

#include "base/bytes.h"

typedef struct {
    const char *name;
    bool (*supported)(void);
    /* The number of varints that end in `run`. When the last byte ends none, the run is malformed.
     */
    size_t (*count)(fr_span run);
    /*
     * Decodes varints from *p until `count` are done or `end` is reached; *p moves past them.
     * Returns how many were decoded. On a varint that is malformed (longer than ten bytes) or cut
     * off by `end`, *p becomes NULL. No byte at or past `end` is read, none past out[count - 1]
     * written; what lies in out behind the varints that were decoded is not defined.
     */
    size_t (*decode)(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);
} fr_varint_impl;

/* Every implementation that was compiled in, supported or not, fastest first; ends with a NULL
   name. */
extern const fr_varint_impl fr_varint_impls[];

/* The one in use. When FASTREC_VARINT names one that is unknown or that this machine lacks, NULL,
   and the portable one is used. */
const fr_varint_impl *fr_varint_chosen(void);

/* As the table's functions, of the one in use. Safe from any thread. */
size_t fr_varint_count(fr_span run);
size_t fr_varint_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count);

#endif
