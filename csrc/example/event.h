/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary values of TensorBoard's Event messages, one row each.
 *
 * Of fields that occur more than once the last counts. What a payload holds is looked at only as
 * far as it takes to find a single number in a tensor.
 */
#ifndef FASTREC_EVENT_H
#define FASTREC_EVENT_H

#include "format/wire.h"

typedef enum {
    FR_EVENT_OTHER = 0,
    FR_EVENT_SCALAR,    /* a simple_value; no payload */
    FR_EVENT_NUMBER,    /* a tensor of exactly one number */
    FR_EVENT_TENSOR,    /* any other tensor */
    FR_EVENT_HISTOGRAM, /* a HistogramProto */
    FR_EVENT_IMAGE,     /* a Summary.Image */
    FR_EVENT_AUDIO      /* a Summary.Audio */
} fr_event_kind;

/* Where bytes are: from the beginning of their record. */
typedef struct {
    uint32_t offset, size;
} fr_event_place;

typedef struct {
    double wall_time;
    int64_t step;
    double number; /* of FR_EVENT_SCALAR and FR_EVENT_NUMBER */
    uint32_t record;
    uint32_t kind; /* fr_event_kind */
    fr_event_place tag, plugin, payload;
} fr_event_value;

/* Appends the values of a record, the `number`th of those parsed, to a buffer of fr_event_value.
   FR_ERR_MALFORMED when it is no Event; the buffer is then as it was. */
FR_NODISCARD int fr_event_parse(fr_span record, uint32_t number, fr_buffer *values, fr_error *err);

static inline size_t fr_event_count(const fr_buffer *values) {
    return values->size / sizeof(fr_event_value);
}

static inline const fr_event_value *fr_event_at(const fr_buffer *values, size_t index) {
    return (const fr_event_value *)(const void *)values->data + index;
}

#endif
