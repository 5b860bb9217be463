/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of files with known positions and checksums, such as single values within records.
 */
#ifndef FASTREC_PIECES_H
#define FASTREC_PIECES_H

#include "base/bytes.h"

typedef struct {
    uint64_t offset; /* file position */
    uint32_t size;
    uint32_t crc;  /* CRC-32C of the bytes */
    uint64_t file; /* index into `fds` */
} fr_piece;

/*
 * Reads pieces consecutively into `out`, and compares each with its checksum. If fds[file] is
 * negative, the bytes are already in `out` and are only checked. Does not change the positions of
 * the descriptors, so that threads may share them. REQUIRES: `out` has room for all pieces.
 *
 * Returns FR_ERR_IO, FR_ERR_TRUNCATED if a file ends inside a piece, or FR_ERR_CORRUPT if a
 * checksum differs. err->record is the number of the piece, err->file and err->offset are its
 * position.
 */
FR_NODISCARD int fr_pieces_read(const fr_piece *pieces, size_t count, const int *fds, uint8_t *out,
                                fr_error *err);

/*
 * Appends an fr_piece, with its checksum and file 0, for each element of the list at file position
 * `offset`: if `each` is 0, for each bytes value (field 1) of a BytesList, otherwise for every
 * `each` bytes of packed numbers. Returns FR_ERR_MALFORMED if the bytes are not such a list.
 */
FR_NODISCARD int fr_pieces_find(fr_span list, uint64_t offset, uint32_t each, fr_buffer *pieces,
                                fr_error *err);

#endif
