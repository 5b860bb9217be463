/* SPDX-License-Identifier: Apache-2.0 */
#include "example/event.h"

#define SIZED(field) FR_TAG(field, FR_WIRE_SIZED)
#define VARINT(field) FR_TAG(field, FR_WIRE_VARINT)
#define FIXED32(field) FR_TAG(field, FR_WIRE_FIXED32)
#define FIXED64(field) FR_TAG(field, FR_WIRE_FIXED64)

/* Values of tensorflow.DataType. */
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

static uint64_t as_varint(fr_span bytes) {
    uint64_t value = 0;
    fr_wire_varint(bytes.data, bytes.data + bytes.size, &value);
    return value;
}

/* The state of reading a tensor: the count of its numbers, and the last of them. */
typedef struct {
    uint64_t dtype, count;
    fr_span content;
    double number;
} tensor;

/* Reads float_val and double_val, packed or not: numbers of `size` bytes. */
static bool read_floats(tensor *self, fr_span packed, size_t size) {
    if (packed.size % size) return false;
    if (packed.size == 0) return true;
    const uint8_t *last = packed.data + packed.size - size;
    self->count += packed.size / size;
    self->number = size == 4 ? as_float(fr_load_u32(last)) : as_double(fr_load_u64(last));
    return true;
}

/* Reads int_val and int64_val, packed or not. */
static bool read_integers(tensor *self, fr_span packed) {
    const uint8_t *p = packed.data, *end = packed.data + packed.size;
    while (p < end) {
        uint64_t value;
        if (!(p = fr_wire_varint(p, end, &value))) return false;
        self->count++;
        self->number = (double)(int64_t)value;
    }
    return true;
}

/* Reads the number in tensor_content if it holds exactly one. */
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

static bool read_tensor_field(tensor *self, fr_wire_field field) {
    switch (field.tag) {
        case VARINT(1):
            self->dtype = as_varint(field.bytes);
            return true;
        case SIZED(4):
            self->content = field.bytes;
            return true;
        case SIZED(5):
        case FIXED32(5):
            return read_floats(self, field.bytes, 4);
        case SIZED(6):
        case FIXED64(6):
            return read_floats(self, field.bytes, 8);
        case SIZED(7):
        case VARINT(7):
        case SIZED(10):
        case VARINT(10):
            return read_integers(self, field.bytes);
        default:
            return true;
    }
}

/* Reads a TensorProto, and sets the kind of the value. Returns false if it is malformed. */
static bool read_tensor(fr_span bytes, fr_event_value *value) {
    tensor self = {0};
    fr_wire_fields fields = fr_wire_begin(bytes);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (!read_tensor_field(&self, field)) return false;
    if (fr_wire_malformed(&fields)) return false;
    bool alone = self.count <= 1; /* omitted values are 0 */
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

/* Reads field 1, which is sized; leaves `found` unchanged if the message lacks it. */
static bool read_first(fr_span message, fr_span *found) {
    fr_wire_fields fields = fr_wire_begin(message);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (field.tag == SIZED(1)) *found = field.bytes;
    return !fr_wire_malformed(&fields);
}

/* Reads the name of the plugin from SummaryMetadata. */
static bool read_metadata(fr_span metadata, const uint8_t *base, fr_event_value *value) {
    fr_span plugin = {metadata.data, 0}, name = plugin;
    if (!read_first(metadata, &plugin) || !read_first(plugin, &name)) return false;
    value->plugin = place_of(name, base);
    return true;
}

/* Reads a field of Summary.Value. */
static bool read_value_field(fr_wire_field field, const uint8_t *base, fr_event_value *value) {
    fr_event_place place = place_of(field.bytes, base);
    switch (field.tag) {
        case SIZED(1):
            value->tag = place;
            return true;
        case FIXED32(2):
            value->kind = FR_EVENT_SCALAR;
            value->number = as_float(fr_load_u32(field.bytes.data));
            return true;
        case SIZED(4):
            value->kind = FR_EVENT_IMAGE;
            break;
        case SIZED(5):
            value->kind = FR_EVENT_HISTOGRAM;
            break;
        case SIZED(6):
            value->kind = FR_EVENT_AUDIO;
            break;
        case SIZED(8):
            if (!read_tensor(field.bytes, value)) return false;
            break;
        case SIZED(9):
            return read_metadata(field.bytes, base, value);
        default:
            return true;
    }
    value->payload = place;
    return true;
}

static int malformed(fr_error *err) {
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid Event of TensorBoard");
}

static int add_value(fr_span bytes, const uint8_t *base, fr_buffer *values, fr_error *err) {
    fr_event_value value = {0};
    fr_wire_fields fields = fr_wire_begin(bytes);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (!read_value_field(field, base, &value)) return malformed(err);
    if (fr_wire_malformed(&fields)) return malformed(err);
    return fr_buffer_append(values, &value, sizeof value, err);
}

static int add_summary(fr_span summary, const uint8_t *base, fr_buffer *values, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(summary);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field))
        if (field.tag == SIZED(1)) FR_TRY(add_value(field.bytes, base, values, err));
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
}

/* Appends the values of an Event, with its time and step as far as these are known. */
static int add_event(fr_span record, double *wall_time, int64_t *step, fr_buffer *values,
                     fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(record);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        if (field.tag == FIXED64(1)) *wall_time = as_double(fr_load_u64(field.bytes.data));
        if (field.tag == VARINT(2)) *step = (int64_t)as_varint(field.bytes);
        if (field.tag == SIZED(5)) FR_TRY(add_summary(field.bytes, record.data, values, err));
    }
    return fr_wire_malformed(&fields) ? malformed(err) : FR_OK;
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
