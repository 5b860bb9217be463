/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SequenceExample is a Features message, like an Example, followed by
 *
 *     12 lists                           SequenceExample.feature_lists
 *        0a entry                        FeatureLists.feature_list, once per list
 *           0a key                       entry.key
 *           12 list                      entry.value
 *              0a feature  0a feature    FeatureList.feature, one per step
 *
 * Sizes are computed first here, too. Each step is measured once for the size of its list and again
 * when it is written, so no memory is needed per step.
 */
#include <stdlib.h>

#include "example/encode_internal.h"

static int measure_steps(const fr_value *list, size_t steps, uint64_t *size, fr_error *err) {
    *size = 0;
    for (size_t step = 0; step < steps; step++) {
        fr_measured part;
        FR_TRY(fr_measure_feature(list, step, false, &part, err));
        *size += fr_sized(part.feature);
        if (*size > FR_MESSAGE_MAX) return fr_fail_long(list, err);
    }
    return FR_OK;
}

static uint64_t entry_size(const fr_value *list, uint64_t size) {
    return fr_sized(list->key.size) + fr_sized(size);
}

static int put_steps(fr_put *at, const fr_value *list, size_t steps, const uint8_t *end,
                     fr_error *err) {
    for (size_t step = 0; step < steps; step++) {
        fr_measured part;
        FR_TRY(fr_measure_feature(list, step, false, &part, err));
        if (fr_sized(part.feature) > (uint64_t)(end - at->p)) return fr_fail_changed(list, err);
        fr_put_size(at, 1, part.feature);
        FR_TRY(fr_put_feature(at, list, &part, err));
    }
    return at->p == end ? FR_OK : fr_fail_changed(list, err);
}

typedef struct {
    fr_encoder context;
    const fr_value *lists;
    const size_t *steps;
    size_t count;
    uint64_t *sizes; /* sizes of FeatureList messages */
    uint64_t all;    /* size of FeatureLists */
} sequence;

static int measure(sequence *s, uint64_t *message, fr_error *err) {
    *message = 0;
    if (s->context.count) {
        FR_TRY(fr_encoder_measure(&s->context, 0, false, err));
        *message = fr_sized(s->context.features);
    }
    s->all = 0;
    for (size_t i = 0; i < s->count; i++) {
        FR_TRY(measure_steps(&s->lists[i], s->steps[i], &s->sizes[i], err));
        s->all += fr_sized(entry_size(&s->lists[i], s->sizes[i]));
        if (s->all > FR_MESSAGE_MAX) return fr_fail_long(&s->lists[i], err);
    }
    if (s->count) *message += fr_sized(s->all);
    if (*message > FR_MESSAGE_MAX)
        return fr_fail(err, FR_ERR_LIMIT, "a SequenceExample must be smaller than 2 GiB");
    return FR_OK;
}

static int put(const sequence *s, fr_put *at, fr_error *err) {
    if (s->context.count) {
        fr_put_size(at, 1, s->context.features);
        FR_TRY(fr_encoder_put(&s->context, at, err));
    }
    if (s->count) fr_put_size(at, 2, s->all);
    for (size_t i = 0; i < s->count; i++) {
        const fr_value *list = &s->lists[i];
        fr_put_size(at, 1, entry_size(list, s->sizes[i]));
        fr_put_size(at, 1, list->key.size);
        fr_put_copy(at, list->key.data, list->key.size);
        fr_put_size(at, 2, s->sizes[i]);
        FR_TRY(put_steps(at, list, s->steps[i], at->p + s->sizes[i], err));
    }
    return FR_OK;
}

static int append(sequence *s, fr_buffer *out, fr_error *err) {
    uint64_t size;
    FR_TRY(measure(s, &size, err));
    FR_TRY(fr_buffer_reserve(out, (size_t)size, err));
    uint8_t *p = out->data + out->size;
    fr_put at = {.p = p, .end = p + size, .summed = p};
    FR_TRY(put(s, &at, err));
    out->size += (size_t)size;
    return FR_OK;
}

int fr_encode_sequence(const fr_value *context, size_t context_count, const fr_value *lists,
                       const size_t *steps, size_t list_count, fr_buffer *out, fr_error *err) {
    sequence s = {.lists = lists, .steps = steps, .count = list_count};
    FR_TRY(fr_encoder_init(&s.context, context, context_count, err));
    s.sizes = calloc(list_count + 1, sizeof *s.sizes);
    int status = s.sizes ? append(&s, out, err) : fr_fail_nomem(err, list_count * sizeof *s.sizes);
    free(s.sizes);
    fr_encoder_free(&s.context);
    return status;
}
