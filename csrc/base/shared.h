/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic access to words of memory that several processes map. */
#ifndef FASTREC_SHARED_H
#define FASTREC_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sets `*word` to `desired` if it equals `expected`, and returns whether it did. This is one atomic
   instruction, so a process that is killed leaves neither a partial update nor a lock. */
static inline bool fr_shared_exchange(int64_t *word, int64_t expected, int64_t desired) {
    return atomic_compare_exchange_strong((_Atomic int64_t *)word, &expected, desired);
}

#endif
