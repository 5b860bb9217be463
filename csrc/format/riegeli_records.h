/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of simple chunks of Riegeli files: the sizes of all, then the bytes of all, each in a
 * buffer that may be compressed. Causes of errors do not name the chunk. All errors are
 * FR_ERR_CORRUPT, or FR_ERR_NOMEM.
 */
#ifndef FASTREC_RIEGELI_RECORDS_H
#define FASTREC_RIEGELI_RECORDS_H

#include "base/bytes.h"

#define FR_RIEGELI_ZSTD 'z' /* a compression; 0 means uncompressed */

/* Takes a number of at most `most` from the front of `*rest`. `what` names it in messages. */
FR_NODISCARD int fr_riegeli_number(fr_span *rest, uint64_t most, const char *what, uint64_t *value,
                                   fr_error *err);

/* Takes `size` bytes from the front of `*rest`. `what` begins messages, as in "a bucket has". */
FR_NODISCARD int fr_riegeli_take(fr_span *rest, uint64_t size, const char *what, fr_span *part,
                                 fr_error *err);

/*
 * Takes a stored buffer apart. Returns FR_OK if `*content` is its content, which is true of zstd,
 * too, for a frame of one block that is not compressed. Returns FR_AGAIN if `*content` has to be
 * decompressed to `*size` bytes, at most `most`. A zstd frame that states another size is refused,
 * because libraries allocate the size that it states.
 */
FR_NODISCARD int fr_riegeli_open(uint8_t compression, fr_span stored, uint64_t most,
                                 fr_span *content, size_t *size, fr_error *err);

/* Reads the sizes of `count` records, which are all of `sizes`, and sets `*offsets` to an array of
   count + 1 positions in the bytes of all records, at most `size`. The caller frees `*offsets`. */
FR_NODISCARD int fr_riegeli_offsets(fr_span sizes, uint64_t count, size_t size, size_t **offsets,
                                    fr_error *err);

#endif
