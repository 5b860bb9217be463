# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class Survey:
    """Collects the features and the feature lists of records."""

    cdef c.fr_infer context
    cdef c.fr_infer lists
    cdef cython.pymutex lock

    def __cinit__(self):
        self.context.seed = int.from_bytes(os.urandom(8), "little")
        self.lists.seed = self.context.seed

    def __dealloc__(self):
        c.fr_infer_free(&self.context)
        c.fr_infer_free(&self.lists)

    def add(self, records, first=None, list misfits=None):
        """Examine a sequence of bytes-like records, or a Bytes.

        `first` is the number of the first record; the default continues after the last record.
        A record that is not an Example raises, or its index in `records` and its error are added to
        `misfits`.
        """
        cdef Spans spans = Spans(records)
        cdef c.fr_error err
        cdef int status = c.FR_OK
        cdef size_t i
        cdef bint is_numbered = first is not None
        cdef uint64_t number = first if is_numbered else 0
        with nogil, self.lock:
            if is_numbered:
                self.context.records = number
            for i in range(spans.count):
                status = c.fr_infer_add(&self.context, &self.lists, spans.spans[i], &err)
                if status != c.FR_OK:
                    with gil:
                        self._note(status, &err, i, misfits)

    cdef int _note(self, int status, c.fr_error *err, size_t index, list misfits) except -1:
        """Raise the error of a record, or add it to `misfits`."""
        try:
            check(status, err)
        except errors.ExampleParseError as error:
            if misfits is None or status != c.FR_ERR_MALFORMED:
                raise
            misfits.append((index, error))
        return 0

    def read(self, RecordReader reader, size_t count, uint64_t first, list misfits):
        """Examine up to `count` records of a reader; return their number, 0 at its end.

        `first` is the number of the first record. The index, the error and the data of a record
        that is not an Example are added to `misfits`.
        """
        cdef c.fr_record record
        cdef c.fr_error err, fault, shrunk
        cdef size_t done = 0, size
        cdef int status, added
        reader._enter()
        with reader.lock:
            reader._raise_failure()
            self.context.records = first
            while done < count and not reader.ended:
                size, added = 0, c.FR_OK
                with nogil, self.lock:
                    status = c.fr_reader_next(&reader.reader, &record, &err)
                    while status == c.FR_OK:
                        done += 1
                        size += record.data.size
                        added = c.fr_infer_add(&self.context, &self.lists, record.data, &fault)
                        if added != c.FR_OK or done == count or size >= <size_t>SLICE_BYTES:
                            break
                        status = c.fr_reader_next(&reader.reader, &record, &err)
                if size:
                    reader._check(c.fr_reader_check(&reader.reader, &shrunk), &shrunk)
                    PyErr_CheckSignals()
                if added != c.FR_OK:
                    self._note(added, &fault, done - 1, misfits)
                    misfits[-1] += (PyBytes_FromStringAndSize(
                        <const char *>record.data.data, <Py_ssize_t>record.data.size),)
                elif status != c.FR_OK and not reader._more(status, &err, done > 0):
                    break
            c.fr_source_release(&reader.reader.source)
            if not done:
                reader._finish()
        return done

    @property
    def records(self):
        """Number of the record after the last one."""
        return self.context.records

    def sightings(self):
        """Map keys to the number of records with no kind, bytes, floats and integers."""
        return {key: counts for key, (counts, *_) in _counts(&self.context).items()}

    def counts(self):
        """Return the counts of each key of features, and of feature lists.

        The counts are: by kind the number of records, or of frames; by kind the first record, or
        -1; records that have the key; fewest and most values; fewest and most frames.
        """
        with self.lock:
            return _counts(&self.context), _counts(&self.lists)


cdef dict _counts(c.fr_infer *infer):
    cdef const c.fr_sighting *seen
    cdef size_t i
    cdef dict result = {}
    c.fr_infer_settle(infer)
    for i in range(c.fr_infer_count(infer)):
        seen = c.fr_infer_sighting(infer, i)
        if not seen.present:  # only in malformed records
            continue
        key = PyBytes_FromStringAndSize(<const char *>infer.keys.data + seen.key, seen.key_size)
        result[key] = (
            (seen.records[0], seen.records[1], seen.records[2], seen.records[3]),
            tuple([<int64_t>seen.first[kind] - 1 for kind in range(4)]),
            seen.present, seen.fewest, seen.most, seen.least_frames, seen.most_frames)
    return result
