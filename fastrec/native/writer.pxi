# SPDX-License-Identifier: Apache-2.0


def frame(data):
    """Return the frame of a record, as in a file."""
    cdef Py_buffer view
    cdef c.fr_span span
    cdef uint8_t *out
    chosen()
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        span.data = <const uint8_t *>view.buf
        span.size = <size_t>view.len
        result = new_bytes(span.size + c.FR_FRAME_OVERHEAD)
        out = <uint8_t *>PyBytes_AS_STRING(result)
        if span.size < GIL_THRESHOLD:
            c.fr_frame_put(out, span)
        else:
            with nogil:
                c.fr_frame_put(out, span)
        return result
    finally:
        PyBuffer_Release(&view)


cdef enum:
    SPANS_AT_ONCE = 1024  # records passed to C together


@cython.final
cdef class RecordSpans:
    """Takes records of a Bytes, or of a sequence of bytes-like objects, in groups.

    It takes the records `start`, `start + step`, ... before `stop`.
    """

    cdef c.fr_span spans[SPANS_AT_ONCE]
    cdef readonly Py_ssize_t count, done
    cdef Py_ssize_t start, step
    cdef size_t size  # size of the frames of the spans
    cdef tuple records
    cdef list views
    cdef Strings block  # None: the records are in `records`

    def __cinit__(self, records, Py_ssize_t start=0, stop=None, Py_ssize_t step=1):
        cdef Py_ssize_t end
        self.views = []
        records = as_records(records)
        if isinstance(records, Bytes):
            self.block = Strings(records)
            end = self.block.count
        else:
            self.records = records
            end = len(self.records)
        self.start, self.step = start, step
        self.count = len(range(start, end if stop is None else min(stop, end), step))

    cdef Py_ssize_t _number(self, size_t i) noexcept:
        return self.start + (self.done + <Py_ssize_t>i) * self.step

    cdef size_t next(self) except? 0:
        """Set the next spans, and return their number. They are valid until the next call."""
        cdef size_t most = <size_t>min(self.count - self.done, <Py_ssize_t>SPANS_AT_ONCE), some = 0
        self.views.clear()
        self.size = 0
        while some < most and self.size < SLICE_BYTES:
            if self.block is not None:
                self.block.find(self._number(some), &self.spans[some])
            else:
                self._from_object(some, self.records[self._number(some)])
            self.size += self.spans[some].size + c.FR_FRAME_OVERHEAD
            some += 1
        self.done += <Py_ssize_t>some
        return some

    cdef int _from_object(self, size_t i, record) except -1:
        cdef View view
        if isinstance(record, bytes):
            self.spans[i].data = <const uint8_t *>PyBytes_AS_STRING(record)
            self.spans[i].size = <size_t>PyBytes_GET_SIZE(record)
            return 0
        view = View(record)
        self.views.append(view)
        self.spans[i].data = <const uint8_t *>view.view.buf
        self.spans[i].size = <size_t>view.view.len
        return 0


def move(source, target, bint replace):
    """Rename a file. Without `replace`, an existing file with the new name is an error."""
    cdef bytes old = path_bytes(source), new = path_bytes(target)
    cdef const char *old_name = old
    cdef const char *new_name = new
    cdef int failed
    with nogil:
        failed = last_errno if c.fr_file_rename(old_name, new_name, replace) != 0 else 0
    if failed:
        raise OSError(failed, EXISTS if failed == errno.EEXIST else os.strerror(failed), target)


@cython.final
cdef class View:
    """A reference to another object's buffer, released with this object."""

    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, data):
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.held = True

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


@cython.final
cdef class Frames:
    """Frames records, as in a file; iterates over blocks of frames and their numbers of records."""

    cdef RecordSpans spans

    def __cinit__(self, records, Py_ssize_t start=0, stop=None, Py_ssize_t step=1):
        chosen()
        self.spans = RecordSpans(records, start, stop, step)

    def __iter__(self):
        return self

    def __next__(self):
        cdef OwnedBuffer out = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t some = self.spans.next(), i
        if some == 0:
            raise StopIteration
        check(c.fr_buffer_reserve(&out.buffer, self.spans.size, &err), &err)
        with nogil:
            for i in range(some):
                c.fr_frame_put(out.buffer.data + out.buffer.size, self.spans.spans[i])
                out.buffer.size += self.spans.spans[i].size + c.FR_FRAME_OVERHEAD
        return out, some


@cython.final
cdef class RecordWriter:
    """Writes records to one file that appears complete or not at all."""

    cdef c.fr_writer writer
    cdef readonly object path
    cdef cython.pymutex lock
    cdef unsigned long forks

    def __cinit__(self, path, *, bint exclusive=False, bint sync=True, bint append=False,
                  bint empty=False):
        cdef c.fr_error err
        cdef c.fr_writer_options options
        cdef bytes name = path_bytes(path)
        cdef const char *raw = name
        cdef int status
        options.exclusive = exclusive
        options.no_sync = not sync
        options.append = append
        options.empty = empty
        self.path = path
        self.forks = forks
        chosen()
        with nogil:
            status = c.fr_writer_open(&self.writer, raw, &options, &err)
        check(status, &err, path)

    def __dealloc__(self):
        c.fr_writer_abort(&self.writer)

    cdef int _enter(self) except -1:
        """Check the process, because a thread of the parent may hold the lock in a forked child."""
        cdef c.fr_error err
        if self.forks != forks:
            check(c.fr_check_process(self.writer.pid, b"the writer", &err), &err, self.path)
        return 0

    @property
    def count(self):
        """Number of records written."""
        return self.writer.count

    @property
    def size(self):
        """Number of bytes written, including buffered ones."""
        return self.writer.size

    @property
    def start(self):
        """Size of the file that is appended to, when it was opened."""
        return self.writer.start

    @property
    def place(self):
        """Path of the unpublished file; None after publishing."""
        with self.lock:
            return None if self.writer.temporary == NULL else <bytes>self.writer.temporary

    @property
    def closed(self):
        return not self.writer.open

    cdef int _put(self, c.fr_span span, bint framed, uint64_t count) except -1:
        cdef c.fr_error err
        cdef int status
        self._enter()
        with self.lock:
            if span.size + c.FR_FRAME_OVERHEAD <= self.writer.buffer.capacity - self.writer.buffer.size \
                    and span.size < GIL_THRESHOLD:
                if framed:
                    status = c.fr_writer_frames(&self.writer, span, count, &err)
                else:
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
        """Write one record, given as a bytes-like object."""
        cdef Py_buffer view
        cdef c.fr_span span
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            span.data = <const uint8_t *>view.buf
            span.size = <size_t>view.len
            self._put(span, False, 1)
        finally:
            PyBuffer_Release(&view)

    def write_many(self, records, Py_ssize_t start=0, stop=None, Py_ssize_t step=1):
        """Write records of a Bytes, or of a sequence of bytes-like objects; return their number.

        The arguments select records as a slice does.
        """
        cdef RecordSpans spans = RecordSpans(records, start, stop, step)
        cdef c.fr_error err
        cdef size_t some
        cdef int status = c.FR_OK
        self._enter()
        while True:
            some = spans.next()
            if some == 0:
                return spans.count
            with self.lock:
                with nogil:
                    status = c.fr_writer_spans(&self.writer, spans.spans, some, &err)
            check(status, &err, self.path)
            PyErr_CheckSignals()

    def write_frames(self, frames, uint64_t count):
        """Write bytes that are `count` whole frames, or their compressed form."""
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
        self._enter()
        with self.lock:
            with nogil:
                status = c.fr_writer_flush(&self.writer, &err)
        check(status, &err, self.path)

    def finish(self):
        """Close the file without publishing it, so that only the renaming remains."""
        cdef c.fr_error err
        cdef int status
        self._enter()
        with self.lock:
            with nogil:
                status = c.fr_writer_finish(&self.writer, &err)
        check(status, &err, self.path)

    def rename(self, path):
        """Change the path to publish to, within the same directory."""
        cdef c.fr_error err
        cdef bytes name = path_bytes(path)
        self._enter()
        with self.lock:
            status = c.fr_writer_rename(&self.writer, name, &err)
        check(status, &err, path)
        self.path = path

    def put_in_place(self):
        """Rename the file to its target. Until it is closed, this can be undone."""
        cdef c.fr_error err
        cdef int status
        self._enter()
        with self.lock:
            with nogil:
                status = c.fr_writer_put_in_place(&self.writer, &err)
        check(status, &err, self.path)

    def take_back(self):
        """Restore the replaced file; return False if that is impossible."""
        cdef bint done
        self._enter()
        with self.lock:
            with nogil:
                done = c.fr_writer_take_back(&self.writer)
        return done

    def close(self):
        """Publish the file."""
        cdef c.fr_error err
        cdef int status
        self._enter()
        with self.lock:
            with nogil:
                status = c.fr_writer_close(&self.writer, &err)
        check(status, &err, self.path)

    def abort(self):
        """Discard the file. In a child made by fork(), leave the parent's file alone."""
        if self.forks == forks:
            with self.lock:
                c.fr_writer_abort(&self.writer)


def deal(list writers not None, records, size_t first):
    """Write records to RecordWriters in turn, the first one to number `first`."""
    cdef RecordSpans spans = RecordSpans(records)
    cdef size_t used = min(len(writers), spans.count), count = 0, turn = 0, some
    cdef list chosen = [writers[(first + place) % len(writers)] for place in range(used)]
    cdef c.fr_writer **native = <c.fr_writer **>calloc(used + 1, sizeof(c.fr_writer *))
    cdef RecordWriter each
    cdef c.fr_error err
    cdef int status
    if native == NULL:
        raise MemoryError
    try:
        for each in chosen:
            each._enter()
            native[count] = &each.writer
            count += 1
        while True:
            some = spans.next()
            if some == 0:
                return
            for each in chosen:
                each.lock.acquire()
            with nogil:
                status = c.fr_writers_deal(native, used, &turn, spans.spans, some, &err)
            for each in chosen:
                each.lock.release()
            check(status, &err, (<RecordWriter>chosen[turn]).path)
            PyErr_CheckSignals()
    finally:
        free(native)
