/* SPDX-License-Identifier: Apache-2.0 */
#include "example/event.h"

#define SIZED(field) FR_TAG(field, FR_WIRE_SIZED)
#define VARINT(field) FR_TAG(field, FR_WIRE_VARINT)
#define FIXED32(field) FR_TAG(field, FR_WIRE_FIXED32)
#define FIXED64(field) FR_TAG(field, FR_WIRE_FIXED64)

/* tensorflow.DataType */
enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_INT64 = 9 };

static double as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A tensor while it is read: how many numbers it has, and the last of them. */
typedef struct {
    uint64_t dtype, count;
    fr_span content;
    double number;
} tensor;

/* float_val, packed or not. */
static const uint8_t *read_floats(tensor *self, const uint8_t *p, const uint8_t *end,
                                  uint32_t tag) {
    fr_span packed = {p, 4};
    if (tag == SIZED(5)) {
        if (!(p = fr_wire_sized(p, end, &packed)) || packed.size % 4) return NULL;
    } else {
        if (end - p < 4) return NULL;
        p += 4;
    }
    self->count += packed.size / 4;
    if (packed.size) self->number = as_float(fr_load_u32(packed.data + packed.size - 4));
    return p;
}

/* double_val, packed or not. */
static const uint8_t *read_doubles(tensor *self, const uint8_t *p, const uint8_t *end,
                                   uint32_t tag) {
    fr_span packed = {p, 8};
    if (tag == SIZED(6)) {
        if (!(p = fr_wire_sized(p, end, &packed)) || packed.size % 8) return NULL;
    } else {
        if (end - p < 8) return NULL;
        p += 8;
    }
    self->count += packed.size / 8;
    if (packed.size) self->number = as_double(fr_load_u64(packed.data + packed.size - 8));
    return p;
}

/* int_val or int64_val, packed or not. */
static const uint8_t *read_integers(tensor *self, const uint8_t *p, const uint8_t *end,
                                    uint32_t tag) {
    uint64_t value;
    if ((tag & 7) == FR_WIRE_VARINT) {
        if (!(p = fr_wire_varint(p, end, &value))) return NULL;
        self->count++;
        self->number = (double)(int64_t)value;
        return p;
    }
    fr_span packed;
    if (!(p = fr_wire_sized(p, end, &packed))) return NULL;
    const uint8_t *at = packed.data, *stop = packed.data + packed.size;
    while (at < stop) {
        if (!(at = fr_wire_varint(at, stop, &value))) return NULL;
        self->count++;
        self->number = (double)(int64_t)value;
    }
    return p;
}

/* The number in tensor_content, when it holds exactly one. */
static bool number_of_content(const tensor *self, double *number) {
    fr_span content = self->content;
    if (content.size == 4 && self->dtype == DT_FLOAT)
        *number = as_float(fr_load_u32(content.data));
    else if (content.size == 4 && self->dtype == DT_INT32)
        *number = (double)(int32_t)fr_load_u32(content.data);
    else if (content.size == 8 && self->dtype == DT_DOUBLE)
        *number = as_double(fr_load_u64(content.data));
    else if (content.size == 8 && self->dtype == DT_INT64)
        *number = (double)(int64_t)fr_load_u64(content.data);
    else
        return false;
    return true;
}

/* A field of a TensorProto after its tag. */
static const uint8_t *read_tensor_field(tensor *self, const uint8_t *p, const uint8_t *end,
                                        uint32_t tag) {
    switch (tag) {
        case VARINT(1):
            return fr_wire_varint(p, end, &self->dtype);
        case SIZED(4):
            return fr_wire_sized(p, end, &self->content);
        case SIZED(5):
        case FIXED32(5):
            return read_floats(self, p, end, tag);
        case SIZED(6):
        case FIXED64(6):
            return read_doubles(self, p, end, tag);
        case SIZED(7):
        case VARINT(7):
        case SIZED(10):
        case VARINT(10):
            return read_integers(self, p, end, tag);
        default:
            return fr_wire_skip(p, end, tag);
    }
}

/* Whether a TensorProto is valid so far as it was read, and of which kind the value is. */
static bool read_tensor(fr_span bytes, fr_event_value *value) {
    tensor self = {0};
    const uint8_t *p = bytes.data, *end = p + bytes.size;
    while (p < end) {
        uint32_t tag;
        if (!(p = fr_wire_tag(p, end, &tag))) return false;
        if (!(p = read_tensor_field(&self, p, end, tag))) return false;
    }
    bool alone = self.count <= 1; /* values that are left out are 0 */
    if (self.content.size) alone = self.count == 0 && number_of_content(&self, &self.number);
    alone = alone && (self.dtype == DT_FLOAT || self.dtype == DT_DOUBLE || self.dtype == DT_INT32 ||
                      self.dtype == DT_INT64);
    value->kind = alone ? FR_EVENT_NUMBER : FR_EVENT_TENSOR;
    value->number = alone ? self.number : 0;
    return true;
}

static fr_event_place place_of(fr_span bytes, const uint8_t *base) {
    return (fr_event_place){(uint32_t)(bytes.data - base), (uint32_t)bytes.size};
}

/* Field 1, which is sized; `found` stays as it was where there is none. */
static bool read_first(fr_span message, fr_span *found) {
    const uint8_t *p = message.data, *end = p + message.size;
    while (p < end) {
        uint32_t tag;
        if (!(p = fr_wire_tag(p, end, &tag))) return false;
        p = tag == SIZED(1) ? fr_wire_sized(p, end, found) : fr_wire_skip(p, end, tag);
        if (!p) return false;
    }
    return true;
}

/* SummaryMetadata: the name of the plugin. */
static bool read_metadata(fr_span metadata, const uint8_t *base, fr_event_value *value) {
    fr_span plugin = {metadata.data, 0}, name = plugin;
    if (!read_first(metadata, &plugin) || !read_first(plugin, &name)) return false;
    value->plugin = place_of(name, base);
    return true;
}

static fr_event_kind kind_of(uint32_t tag) {
    switch (tag) {
        case SIZED(4):
            return FR_EVENT_IMAGE;
        case SIZED(5):
            return FR_EVENT_HISTOGRAM;
        case SIZED(6):
            return FR_EVENT_AUDIO;
        default:
            return FR_EVENT_OTHER;
    }
}

/* A field of Summary.Value after its tag. */
static const uint8_t *read_value_field(const uint8_t *p, const uint8_t *end, uint32_t tag,
                                       const uint8_t *base, fr_event_value *value) {
    fr_span bytes;
    if (tag == FIXED32(2)) {
        if (end - p < 4) return NULL;
        value->kind = FR_EVENT_SCALAR;
        value->number = as_float(fr_load_u32(p));
        return p + 4;
    }
    if ((tag & 7) != FR_WIRE_SIZED) return fr_wire_skip(p, end, tag);
    if (!(p = fr_wire_sized(p, end, &bytes))) return NULL;
    if (tag == SIZED(1)) {
        value->tag = place_of(bytes, base);
    } else if (tag == SIZED(9)) {
        if (!read_metadata(bytes, base, value)) return NULL;
    } else if (tag == SIZED(8)) {
        if (!read_tensor(bytes, value)) return NULL;
        value->payload = place_of(bytes, base);
    } else if (kind_of(tag) != FR_EVENT_OTHER) {
        value->kind = (uint32_t)kind_of(tag);
        value->payload = place_of(bytes, base);
    }
    return p;
}

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid Event of TensorBoard");
}

static int add_value(fr_span bytes, const uint8_t *base, fr_buffer *values, fr_error *err) {
    fr_event_value value = {0};
    const uint8_t *p = bytes.data, *end = p + bytes.size;
    while (p < end) {
        uint32_t tag;
        if (!(p = fr_wire_tag(p, end, &tag))) return malformed(err);
        if (!(p = read_value_field(p, end, tag, base, &value))) return malformed(err);
    }
    return fr_buffer_append(values, &value, sizeof value, err);
}

static int add_summary(fr_span summary, const uint8_t *base, fr_buffer *values, fr_error *err) {
    const uint8_t *p = summary.data, *end = p + summary.size;
    while (p < end) {
        uint32_t tag;
        fr_span bytes;
        if (!(p = fr_wire_tag(p, end, &tag))) return malformed(err);
        if (tag != SIZED(1)) {
            if (!(p = fr_wire_skip(p, end, tag))) return malformed(err);
            continue;
        }
        if (!(p = fr_wire_sized(p, end, &bytes))) return malformed(err);
        FR_TRY(add_value(bytes, base, values, err));
    }
    return FR_OK;
}

/* The fields of an Event: its time and step, and its values, which get them afterwards. */
static int add_event(fr_span record, double *wall_time, int64_t *step, fr_buffer *values,
                     fr_error *err) {
    const uint8_t *p = record.data, *end = p + record.size;
    while (p < end) {
        uint32_t tag;
        uint64_t number;
        fr_span summary;
        if (!(p = fr_wire_tag(p, end, &tag))) return malformed(err);
        if (tag == FIXED64(1)) {
            if (end - p < 8) return malformed(err);
            *wall_time = as_double(fr_load_u64(p));
            p += 8;
        } else if (tag == VARINT(2)) {
            if (!(p = fr_wire_varint(p, end, &number))) return malformed(err);
            *step = (int64_t)number;
        } else if (tag == SIZED(5)) {
            if (!(p = fr_wire_sized(p, end, &summary))) return malformed(err);
            FR_TRY(add_summary(summary, record.data, values, err));
        } else if (!(p = fr_wire_skip(p, end, tag))) {
            return malformed(err);
        }
    }
    return FR_OK;
}

int fr_event_parse(fr_span record, uint32_t number, fr_buffer *values, fr_error *err) {
    size_t before = values->size;
    double wall_time = 0;
    int64_t step = 0;
    if (record.size > INT32_MAX)
        return fr_fail(err, FR_ERR_MALFORMED, "%zu bytes are more than a protobuf message can have",
                       record.size);
    int status = add_event(record, &wall_time, &step, values, err);
    if (status != FR_OK) {
        values->size = before;
        if (err) err->record = number;
        return status;
    }
    for (size_t at = before; at < values->size; at += sizeof(fr_event_value)) {
        fr_event_value *value = (fr_event_value *)(void *)(values->data + at);
        value->wall_time = wall_time;
        value->step = step;
        value->record = number;
    }
    return FR_OK;
}
