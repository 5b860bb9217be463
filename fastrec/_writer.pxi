# SPDX-License-Identifier: Apache-2.0


def frame(data):
    """One record framed, as it stands in a file."""
    cdef Py_buffer view
    cdef c.fr_span span
    chosen()
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        span.data = <const uint8_t *>view.buf
        span.size = <size_t>view.len
        result = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(span.size + c.FR_FRAME_OVERHEAD))
        c.fr_frame_put(<uint8_t *>PyBytes_AS_STRING(result), span)
        return result
    finally:
        PyBuffer_Release(&view)


@cython.final
cdef class RecordWriter:
    """Records into one file that appears whole or not at all."""

    cdef c.fr_writer writer
    cdef readonly object path
    cdef cython.pymutex lock

    def __init__(self, path, *, bint exclusive=False, bint sync=True):
        cdef c.fr_error err
        cdef c.fr_writer_options options
        cdef bytes name = path_bytes(path)
        cdef const char *raw = name
        cdef int status
        options.exclusive = exclusive
        options.no_sync = not sync
        self.path = path
        chosen()
        with nogil:
            status = c.fr_writer_open(&self.writer, raw, &options, &err)
        check(status, &err, path)

    def __dealloc__(self):
        c.fr_writer_abort(&self.writer)

    @property
    def count(self):
        """Records written."""
        return self.writer.count

    @property
    def size(self):
        """Bytes written, those still in the buffer included."""
        return self.writer.size

    @property
    def closed(self):
        return not self.writer.open

    cdef int _put(self, c.fr_span span, bint framed, uint64_t count) except -1:
        cdef c.fr_error err
        cdef int status
        with self.lock:
            if span.size + c.FR_FRAME_OVERHEAD <= self.writer.buffer.capacity - self.writer.buffer.size \
                    and span.size < GIL_THRESHOLD and not framed:
                status = c.fr_writer_record(&self.writer, span, &err)
            else:
                with nogil:
                    if framed:
                        status = c.fr_writer_frames(&self.writer, span, count, &err)
                    else:
                        status = c.fr_writer_record(&self.writer, span, &err)
        check(status, &err, self.path)
        return 0

    def write(self, data):
        """Write one record, any bytes-like object."""
        cdef Py_buffer view
        cdef c.fr_span span
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            span.data = <const uint8_t *>view.buf
            span.size = <size_t>view.len
            self._put(span, False, 1)
        finally:
            PyBuffer_Release(&view)

    def write_frames(self, frames, uint64_t count):
        """Write bytes that are whole frames, `count` of them (or what a compressor made of them)."""
        cdef Py_buffer view
        cdef c.fr_span span
        PyObject_GetBuffer(frames, &view, PyBUF_SIMPLE)
        try:
            span.data = <const uint8_t *>view.buf
            span.size = <size_t>view.len
            self._put(span, True, count)
        finally:
            PyBuffer_Release(&view)

    def flush(self):
        cdef c.fr_error err
        cdef int status
        with self.lock:
            with nogil:
                status = c.fr_writer_flush(&self.writer, &err)
        check(status, &err, self.path)

    def close(self):
        """Publish the file."""
        cdef c.fr_error err
        cdef int status
        with self.lock:
            with nogil:
                status = c.fr_writer_close(&self.writer, &err)
        check(status, &err, self.path)

    def abort(self):
        """Publish nothing."""
        with self.lock:
            c.fr_writer_abort(&self.writer)
