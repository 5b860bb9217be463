/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of Riegeli files, and the block headers in them.
 *
 * A block header stands at each multiple of 64 KiB, also within a chunk, and states where that
 * chunk begins and ends. A chunk is a header of 40 bytes, data, and zeros if it has more records
 * than bytes. All checksums are HighwayHash. (https://github.com/google/riegeli)
 */
#ifndef FASTREC_RIEGELI_H
#define FASTREC_RIEGELI_H

#include "base/bytes.h"

/* Positions are in the file. */
typedef struct {
    uint64_t begin, end;
    uint64_t records; /* number of its records */
    uint64_t size;    /* bytes of all its records */
    uint64_t data_size, data_hash;
    size_t data; /* where the data begins in the window, when it is in one piece */
    uint8_t kind;
} fr_riegeli_chunk;

typedef struct {
    uint64_t begin;     /* position of the window, where a chunk begins */
    uint64_t file_size; /* less than 2**63 */
    uint64_t most;      /* bytes that a chunk, or its records, may have */
    bool headers;       /* the data of chunks is not read */
} fr_riegeli_options;

/* The checksum that a Riegeli file stores. */
uint64_t fr_riegeli_hash(fr_span data);

/*
 * Reads at most `most` chunks from a window of the file, compares all their checksums, and moves
 * the data of each into one piece, within the window. Sets `*count` to their number. `*wanted` is
 * the number of bytes of the window that the next chunk needs if FR_AGAIN is returned. Errors, of
 * the chunk after those: FR_ERR_CORRUPT; FR_ERR_TRUNCATED if the file ends before the chunk does;
 * FR_ERR_LIMIT. After an error the window has lost its content from that chunk on.
 */
FR_NODISCARD int fr_riegeli_read(uint8_t *window, size_t size, const fr_riegeli_options *options,
                                 fr_riegeli_chunk *chunks, size_t most, size_t *count,
                                 uint64_t *wanted, fr_error *err);

/* Sets the end and the checksum of a chunk to write. `data_size` and `records` are less than
   2**56, and `begin` is less than 2**62. */
void fr_riegeli_place(fr_riegeli_chunk *chunk, fr_span data);

/* Writes the `end - begin` bytes of a chunk, with its block headers. */
void fr_riegeli_write(const fr_riegeli_chunk *chunk, fr_span data, uint8_t *out);

#endif
