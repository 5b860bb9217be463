/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/interleave.h"

typedef struct {
    fr_interleave *interleave;
    uint64_t position; /* position at which the next stage begins */
} building;

/* Returns the smallest record count above `round` of a file in the group, or 0 if there is none. */
static uint64_t next_round(const uint64_t *counts, size_t files, uint64_t round) {
    uint64_t next = 0;
    for (size_t i = 0; i < files; i++)
        if (counts[i] > round && (next == 0 || counts[i] < next)) next = counts[i];
    return next;
}

static int add_stage(building *b, const uint64_t *counts, size_t files, uint64_t first,
                     uint64_t round, fr_error *err) {
    fr_interleave_stage stage = {b->position, round, b->interleave->alive.size / sizeof(uint64_t),
                                 0};
    for (size_t i = 0; i < files; first += counts[i++]) {
        if (counts[i] <= round) continue;
        FR_TRY(fr_buffer_append(&b->interleave->alive, &first, sizeof first, err));
        stage.count++;
    }
    return fr_buffer_append(&b->interleave->stages, &stage, sizeof stage, err);
}

static int add_group(building *b, const uint64_t *counts, size_t files, uint64_t first,
                     fr_error *err) {
    uint64_t round = 0, next;
    while ((next = next_round(counts, files, round)) != 0) {
        FR_TRY(add_stage(b, counts, files, first, round, err));
        const fr_interleave_stage *stages = (const void *)b->interleave->stages.data;
        size_t last = b->interleave->stages.size / sizeof *stages - 1;
        b->position += (next - round) * stages[last].count;
        round = next;
    }
    return FR_OK;
}

int fr_interleave_init(fr_interleave *interleave, const uint64_t *counts, size_t files,
                       size_t width, fr_error *err) {
    *interleave = (fr_interleave){0};
    if (width < 1 || width > FR_INTERLEAVE_MAX)
        return fr_fail(err, FR_ERR_ARG, "the number of interleaved files must be 1 to %d, got %zu",
                       FR_INTERLEAVE_MAX, width);
    building b = {.interleave = interleave};
    for (size_t i = 0; i < files; i += width) {
        size_t group = files - i < width ? files - i : width;
        int status = add_group(&b, counts + i, group, b.position, err);
        if (status != FR_OK) {
            fr_interleave_free(interleave);
            return status;
        }
    }
    return FR_OK;
}

uint64_t fr_interleave_at(const fr_interleave *interleave, uint64_t position) {
    const fr_interleave_stage *stages = (const void *)interleave->stages.data;
    const uint64_t *alive = (const void *)interleave->alive.data;
    size_t low = 0, high = interleave->stages.size / sizeof *stages;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (stages[middle].position <= position)
            low = middle;
        else
            high = middle;
    }
    const fr_interleave_stage *stage = &stages[low];
    uint64_t steps = position - stage->position;
    return alive[stage->begin + steps % stage->count] + stage->round + steps / stage->count;
}

void fr_interleave_free(fr_interleave *interleave) {
    fr_buffer_free(&interleave->stages);
    fr_buffer_free(&interleave->alive);
}
