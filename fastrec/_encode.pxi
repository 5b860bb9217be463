# SPDX-License-Identifier: Apache-2.0
# What a Python value becomes in an Example: the rule is in docs/encoding.md.

cdef tuple BYTES_LIKE = (bytes, bytearray, memoryview)


cdef object _bytes_of(key, value):
    if isinstance(value, str):
        try:
            return (<str>value).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"feature {key!a}: no UTF-8 text: {error}") from None
    if isinstance(value, BYTES_LIKE):
        return bytes(value)
    raise TypeError(
        f"feature {key!a}: {type(value).__name__} beside bytes or str; every value of a bytes "
        f"list must be one of these")


@cython.final
cdef class Values:
    """Features of one or more rows on their way to the encoder, and what keeps them alive."""

    cdef c.fr_value *values
    cdef int64_t *scalars
    cdef size_t count
    cdef list keep
    cdef readonly object rows  # None until a column says how many

    def __cinit__(self, size_t capacity):
        self.values = <c.fr_value *>calloc(capacity + 1, sizeof(c.fr_value))
        self.scalars = <int64_t *>calloc(capacity + 1, sizeof(int64_t))
        self.keep = []
        if self.values == NULL or self.scalars == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.values)
        free(self.scalars)

    cdef c.fr_value *_add(self, key) except NULL:
        cdef c.fr_value *value = &self.values[self.count]
        if isinstance(key, str):
            name = (<str>key).encode("utf-8", "surrogateescape")
        elif isinstance(key, bytes):
            name = key
        else:
            raise TypeError(f"a feature's name must be str or bytes, not {key!r}")
        self.keep.append(name)
        value.key = span_of(name)
        self.count += 1
        return value

    cdef int _set_bytes(self, c.fr_value *value, bytes data) except -1:
        self.keep.append(data)
        value.kind, value.dtype = c.FR_KIND_BYTES, c.FR_BYTES
        value.values = <const uint8_t *>PyBytes_AS_STRING(data)
        value.element_size = <size_t>PyBytes_GET_SIZE(data)
        value.count = 1
        return 0

    cdef const uint8_t *_pointer(self, array) except NULL:
        """Where a contiguous array's memory is; the array is kept."""
        cdef const uint8_t[::1] flat
        self.keep.append(array)
        if array.size == 0:
            return &_nothing
        flat = array.reshape(-1).view(np.uint8)
        return &flat[0]

    cdef int _set_raw(self, c.fr_value *value, array, size_t rows) except -1:
        """Each row's memory as one bytes value."""
        value.kind, value.dtype = c.FR_KIND_BYTES, c.FR_BYTES
        value.values = self._pointer(np.ascontiguousarray(array))
        value.element_size = <size_t>array.nbytes // rows if rows else 0
        value.count = 1
        return 0

    cdef int _set_numbers(self, c.fr_value *value, key, array, size_t rows) except -1:
        """Integers, booleans or floats; `rows` rows of equally many."""
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"feature {key!a}: an array of {array.dtype} cannot be stored; use integers, "
                f"bools, floats, bytes or str")
        if array.dtype.itemsize > 8:
            array = array.astype(np.float64)
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        value.kind = c.FR_KIND_FLOAT if array.dtype.kind == "f" else c.FR_KIND_INT64
        value.dtype = DTYPES[array.dtype]
        value.count = <size_t>array.size // rows if rows else 0
        value.values = self._pointer(array)
        return 0

    cdef int _set_strings(self, c.fr_value *value, key, strings, size_t rows) except -1:
        """A Bytes column; `rows` rows of equally many."""
        offsets = np.ascontiguousarray(strings.offsets, np.int64)
        value.kind, value.dtype = c.FR_KIND_BYTES, c.FR_BYTES
        value.offsets = <const int64_t *>self._pointer(offsets)
        value.values = self._pointer(np.ascontiguousarray(strings.data, np.uint8))
        value.count = <size_t>(offsets.size - 1) // rows if rows else 0
        if offsets[0] < 0 or np.any(offsets[1:] < offsets[:-1]) or \
                offsets[-1] > strings.data.size:
            raise ValueError(f"feature {key!a}: the offsets lie outside of the data")
        return 0

    def add_value(self, key, value):
        """One row's value."""
        cdef c.fr_value *v = self._add(key)
        if value is None:
            return
        if isinstance(value, (str, *BYTES_LIKE)):
            self._set_bytes(v, _bytes_of(key, value))
        elif isinstance(value, int):
            self._set_int(v, key, value)
        elif isinstance(value, float):
            v.kind, v.dtype, v.count = c.FR_KIND_FLOAT, c.FR_FLOAT64, 1
            (<double *>&self.scalars[self.count - 1])[0] = value
            v.values = <const uint8_t *>&self.scalars[self.count - 1]
        elif isinstance(value, (list, tuple)):
            self._add_list(v, key, value)
        else:
            self._add_array(v, key, value)

    cdef int _set_int(self, c.fr_value *v, key, value) except -1:
        v.kind, v.dtype, v.count = c.FR_KIND_INT64, c.FR_INT64, 1
        try:
            self.scalars[self.count - 1] = value
        except OverflowError:
            raise OverflowError(f"feature {key!a}: {value} does not fit int64") from None
        v.values = <const uint8_t *>&self.scalars[self.count - 1]
        return 0

    cdef int _add_list(self, c.fr_value *v, key, value) except -1:
        if not value:
            return 0
        if isinstance(value[0], (str, *BYTES_LIKE)):
            strings = Bytes.from_list([_bytes_of(key, item) for item in value])
            return self._set_strings(v, key, strings, 1)
        return self._set_numbers(v, key, _numbers(key, value), 1)

    cdef int _add_array(self, c.fr_value *v, key, value) except -1:
        array = _array(key, value)
        if array.dtype == np.uint8 and array.ndim:
            return self._set_raw(v, array, 1)
        if array.dtype.kind in "SUOT":
            return self._add_list(v, key, array.reshape(-1).tolist())
        return self._set_numbers(v, key, array, 1)

    def add_column(self, key, column):
        """One feature of every row."""
        cdef c.fr_value *v = self._add(key)
        if not isinstance(column, (Bytes, Ragged)):
            column = _column(key, column)
        rows = len(column)
        if self.rows is not None and rows != self.rows:
            raise ValueError(
                f"feature {key!a} has {rows} rows, the features before it have {self.rows}")
        self.rows = rows
        if isinstance(column, Ragged):
            self._add_ragged(v, key, column)
        elif isinstance(column, Bytes):
            self._set_strings(v, key, column, rows)
        elif column.dtype == np.uint8 and column.ndim > 1:
            self._set_raw(v, column, rows)
        else:
            self._set_numbers(v, key, column, rows)

    cdef int _add_ragged(self, c.fr_value *v, key, column) except -1:
        splits = np.ascontiguousarray(column.row_splits, np.int64)
        values = column.values
        if splits[0] < 0 or np.any(splits[1:] < splits[:-1]) or splits[-1] > len(values):
            raise ValueError(f"feature {key!a}: the row_splits lie outside of the values")
        if isinstance(values, Bytes):
            self._set_strings(v, key, values, 1)
        elif values.dtype == np.uint8:
            self._set_raw(v, values, 1)
            v.offsets = <const int64_t *>self._pointer(splits)
            return 0
        else:
            self._set_numbers(v, key, values, 1)
        v.splits = <const int64_t *>self._pointer(splits)
        return 0

    cdef OwnedBuffer _encode(self, size_t rows, bint framed, OwnedBuffer offsets):
        cdef OwnedBuffer out = OwnedBuffer()
        cdef c.fr_error err
        cdef int status
        check(c.fr_encode_sort(self.values, self.count, &err), &err)
        with nogil:
            status = c.fr_encode_rows(self.values, self.count, 0, rows, framed, &out.buffer,
                                      NULL if offsets is None else &offsets.buffer, &err)
        if status == c.FR_ERR_SCHEMA or status == c.FR_ERR_LIMIT:
            message = err.message[:].decode("ascii", "backslashreplace")
            where = f"row {err.record}: " if self.rows is not None else ""
            raise (OverflowError if status == c.FR_ERR_SCHEMA else ValueError)(where + message)
        check(status, &err)
        return out

    def encode(self):
        """The one row, as bytes."""
        cdef OwnedBuffer out = self._encode(1, False, None)
        return PyBytes_FromStringAndSize(<const char *>out.buffer.data, <Py_ssize_t>out.buffer.size)

    def encode_all(self):
        """Every row, as a Bytes."""
        cdef OwnedBuffer offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef int64_t zero = 0
        check(c.fr_buffer_append(&offsets.buffer, &zero, sizeof(zero), &err), &err)
        return bytes_column(self._encode(self.rows or 0, False, offsets), offsets)

    def encode_frames(self):
        """Every row, framed, as one block."""
        chosen()
        return self._encode(1 if self.rows is None else self.rows, True, None)


cdef object _array(key, value):
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        return np.asarray(value)
    raise TypeError(
        f"feature {key!a}: {type(value).__name__} cannot be stored; use int, float, bool, str, "
        f"bytes, an array, or a list of these")


cdef object _numbers(key, values):
    """A list of numbers as an array; uint8 scalars are numbers too."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"feature {key!a}: the nested lists differ in length") from None
    if array.dtype.kind in "fO" and any(isinstance(v, int) and abs(v) >= 2**63 for v in values) \
            and not any(isinstance(v, float) for v in values):
        raise OverflowError(f"feature {key!a}: a value does not fit int64")
    return array


cdef object _column(key, column):
    """A column as an ndarray of numbers, a Bytes, or a Ragged."""
    if not isinstance(column, (list, tuple)):
        column = _array(key, column)
        if column.ndim == 0:
            raise ValueError(f"feature {key!a}: a column has one entry a row, {column!r} has none")
        if column.dtype.kind not in "SUOT":
            return column
        shape, column = column.shape, column.reshape(-1).tolist()
        if not column or isinstance(column[0], (str, *BYTES_LIKE)):
            strings = Bytes.from_list([_bytes_of(key, item) for item in column])
            return Bytes(strings.data, strings.offsets, shape)
    if not column:
        return np.zeros(0, np.int64)
    if isinstance(column[0], (str, *BYTES_LIKE)):
        return Bytes.from_list([_bytes_of(key, item) for item in column])
    if isinstance(column[0], (list, tuple)) or getattr(column[0], "ndim", 0):
        return _ragged(key, column)
    return _numbers(key, column)


cdef object _ragged(key, rows):
    lengths = [len(row) if isinstance(row, (list, tuple)) else row.size for row in rows]
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    full = [row for row in rows if len(row)]
    if full and isinstance(full[0], (list, tuple)) and isinstance(full[0][0], (str, *BYTES_LIKE)):
        return Ragged(Bytes.from_list([_bytes_of(key, s) for row in rows for s in row]), splits)
    raw = all(isinstance(row, np.ndarray) and row.dtype == np.uint8 for row in rows)
    parts = [np.asarray(row).reshape(-1) for row in full]
    if not parts:
        return Ragged(np.zeros(0, np.uint8 if raw else np.int64), splits)
    values = np.concatenate(parts)
    return Ragged(values if raw or values.dtype != np.uint8 else values.astype(np.int64), splits)


def encode_example(mapping):
    """A mapping as a serialized ``tf.train.Example``; see fastrec.encode_example."""
    cdef Values values = Values(len(mapping))
    for key, value in dict(mapping).items():
        values.add_value(key, value)
    return values.encode()


def column_values(columns):
    """Columns on their way to the encoder; see fastrec.encode_examples."""
    cdef Values values
    if not hasattr(columns, "items"):
        raise TypeError(f"columns must map names to arrays, not {type(columns).__name__}")
    columns = dict(columns)
    if not columns:
        raise ValueError("columns is empty: name at least one feature")
    values = Values(len(columns))
    for key, column in columns.items():
        values.add_column(key, column)
    return values
