/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

static int fail_at(fr_error *err, const fr_index *index, int status) {
    if (err) {
        err->offset = (int64_t)index->end;
        err->record = (int64_t)fr_index_count(index);
    }
    return status;
}

int fr_index_scan(fr_index *index, fr_span file, const fr_frame_options *options, uint64_t limit,
                  fr_error *err) {
    if (index->done) return FR_OK;
    if (index->offsets.size == 0)
        FR_TRY(fr_buffer_append(&index->offsets, &index->end, sizeof index->end, err));
    fr_frame_options unverified = {.verify = false, .max_record = options->max_record};
    for (; limit; limit--) {
        fr_span rest = fr_span_after(file, (size_t)index->end);
        fr_frame frame;
        int status = fr_frame_next(rest, true, &unverified, &frame, err);
        if (status == FR_END) {
            index->done = true;
            return FR_OK;
        }
        if (status != FR_OK) return fail_at(err, index, status);
        index->end += frame.size;
        FR_TRY(fr_buffer_append(&index->offsets, &index->end, sizeof index->end, err));
    }
    return FR_AGAIN;
}

void fr_index_free(fr_index *index) {
    fr_buffer_free(&index->offsets);
    *index = (fr_index){0};
}
