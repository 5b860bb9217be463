/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the samples of a tar archive (WebDataset) as framed Examples.
 *
 * A sample is a run of members whose paths are equal up to the first dot of the file name. The rest
 * of the path, in lower case, is the name of a feature, and the content is its one value: an
 * integer if the content is one and the name is, or ends in a dot and, cls, cls2, class, count,
 * index, inx or id, and otherwise bytes. The feature `__key__` holds the common path.
 *
 * As webdataset does, the reader skips members that are not files, members without an extension or
 * a name before it, and names such as `__meta__`. It reads ustar, pax (POSIX.1-2001) and GNU's long
 * names. Links and sparse members are errors, because their content is not in the archive as it
 * is, and so are record files, because each would be one value instead of its records.
 */
#ifndef FASTREC_TAR_H
#define FASTREC_TAR_H

#include "base/bytes.h"

#define FR_TAR_BLOCK 512

typedef struct fr_tar fr_tar;

/* Returns whether `block`, of FR_TAR_BLOCK bytes, is a header with the magic of ustar or GNU and a
   correct checksum. */
bool fr_tar_is_header(const uint8_t *block);

/* `max_record` bounds the bytes of one sample; 0 means protobuf's limit. */
FR_NODISCARD int fr_tar_new(fr_tar **tar, uint64_t max_record, fr_error *err);

void fr_tar_free(fr_tar *tar);

/* Returns the position in the archive of the first sample that the next call delivers: of its first
   header, including long names. Reading can start there. */
uint64_t fr_tar_position(const fr_tar *tar);

/*
 * Adds the next bytes of the archive, and appends the frames of the samples that are now complete
 * to `out`. `ended` means that no bytes follow. On error, the samples before the damage are in
 * `out`, and err->offset is the position of the damaged header: FR_ERR_CORRUPT, FR_ERR_TRUNCATED,
 * FR_ERR_LIMIT for a sample that is too long, FR_ERR_NOMEM.
 */
FR_NODISCARD int fr_tar_feed(fr_tar *tar, fr_span piece, bool ended, fr_buffer *out, fr_error *err);

/* Appends the frame of the last sample. REQUIRES: the bytes end where another sample, or the end of
   the archive, begins. Returns FR_ERR_TRUNCATED if they end inside a member. */
FR_NODISCARD int fr_tar_flush(fr_tar *tar, fr_buffer *out, fr_error *err);

#endif
