# SPDX-License-Identifier: Apache-2.0
# Encodes one mapping as one Example. Rows usually have the same features in the same order, so
# names, their bytes and their order are kept for the next row. Values of exactly the common types
# (numbers, strings, lists of numbers or strings, arrays that need no conversion) become fr_values
# here, without a Python object. This is a fast path with the same results as native_value(), which
# handles any other value and every error.

@cython.final
@cython.no_gc_clear
cdef class RowEncoder:
    """Encodes one mapping at a time; for one thread at a time."""

    cdef c.fr_value *values  # sorted by key
    cdef Slot *slots  # one for each value
    cdef size_t *places  # index of the value for the i-th name
    cdef Py_buffer *views
    cdef size_t count, view_count
    cdef list names, name_bytes, keep
    cdef dict specs
    cdef OwnedBuffer numbers, strings, out

    def __cinit__(self, dict specs=None):
        load_rule()
        self.specs = specs
        self.names = None
        self.keep = []
        self.numbers, self.strings, self.out = OwnedBuffer(), OwnedBuffer(), OwnedBuffer()

    def __dealloc__(self):
        self._free()

    cdef void _free(self):
        free(self.values)
        free(self.slots)
        free(self.places)
        free(self.views)
        self.values, self.slots, self.places, self.views = NULL, NULL, NULL, NULL
        self.names = None
        self.count = 0

    cdef int _plan(self, list names) except -1:
        """Prepare for rows with these features."""
        cdef size_t count = <size_t>len(names), place
        self._free()
        encoded = [name_of(name) for name in names]
        order = sorted(range(len(names)), key=encoded.__getitem__)
        for place in range(1, count):
            if encoded[order[place - 1]] == encoded[order[place]]:
                raise ValueError(f"feature {names[order[place]]!a}: given twice")
        if self.specs is not None:
            check_names(names, names, self.specs)
        self.values = <c.fr_value *>calloc(count + 1, sizeof(c.fr_value))
        self.slots = <Slot *>calloc(count + 1, sizeof(Slot))
        self.places = <size_t *>calloc(count + 1, sizeof(size_t))
        self.views = <Py_buffer *>calloc(count + 1, sizeof(Py_buffer))
        if not (self.values and self.slots and self.places and self.views):
            raise MemoryError
        for place in range(count):
            number = order[place]
            self.places[number] = place
            self.values[place].key = span_of(encoded[number])
            if self.specs is not None:
                self._plan_spec(&self.slots[place].spec, self.specs[names[number]])
        self.count = count
        self.names, self.name_bytes = names, encoded
        return 0

    cdef int _plan_spec(self, Wanted *wanted, spec) except -1:
        wanted.given = True
        wanted.kind = KINDS[spec.kind]
        wanted.ragged = spec.ragged
        wanted.plain = not spec.raw and spec.dtype in (np.int64, np.float32, object)
        wanted.rank, wanted.count = len(spec.shape), 1
        for dim in spec.shape:
            wanted.count *= dim
        return 0

    cdef bint _is_planned(self, list names):
        cdef size_t i
        if self.names is None or <size_t>len(names) != self.count:
            return False
        for i in range(self.count):
            if names[i] is not self.names[i] and names[i] != self.names[i]:
                return False
        return True

    cdef int _fill(self, mapping) except -1:
        cdef list names, values
        cdef size_t i
        if not isinstance(mapping, dict):
            mapping = dict(mapping)
        names, values = list((<dict>mapping).keys()), list((<dict>mapping).values())
        if not self._is_planned(names):
            self._plan(names)
        if <size_t>len(values) != self.count:
            raise RuntimeError("the mapping changed while it was encoded")
        self.keep.append(values)
        for i in range(self.count):
            self._add(self.places[i], names[i], values[i])
        self._settle()
        return 0

    cdef void _settle(self) noexcept:
        """Set pointers to memory that does not move any more."""
        cdef size_t i
        cdef int moves
        for i in range(self.count):
            moves = self.slots[i].moves
            if moves & NUMBERS_MOVE:
                self.values[i].values = \
                    self.numbers.buffer.data + <size_t>self.values[i].values
            if moves & STRINGS_MOVE:
                self.values[i].values = \
                    self.strings.buffer.data + <size_t>self.values[i].values
            if moves & OFFSETS_MOVE:
                self.values[i].offsets = <const int64_t *>(
                    self.numbers.buffer.data + <size_t>self.values[i].offsets)

    cdef void _reset(self):
        """Release the row's values."""
        cdef size_t i
        for i in range(self.view_count):
            PyBuffer_Release(&self.views[i])
        self.view_count = 0
        self.numbers.buffer.size = self.strings.buffer.size = 0
        if self.out.buffer.capacity > KEPT_SIZE:
            c.fr_buffer_free(&self.out.buffer)
        self.out.buffer.size = 0
        self.keep.clear()

    cdef int _encode(self, mapping, bint framed) except -1:
        cdef c.fr_error err
        cdef c.fr_rows rows
        cdef int status
        cdef size_t size = 0, i
        rows.begin, rows.end, rows.step = 0, 1, 1
        self._fill(mapping)
        for i in range(self.count):
            size += self.values[i].size
        if size < GIL_THRESHOLD:
            status = c.fr_encode_rows(self.values, self.count, rows, framed, &self.out.buffer,
                                      NULL, &err)
        else:
            with nogil:
                status = c.fr_encode_rows(self.values, self.count, rows, framed, &self.out.buffer,
                                          NULL, &err)
        return check_encoded(status, &err, False)

    def encode(self, mapping):
        """Encode a mapping as the bytes of an Example."""
        try:
            self._encode(mapping, False)
            return bytes_of(self.out.buffer.data, self.out.buffer.size)
        finally:
            self._reset()

    cdef int _add(self, size_t place, key, value) except -1:
        """Add a value, by the fast path if possible, otherwise by the general one."""
        cdef c.fr_value *v = &self.values[place]
        cdef Slot *slot = &self.slots[place]
        c.fr_value_clear(v)
        slot.moves = 0
        if self._add_fast(v, slot, value):
            return 0
        return self._add_any(v, slot, key, value)

    cdef int _add_any(self, c.fr_value *v, Slot *slot, key, value) except -1:
        slot.moves = 0
        return fill_value(
            v, key, native_value(key, value, None if self.specs is None else self.specs[key]),
            self.keep)

    cdef bint _add_fast(self, c.fr_value *v, Slot *slot, value) except -1:
        """Return False if the value needs the general path."""
        cdef Py_ssize_t size
        cdef const char *text
        if is_exact(value, float):
            return self._scalar_float(v, slot, PyFloat_AS_DOUBLE(value))
        if is_exact(value, int):
            return self._scalar_int(v, slot, value)
        if is_exact(value, ndarray):
            return self._array(v, slot, value)
        if is_exact(value, str):
            text = utf8_of(value, &size)
            return text != NULL and self._string(v, slot, <const uint8_t *>text, size)
        if is_exact(value, bytes):
            return self._string(v, slot, <const uint8_t *>PyBytes_AS_STRING(value),
                                PyBytes_GET_SIZE(value))
        if value is None:
            return not slot.spec.given
        if is_exact(value, bool):
            return self._scalar_int(v, slot, value)
        if is_exact(value, list):
            return self._list(v, slot, value)
        return self._scalar(v, slot, value)

    cdef bint _fits(self, Slot *slot, c.fr_kind kind, Py_ssize_t rank, Py_ssize_t count):
        """Return True if the specification accepts this kind and shape without conversion."""
        if not slot.spec.given:
            return True
        if not slot.spec.plain or slot.spec.kind != kind or rank > 1:
            return False
        return slot.spec.ragged or (slot.spec.rank == rank and slot.spec.count == count)

    cdef bint _scalar(self, c.fr_value *v, Slot *slot, value) except -1:
        """Add a NumPy scalar."""
        way = SCALARS.get(type(value))
        if way is None:
            return False
        if way == AS_INT:
            return self._scalar_int(v, slot, int(value))
        if way == AS_BOOL:
            return self._scalar_int(v, slot, bool(value))
        return self._scalar_float(v, slot, <double>value)

    cdef bint _scalar_int(self, c.fr_value *v, Slot *slot, value) except -1:
        cdef int overflow = 0
        if not self._fits(slot, c.FR_KIND_INT64, 0, 1):
            return False
        slot.scalar = PyLong_AsLongLongAndOverflow(value, &overflow)
        v.kind, v.dtype, v.count = c.FR_KIND_INT64, c.FR_INT64, 1
        v.values, v.size = <const uint8_t *>&slot.scalar, sizeof(slot.scalar)
        return not overflow

    cdef bint _scalar_float(self, c.fr_value *v, Slot *slot, double value):
        if not self._fits(slot, c.FR_KIND_FLOAT, 0, 1):
            return False
        memcpy(&slot.scalar, &value, sizeof(value))
        v.kind, v.dtype, v.count = c.FR_KIND_FLOAT, c.FR_FLOAT64, 1
        v.values, v.size = <const uint8_t *>&slot.scalar, sizeof(slot.scalar)
        return True

    cdef bint _string(self, c.fr_value *v, Slot *slot, const uint8_t *data, Py_ssize_t size):
        if not self._fits(slot, c.FR_KIND_BYTES, 0, 1):
            return False
        v.kind, v.dtype, v.count = c.FR_KIND_BYTES, c.FR_BYTES, 1
        v.values, v.size = data, <size_t>size
        v.element_size = <size_t>size
        return True

    cdef bint _array(self, c.fr_value *v, Slot *slot, value) except -1:
        """Add an array whose memory can be read without conversion."""
        cdef Py_buffer *view = &self.views[self.view_count]
        cdef int dtype
        try:
            PyObject_GetBuffer(value, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
        except (ValueError, BufferError, TypeError):
            return False
        self.view_count += 1
        dtype = code_of(view.format)
        if dtype < 0:
            return False
        if dtype == c.FR_UINT8 and view.ndim:
            return self._string(v, slot, <const uint8_t *>view.buf, view.len)
        v.kind = c.FR_KIND_FLOAT if dtype >= c.FR_FLOAT16 else c.FR_KIND_INT64
        v.dtype, v.count = <c.fr_dtype>dtype, <size_t>(view.len // view.itemsize)
        v.values, v.size = <const uint8_t *>view.buf, <size_t>view.len
        return self._fits(slot, v.kind, view.ndim, <Py_ssize_t>v.count)

    cdef bint _list(self, c.fr_value *v, Slot *slot, list items) except -1:
        if not items:
            return not slot.spec.given
        if slot.spec.given and not self._fits(slot, slot.spec.kind, 1, len(items)):
            return False
        if is_exact(items[0], int):
            return self._ints(v, slot, items)
        if is_exact(items[0], float):
            return self._floats(v, slot, items)
        if is_exact(items[0], bytes) or is_exact(items[0], str):
            return self._strings(v, slot, items)
        return False

    cdef int64_t *_room(self, size_t count) except NULL:
        """Append space for `count` numbers to the numbers of the row."""
        cdef c.fr_error err
        check(c.fr_buffer_reserve(&self.numbers.buffer, count * sizeof(int64_t), &err), &err)
        return <int64_t *>(self.numbers.buffer.data + self.numbers.buffer.size)

    cdef bint _took(self, c.fr_value *v, Slot *slot, c.fr_kind kind, size_t count):
        if slot.spec.given and slot.spec.kind != kind:
            return False
        v.kind, v.count = kind, count
        v.values = <const uint8_t *><size_t>self.numbers.buffer.size
        v.size = count * sizeof(int64_t)
        self.numbers.buffer.size += v.size
        slot.moves = NUMBERS_MOVE
        return True

    cdef bint _ints(self, c.fr_value *v, Slot *slot, list items) except -1:
        cdef size_t count = <size_t>len(items), i
        cdef int64_t *out = self._room(count)
        cdef int overflow = 0
        for i in range(count):
            item = items[i]
            if not is_exact(item, int):
                return False
            out[i] = PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow:
                return False
        v.dtype = c.FR_INT64
        return self._took(v, slot, c.FR_KIND_INT64, count)

    cdef bint _floats(self, c.fr_value *v, Slot *slot, list items) except -1:
        cdef size_t count = <size_t>len(items), i
        cdef double *out = <double *>self._room(count)
        for i in range(count):
            item = items[i]
            if not is_exact(item, float):
                return False
            out[i] = PyFloat_AS_DOUBLE(item)
        v.dtype = c.FR_FLOAT64
        return self._took(v, slot, c.FR_KIND_FLOAT, count)

    cdef bint _strings(self, c.fr_value *v, Slot *slot, list items) except -1:
        cdef size_t count = <size_t>len(items), i, start = self.strings.buffer.size
        cdef int64_t *offsets = self._room(count + 1)
        cdef Py_ssize_t size
        cdef const char *text
        cdef c.fr_error err
        if slot.spec.given and slot.spec.kind != c.FR_KIND_BYTES:
            return False
        offsets[0] = 0
        for i in range(count):
            item = items[i]
            if is_exact(item, bytes):
                text, size = PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item)
            elif is_exact(item, str):
                text = utf8_of(item, &size)
                if text == NULL:
                    return False
            else:
                return False
            check(c.fr_buffer_append(&self.strings.buffer, text, <size_t>size, &err), &err)
            offsets[i + 1] = <int64_t>(self.strings.buffer.size - start)
        v.kind, v.dtype, v.count, v.elements = c.FR_KIND_BYTES, c.FR_BYTES, count, count
        v.values, v.size = <const uint8_t *>start, self.strings.buffer.size - start
        v.offsets = <const int64_t *><size_t>self.numbers.buffer.size
        self.numbers.buffer.size += (count + 1) * sizeof(int64_t)
        slot.moves = STRINGS_MOVE | OFFSETS_MOVE
        return True


@cython.final
cdef class ExampleEncoder:
    """Encodes mappings as Examples. Thread-safe and reentrant."""

    cdef list idle
    cdef dict specs

    def __cinit__(self, dict specs=None):
        self.idle = []
        self.specs = specs

    cdef RowEncoder _idle(self):
        try:
            return self.idle.pop()
        except IndexError:
            return RowEncoder(self.specs)

    def encode(self, mapping):
        cdef RowEncoder encoder = self._idle()
        try:
            return encoder.encode(mapping)
        finally:
            self.idle.append(encoder)

    def write(self, RecordWriter writer not None, mapping):
        """Encode a mapping as an Example, frame it in place, and write it to a file."""
        cdef RowEncoder encoder = self._idle()
        cdef c.fr_span frame
        try:
            encoder._encode(mapping, True)
            frame.data, frame.size = encoder.out.buffer.data, encoder.out.buffer.size
            writer._put(frame, True, 1)
        finally:
            encoder._reset()
            self.idle.append(encoder)
