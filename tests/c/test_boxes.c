/* SPDX-License-Identifier: Apache-2.0 */
/* Suppressed boxes against a search of all pairs; cropped images between pages not to be touched.
 */
#include "tensor/boxes.h"

#include <math.h>

#include "test.h"

enum { MOST = 70, TRIALS = 2000, SIDE = 6, WIDEST = 9 };

static float share_of(const float *a, const float *b) {
    float sides[2], areas[2] = {1, 1};
    for (int i = 0; i < 2; i++) {
        const float low = fmaxf(fminf(a[i], a[i + 2]), fminf(b[i], b[i + 2]));
        const float high = fminf(fmaxf(a[i], a[i + 2]), fmaxf(b[i], b[i + 2]));
        sides[i] = high > low ? high - low : 0;
        areas[0] *= fabsf(a[i + 2] - a[i]);
        areas[1] *= fabsf(b[i + 2] - b[i]);
    }
    const float shared = sides[0] * sides[1], both = areas[0] + areas[1] - shared;
    return both > 0 ? shared / both : 0;
}

static void kept_boxes_are_the_best_that_do_not_overlap(void) {
    uint64_t random = 3;
    test_guarded corners = test_guarded_new(MOST * 4 * sizeof(float));
    test_guarded marks = test_guarded_new(MOST * sizeof(float));
    test_guarded heap = test_guarded_new(MOST * sizeof(fr_candidate));
    test_guarded work = test_guarded_new(MOST * 5 * sizeof(float));
    for (int trial = 0; trial < TRIALS; trial++) {
        const size_t count = test_random(&random) % MOST, most = test_random(&random) % MOST;
        const size_t step = count < most ? count : most;
        float *boxes = (float *)(void *)corners.end - 4 * count;
        float *scores = (float *)(void *)marks.end - count;
        float overlaps[MOST * MOST], values[MOST];
        int32_t kept[MOST];
        bool gone[MOST] = {false};
        for (size_t i = 0; i < 4 * count; i++)
            boxes[i] = (float)(test_random(&random) % 16);
        for (size_t i = 0; i < count; i++)
            scores[i] = (float)(test_random(&random) % 20);
        for (size_t i = 0; i < count * count; i++)
            overlaps[i] = share_of(boxes + i / count * 4, boxes + i % count * 4);
        fr_suppression how = {boxes, NULL, scores, count, most, 0.3f, 2, 0};
        if (trial % 2) how.boxes = NULL, how.overlaps = overlaps;
        const size_t found = fr_boxes_suppress(&how, (fr_candidate *)(void *)heap.end - count,
                                               (float *)(void *)work.end - 5 * step, kept, values);
        for (size_t at = 0; at <= found; at++) {
            size_t best = count;
            for (size_t i = 0; i < count; i++)
                if (!gone[i] && scores[i] > 2 && (best == count || scores[i] > scores[best]))
                    best = i;
            if (at == found) {
                CHECK(best == count || found == step);
                break;
            }
            CHECK(best == (size_t)kept[at]);
            CHECK(values[at] == scores[best]);
            for (size_t i = 0; i < count; i++)
                gone[i] |= i == best || overlaps[best * count + i] > 0.3f;
        }
    }
    test_guarded_free(&corners), test_guarded_free(&marks);
    test_guarded_free(&heap), test_guarded_free(&work);
}

static void crops_stay_within_the_image(void) {
    uint64_t random = 4;
    test_guarded from = test_guarded_new(SIDE * SIDE * 3 * sizeof(float));
    test_guarded to = test_guarded_new(WIDEST * WIDEST * 3 * sizeof(float));
    test_guarded columns = test_guarded_new(WIDEST * sizeof(fr_crop_column));
    for (int trial = 0; trial < TRIALS; trial++) {
        fr_crop crop = {.height = 1 + test_random(&random) % SIDE,
                        .width = 1 + test_random(&random) % SIDE,
                        .channels = 1 + test_random(&random) % 3,
                        .out_height = 1 + test_random(&random) % WIDEST,
                        .out_width = 1 + test_random(&random) % WIDEST,
                        .is_bytes = test_random(&random) % 2,
                        .nearest = test_random(&random) % 2,
                        .outside = -1};
        const size_t count = crop.height * crop.width * crop.channels;
        const size_t out_count = crop.out_height * crop.out_width * crop.channels;
        uint8_t *bytes = from.end - count;
        float *floats = (float *)(void *)from.end - count;
        float box[4], *out = (float *)(void *)to.end - out_count;
        for (int i = 0; i < 4; i++)
            box[i] = trial % 5 ? (float)(test_random(&random) % 9) / 4 - 0.5f
                               : test_random_float(&random);
        for (size_t i = 0; i < count; i++) {
            if (crop.is_bytes)
                bytes[i] = (uint8_t)test_random(&random);
            else
                floats[i] = (float)(test_random(&random) % 256);
        }
        fr_boxes_crop(&crop, crop.is_bytes ? (void *)bytes : floats, box,
                      (fr_crop_column *)(void *)columns.end - crop.out_width, out);
        for (size_t i = 0; i < out_count; i++)
            CHECK(out[i] == -1 || (out[i] >= 0 && out[i] <= 255));
    }
    test_guarded_free(&from), test_guarded_free(&to), test_guarded_free(&columns);
}

int main(void) {
    kept_boxes_are_the_best_that_do_not_overlap();
    crops_stay_within_the_image();
    puts("boxes: ok");
    return 0;
}
