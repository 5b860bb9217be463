# SPDX-License-Identifier: Apache-2.0
# Converts values for Examples. docs/encoding.md documents the rules, and encoding/to_column.py
# implements them; row_encoder.pxi has fast paths for the common values of rows.

# The first encoder imports these functions, because programs that only read do not need them.
cdef object native_column = None
cdef object native_value = None


cdef int load_rule() except -1:
    global native_column, native_value
    if native_value is None:
        from .encoding import check_spec
        native_column, native_value = check_spec.native_column, check_spec.native_value
    return 0


cdef bytes name_of(key):
    if isinstance(key, str):
        return (<str>key).encode("utf-8", "surrogateescape")
    if isinstance(key, bytes):
        return key
    raise TypeError(f"a feature's name must be str or bytes, got {key!r}")


cdef int check_encoded(int status, c.fr_error *err, bint rows) except -1:
    """Check a status like check(). With `rows`, errors of values name the row."""
    if status == c.FR_ERR_SCHEMA or status == c.FR_ERR_LIMIT or status == c.FR_ERR_ARG:
        where = f"row {err.record}: " if rows and err.record >= 0 else ""
        raise (OverflowError if status == c.FR_ERR_SCHEMA else ValueError)(where + problem_of(err))
    return check(status, err)


@cython.final
@cython.no_gc_clear
cdef class Values:
    """Features of one or more rows before encoding, and references that keep their memory alive."""

    cdef c.fr_buffer room
    cdef c.fr_value *values  # array in `room`
    cdef size_t count
    cdef list keep
    cdef readonly object rows  # number of rows; None before the first column
    cdef bint columns

    def __cinit__(self, bint columns=True):
        self.keep = []
        self.columns = columns

    def __dealloc__(self):
        c.fr_buffer_free(&self.room)

    def add(self, key, native):
        """Add a feature, given as a NativeValue."""
        cdef c.fr_error err
        cdef c.fr_value *value
        name = name_of(key)
        if self.columns and self.rows is not None and native.rows != self.rows:
            raise ValueError(
                f"feature {key!a} has {native.rows} rows, the features before it have {self.rows}")
        check(c.fr_buffer_reserve(&self.room, sizeof(c.fr_value), &err), &err)
        self.values = <c.fr_value *>self.room.data
        value = &self.values[self.count]
        self.keep.append(name)
        value.key = span_of(name)
        fill_value(value, key, native, self.keep)
        self.rows = native.rows
        self.room.size += sizeof(c.fr_value)
        self.count += 1

    cdef int _sort(self) except -1:
        cdef c.fr_error err
        return check(c.fr_encode_sort(self.values, self.count, &err), &err)

    cdef c.fr_rows _rows(self, size_t begin, size_t step) except *:
        cdef c.fr_rows rows
        rows.begin, rows.end, rows.step = begin, self.rows or 0, step
        return rows

    cdef size_t _threads(self, c.fr_rows rows, threads):
        if threads is not None:
            return <size_t>threads if threads > 1 else 0
        return c.fr_parallel_encode_threads(self.values, self.count, rows, <size_t>cpu_count())

    def encode_all(self, threads=None):
        """Encode every row; return a Bytes."""
        cdef OwnedBuffer out = OwnedBuffer(), offsets = OwnedBuffer()
        cdef c.fr_rows rows = self._rows(0, 1)
        cdef c.fr_error err
        cdef size_t count
        cdef int status
        self._sort()
        count = self._threads(rows, threads)
        with nogil:
            status = c.fr_parallel_encode_whole(self.values, self.count, rows, count, &out.buffer,
                                     &offsets.buffer, &err)
        check_encoded(status, &err, self.columns)
        return bytes_column(out, offsets)

    def check(self):
        """Raise if a row cannot be encoded."""
        cdef c.fr_rows rows = self._rows(0, 1)
        cdef c.fr_error err
        cdef int status
        self._sort()
        with nogil:
            status = c.fr_encode_check(self.values, self.count, rows, &err)
        check_encoded(status, &err, self.columns)

    def blocks(self, size_t begin=0, size_t step=1, threads=None):
        """Return rows begin, begin + step, ... as blocks. Check them now, encode them later."""
        cdef Blocks blocks = Blocks.__new__(Blocks)
        cdef c.fr_rows rows = self._rows(begin, step)
        cdef c.fr_error err
        cdef size_t count
        cdef int status
        chosen()
        self._sort()
        count = self._threads(rows, threads)
        blocks.values = self
        with nogil:
            status = c.fr_parallel_encode_start(self.values, self.count, rows, count, &blocks.encode, &err)
        check_encoded(status, &err, self.columns)
        return blocks


cdef int fill_value(c.fr_value *value, key, native, list keep) except -1:
    """Set everything except the key. Compare the declared sizes of arrays with their memory."""
    cdef size_t splits = 0, offsets = 0, present = 0
    c.fr_value_clear(value)
    value.kind = KINDS[native.kind] if native.kind != "none" else c.FR_KIND_NONE
    value.dtype = DTYPES[native.values.dtype] if native.kind != "bytes" else c.FR_BYTES
    value.values = memory_of(native.values, keep, &value.size)
    if native.splits is not None:
        value.splits = <const int64_t *>memory_of(native.splits, keep, &splits)
    if native.offsets is not None:
        value.offsets = <const int64_t *>memory_of(native.offsets, keep, &offsets)
    if native.present is not None:
        value.present = memory_of(native.present, keep, &present)
    elements = native.elements if native.splits is not None else native.rows * native.count
    width = native.element_size if native.kind == "bytes" else native.values.dtype.itemsize
    if (min(native.rows, native.count, native.elements) < 0
            or (value.splits != NULL and splits != (native.rows + 1) * sizeof(int64_t))
            or (value.offsets != NULL and offsets != (native.elements + 1) * sizeof(int64_t))
            or (value.offsets != NULL and elements != native.elements)
            or (value.present != NULL and present != native.rows)
            or (value.offsets == NULL and elements * width > value.size)):
        raise ValueError(f"feature {key!a}: its arrays do not have the sizes that {native.rows} "
                         f"rows of {native.elements or native.count} elements take")
    value.elements, value.count = native.elements, native.count
    value.element_size = native.element_size
    return 0


@cython.final
@cython.no_gc_clear
cdef class Blocks:
    """An iterator of blocks of frames. Each is valid until the next one. For one thread."""

    cdef c.fr_parallel_encode *encode
    cdef Values values

    def __dealloc__(self):
        with nogil:
            c.fr_parallel_encode_free(self.encode)

    def __iter__(self):
        return self

    def __next__(self):
        """Return a block, and the number of its records."""
        cdef c.fr_span frames
        cdef size_t records
        cdef c.fr_error err
        cdef int status = c.FR_AGAIN
        while status == c.FR_AGAIN:
            with nogil:
                status = c.fr_parallel_encode_next(self.encode, &frames, &records, &err)
            PyErr_CheckSignals()
        if status == c.FR_END:
            raise StopIteration
        check_encoded(status, &err, self.values.columns)
        return span_block(self, frames), records


cdef object span_block(owner, c.fr_span span):
    cdef Block block = Block.__new__(Block)
    block.owner = owner
    block.data = <uint8_t *>span.data
    block.size = span.size
    return block


cdef int cpu_count():
    from .threads.cpus import usable_cpus
    return usable_cpus()


cdef int check_names(mapping, features, dict specs) except -1:
    """Check that required features are present, and that all features are in the specification."""
    for key in mapping:
        if key not in specs:
            raise ValueError(f"feature {key!a} is not in the specification, which has "
                             f"{', '.join(map(ascii, specs)):.200}")
    for key, spec in specs.items():
        if key not in mapping and not spec.ragged and spec.fallback is None:
            raise ValueError(f"feature {key!a} of the specification is missing, and it has no "
                             f"default")
    return 0


def column_values(columns, specs=None):
    """Return columns, ready to encode; see fastrec.encode_examples."""
    cdef Values values
    load_rule()
    if not hasattr(columns, "items"):
        raise TypeError(f"columns must map names to arrays, got {type(columns).__name__}")
    columns = dict(columns)
    if not columns:
        raise ValueError("columns is empty: name at least one feature")
    if specs is not None:
        check_names(columns, columns, specs)
    values = Values()
    for key, column in columns.items():
        values.add(key, native_column(key, column, None if specs is None else specs[key]))
    return values


def plain_rows(list rows not None):
    """Join rows that are lists of only int, only float or only bytes; return None for others.

    Returns
    -------
    (values, splits) or None
        An ndarray of int64 or float64, or a list of bytes; and the start of each row, int64. The
        result is also None without values, and with an integer that does not fit int64.
    """
    cdef Py_ssize_t count = 0, at = 0, row
    cdef int64_t[::1] splits = np.empty(len(rows) + 1, np.int64)
    cdef int64_t[::1] ints
    cdef double[::1] floats
    cdef int overflow = 0
    cdef list strings = []
    kind = None
    splits[0] = 0
    for row in range(splits.shape[0] - 1):
        if row >= len(rows) or not is_exact(rows[row], list):
            return None
        count += len(<list>rows[row])
        if kind is None and count:
            kind = type(rows[row][0])
        splits[row + 1] = count
    if kind is int:
        values = np.empty(count, np.int64)
        ints = values
    elif kind is float:
        values = np.empty(count, np.float64)
        floats = values
    elif kind is bytes:
        values = strings
    else:
        return None
    for items in rows:
        for item in items:
            if type(item) is not kind or at == count:
                return None
            if kind is int:
                ints[at] = PyLong_AsLongLongAndOverflow(item, &overflow)
                if overflow:
                    return None
            elif kind is float:
                floats[at] = PyFloat_AS_DOUBLE(item)
            else:
                strings.append(item)
            at += 1
    return None if at < count else (values, np.asarray(splits))


def encode_sequence(context, lists):
    """Encode a SequenceExample; see fastrec.encode_sequence_example."""
    cdef Values values = Values(False), steps = Values(False)
    cdef OwnedBuffer out = OwnedBuffer()
    cdef c.fr_error err
    cdef int status
    cdef size_t i
    load_rule()
    for key, value in context.items():
        values.add(key, native_value(key, value))
    names = {}
    for key, value in lists.items():
        native = native_column(key, value)
        names[name_of(key)] = native.rows
        steps.add(key, native)
    values._sort()
    steps._sort()
    cdef size_t *counts = <size_t *>calloc(steps.count + 1, sizeof(size_t))
    if counts == NULL:
        raise MemoryError
    try:
        for i in range(steps.count):
            key = (<const char *>steps.values[i].key.data)[:steps.values[i].key.size]
            counts[i] = names[key]
        with nogil:
            status = c.fr_encode_sequence(values.values, values.count, steps.values, counts,
                                          steps.count, &out.buffer, &err)
    finally:
        free(counts)
    err.record = -1
    check_encoded(status, &err, False)
    return bytes_of(out.buffer.data, out.buffer.size)


# Detects the common values of rows, and stores them until they are encoded.

cdef extern from *:
    """
    #define FASTREC_IS_EXACT(object, type) (Py_TYPE(object) == (PyTypeObject *)(type))
    """
    bint is_exact "FASTREC_IS_EXACT"(object, object)

cdef enum Way:  # how to read a NumPy scalar
    AS_INT = 1
    AS_FLOAT32
    AS_FLOAT64
    AS_BOOL

cdef dict SCALARS = {
    **{t: AS_INT for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
                           np.uint64, np.intc, np.longlong)},
    np.float16: AS_FLOAT64, np.float32: AS_FLOAT32, np.float64: AS_FLOAT64, np.bool_: AS_BOOL,
}
cdef object ndarray = np.ndarray

# Memory of a slot that may still move.
cdef enum:
    NUMBERS_MOVE = 1
    OFFSETS_MOVE = 2
    STRINGS_MOVE = 4


cdef struct Wanted:
    bint given      # the specification names the feature
    bint plain  # it has the default dtype of its kind, and is not raw
    bint ragged
    c.fr_kind kind
    Py_ssize_t rank, count


cdef struct Slot:
    int64_t scalar
    int moves
    Wanted spec


cdef int code_of(const char *format) noexcept:
    """Return the dtype of a buffer's format in native byte order; -1 for any other format."""
    cdef char letter = format[0]
    if letter == b"@" or letter == b"=":
        format += 1
        letter = format[0]
    if letter == 0 or format[1] != 0:
        return -1
    if letter == b"f":
        return c.FR_FLOAT32
    if letter == b"d":
        return c.FR_FLOAT64
    if letter == b"B":
        return c.FR_UINT8
    if letter == b"l":
        return c.FR_INT64 if sizeof(long) == 8 else c.FR_INT32
    if letter == b"q":
        return c.FR_INT64
    if letter == b"i":
        return c.FR_INT32
    if letter == b"?":
        return c.FR_BOOL
    if letter == b"b":
        return c.FR_INT8
    if letter == b"h":
        return c.FR_INT16
    if letter == b"H":
        return c.FR_UINT16
    if letter == b"I":
        return c.FR_UINT32
    if letter == b"L":
        return c.FR_UINT64 if sizeof(long) == 8 else c.FR_UINT32
    if letter == b"Q":
        return c.FR_UINT64
    if letter == b"e":
        return c.FR_FLOAT16
    return -1


cdef const char *utf8_of(text, Py_ssize_t *size) except? NULL:
    """Return the UTF-8 that the str caches; NULL for invalid Unicode."""
    try:
        return PyUnicode_AsUTF8AndSize(text, size)
    except UnicodeEncodeError:
        return NULL
