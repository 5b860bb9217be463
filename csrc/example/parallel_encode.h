/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes many rows in blocks on several threads. The bytes do not depend on the number of threads.
 *
 * An encoding is used by one thread at a time; the data that its values point to must outlive it.
 */
#ifndef FASTREC_PARALLEL_ENCODE_H
#define FASTREC_PARALLEL_ENCODE_H

#include "base/task_ring.h"
#include "example/encode.h"

typedef struct fr_parallel_encode fr_parallel_encode;

/* Returns the number of threads that pay off for these rows on `cpus` processors; 0 means the
   caller's thread alone. */
size_t fr_parallel_encode_threads(const fr_value *values, size_t count, fr_rows rows, size_t cpus);

/* Starts encoding rows of sorted `values` as frames. Callers that want all rows or none call
   fr_encode_check() first. */
FR_NODISCARD int fr_parallel_encode_start(const fr_value *values, size_t count, fr_rows rows,
                                          size_t threads, fr_parallel_encode **encode,
                                          fr_error *err);

/* Returns the next block: whole frames of `records` records, valid until the next call. Returns
   FR_END after the last, and FR_AGAIN if the block takes longer than a tenth of a second. */
FR_NODISCARD int fr_parallel_encode_next(fr_parallel_encode *encode, fr_span *frames,
                                         size_t *records, fr_error *err);

/* May be called before the end. NULL is allowed. */
void fr_parallel_encode_free(fr_parallel_encode *encode);

/* Encodes all rows, without frames, in one block. `out` and `offsets` (int64, one more than the
   number of rows) must be empty, and are empty after an error. */
FR_NODISCARD int fr_parallel_encode_whole(const fr_value *values, size_t count, fr_rows rows,
                                          size_t threads, fr_buffer *out, fr_buffer *offsets,
                                          fr_error *err);

#endif
