# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class RecordReader:
    """Records of one file or stream, one after the other.

    Threads that share one each get records of their own.
    """

    cdef c.fr_reader reader
    cdef object path, read
    cdef cython.pymutex lock
    cdef unsigned long feeding  # the thread inside `read`

    def __cinit__(self):
        self.reader.source = c.FR_SOURCE_FED

    def __init__(self, path, *, read=None, bint verify=True, uint64_t max_record=0):
        """From the file at `path`, or, when `read` is given, from what `read(size)` returns."""
        self.path = path
        self.read = read
        self.reader.options.verify = verify
        self.reader.options.max_record = max_record
        chosen()
        if read is None:
            self._open(path_bytes(path))

    cdef int _open(self, bytes name) except -1:
        cdef c.fr_error err
        cdef const char *raw = name
        cdef int status = c.FR_AGAIN
        while status == c.FR_AGAIN:
            with nogil:
                status = c.fr_source_open(&self.reader.source, raw, &err)
            check(status, &err, self.path)
            PyErr_CheckSignals()
        return 0

    def __dealloc__(self):
        c.fr_reader_close(&self.reader)

    cdef int _feed(self) except -1:
        """Give the source more bytes, from `read`."""
        cdef c.fr_error err
        cdef c.fr_span span
        self.feeding = get_ident()
        try:
            chunk = self.read(FEED_SIZE)
        finally:
            self.feeding = 0
        if not isinstance(chunk, bytes):
            if chunk is None:
                raise BlockingIOError(errno.EAGAIN, "the stream has no bytes now", self.path)
            chunk = bytes(chunk)
        span.data = <const uint8_t *>PyBytes_AS_STRING(chunk)
        span.size = <size_t>PyBytes_GET_SIZE(chunk)
        check(c.fr_source_feed(&self.reader.source, span, &err), &err, self.path)
        return 0

    cdef int _fill(self) except -1:
        cdef c.fr_error err
        cdef int status
        with nogil:
            status = c.fr_reader_fill(&self.reader, &err)
        check(status, &err, self.path)
        PyErr_CheckSignals()
        if status == c.FR_AGAIN and self.read is not None:
            self._feed()
        return 0

    cdef int _enter(self) except -1:
        if self.feeding and self.feeding == <unsigned long>get_ident():
            raise ValueError("the stream's read() uses the reader that is reading it")
        return 0

    def __iter__(self):
        return self

    def __next__(self):
        cdef c.fr_record record
        cdef c.fr_error err
        cdef int status
        self._enter()
        with self.lock:
            while True:
                status = c.fr_reader_next(&self.reader, &record, &err)
                if status == c.FR_OK:
                    data = PyBytes_FromStringAndSize(
                        <const char *>record.data.data, <Py_ssize_t>record.data.size)
                    check(c.fr_reader_check(&self.reader, &err), &err, self.path)
                    return data
                if status == c.FR_END:
                    raise StopIteration
                check(status, &err, self.path)
                self._fill()

    def take(self, size_t count):
        """Up to `count` records as one block: a Bytes, or None at the end."""
        cdef OwnedBuffer data = OwnedBuffer(), offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t taken, total = 0
        cdef int status
        self._enter()
        with self.lock:
            while total < count:
                with nogil:
                    status = c.fr_reader_take(
                        &self.reader, min(count - total, <size_t>SLICE_RECORDS), &data.buffer,
                        &offsets.buffer, &taken, &err)
                total += taken
                if status == c.FR_END:
                    break
                check(status, &err, self.path)
                if status == c.FR_AGAIN:
                    self._fill()
                else:
                    check(c.fr_reader_check(&self.reader, &err), &err, self.path)
                    PyErr_CheckSignals()
        return bytes_column(data, offsets) if total else None

    def walk(self):
        """Go to the end, checking every record: how many there were, and the bytes in them."""
        cdef c.fr_error err
        cdef uint64_t walked, total = 0
        cdef int status
        self._enter()
        with self.lock:
            while True:
                with nogil:
                    status = c.fr_reader_walk(
                        &self.reader, SLICE_RECORDS, SLICE_BYTES, &walked, &err)
                total += walked
                if status == c.FR_END:
                    return total, self.reader.source.offset - total * c.FR_FRAME_OVERHEAD
                check(status, &err, self.path)
                if status == c.FR_AGAIN:
                    self._fill()
                else:
                    PyErr_CheckSignals()
