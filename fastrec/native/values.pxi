# SPDX-License-Identifier: Apache-2.0
# Values into Examples. What a value becomes is in docs/encoding.md, and decided in values.py; the
# common values of single rows take the short way of _rows.pxi.

# encoding/native_values.py comes with the first encoder: whoever only reads does without it.
cdef object cook_column = None
cdef object cook_value = None


cdef int prepare_cooking() except -1:
    global cook_column, cook_value
    if cook_value is None:
        from .encoding import native_values as cooking
        cook_column, cook_value = cooking.cook_column, cooking.cook_value
    return 0


cdef bytes name_of(key):
    if isinstance(key, str):
        return (<str>key).encode("utf-8", "surrogateescape")
    if isinstance(key, bytes):
        return key
    raise TypeError(f"a feature's name must be str or bytes, not {key!r}")


cdef int check_encoded(int status, c.fr_error *err, bint rows) except -1:
    """As check(); what is wrong with a value has its row, and is no OSError or bad record."""
    if status == c.FR_ERR_SCHEMA or status == c.FR_ERR_LIMIT or status == c.FR_ERR_ARG:
        message = err.message[:].decode("ascii", "backslashreplace")
        where = f"row {err.record}: " if rows and err.record >= 0 else ""
        raise (OverflowError if status == c.FR_ERR_SCHEMA else ValueError)(where + message)
    return check(status, err)


@cython.final
@cython.no_gc_clear
cdef class Values:
    """Features of one or more rows on their way to the encoder, and what keeps them alive."""

    cdef c.fr_buffer room
    cdef c.fr_value *values  # in it
    cdef size_t count
    cdef list keep
    cdef readonly object rows  # how many; None before the first column
    cdef bint columns

    def __cinit__(self, bint columns=True):
        self.keep = []
        self.columns = columns

    def __dealloc__(self):
        c.fr_buffer_free(&self.room)

    def add(self, key, cooked):
        """A feature, as cooking.Cooked."""
        cdef c.fr_error err
        cdef c.fr_value *value
        name = name_of(key)
        if self.columns and self.rows is not None and cooked.rows != self.rows:
            raise ValueError(
                f"feature {key!a} has {cooked.rows} rows, the features before it have {self.rows}")
        check(c.fr_buffer_reserve(&self.room, sizeof(c.fr_value), &err), &err)
        self.values = <c.fr_value *>self.room.data
        value = &self.values[self.count]
        self.keep.append(name)
        value.key = span_of(name)
        fill_value(value, key, cooked, self.keep)
        self.rows = cooked.rows
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
        """Every row, as a Bytes."""
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
        """Raise if some row cannot be encoded."""
        cdef c.fr_rows rows = self._rows(0, 1)
        cdef c.fr_error err
        cdef int status
        self._sort()
        with nogil:
            status = c.fr_encode_check(self.values, self.count, rows, &err)
        check_encoded(status, &err, self.columns)

    def blocks(self, size_t begin=0, size_t step=1, threads=None):
        """Rows begin, begin + step, ... as blocks of frames; checked now, encoded on the way."""
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


cdef int fill_value(c.fr_value *value, key, cooked, list keep) except -1:
    """All but the key. What is said of an array is held against the memory that it has."""
    cdef size_t splits = 0, offsets = 0, present = 0
    c.fr_value_clear(value)
    value.kind = KINDS[cooked.kind] if cooked.kind != "none" else c.FR_KIND_NONE
    value.dtype = DTYPES[cooked.values.dtype] if cooked.kind != "bytes" else c.FR_BYTES
    value.values = memory_of(cooked.values, keep, &value.size)
    if cooked.splits is not None:
        value.splits = <const int64_t *>memory_of(cooked.splits, keep, &splits)
    if cooked.offsets is not None:
        value.offsets = <const int64_t *>memory_of(cooked.offsets, keep, &offsets)
    if cooked.present is not None:
        value.present = memory_of(cooked.present, keep, &present)
    elements = cooked.elements if cooked.splits is not None else cooked.rows * cooked.count
    width = cooked.element_size if cooked.kind == "bytes" else cooked.values.dtype.itemsize
    if (min(cooked.rows, cooked.count, cooked.elements) < 0
            or (value.splits != NULL and splits != (cooked.rows + 1) * sizeof(int64_t))
            or (value.offsets != NULL and offsets != (cooked.elements + 1) * sizeof(int64_t))
            or (value.offsets != NULL and elements != cooked.elements)
            or (value.present != NULL and present != cooked.rows)
            or (value.offsets == NULL and elements * width > value.size)):
        raise ValueError(f"feature {key!a}: its arrays do not have the sizes that {cooked.rows} "
                         f"rows of {cooked.elements or cooked.count} elements take")
    value.elements, value.count = cooked.elements, cooked.count
    value.element_size = cooked.element_size
    return 0


@cython.final
@cython.no_gc_clear
cdef class Blocks:
    """Blocks of whole frames, each valid until the next is asked for. For one thread."""

    cdef c.fr_parallel_encode *encode
    cdef Values values

    def __dealloc__(self):
        with nogil:
            c.fr_parallel_encode_free(self.encode)

    def __iter__(self):
        return self

    def __next__(self):
        """A block, and the records in it."""
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
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


cdef int check_names(mapping, features, dict pins) except -1:
    """Every feature of the specification is there or may be missing, and there is no other."""
    for key in mapping:
        if key not in pins:
            raise ValueError(f"feature {key!a} is not in the specification, which has "
                             f"{', '.join(map(ascii, pins)):.200}")
    for key, pin in pins.items():
        if key not in mapping and not pin.ragged and pin.fallback is None:
            raise ValueError(f"feature {key!a} of the specification is missing, and it has no "
                             f"default")
    return 0


def column_values(columns, pins=None):
    """Columns on their way to the encoder; see fastrec.encode_examples."""
    cdef Values values
    prepare_cooking()
    if not hasattr(columns, "items"):
        raise TypeError(f"columns must map names to arrays, not {type(columns).__name__}")
    columns = dict(columns)
    if not columns:
        raise ValueError("columns is empty: name at least one feature")
    if pins is not None:
        check_names(columns, columns, pins)
    values = Values()
    for key, column in columns.items():
        values.add(key, cook_column(key, column, None if pins is None else pins[key]))
    return values


def encode_sequence(context, lists):
    """See fastrec.encode_sequence_example."""
    cdef Values values = Values(False), steps = Values(False)
    cdef OwnedBuffer out = OwnedBuffer()
    cdef c.fr_error err
    cdef int status
    cdef size_t i
    prepare_cooking()
    for key, value in context.items():
        values.add(key, cook_value(key, value))
    names = {}
    for key, value in lists.items():
        cooked = cook_column(key, value)
        names[name_of(key)] = cooked.rows
        steps.add(key, cooked)
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
    return PyBytes_FromStringAndSize(<const char *>out.buffer.data, <Py_ssize_t>out.buffer.size)
