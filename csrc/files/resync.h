/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the next true header after damage.
 *
 * A header is accepted as true if its length agrees with its checksum and the data after it agrees
 * with its own. Other bytes pass both checks at one of 2^64 positions. Frames also pass if they are
 * part of a record file that is stored in a record. The search detects such frames if it can. If it
 * cannot tell, it skips them, because losing a record is better than returning one that never
 * existed.
 */
#ifndef FASTREC_RESYNC_H
#define FASTREC_RESYNC_H

#include "format/frame.h"

/* The bytes to skip after damage, and the reason. */
typedef struct {
    size_t end;     /* where reading continues, from the start of the window */
    bool whole;     /* the skipped bytes are one record with a damaged header and valid data */
    bool ambiguous; /* skips valid frames that look like data of another record */
} fr_resync;

/*
 * The budget of a search, in bytes of data to checksum for headers that turn out false. If the
 * credit is smaller than the data of a header, that header is rejected without a checksum. This
 * bounds the cost of a file made of such headers to a few times its size.
 */
#define FR_RESYNC_CREDIT(file_size) (((uint64_t)64 << 20) + 4 * (uint64_t)(file_size))

/*
 * Searches `window` from `from`. If `from` is 1, the window begins with a damaged header. If it is
 * 0, the search continues in the bytes that remain after FR_AGAIN or FR_END.
 *
 * Returns FR_OK if a true frame begins at resync->end. Returns FR_END if there is none; the window
 * up to resync->end can be discarded (all of it if `ended`). Returns FR_AGAIN if a frame may begin
 * at resync->end; the search needs a window with `*need` bytes from there to decide. FR_AGAIN with
 * a need of 0 is a pause in a long search, which continues in the same window from resync->end.
 */
FR_NODISCARD int fr_resync_find(fr_span window, bool ended, size_t from, uint64_t max_record,
                                uint64_t *credit, fr_resync *resync, size_t *need);

/*
 * Tests a frame with a valid header and damaged data: the record may have been torn, and other
 * records appended in its place. Returns true if true frames fill the frame up to its last byte,
 * which data of the record itself cannot do. The first of them begins at `*at`.
 */
bool fr_resync_inside(fr_span frame, uint64_t *credit, size_t *at);

#endif
