# SPDX-License-Identifier: Apache-2.0

cdef bint all_bytes(tuple items):
    cdef Py_ssize_t i
    for i in range(len(items)):
        if type(items[i]) is not bytes:
            return False
    return True


def as_records(records):
    """Return the records of any iterable as a one-dimensional Bytes or a tuple of bytes-like.

    A Bytes in the iterable is a block of records, as `Reader.blocks` yields them.
    """
    cdef list result
    if isinstance(records, Bytes):
        if len(records.shape) != 1:
            raise TypeError(f"records must have one dimension, got a Bytes of shape "
                            f"{records.shape}")
        return records
    if isinstance(records, np.ndarray) and records.dtype.kind in "SU":
        raise TypeError(f"records must be bytes, got an array of dtype {records.dtype}, which "
                        "drops zero bytes at the end; use an array of objects or a list")
    if isinstance(records, (list, tuple)):
        records = tuple(records)
        if all_bytes(records):
            return records
    result = []
    for record in records:
        if type(record) is not bytes:
            if isinstance(record, Bytes):
                result += as_records(record)
                continue
            if hasattr(record, "as_py"):  # a scalar of pyarrow
                record = record.as_py()
            if not PyObject_CheckBuffer(record) or isinstance(record, (np.number, np.bool_)):
                raise TypeError(f"record {len(result)}: a record must be bytes, got "
                                f"{type(record).__name__}")
        result.append(record)
    return tuple(result)


cdef bytes _copy_of(record):
    """Copy a bytes-like object, whose bytes may change."""
    cdef Py_buffer view
    whole = memoryview(record)
    if not whole.c_contiguous:
        return bytes(whole)
    PyObject_GetBuffer(whole, &view, PyBUF_SIMPLE)
    try:
        return bytes_of(<const uint8_t *>view.buf, <size_t>view.len)
    finally:
        PyBuffer_Release(&view)


@cython.final
cdef class Spans:
    """Spans of records, and references that keep their memory alive."""

    cdef c.fr_buffer memory
    cdef c.fr_span *spans  # array in `memory`
    cdef size_t count
    cdef object kept

    def __cinit__(self, records):
        if isinstance(records, Bytes) and len(records.shape) == 1:
            self._of_block(records)
        else:
            self._of_objects(tuple(records))

    def __dealloc__(self):
        c.fr_buffer_free(&self.memory)

    cdef int _allocate(self, size_t count) except -1:
        cdef c.fr_error err
        check(c.fr_buffer_reserve(&self.memory, (count + 1) * sizeof(c.fr_span), &err), &err)
        self.spans = <c.fr_span *>self.memory.data
        self.count = count
        return 0

    cdef int _of_objects(self, tuple records) except -1:
        cdef size_t i
        if not all_bytes(records):
            records = tuple([r if type(r) is bytes else _copy_of(r) for r in records])
        self._allocate(len(records))
        self.kept = records
        for i in range(self.count):
            self.spans[i] = span_of(records[i])
        return 0

    cdef int _of_block(self, records) except -1:
        cdef Strings strings = Strings(records)
        cdef Py_ssize_t i
        self._allocate(<size_t>strings.count)
        self.kept = strings
        for i in range(strings.count):
            strings.find(i, &self.spans[i])
        return 0
