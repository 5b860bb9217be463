/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the transposed chunks of Riegeli files.
 *
 * Such a chunk was made from messages of Protocol Buffers, field by field: each field has a buffer
 * with its values of all records, and a program states the order of the fields. The program is a
 * graph of nodes, one for each field at each place. Each step of it takes the next value from the
 * buffer of a node. It runs backwards, from the last byte of the last record to the first byte of
 * the first one, because the length of a message is known only when the message is complete.
 * Records that cannot be parsed as messages are stored in separate buffers.
 */
#ifndef FASTREC_RIEGELI_TRANSPOSED_H
#define FASTREC_RIEGELI_TRANSPOSED_H

#include "base/bytes.h"

/* The parts of a decompressed chunk. The spans belong to the caller. */
typedef struct {
    fr_span header;         /* from the sizes of the buffers on */
    const fr_span *buckets; /* buffers that were compressed together */
    size_t bucket_count;
    uint64_t buffer_count; /* at most the size of the whole header */
    fr_span transitions;   /* a byte for each step whose node is chosen */
} fr_riegeli_transposed;

/*
 * Writes the bytes of all `count` records, which are `size`, to `out`, and count + 1 positions in
 * them to `offsets`. Memory of up to 20 times the header is used, and at most 32 MiB
 * for nested messages. Errors: FR_ERR_CORRUPT, FR_ERR_NOMEM.
 */
FR_NODISCARD int fr_riegeli_transposed_run(const fr_riegeli_transposed *chunk, size_t count,
                                           size_t size, uint8_t *out, size_t *offsets,
                                           fr_error *err);

#endif
