/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the next true header after damage.
 *
 * A header is taken for true when its length agrees with its checksum and the data behind it with
 * its own: bytes pass for that by chance once in 2^64 positions. Bytes that pass because somebody
 * stored a record file inside a record are told apart where that can be told; otherwise they are
 * passed over, for a record less is better than one that never was.
 */
#ifndef FASTREC_RESYNC_H
#define FASTREC_RESYNC_H

#include "format/frame.h"

/* The bytes from the damage to where reading goes on, and why they were skipped. */
typedef struct {
    size_t end;     /* where reading goes on, from the start of the window */
    bool whole;     /* they are one record whose header is wrong: its data agrees with its CRC */
    bool ambiguous; /* sound frames were passed over, for they look like data of another record */
} fr_resync;

/*
 * The budget of a search for the data of headers that turn out false, in bytes to checksum. It
 * keeps a file made of such headers from costing more than a few times its size: without credit
 * for its data, a header is not looked into.
 */
#define FR_RESYNC_CREDIT(file_size) (((uint64_t)64 << 20) + 4 * (uint64_t)(file_size))

/*
 * Searches `window` from `from` on. When that is 1, the window begins with a header that is not to
 * be believed; when it is 0, the search goes on in what an FR_AGAIN or FR_END has left.
 *
 * FR_OK: a true frame begins at resync->end. FR_END: there is none; the window up to resync->end
 * can be given up (all of it when `ended`). FR_AGAIN: what begins at resync->end may be one, a
 * window that has `*need` bytes from there will tell. FR_AGAIN with a need of 0 is a pause in a
 * long search, which goes on in the same window from resync->end.
 */
FR_NODISCARD int fr_resync_find(fr_span window, bool ended, size_t from, uint64_t max_record,
                                uint64_t *credit, fr_resync *resync, size_t *need);

/*
 * A frame whose header is sound and whose data is not may be one that was torn, and that records
 * were written behind. True when true frames fill its end to the last byte, which data of its own
 * cannot: the first begins at `*at`.
 */
bool fr_resync_inside(fr_span frame, uint64_t *credit, size_t *at);

#endif
