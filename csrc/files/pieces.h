/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of files whose places and checksums are known, such as single values within records.
 */
#ifndef FASTREC_PIECES_H
#define FASTREC_PIECES_H

#include "base/bytes.h"

typedef struct {
    uint64_t offset; /* file position */
    uint32_t size;
    uint32_t crc;  /* CRC-32C of the bytes */
    uint64_t file; /* number of the file, into `fds` */
} fr_piece;

/*
 * Reads pieces one after the other into `out`, which has room for all of them, and holds each
 * against its checksum. Where fds[file] is negative the bytes are in `out` already, and only
 * checked. Descriptors keep their positions, so that threads may share them.
 *
 * FR_ERR_IO; FR_ERR_TRUNCATED when a file ends inside a piece; FR_ERR_CORRUPT when a checksum is
 * another. err->record is the number of the piece, err->file and err->offset where it is.
 */
FR_NODISCARD int fr_pieces_read(const fr_piece *pieces, size_t count, const int *fds, uint8_t *out,
                                fr_error *err);

/*
 * Appends to `pieces` an fr_piece for each element of a list that lies at file position `offset`,
 * with its checksum and file 0: for each bytes field 1 of a BytesList, or, unless `each` is 0, for
 * every `each` bytes of packed numbers. FR_ERR_MALFORMED for bytes that are not such a list.
 */
FR_NODISCARD int fr_pieces_find(fr_span list, uint64_t offset, uint32_t each, fr_buffer *pieces,
                                fr_error *err);

#endif
