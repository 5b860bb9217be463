/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/boxes.h"

#include <math.h>

#define LANES 16 /* kept boxes compared together */

static bool is_before(const fr_candidate *a, const fr_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->number < b->number);
}

/* Restores the order of a heap below `place`. */
static void sift_down(fr_candidate *heap, size_t count, size_t place) {
    const fr_candidate moved = heap[place];
    for (size_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && is_before(heap + child + 1, heap + child)) child++;
        if (!is_before(heap + child, &moved)) break;
        heap[place] = heap[child];
    }
    heap[place] = moved;
}

/* Computes the lower corner, the upper corner and the area of a box. */
static void measure(const float *box, float corner[5]) {
    for (int side = 0; side < 2; side++) {
        corner[side] = fminf(box[side], box[side + 2]);
        corner[side + 2] = fmaxf(box[side], box[side + 2]);
    }
    corner[4] = (corner[2] - corner[0]) * (corner[3] - corner[1]);
}

/* Returns the intersection over union with a kept box, whose five numbers are `step` apart. */
static inline float overlap_of(const float own[5], const float *kept, size_t step) {
    const float low_y = own[0] > kept[0] ? own[0] : kept[0];
    const float low_x = own[1] > kept[step] ? own[1] : kept[step];
    const float high_y = own[2] < kept[2 * step] ? own[2] : kept[2 * step];
    const float high_x = own[3] < kept[3 * step] ? own[3] : kept[3 * step];
    const float height = high_y - low_y, width = high_x - low_x;
    const float shared = (height > 0 ? height : 0) * (width > 0 ? width : 0);
    const float both = own[4] + kept[4 * step] - shared;
    return both > 0 ? shared / both : 0;
}

/* Returns true if the overlap with a kept box is above the limit. The loop over LANES boxes
   vectorises. */
static bool is_suppressed(const float own[5], const float *corners, size_t step, size_t count,
                          float limit) {
    size_t i = 0;
    for (; count - i >= LANES; i += LANES) {
        int beyond = 0;
        for (size_t j = 0; j < LANES; j++)
            beyond |= overlap_of(own, corners + i + j, step) > limit;
        if (beyond) return true;
    }
    for (; i < count; i++)
        if (overlap_of(own, corners + i, step) > limit) return true;
    return false;
}

/* Returns the score of a candidate after comparing it with the kept boxes that are new to it.
   The score is `least` or less if the candidate is suppressed. */
static float lowered_score(const fr_suppression *s, const fr_candidate *candidate,
                           const float own[5], const float *corners, size_t step,
                           const int32_t *kept, size_t count) {
    const bool soft = s->sigma > 0;
    const float scale = soft ? -0.5f / s->sigma : 0;
    float score = candidate->score;
    for (size_t i = count; i-- > candidate->begin;) {
        const float overlap = s->boxes
                                  ? overlap_of(own, corners + i, step)
                                  : s->overlaps[candidate->number * s->count + (size_t)kept[i]];
        if (overlap > s->limit && !soft) return -INFINITY;
        score = overlap <= s->limit ? score * expf(scale * overlap * overlap) : 0;
        if (score <= s->least) break;
    }
    return score;
}

size_t fr_boxes_suppress(const fr_suppression *s, fr_candidate *heap, float *corners, int32_t *kept,
                         float *kept_scores) {
    const size_t step = s->count < s->most ? s->count : s->most;
    const bool plain = s->boxes && !(s->sigma > 0);
    size_t waiting = 0, count = 0;
    float own[5] = {0};
    for (uint32_t i = 0; i < s->count; i++)
        if (s->scores[i] > s->least) heap[waiting++] = (fr_candidate){s->scores[i], i, 0};
    for (size_t i = waiting / 2; i-- > 0;)
        sift_down(heap, waiting, i);
    while (waiting && count < step) {
        fr_candidate best = heap[0];
        if (s->boxes) measure(s->boxes + 4 * (size_t)best.number, own);
        float score = best.score;
        if (!plain)
            score = lowered_score(s, &best, own, corners, step, kept, count);
        else if (is_suppressed(own, corners, step, count, s->limit))
            score = -INFINITY;
        if (score != best.score && score > s->least) {
            heap[0].score = score;
            heap[0].begin = (uint32_t)count;
        } else
            heap[0] = heap[--waiting];
        if (waiting) sift_down(heap, waiting, 0);
        if (score != best.score) continue;
        for (size_t i = 0; s->boxes && i < 5; i++)
            corners[i * step + count] = own[i];
        kept[count] = (int32_t)best.number;
        kept_scores[count++] = score;
    }
    return count;
}

/* Returns the position of row or column `i` of `count` in an image of `size`. */
static float place_of(float first, float last, size_t size, size_t count, size_t i) {
    const float most = (float)(size - 1);
    if (count == 1) return 0.5f * (first + last) * most;
    return first * most + (float)i * ((last - first) * most / (float)(count - 1));
}

/* Returns the source pixels of a row or column. */
static fr_crop_column column_of(float at, size_t size, bool nearest) {
    fr_crop_column column = {0, 0, -1};
    if (!(at >= 0 && at <= (float)(size - 1))) return column;
    column.left = (uint32_t)floorf(nearest ? at + 0.5f : at);
    column.right = nearest ? column.left : (uint32_t)ceilf(at);
    column.share = nearest ? 0 : at - (float)column.left;
    return column;
}

#define ROW_OF(type, name)                                                                         \
    static void name(const fr_crop *crop, const type *above, const type *below, float share,       \
                     const fr_crop_column *columns, float *out) {                                  \
        const size_t channels = crop->channels;                                                    \
        for (size_t x = 0; x < crop->out_width; x++, out += channels) {                            \
            const fr_crop_column at = columns[x];                                                  \
            if (at.share < 0) {                                                                    \
                for (size_t c = 0; c < channels; c++)                                              \
                    out[c] = crop->outside;                                                        \
                continue;                                                                          \
            }                                                                                      \
            const size_t left = at.left * channels, right = at.right * channels;                   \
            for (size_t c = 0; c < channels; c++) {                                                \
                const float one = (float)above[left + c], other = (float)below[left + c];          \
                const float up = one + ((float)above[right + c] - one) * at.share;                 \
                const float down = other + ((float)below[right + c] - other) * at.share;           \
                out[c] = up + (down - up) * share;                                                 \
            }                                                                                      \
        }                                                                                          \
    }

ROW_OF(uint8_t, row_of_bytes)
ROW_OF(float, row_of_floats)

void fr_boxes_crop(const fr_crop *crop, const void *image, const float *box,
                   fr_crop_column *columns, float *out) {
    const size_t row = crop->width * crop->channels, out_row = crop->out_width * crop->channels;
    for (size_t x = 0; x < crop->out_width; x++)
        columns[x] = column_of(place_of(box[1], box[3], crop->width, crop->out_width, x),
                               crop->width, crop->nearest);
    for (size_t y = 0; y < crop->out_height; y++, out += out_row) {
        const fr_crop_column at =
            column_of(place_of(box[0], box[2], crop->height, crop->out_height, y), crop->height,
                      crop->nearest);
        if (at.share < 0)
            for (size_t i = 0; i < out_row; i++)
                out[i] = crop->outside;
        else if (crop->is_bytes)
            row_of_bytes(crop, (const uint8_t *)image + at.left * row,
                         (const uint8_t *)image + at.right * row, at.share, columns, out);
        else
            row_of_floats(crop, (const float *)image + at.left * row,
                          (const float *)image + at.right * row, at.share, columns, out);
    }
}

/* Returns the pixel at a fraction of a side. A pixel far outside the image is moved to just
   outside. */
static int64_t pixel_of(float fraction, size_t size) {
    const float at = fraction * (float)(size - 1), most = (float)size;
    if (!(at > -1)) return -1;
    return at < most ? (int64_t)at : (int64_t)size;
}

/* Sets `count` pixels, `step` floats apart. */
static void draw_line(float *pixel, int64_t count, size_t step, size_t channels,
                      const float *colour) {
    for (; count > 0; count--, pixel += step)
        for (size_t c = 0; c < channels; c++)
            pixel[c] = colour[c];
}

void fr_boxes_outline(float *image, size_t height, size_t width, size_t channels, const float *box,
                      const float *colour) {
    const int64_t rows = (int64_t)height, columns = (int64_t)width;
    const int64_t top = pixel_of(box[0], height), left = pixel_of(box[1], width);
    const int64_t bottom = pixel_of(box[2], height), right = pixel_of(box[3], width);
    if (top > bottom || left > right || top >= rows || bottom < 0 || left >= columns || right < 0)
        return;
    const int64_t first_row = top < 0 ? 0 : top, first_column = left < 0 ? 0 : left;
    const int64_t last_row = bottom < rows ? bottom : rows - 1;
    const int64_t last_column = right < columns ? right : columns - 1;
    const int64_t down = last_row - first_row + 1, along = last_column - first_column + 1;
    float *const corner = image + ((size_t)first_row * width + (size_t)first_column) * channels;
    const size_t row = width * channels;
    if (top >= 0) draw_line(corner, along, channels, channels, colour);
    if (bottom < rows)
        draw_line(corner + (size_t)(down - 1) * row, along, channels, channels, colour);
    if (left >= 0) draw_line(corner, down, row, channels, colour);
    if (right < columns)
        draw_line(corner + (size_t)(along - 1) * channels, down, row, channels, colour);
}
