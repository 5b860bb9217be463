# SPDX-License-Identifier: Apache-2.0

cdef enum:
    BLOCK_BYTES = 1 << 25  # a block of this size takes no more records
    SMALL_COST = 256  # memory for a record in addition to its data, in bytes
    MOST_FEEDS = 8  # pieces of a stream to read for the detection of its format


def number_of(uint64_t index, list gaps):
    """Return the number in the file of a record that a RecordReader with these `gaps` returned.

    `index` counts the returned records from 0. Each skipped region counts as one record.
    """
    return index + count_up_to(index, gaps)


cdef object count_up_to(uint64_t index, list ascending):
    """Return the number of the values that are at most `index`."""
    from bisect import bisect_right
    return bisect_right(ascending, index)


@cython.final
cdef class RecordReader:
    """Reads the records of one file or stream in sequence.

    Threads may share a reader. Each record goes to one of them.
    """

    cdef c.fr_reader reader
    cdef c.fr_index seen  # index of the records returned
    cdef readonly object path
    cdef object read, damage, wait, indexed, failure
    cdef object file_range  # begin and end of the part that is read, or None
    cdef bint views, ended, once
    cdef cython.pymutex lock
    cdef unsigned long calling  # the thread that is in `read` or `damage`
    cdef unsigned long forks
    cdef object late  # exception of a `read` that only looked ahead; raised later
    cdef uint64_t begin  # file position
    cdef uint64_t lost  # bytes that were skipped
    cdef readonly list gaps  # for each skipped region, the number of records returned before it
    cdef size_t expected  # size of the next block in bytes
    cdef size_t unlooked  # bytes returned since the last check for signals
    cdef object listed  # number of records in a manifest
    cdef bint explained  # explain() was called, which happens once for each reader

    def __cinit__(self, path, *, read=None, bint verify=True, uint64_t max_record=0, damage=None,
                 wait=None, bint views=False, place=None, uint64_t begin=0, uint64_t end=0,
                 indexed=None, listed=None, bint once=False):
        """Read the file at `path`, or, if `read` is given, the bytes that `read(size)` returns.

        Parameters
        ----------
        damage : callable, optional
            ``damage(error, skipped)`` is called for each damage. Reading continues after it if the
            call returns true, otherwise it ends there.
        wait : callable, optional
            ``wait(size)`` is called at the end of a file that another process writes to; `size` is
            its current size. If the call returns true, the file is read again.
        views : bool
            Iterating gives memoryviews.
        place : path, optional
            Location of the file, if `path` is only its name in messages.
        begin, end : int
            File positions of the part to read; 0 for the whole file. `read` gives the bytes from
            `begin`.
        indexed : callable, optional
            ``indexed(index)`` is called once, after the last record, with the index of all records.
        listed : int, optional
            The number of records that the file must have.
        once : bool
            The bytes from `read` cannot be read again, not even by a child of ``fork()``.
        """
        self.reader.source = c.FR_SOURCE_FED
        self.forks = forks
        self.path = path
        self.file_range = (begin, end) if end else None
        self.read = read
        self.damage = damage
        self.wait = wait
        self.views = views
        self.indexed = indexed
        self.listed = listed
        self.once = once
        self.gaps = []
        if indexed is not None:
            self.reader.index = &self.seen
        self.reader.options.verify = verify
        self.reader.options.max_record = max_record
        chosen()
        if read is None:
            self._open(path_bytes(path if place is None else place))
        cdef c.fr_error err
        check(c.fr_source_seek(&self.reader.source, begin, &err), &err, path)
        if views:
            c.fr_source_show_all(&self.reader.source)
        self.begin = begin
        self.reader.stop = end

    cdef int _open(self, bytes name) except -1:
        cdef c.fr_error err
        cdef const char *raw = name
        cdef bint follows = self.wait is not None
        cdef int status = c.FR_AGAIN
        while status == c.FR_AGAIN:
            with nogil:
                if follows:
                    status = c.fr_source_follow(&self.reader.source, raw, &err)
                else:
                    status = c.fr_source_open(&self.reader.source, raw, &err)
            check(status, &err, self.path)
            PyErr_CheckSignals()
        return 0

    def __dealloc__(self):
        with nogil:  # unmapping a large file takes long
            c.fr_reader_close(&self.reader)
        c.fr_index_free(&self.seen)

    cdef int _check(self, int status, c.fr_error *err) except -1:
        content = None
        if is_damage(status) and not self.explained:
            content = self._explain(err)
        if is_damage(status) and err.record >= 0:
            err.record += len(self.gaps)
        return check(status, err, self.path, content, self.file_range)

    cdef object _explain(self, c.fr_error *err):
        """Return the Content of a file at its first damage, or None."""
        cdef c.fr_source *source = &self.reader.source
        cdef int feeds = 0
        self.explained = True
        c.fr_source_show_all(source)
        if <uint64_t>err.offset != source.offset or self.begin:
            return None
        if self.read is not None:  # `read` may return only the first bytes
            while source.window.size < <size_t>FEED_SIZE and not source.ended and feeds < MOST_FEEDS:
                feeds += 1
                if self._feed_for_explanation():
                    break
        return explain(source.window, err.offset == 0, source.ended,
                       b"" if source.map.entry == NULL else tail_of(source.map.bytes),
                       getattr(self.read, "kind", None))

    cdef bint _feed_for_explanation(self):
        """Feed the source; return True if that failed, and raise the failure later."""
        cdef c.fr_error err
        cdef c.fr_span span
        try:
            chunk = self._read()
        except Exception as error:
            self.late = error
            return True
        span.data = <const uint8_t *>PyBytes_AS_STRING(chunk)
        span.size = <size_t>PyBytes_GET_SIZE(chunk)
        return c.fr_source_feed(&self.reader.source, span, &err) != c.FR_OK

    # -- More bytes ----------------------------------------------------------------------------

    cdef object _call(self, function, arguments):
        """Call a function with the lock held.

        If the function uses the reader, it gets an error instead of a deadlock. A StopIteration of
        the function is not taken for the end of the records.
        """
        self.calling = get_ident()
        try:
            return errors.call_out(function, *arguments)
        finally:
            self.calling = 0

    cdef bytes _read(self):
        """Return more bytes from `read`."""
        if self.late is not None:
            late, self.late = self.late, None
            raise late
        chunk = self._call(self.read, (FEED_SIZE,))
        if chunk is None:
            raise BlockingIOError(errno.EAGAIN, "the stream has no bytes now", self.path)
        return chunk if type(chunk) is bytes else bytes(memoryview(chunk))  # bytes(5) is five zeros

    cdef int _feed(self) except -1:
        """Give the source more bytes. Raise an error after the bytes before it were searched."""
        cdef c.fr_error err
        cdef c.fr_span span
        cdef int status
        try:
            chunk = self._read()
        except Exception as error:
            if self.reader.looks_ahead:
                self.reader.source.stalls = True
                self.late = error
                return 0
            if not isinstance(error, errors.CorruptRecordError):
                raise
            self._stream_damaged(error)
            return 0
        span.data = <const uint8_t *>PyBytes_AS_STRING(chunk)
        span.size = <size_t>PyBytes_GET_SIZE(chunk)
        with nogil:  # a growing window may be copied
            status = c.fr_source_feed(&self.reader.source, span, &err)
        check(status, &err, self.path)
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
        elif status == c.FR_AGAIN and self.wait is not None and not self._call(
                self.wait, (self.reader.source.offset + self.reader.source.window.size,)):
            self.ended = True
        return 0

    cdef int _enter(self) except -1:
        if self.calling and self.calling == <unsigned long>get_ident():
            raise ValueError("the reader cannot be used by the function that it calls")
        cdef c.fr_source *source = &self.reader.source
        # A pipe's position is shared with the parent.
        if self.forks != forks and (self.once or (source.reads and not source.seekable)):
            raise ValueError("a pipe or stream can only be read in the process that opened it"
                             + _where(self.path))
        return 0

    # -- Damage --------------------------------------------------------------------------------

    cdef int _stream_damaged(self, error) except -1:
        """End reading after an error of the stream that contains the records; the rest is lost."""
        cdef uint64_t begin = self.reader.source.offset
        self.ended = True
        error.record, error.offset = self.reader.count + len(self.gaps), begin
        error.file_range = self.file_range
        if self.damage is None:
            self.failure = error
            raise error
        self._decide(error, (begin, None, False, False, False, True))
        return 0

    cdef int _decide(self, error, tuple skipped) except -1:
        try:
            if not self._call(self.damage, (error, skipped)):
                self.ended = True
        except BaseException as raised:
            self.ended = True
            self.failure = raised if isinstance(raised, Exception) else error
            raise
        return 0

    cdef int _failed(self, int status, c.fr_error *err) except -1:
        """Handle an error of the reader: skip the damage, end, or raise."""
        cdef c.fr_skipped skipped
        if self.damage is None:
            self._check(status, err)
        try:
            self._check(status, err)
        except (errors.CorruptRecordError, errors.LimitExceededError) as raised:
            error = raised
        if getattr(error, "content", "") not in ("", LINE_ENDS, UNKNOWN):
            self._decide(error, (error.offset, None, False, False, False, True))
            return 0
        status = c.FR_AGAIN
        while status == c.FR_AGAIN and not self.ended:
            with nogil:
                status = c.fr_reader_skip(&self.reader, &skipped, err)
            self._check(status, err)
            if status == c.FR_AGAIN:
                self._fill()
        if status == c.FR_OK:
            self.lost += skipped.end - skipped.begin
            self.gaps.append(self.reader.count)
            last = (self.reader.source.ended and self.reader.source.window.size == 0
                    and self.reader.stop in (0, self.reader.source.offset))
            self._decide(error, (skipped.begin, skipped.end, skipped.searched, skipped.whole,
                                 skipped.ambiguous, last))
        return 0

    # -- Records -------------------------------------------------------------------------------

    def __iter__(self):
        return self

    cdef object _view(self, c.fr_record *record):
        """Return a view of a record in the mapped file."""
        cdef Block block = Block.__new__(Block)
        block.owner = self  # also keeps the map
        block.data = <uint8_t *>record.data.data
        block.size = record.data.size
        block.fixed = True
        return PyMemoryView_FromObject(block)

    def __next__(self):
        data = self._next()
        if data is None:
            raise StopIteration
        return data

    cdef object _next(self):
        """Return the next record; None at the end."""
        cdef c.fr_record record
        cdef c.fr_error err
        cdef uint8_t *out
        cdef int status
        cdef bint mapped = self.views and self.reader.source.map.entry != NULL
        self._enter()
        with self.lock:
            if self.failure is not None:
                self._raise_failure()
            while not self.ended:
                if self.unlooked >= SLICE_BYTES:  # the consumer may be a loop in C
                    self.unlooked = 0
                    if not self.views:
                        c.fr_source_release(&self.reader.source)
                    PyErr_CheckSignals()
                if not c.fr_reader_is_near(&self.reader):
                    with nogil:
                        c.fr_reader_stage(&self.reader)
                status = c.fr_reader_peek(&self.reader, &record, &err)
                if status == c.FR_OK:
                    self.unlooked += record.data.size + SMALL_COST
                    if mapped:
                        data, out = self._view(&record), NULL
                    else:
                        data = new_bytes(record.data.size)
                        out = <uint8_t *>PyBytes_AS_STRING(data)
                    if record.data.size < GIL_THRESHOLD:
                        status = c.fr_reader_copy(&self.reader, &record, out, &err)
                    else:
                        with nogil:
                            status = c.fr_reader_copy(&self.reader, &record, out, &err)
                    if status == c.FR_OK:
                        status = c.fr_reader_check(&self.reader, &err)
                    if status == c.FR_OK:
                        return PyMemoryView_FromObject(data) if self.views and not mapped else data
                if status == c.FR_END:
                    break
                if status < 0:
                    self._failed(status, &err)
                else:
                    self._fill()
            self._finish()
        return None

    cdef int _finish(self) except -1:
        """After the last record: check the number of records, and pass the index to `indexed`."""
        if self.listed is not None and self.listed != self.reader.count:
            error = errors.MissingRecordsError(
                f"{ascii(os.fsdecode(self.path))} has {self.reader.count} records, "
                f"the manifest says {self.listed}")
            error.path = os.fsdecode(self.path)
            raise error
        if self.indexed is not None and self.reader.index != NULL:
            self._call(self.indexed, (
                self._end_index(self.reader.source.offset, 0, self.damage is not None),))
        return 0

    cdef FileIndex _end_index(self, uint64_t size, int64_t mtime_ns, bint gaps):
        """Return the index of the records read, for a file with this size and time."""
        cdef FileIndex index = FileIndex.__new__(FileIndex, UNFILLED)
        cdef c.fr_error err
        if self.reader.index == NULL:
            raise MemoryError("no memory for the index of a file")
        self.reader.index = NULL
        check(c.fr_index_end(&self.seen, self.reader.source.offset, gaps, &err), &err, self.path)
        index.index = self.seen
        index.gaps = self.gaps
        index.stamp.size, index.stamp.mtime_ns = size, mtime_ns
        memset(&self.seen, 0, sizeof(self.seen))
        return index

    cdef int _more(self, int status, c.fr_error *err, bint some) except -1:
        """Handle a call that gave no record: return 1 to continue, 0 at the end.

        With `some`, records were read before, and an exception is raised by the next call.
        """
        if status == c.FR_END or self.ended:
            return 0
        try:
            if status < 0:
                self._failed(status, err)
            else:
                self._fill()
            return not self.ended
        except Exception as raised:
            if not some:
                raise
            if self.failure is None:
                self.failure = raised
            return 0

    cdef int _raise_failure(self) except -1:
        """Raise a stored exception once, unless the failure is permanent."""
        failure, self.failure = self.failure, None
        if failure is not None:
            if self.ended:
                self.failure = failure
            raise failure
        return 0

    def take(self, size_t count):
        """Return up to `count` records as one block (fewer if they are long): a Bytes, or None."""
        cdef OwnedBuffer data = OwnedBuffer(), offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t taken, size, total = 0
        cdef int status
        self._enter()
        with self.lock:
            self._raise_failure()
            if not self.ended:
                check(c.fr_buffer_reserve(&data.buffer, self._likely_size(), &err), &err)
            while total < count and data.buffer.size < <size_t>BLOCK_BYTES and not self.ended:
                size = min(data.buffer.size + SLICE_BYTES, <size_t>BLOCK_BYTES)
                with nogil:
                    status = c.fr_reader_take(
                        &self.reader, min(count - total, <size_t>SLICE_RECORDS), size,
                        &data.buffer, &offsets.buffer, &taken, &err)
                total += taken
                if status == c.FR_OK:
                    self._check(c.fr_reader_check(&self.reader, &err), &err)
                    PyErr_CheckSignals()
                elif not self._more(status, &err, total > 0):
                    break
            c.fr_source_release(&self.reader.source)
            if not total:
                self._finish()
        self.expected = data.buffer.size
        return bytes_column(data, offsets) if total else None

    cdef size_t _likely_size(self) noexcept:
        """Return the size to reserve for the next block: slightly more than the last block's."""
        cdef size_t size = self.expected + self.expected // 16
        cdef c.fr_source *source = &self.reader.source
        return min(size, source.window.size) if source.ended else size

    cdef uint64_t _walk(self, progress=None) except? 0:
        cdef c.fr_error err
        cdef uint64_t walked, total = 0
        cdef int status
        self._raise_failure()
        while not self.ended:
            with nogil:
                status = c.fr_reader_walk(
                    &self.reader, SLICE_RECORDS, SLICE_BYTES, &walked, &err)
            total += walked
            if progress is not None:
                progress(self.reader.source.offset)
            if status == c.FR_OK:
                PyErr_CheckSignals()
            elif not self._more(status, &err, False):
                break
        self._finish()
        return total

    def walk(self, progress=None):
        """Check every record up to the end; return the number of records and their bytes.

        `progress` is called with the position every few megabytes.
        """
        cdef uint64_t total
        self._enter()
        with self.lock:
            total = self._walk(progress)
            size = self.reader.source.offset - self.begin
            return total, size - total * c.FR_FRAME_OVERHEAD - self.lost

    def find(self, uint64_t credit=0):
        """Search for the next valid record, at any position; return its file position, or None.

        The reader must not have returned records, and none may be read from it. `credit` is the
        rest of the budget from an earlier search in the same file; the rest of this search is
        returned.
        """
        cdef c.fr_error err
        cdef int status = c.FR_AGAIN
        self._enter()
        with self.lock:
            self.reader.credit = credit
            while status == c.FR_AGAIN:
                with nogil:
                    status = c.fr_reader_find(&self.reader, &err)
                self._check(status, &err)
                if status == c.FR_AGAIN:
                    self._fill()
            found = self.reader.source.offset if self.reader.source.window.size else None
            return found, max(self.reader.credit, <uint64_t>1)

    def index(self):
        """Check every record up to the end; return their index.

        The index of a stream has no modification time.
        """
        self._enter()
        with self.lock:
            self.reader.index = &self.seen
            wanted, self.indexed = self.indexed, None
            self._walk()
            if self.reader.source.map.entry != NULL:
                return self._end_index(self.reader.source.map.bytes.size,
                                       self.reader.source.map.stamp.mtime_ns, True)
            if self.read is not None:
                index = self._end_index(self.reader.source.offset, 0, self.damage is not None)
                if wanted is not None:
                    self._call(wanted, (index,))
                return index
            try:  # the file is empty, or could not be mapped
                found = os.fstat(self.reader.source.fd)
            except OSError as error:
                raise OSError(error.errno, error.strerror, self.path) from None
            return self._end_index(found.st_size, found.st_mtime_ns, True)


@cython.final
cdef class RecordChain:
    """Chains the records of several RecordReaders, for threads to share; or blocks of `count`.

    It is like itertools.chain, except that a thread at the end of a reader does not disturb another
    thread that still waits for that reader.
    """

    cdef object readers  # an iterator; each reader is made when it is needed
    cdef RecordReader reader
    cdef list ends  # for each finished reader, the records returned up to its end
    cdef list gaps  # of each finished reader
    cdef size_t count
    cdef bint ended
    cdef cython.pymutex lock

    def __cinit__(self, readers, size_t count=0):
        self.readers = iter(readers)
        self.count = count
        self.ends, self.gaps = [], []

    def __iter__(self):
        return self

    def __next__(self):
        cdef RecordReader reader
        while True:
            with cython.critical_section(self):
                reader = self.reader
            if reader is not None:
                data = reader.take(self.count) if self.count else reader._next()
                if data is not None:
                    return data
            if self._is_last(reader):
                raise StopIteration

    cdef bint _is_last(self, RecordReader done) except -1:
        """Advance to the next reader, unless another thread has; return True at the end."""
        with self.lock:
            if self.reader is done and not self.ended:
                following = next(self.readers, None)
                if done is not None:
                    self.gaps.append(done.gaps)
                    self.ends.append(done.reader.count + (self.ends[-1] if self.ends else 0))
                self.ended = following is None
                with cython.critical_section(self):
                    self.reader = following
            return self.ended

    def place_of(self, uint64_t index):
        """Return the number of the reader of a returned record, and its number in the file.

        `index` counts the records that all readers returned.
        """
        with self.lock:
            file = count_up_to(index, self.ends)
            index -= self.ends[file - 1] if file else 0
            if file < len(self.gaps):
                return file, number_of(index, self.gaps[file])
            return file, index if self.reader is None else number_of(index, self.reader.gaps)
