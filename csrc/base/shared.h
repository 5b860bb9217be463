/* SPDX-License-Identifier: Apache-2.0 */
/* Words of memory that several processes have mapped. */
#ifndef FASTREC_SHARED_H
#define FASTREC_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Set `*word` to `desired` if it is `expected`; return whether it was. This is one atomic
   instruction, so a process that is killed leaves nothing half done and no lock. */
static inline bool fr_shared_exchange(int64_t *word, int64_t expected, int64_t desired) {
    return atomic_compare_exchange_strong((_Atomic int64_t *)word, &expected, desired);
}

#endif
