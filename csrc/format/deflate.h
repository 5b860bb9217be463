/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the blocks of a deflate stream (RFC 1951) begin.
 *
 * A block is where inflating can begin anew, given the 32 KiB before it. Inflaters do not tell
 * where blocks are, so the stream is walked: codes are decoded, and what they stand for is only
 * counted. It is refused where zlib refuses it.
 */
#ifndef FASTREC_DEFLATE_H
#define FASTREC_DEFLATE_H

#include "base/bytes.h"

#define FR_DEFLATE_WINDOW 32768
#define FR_DEFLATE_DIRECT 10 /* bits of a code that are looked up at once */

/* A prefix code. */
typedef struct {
    uint16_t direct[1 << FR_DEFLATE_DIRECT]; /* symbol << 4 | bits; 0 where more bits decide */
    uint16_t counts[16];                     /* codes of each length */
    uint16_t symbols[288];                   /* in the order of their codes */
} fr_deflate_code;

/* All-zero stands at the begin of a stream. */
typedef struct {
    uint64_t bits;   /* of the stream, up to here */
    uint64_t output; /* bytes that these inflate to */
    uint64_t stop;   /* the least output at whose next block to stop */
    uint64_t every;  /* and how much further from there */
    uint32_t stored; /* bytes left of a block that is not compressed */
    bool in_block, final, fixed;
    fr_deflate_code lengths, distances; /* of the block, or of blocks of fixed codes */
} fr_deflate;

/*
 * Walks on. `input` is the stream from byte `bits / 8` on; `last` says that it ends with it.
 * FR_OK at a block to stop at, FR_END behind the final block, FR_AGAIN when all but the last bytes
 * of `input` were walked and more are needed; then, as always, `bits` says how far it came.
 * FR_ERR_TRUNCATED, FR_ERR_CORRUPT.
 */
FR_NODISCARD int fr_deflate_walk(fr_deflate *walk, fr_span input, bool last, fr_error *err);

#endif
