/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the starts of the blocks of a deflate stream (RFC 1951).
 *
 * Inflating can start at any block, given the 32 KiB before it. Inflaters do not report the
 * positions of blocks, so this code decodes the symbols and counts the bytes that they produce. It
 * rejects the same streams as zlib.
 */
#ifndef FASTREC_DEFLATE_H
#define FASTREC_DEFLATE_H

#include "base/bytes.h"

#define FR_DEFLATE_WINDOW 32768
#define FR_DEFLATE_DIRECT 10 /* bits of a codeword that are decoded by one lookup */

/* A prefix code. */
typedef struct {
    uint16_t direct[1 << FR_DEFLATE_DIRECT]; /* symbol << 4 | bits; 0 for longer codewords */
    uint16_t counts[16];                     /* number of codewords of each length */
    uint16_t symbols[288];                   /* symbols, in the order of their codewords */
} fr_deflate_code;

/* All zeros is the start of a stream. */
typedef struct {
    uint64_t bits;   /* bits of the stream that are processed */
    uint64_t output; /* bytes that these bits inflate to */
    uint64_t stop;   /* stop at the first block from this output position on */
    uint64_t every;  /* output bytes from one stop to the next */
    uint32_t stored; /* remaining bytes of a stored block */
    bool in_block, final, fixed;
    fr_deflate_code lengths, distances; /* codes of the current block */
} fr_deflate;

/*
 * Continues the walk. `input` is the stream from byte `bits / 8` on; `last` means that the stream
 * ends with it. Returns FR_OK at a block to stop at, FR_END after the final block, and FR_AGAIN if
 * all but the last bytes of `input` were processed and more are needed. `bits` is then the position
 * reached. Errors: FR_ERR_TRUNCATED, FR_ERR_CORRUPT.
 */
FR_NODISCARD int fr_deflate_walk(fr_deflate *walk, fr_span input, bool last, fr_error *err);

#endif
