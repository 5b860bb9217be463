/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where every record of a file begins.
 *
 * A single index is not safe to change by several threads at once; once built, any number of
 * threads may read it.
 */
#ifndef FASTREC_INDEX_H
#define FASTREC_INDEX_H

#include "frame.h"

/* All-zero is a valid index of nothing. */
typedef struct {
    fr_buffer offsets; /* uint64: where record i begins; then where the last one ends */
    uint64_t end;      /* how far the scan has come */
    bool done;
} fr_index;

static inline uint64_t fr_index_count(const fr_index *index) {
    return index->offsets.size >= 8 ? index->offsets.size / 8 - 1 : 0;
}

static inline uint64_t fr_index_offset(const fr_index *index, uint64_t record) {
    return ((const uint64_t *)(const void *)index->offsets.data)[record];
}

/*
 * Scans on from where the last call stopped, hopping from header to header, for at most `limit`
 * records. FR_OK when the whole of `file` is known, FR_AGAIN when the limit came first, an error
 * (with offset and record) where the framing breaks; the data's CRC is not looked at.
 */
FR_NODISCARD int fr_index_scan(fr_index *index, fr_span file, const fr_frame_options *options,
                               uint64_t limit, fr_error *err);

void fr_index_free(fr_index *index);

#endif
