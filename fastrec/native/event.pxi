# SPDX-License-Identifier: Apache-2.0


cdef int _interned(dict names, c.fr_span record, c.fr_event_place place) except -1:
    """Return the number of a name; a new name gets the next number."""
    name = PyBytes_FromStringAndSize(<const char *>record.data + place.offset, place.size)
    found = names.get(name)
    if found is None:
        found = names[name] = len(names)
    return found


@cython.final
cdef class EventParser:
    """Parses Event messages of TensorBoard to columns, with a row for each summary value.

    Tags and plugins are numbered in the order of their first occurrence in this parser.
    """

    cdef dict _tags
    cdef dict _plugins

    def __cinit__(self):
        self._tags, self._plugins = {}, {b"": 0}

    def tags(self):
        return list(self._tags)

    def plugins(self):
        return list(self._plugins)

    def parse(self, records):
        """Return columns wall_time, step, number, record, kind, tag, plugin, offset and size.

        The last two give the position of a value's payload within its record.
        """
        cdef Spans spans = Spans(records)
        cdef c.fr_buffer values
        cdef c.fr_error err
        cdef int status = c.FR_OK
        cdef size_t i
        memset(&values, 0, sizeof(values))
        try:
            with nogil:
                for i in range(spans.count):
                    status = c.fr_event_parse(spans.spans[i], <uint32_t>i, &values, &err)
                    if status != c.FR_OK:
                        break
            check(status, &err)
            return self._columns(spans, &values)
        finally:
            c.fr_buffer_free(&values)

    cdef dict _columns(self, Spans spans, const c.fr_buffer *values):
        cdef size_t count = c.fr_event_count(values), i
        cdef double[::1] wall_time = np.empty(count, np.float64)
        cdef int64_t[::1] step = np.empty(count, np.int64)
        cdef double[::1] number = np.empty(count, np.float64)
        cdef uint32_t[::1] record = np.empty(count, np.uint32)
        cdef uint8_t[::1] kind = np.empty(count, np.uint8)
        cdef int[::1] tag = np.empty(count, np.intc)
        cdef int[::1] plugin = np.empty(count, np.intc)
        cdef uint32_t[::1] offset = np.empty(count, np.uint32)
        cdef uint32_t[::1] size = np.empty(count, np.uint32)
        cdef const c.fr_event_value *value
        for i in range(count):
            value = c.fr_event_at(values, i)
            wall_time[i], step[i], number[i] = value.wall_time, value.step, value.number
            record[i], kind[i] = value.record, <uint8_t>value.kind
            offset[i], size[i] = value.payload.offset, value.payload.size
            tag[i] = _interned(self._tags, spans.spans[value.record], value.tag)
            plugin[i] = 0
            if value.plugin.size:
                plugin[i] = _interned(self._plugins, spans.spans[value.record], value.plugin)
        return {
            "wall_time": np.asarray(wall_time), "step": np.asarray(step),
            "number": np.asarray(number), "record": np.asarray(record), "kind": np.asarray(kind),
            "tag": np.asarray(tag), "plugin": np.asarray(plugin), "offset": np.asarray(offset),
            "size": np.asarray(size),
        }
