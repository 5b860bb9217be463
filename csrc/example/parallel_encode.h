/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rows at once: encoded in blocks by several threads, the bytes the same for any number of
 * them.
 *
 * One encoding is for one thread at a time; what its values point to is borrowed until it is
 * freed.
 */
#ifndef FASTREC_PARALLEL_ENCODE_H
#define FASTREC_PARALLEL_ENCODE_H

#include "base/task_ring.h"
#include "example/encode.h"

typedef struct fr_parallel_encode fr_parallel_encode;

/* The number of threads that pay for these rows on `cpus` processors; 0 for the caller's alone. */
size_t fr_parallel_encode_threads(const fr_value *values, size_t count, fr_rows rows, size_t cpus);

/* Rows of sorted `values` as frames. Whoever wants all of them or none calls fr_encode_check()
   before. */
FR_NODISCARD int fr_parallel_encode_start(const fr_value *values, size_t count, fr_rows rows,
                                          size_t threads, fr_parallel_encode **encode,
                                          fr_error *err);

/* The next block: whole frames, `records` of them, valid until the next call. FR_END after the
   last, FR_AGAIN when it takes longer than a tenth of a second. */
FR_NODISCARD int fr_parallel_encode_next(fr_parallel_encode *encode, fr_span *frames,
                                         size_t *records, fr_error *err);

/* Also before the end. NULL is fine. */
void fr_parallel_encode_free(fr_parallel_encode *encode);

/* All rows, bare, in one block. `out` and `offsets` (int64, one more than there are rows) are
   empty before, and after an error. */
FR_NODISCARD int fr_parallel_encode_whole(const fr_value *values, size_t count, fr_rows rows,
                                          size_t threads, fr_buffer *out, fr_buffer *offsets,
                                          fr_error *err);

#endif
