# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class Dataset:
    """The records of many plain files under one numbering, by index.

    Once made it does not change, so any number of threads may share one.
    """

    cdef c.fr_dataset dataset
    cdef readonly list paths

    def __init__(self, paths, *, bint verify=True, uint64_t max_record=0):
        self.paths = list(paths)
        self.dataset.options.verify = verify
        self.dataset.options.max_record = max_record
        chosen()
        self._open([path_bytes(path) for path in self.paths])
        self._scan()

    cdef int _open(self, list names) except -1:
        cdef c.fr_error err
        cdef c.fr_frame_options options = self.dataset.options
        cdef size_t count = len(names), i
        cdef int status
        cdef const char **raw = <const char **>malloc((count + 1) * sizeof(char *))
        if raw == NULL:
            raise MemoryError
        for i in range(count):
            raw[i] = PyBytes_AS_STRING(names[i])
        with nogil:
            status = c.fr_dataset_open(&self.dataset, raw, count, &options, &err)
        free(raw)
        self._check(status, &err)
        return 0

    cdef int _check(self, int status, c.fr_error *err) except -1:
        if status >= 0:
            return status
        return check(status, err, self.paths[err.file] if err.file >= 0 else None)

    cdef int _scan(self) except -1:
        cdef c.fr_error err
        cdef int status = c.FR_AGAIN
        while status == c.FR_AGAIN:
            with nogil:
                status = c.fr_dataset_scan(&self.dataset, SLICE_RECORDS, &err)
            self._check(status, &err)
            PyErr_CheckSignals()
        return 0

    def __dealloc__(self):
        c.fr_dataset_close(&self.dataset)

    def __len__(self):
        return <Py_ssize_t>self.dataset.count

    def file_counts(self):
        """Records of each file."""
        starts = [self.dataset.files[i].first for i in range(self.dataset.file_count)]
        return [end - first for first, end in zip(starts, [*starts[1:], self.dataset.count])]

    def path_of(self, uint64_t number):
        """The path of the file that record `number` is in; the caller checks the range."""
        return self.paths[c.fr_dataset_find(&self.dataset, number)]

    def record(self, uint64_t number):
        """Record `number` as bytes; the caller checks the range."""
        cdef c.fr_record record
        cdef c.fr_error err
        self._check(c.fr_dataset_record(&self.dataset, number, &record, &err), &err)
        data = PyBytes_FromStringAndSize(
            <const char *>record.data.data, <Py_ssize_t>record.data.size)
        self._check(c.fr_dataset_check(&self.dataset, number, &err), &err)
        return data
