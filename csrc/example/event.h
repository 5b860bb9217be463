/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the summary values of TensorBoard's Event messages, one row per value.
 *
 * If a field occurs more than once, the last occurrence counts. A payload is read only as far as
 * needed to find a single number in a tensor.
 */
#ifndef FASTREC_EVENT_H
#define FASTREC_EVENT_H

#include "format/wire.h"

typedef enum {
    FR_EVENT_OTHER = 0,
    FR_EVENT_SCALAR,    /* a simple_value without payload */
    FR_EVENT_NUMBER,    /* a tensor of exactly one number */
    FR_EVENT_TENSOR,    /* any other tensor */
    FR_EVENT_HISTOGRAM, /* a HistogramProto */
    FR_EVENT_IMAGE,     /* a Summary.Image */
    FR_EVENT_AUDIO      /* a Summary.Audio */
} fr_event_kind;

/* A range of bytes, relative to the start of its record. */
typedef struct {
    uint32_t offset, size;
} fr_event_place;

typedef struct {
    double wall_time;
    int64_t step;
    double number; /* value of FR_EVENT_SCALAR and FR_EVENT_NUMBER */
    uint32_t record;
    uint32_t kind; /* fr_event_kind */
    fr_event_place tag, plugin, payload;
} fr_event_value;

/* Appends the values of record `number` to a buffer of fr_event_value. Returns FR_ERR_MALFORMED if
   it is not an Event; the buffer is then unchanged. */
FR_NODISCARD int fr_event_parse(fr_span record, uint32_t number, fr_buffer *values, fr_error *err);

static inline size_t fr_event_count(const fr_buffer *values) {
    return values->size / sizeof(fr_event_value);
}

static inline const fr_event_value *fr_event_at(const fr_buffer *values, size_t index) {
    return (const fr_event_value *)(const void *)values->data + index;
}

#endif
