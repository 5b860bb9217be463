/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/row_fill.h"

static uint64_t part_length(const fr_row_part *part, uint32_t document) {
    return part->values ? (uint64_t)(part->splits[document + 1] - part->splits[document]) : 1;
}

int fr_row_layout_check(const fr_row_layout *layout, fr_error *err) {
    for (uint32_t row = 0; row < layout->rows; row++) {
        uint64_t used = 0;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            const fr_segment *segment = &layout->segments[i];
            uint64_t tokens = 0;
            for (size_t p = 0; p < layout->part_count && segment->document < layout->documents; p++)
                tokens += part_length(&layout->parts[p], segment->document);
            if ((uint64_t)segment->begin + segment->length > tokens)
                return fr_fail(err, FR_ERR_ARG, "segment %u is not within its document", i);
            used += segment->length;
        }
        if (used > layout->length)
            return fr_fail(err, FR_ERR_ARG, "row %u has %llu tokens, and space for %u", row,
                           (unsigned long long)used, layout->length);
    }
    return FR_OK;
}

/* The tokens of a segment that belong to one part: `count` tokens, from number `first` of the
   part, at `place` in the segment. */
typedef struct {
    uint64_t first, place, count;
} stretch;

static stretch stretch_of(const fr_segment *segment, uint64_t part_begin, uint64_t part_size) {
    const uint64_t begin = segment->begin > part_begin ? segment->begin : part_begin;
    const uint64_t segment_end = (uint64_t)segment->begin + segment->length;
    const uint64_t part_end = part_begin + part_size;
    const uint64_t end = segment_end < part_end ? segment_end : part_end;
    if (end <= begin) return (stretch){0};
    return (stretch){begin - part_begin, begin - segment->begin, end - begin};
}

static void fill_elements(uint8_t *out, const uint8_t *element, size_t item, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        memcpy(out + i * item, element, item);
}

static int fill_segment(const fr_row_layout *layout, const fr_segment *segment, fr_dtype dtype,
                        uint8_t *out, fr_error *err) {
    const size_t item = fr_dtype_size(dtype);
    uint64_t part_begin = 0;
    for (size_t p = 0; p < layout->part_count; p++) {
        const fr_row_part *part = &layout->parts[p];
        const uint64_t size = part_length(part, segment->document);
        const stretch some = stretch_of(segment, part_begin, size);
        const int64_t *values = &part->constant;
        if (part->values) values = part->values + part->splits[segment->document] + some.first;
        const int status =
            fr_dtype_from_int64(out + some.place * item, dtype, values, some.count, err);
        if (status != FR_OK && err) err->record = segment->document;
        FR_TRY(status);
        part_begin += size;
    }
    return FR_OK;
}

int fr_row_fill_tokens(const fr_row_layout *layout, fr_dtype dtype, int64_t pad, uint8_t *out,
                       fr_error *err) {
    const size_t item = fr_dtype_size(dtype);
    uint8_t padding[sizeof(int64_t)];
    FR_TRY(fr_dtype_from_int64(padding, dtype, &pad, 1, err));
    for (uint32_t row = 0; row < layout->rows; row++) {
        size_t place = (size_t)row * layout->length;
        const size_t end = place + layout->length;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            FR_TRY(fill_segment(layout, &layout->segments[i], dtype, out + place * item, err));
            place += layout->segments[i].length;
        }
        fill_elements(out + place * item, padding, item, end - place);
    }
    return FR_OK;
}

void fr_row_fill_segments(const fr_row_layout *layout, int32_t *segments, int32_t *positions) {
    for (uint32_t row = 0; row < layout->rows; row++) {
        size_t place = (size_t)row * layout->length;
        const size_t end = place + layout->length;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            const int32_t length = (int32_t)layout->segments[i].length;
            const int32_t number = (int32_t)(i - layout->splits[row]) + 1;
            for (int32_t t = 0; t < length; t++) {
                segments[place + (size_t)t] = number;
                positions[place + (size_t)t] = t;
            }
            place += (size_t)length;
        }
        memset(segments + place, 0, (end - place) * sizeof *segments);
        memset(positions + place, 0, (end - place) * sizeof *positions);
    }
}

void fr_row_fill_loss(const fr_row_layout *layout, uint8_t *out) {
    memset(out, 0, (size_t)layout->rows * layout->length);
    for (uint32_t row = 0; row < layout->rows; row++) {
        size_t place = (size_t)row * layout->length;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            const fr_segment *segment = &layout->segments[i];
            uint64_t part_begin = 0;
            for (size_t p = 0; p < layout->part_count; p++) {
                const uint64_t size = part_length(&layout->parts[p], segment->document);
                const stretch some = stretch_of(segment, part_begin, size);
                memset(out + place + some.place, layout->parts[p].has_loss, some.count);
                part_begin += size;
            }
            place += segment->length;
        }
    }
}

/* Copies the elements of a segment, and writes `pad` for its constant parts. */
static void align_segment(const fr_row_layout *layout, const fr_segment *segment,
                          const uint8_t *values, size_t item, const uint8_t *pad, uint8_t *out) {
    uint64_t part_begin = 0, before = 0;
    for (size_t p = 0; p < layout->part_count; p++) {
        const fr_row_part *part = &layout->parts[p];
        const uint64_t size = part_length(part, segment->document);
        const stretch some = stretch_of(segment, part_begin, size);
        if (part->values)
            memcpy(out + some.place * item, values + (before + some.first) * item,
                   some.count * item);
        else
            fill_elements(out + some.place * item, pad, item, some.count);
        before += part->values ? size : 0;
        part_begin += size;
    }
}

void fr_row_fill_aligned(const fr_row_layout *layout, const uint8_t *values, const int64_t *splits,
                         size_t item, const uint8_t *pad, uint8_t *out) {
    for (uint32_t row = 0; row < layout->rows; row++) {
        size_t place = (size_t)row * layout->length;
        const size_t end = place + layout->length;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            const fr_segment *segment = &layout->segments[i];
            const uint8_t *own = values + (size_t)splits[segment->document] * item;
            align_segment(layout, segment, own, item, pad, out + place * item);
            place += segment->length;
        }
        fill_elements(out + place * item, pad, item, end - place);
    }
}

size_t fr_row_fill_boundaries(const fr_row_layout *layout, int32_t *out) {
    size_t count = 0;
    for (uint32_t row = 0; row < layout->rows; row++) {
        size_t place = (size_t)row * layout->length;
        const size_t end = place + layout->length;
        for (uint32_t i = layout->splits[row]; i < layout->splits[row + 1]; i++) {
            out[count++] = (int32_t)place;
            place += layout->segments[i].length;
        }
        if (place < end) out[count++] = (int32_t)place;
    }
    out[count++] = (int32_t)((size_t)layout->rows * layout->length);
    return count;
}
