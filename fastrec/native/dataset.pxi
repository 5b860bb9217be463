# SPDX-License-Identifier: Apache-2.0

cdef enum:
    MOST_SCANNING = 8  # threads
    OPENED_AT_ONCE = 256  # indexes opened between checks for signals


def heads(places):
    """Return the first 512 bytes of each file; None for a file that is not regular."""
    cdef list names = [path_bytes(place) for place in places], found = []
    cdef char head[512]
    cdef c.fr_error err
    cdef const char *raw
    cdef size_t size
    cdef int status
    for name in names:
        raw, size = name, sizeof(head)
        with nogil:
            status = c.fr_file_head(raw, head, &size, &err)
        if status < 0:
            check(status, &err, places[len(found)])
        found.append(PyBytes_FromStringAndSize(head, <Py_ssize_t>size) if status == c.FR_OK
                     else None)
        PyErr_CheckSignals()
    return found


@cython.final
cdef class Dataset:
    """The records of several plain files, numbered across the files and found by index.

    It is immutable, so any number of threads may share it.
    """

    cdef c.fr_dataset dataset
    cdef readonly tuple paths
    cdef tuple places
    cdef uint64_t mean_size  # approximate mean size of a record
    cdef size_t slice  # records to read between checks for signals
    cdef c.fr_readahead ahead  # read-ahead state after the last batch by number

    def __cinit__(self, paths, *, bint verify=True, uint64_t max_record=0, places=None,
                 indexes=None, beside=None, size_t mapped=0,
                 const uint64_t[:, ::1] listed=None):
        """Open the files.

        Parameters
        ----------
        places : sequence of path, optional
            Locations of the files, if `paths` are only their names in messages.
        indexes : sequence of FileIndex or None, optional
            Indexes of the files. A file without an index is scanned.
        beside : True or callable, optional
            Use index files. True requires the index file of every file. A callable permits missing
            ones, and is called with the error of each index file that is refused.
        mapped : int
            Number of files mapped at a time; 0 for the number the system allows.
        listed : array of uint64, optional
            Size and record count of each file. A file is opened when one of its records is first
            needed, and must have these numbers. An index file that does not match is ignored.
        """
        cdef size_t number
        self.paths = tuple(paths)
        self.places = self.paths if places is None else tuple(places)
        self.dataset.limit = mapped
        self.dataset.options.verify = verify
        self.dataset.options.max_record = max_record
        chosen()
        if listed is not None:
            self._list(listed, beside is not None)
        self._open([path_bytes(path) for path in self.places])
        if indexes is not None:
            for number, index in enumerate(indexes):
                if index is not None:
                    self._tell(number, index)
        if beside is not None and listed is None:
            self._use_beside(beside)
        self._scan()

    cdef int _list(self, const uint64_t[:, ::1] listed, bint beside) except -1:
        if listed.shape[0] != len(self.paths) or listed.shape[1] != 2:
            raise ValueError(f"listed must be of shape ({len(self.paths)}, 2), "
                             f"got ({listed.shape[0]}, {listed.shape[1]})")
        if listed.shape[0]:
            self.dataset.listed = <const c.fr_dataset_listed *>&listed[0, 0]
        self.dataset.looks_beside = beside
        return 0

    cdef int _open(self, list names) except -1:
        cdef c.fr_error err
        cdef c.fr_frame_options options = self.dataset.options
        cdef size_t count = len(names), i
        cdef int status = c.FR_AGAIN
        cdef const char **raw = <const char **>malloc((count + 1) * sizeof(char *))
        if raw == NULL:
            raise MemoryError
        try:
            for i in range(count):
                raw[i] = PyBytes_AS_STRING(names[i])
            while status == c.FR_AGAIN:
                with nogil:
                    status = c.fr_dataset_open(&self.dataset, raw, count, &options, &err)
                self._check(status, &err)
                PyErr_CheckSignals()
        finally:
            free(raw)
        return 0

    cdef int _tell(self, size_t number, FileIndex index) except -1:
        cdef FileIndex copy = FileIndex.__new__(FileIndex, UNFILLED)
        cdef c.fr_error err
        if number >= self.dataset.file_count:
            raise ValueError(f"an index too many: the dataset has {self.dataset.file_count} files")
        cdef int status
        check(c.fr_index_copy(&index.index, &copy.index, &err), &err)
        with nogil:
            status = c.fr_dataset_tell(&self.dataset, number, &copy.index, &index.stamp, &err)
        self._check(status, &err)
        return 0

    cdef int _use_beside(self, refused) except -1:
        cdef c.fr_error err
        cdef size_t number = 0, end
        cdef int status = c.FR_OK
        while number < self.dataset.file_count:
            end = min(number + OPENED_AT_ONCE, self.dataset.file_count)
            with nogil:
                while number < end:
                    status = c.fr_dataset_use_beside(&self.dataset, number, &err)
                    number += 1
                    if status != c.FR_OK:
                        break
            if status < 0:
                self._refuse_beside(status, &err, refused)
            PyErr_CheckSignals()
        return 0

    cdef int _refuse_beside(self, int status, c.fr_error *err, refused) except -1:
        path = self.paths[err.file]
        if status == c.FR_ERR_IO:  # most files have no index file
            if refused is True:
                check(status, err, os.fsdecode(self.places[err.file]) + ".frindex")
            return 0
        if refused is True:
            check(status, err, path)
        try:
            check(status, err, path)
        except errors.IndexMismatchError as error:
            refused(error)
        return 0

    cdef int _check(self, int status, c.fr_error *err) except -1:
        if status >= 0:
            return status
        path = content = None
        if err.file >= 0:
            path = self.paths[err.file]
            if is_damage(status):
                content = self._explain(err)
        return check(status, err, path, content)

    cdef object _explain(self, c.fr_error *err):
        """Return the Content of a file with a damaged record, or None."""
        cdef c.fr_span data
        if self.dataset.maps == NULL and not self.dataset.reads:
            data = self.dataset.files[err.file].map.bytes
            return explain(data, err.offset == 0, True, tail_of(data))
        from .records.content import EXAMINED
        try:
            with open(self.places[err.file], "rb") as file:
                head = file.read(EXAMINED + 1)
        except OSError:
            return None
        data.data, data.size = <const uint8_t *>PyBytes_AS_STRING(head), <size_t>len(head)
        return explain(data, err.offset == 0, True)

    cdef int _scan_side_by_side(self) except -1:
        """Index the files in parallel, and leave the numbering of records to :meth:`_scan`."""
        cdef c.fr_error err
        cdef c.fr_parallel_index *scan = NULL
        cdef int status = c.FR_AGAIN
        cdef size_t threads = min(self.dataset.file_count, <size_t>MOST_SCANNING,
                                  <size_t>cpu_count())
        self._check(c.fr_parallel_index_start(&self.dataset, threads, &scan, &err), &err)
        try:
            while status == c.FR_AGAIN:
                with nogil:
                    status = c.fr_parallel_index_wait(scan, WAIT_MS, &err)
                PyErr_CheckSignals()
        finally:
            with nogil:
                c.fr_parallel_index_free(scan)
        self._check(status, &err)
        return 0

    cdef int _scan(self) except -1:
        cdef c.fr_error err
        cdef uint64_t limit = SLICE_RECORDS // 256
        cdef int status = c.FR_AGAIN
        if c.fr_parallel_index_pays(&self.dataset):
            self._scan_side_by_side()
        while status == c.FR_AGAIN:
            begun = monotonic()
            with nogil:
                status = c.fr_dataset_scan(&self.dataset, limit, &err)
            self._check(status, &err)
            PyErr_CheckSignals()
            # If a file is not in memory, reading each header may wait for the disk.
            if monotonic() - begun < SLICE_SECONDS / 2:
                limit = min(2 * limit, <uint64_t>SLICE_RECORDS)
            else:
                limit = max(limit // 2, <uint64_t>1)
        self._choose_slice()
        return 0

    cdef void _choose_slice(self) noexcept:
        self.mean_size = (self._size() + 1) // max(self.dataset.count, <uint64_t>1) + 1
        self.slice = max(<uint64_t>1, min(<uint64_t>SLICE_RECORDS, SLICE_BYTES // self.mean_size))

    cdef uint64_t _size(self) noexcept:
        cdef uint64_t size = 0
        cdef size_t i
        for i in range(self.dataset.file_count):
            size += self.dataset.files[i].stamp.size
        return size

    @property
    def size(self):
        """Size of all files in bytes."""
        return self._size()

    def __dealloc__(self):
        with nogil:  # unmapping large files takes long
            c.fr_dataset_close(&self.dataset)

    def __len__(self):
        return <Py_ssize_t>self.dataset.count

    def file_counts(self):
        """Number of records in each file."""
        starts = [self.dataset.files[i].first for i in range(self.dataset.file_count)]
        return [end - first for first, end in zip(starts, [*starts[1:], self.dataset.count])]

    def __getitem__(self, number):
        return self.at(number)

    cdef bytes at(self, number):
        cdef Py_ssize_t count = <Py_ssize_t>self.dataset.count
        if not PyIndex_Check(number) or isinstance(number, np.ndarray):
            kind = type(number).__name__
            raise TypeError(f"a record index must be an int or a slice, got {kind}")
        cdef Py_ssize_t at = PyNumber_AsSsize_t(number, IndexError)
        if at < 0:
            at += count
        if not 0 <= at < count:
            raise IndexError(f"record index {number} is out of range ({count} records)")
        return self.record(at)

    def index_of(self, size_t number):
        """Return the FileIndex of file `number`. The caller checks the range."""
        cdef FileIndex index = FileIndex.__new__(FileIndex, UNFILLED)
        cdef c.fr_error err
        self._check(c.fr_dataset_copy_index(&self.dataset, number, &index.index, &err), &err)
        index.stamp = self.dataset.files[number].stamp
        return index

    def stamp_of(self, size_t number):
        """Return size and time of change of file `number`; None before a listed file is opened."""
        if self.dataset.files[number].listed:
            return None
        return self.dataset.files[number].stamp.size, self.dataset.files[number].stamp.mtime_ns

    def place_of(self, uint64_t number):
        """Return the file of record `number`, and its number there. The caller checks the range."""
        cdef size_t file = c.fr_dataset_find(&self.dataset, number)
        return self.paths[file], number - self.dataset.files[file].first

    def position_of(self, uint64_t number):
        """Return file, number there, and offset of record `number`. The caller checks the range."""
        cdef c.fr_error err
        err.offset = -1
        c.fr_dataset_locate(&self.dataset, number, &err)
        return self.paths[err.file], err.record, err.offset

    cdef object located(self, error, uint64_t number):
        """Return an error about a row of a batch as an error about record `number` of its file."""
        cdef c.fr_error err
        err.offset = -1
        c.fr_dataset_locate(&self.dataset, number, &err)
        return error.in_record(err.record, self.paths[err.file], err.offset)

    def path_of(self, uint64_t number):
        """Return the path of the file with record `number`. The caller checks the range."""
        return self.paths[c.fr_dataset_find(&self.dataset, number)]

    cdef bytes record(self, uint64_t number):
        """Return record `number` as bytes. The caller checks the range."""
        cdef c.fr_dataset_place place
        cdef c.fr_record record
        cdef c.fr_dataset_hold hold
        cdef c.fr_error err
        cdef int status
        memset(&hold, 0, sizeof(hold))
        c.fr_dataset_expect(&self.dataset, number)
        try:
            if self.dataset.maps == NULL and not self.dataset.reads:
                status = c.fr_dataset_resolve(&self.dataset, &number, 1, &place, &hold, &err)
            else:  # the file may need to be opened, indexed, or read
                with nogil:
                    status = c.fr_dataset_resolve(&self.dataset, &number, 1, &place, &hold, &err)
            self._check(status, &err)
            if c.fr_dataset_is_near(&self.dataset, &place):
                status = c.fr_dataset_peek(&self.dataset, &place, &record, &err)
            else:
                with nogil:
                    c.fr_dataset_fetch(&self.dataset, &place, 1)
                    status = c.fr_dataset_peek(&self.dataset, &place, &record, &err)
            self._check(status, &err)
            data = self._copy(number, &record)
            self._check(c.fr_dataset_check(&self.dataset, number, &err), &err)
        finally:
            c.fr_dataset_let_go(&self.dataset, &hold)
        return data

    cdef bytes _copy(self, uint64_t number, const c.fr_record *record):
        """Copy a record, and check the copy."""
        cdef c.fr_error err
        cdef int status
        data = new_bytes(record.data.size)
        cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(data)
        if record.data.size < GIL_THRESHOLD:
            status = c.fr_dataset_copy(&self.dataset, number, record, out, &err)
        else:
            with nogil:
                status = c.fr_dataset_copy(&self.dataset, number, record, out, &err)
        self._check(status, &err)
        return data

    cdef int _check_numbers(self, const uint64_t *numbers, size_t count) except -1:
        cdef size_t i
        for i in range(count):
            if numbers[i] >= self.dataset.count:
                raise IndexError(f"record index {numbers[i]} is out of range "
                                 f"({self.dataset.count} records)")
        return 0

    cdef int _put_records(self, const uint64_t *numbers, size_t count, list found,
                          c.fr_dataset_hold *hold) except -1:
        """Append up to FR_DATASET_AT_ONCE records."""
        cdef c.fr_record records[c.FR_DATASET_AT_ONCE]
        cdef uint8_t *copies[c.FR_DATASET_AT_ONCE]
        cdef c.fr_error err
        cdef size_t i
        cdef int status
        with nogil:
            status = c.fr_dataset_records(&self.dataset, numbers, count, records, hold, &err)
        self._check(status, &err)
        for i in range(count):
            data = new_bytes(records[i].data.size)
            copies[i] = <uint8_t *>PyBytes_AS_STRING(data)
            found.append(data)
        with nogil:
            for i in range(count):
                if status == c.FR_OK:
                    status = c.fr_dataset_copy(
                        &self.dataset, numbers[i], &records[i], copies[i], &err)
            for i in range(count):
                if status == c.FR_OK:
                    status = c.fr_dataset_check(&self.dataset, numbers[i], &err)
        self._check(status, &err)
        return 0

    def records(self, const uint64_t[::1] numbers not None):
        """Return the records with these numbers as a list of bytes."""
        cdef c.fr_dataset_hold hold
        cdef Py_ssize_t count = numbers.shape[0], done = 0, some
        cdef const uint64_t *first
        cdef list found = []
        if count == 0:
            return found
        memset(&hold, 0, sizeof(hold))
        # Copy before the check, because the caller's array may change.
        numbers = np.array(numbers, np.uint64)
        first = &numbers[0]
        self._check_numbers(first, count)
        try:
            while done < count:
                some = min(count - done, <Py_ssize_t>c.FR_DATASET_AT_ONCE,
                           <Py_ssize_t>self.slice)
                self._put_records(first + done, some, found, &hold)
                done += some
                PyErr_CheckSignals()
        finally:
            c.fr_dataset_let_go(&self.dataset, &hold)
        return found

    def take(self, const uint64_t[::1] numbers not None):
        """Return the records with these numbers as one block, without the interpreter's lock."""
        cdef OwnedBuffer data = OwnedBuffer(), offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t count = numbers.shape[0], done = 0, some
        cdef const uint64_t *first
        cdef int status = c.FR_OK
        # Copy before the check, because the caller's array may change.
        numbers = np.array(numbers, np.uint64)
        first = &numbers[0] if count else NULL
        self._check_numbers(first, count)
        while status == c.FR_OK and (done < count or done == 0):
            some = min(count - done, self.slice)
            with nogil:
                status = c.fr_dataset_take(&self.dataset, first + done if count else NULL, some,
                                           &data.buffer, &offsets.buffer, &err)
            self._check(status, &err)
            PyErr_CheckSignals()
            done += max(some, <size_t>1)
        return bytes_column(data, offsets)


@cython.final
cdef class MemoryRecords:
    """Records by number whose frames are in memory: parts of remote objects, decompressed files.

    Parameters
    ----------
    paths : sequence of path
        The files that contain the records.
    pieces : sequence of buffers
        Parts of the files, which are joined.
    table : ndarray of uint64, shape (records, 5)
        For each record: number of its file, number within the file, offset in the file, position in
        the joined pieces, and size of the frame. A frame must not cross pieces.
    """

    cdef c.fr_dataset dataset
    cdef tuple paths
    cdef list views

    def __cinit__(self, paths, pieces, const uint64_t[:, ::1] table not None, *, bint verify=True,
                  uint64_t max_record=0):
        cdef c.fr_frame_options options
        cdef size_t count = table.shape[0]
        cdef c.fr_dataset_span *spans
        self.paths = tuple(paths)
        self.views = [View(piece) for piece in pieces]
        if table.shape[1] != 5:
            raise ValueError(f"table must have 5 columns, got {table.shape[1]}")
        options.verify, options.max_record = verify, max_record
        chosen()
        spans = <c.fr_dataset_span *>calloc(max(count, <size_t>1), sizeof(c.fr_dataset_span))
        if spans == NULL:
            raise MemoryError
        c.fr_dataset_open_spans(&self.dataset, spans, count, &options)
        # Copy before the check, because the caller's array may change.
        self._fill(spans, np.array(table, np.uint64))

    cdef int _fill(self, c.fr_dataset_span *spans, const uint64_t[:, ::1] table) except -1:
        cdef size_t count = table.shape[0], i
        cdef View view
        cdef uint64_t within
        starts = np.cumsum([0] + [(<View>view).view.len for view in self.views], dtype=np.uint64)
        cdef const uint64_t[::1] start = starts
        cdef const int64_t[::1] piece = np.searchsorted(
            starts[1:], np.asarray(table)[:, 3], "right").astype(np.int64)
        for i in range(count):
            if table[i, 0] >= <uint64_t>len(self.paths) or piece[i] >= len(self.views):
                raise ValueError("a record must lie in one of the pieces, and in one of the files")
            view = <View>self.views[piece[i]]
            within = table[i, 3] - start[piece[i]]
            if table[i, 4] > <uint64_t>view.view.len - within:
                raise ValueError(f"a frame of {table[i, 4]} bytes must lie in one piece")
            spans[i].frame.data = <const uint8_t *>view.view.buf + within
            spans[i].frame.size = table[i, 4]
            spans[i].file, spans[i].record = <uint32_t>table[i, 0], table[i, 1]
            spans[i].offset = table[i, 2]
        return 0

    def __dealloc__(self):
        c.fr_dataset_close(&self.dataset)

    def __len__(self):
        return <Py_ssize_t>self.dataset.count

    def take(self, const uint64_t[::1] numbers not None):
        """Return the records with these numbers as one block, each verified."""
        cdef OwnedBuffer data = OwnedBuffer(), offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t count = numbers.shape[0], i
        cdef const uint64_t *first
        cdef int status
        # Copy before the check, because the caller's array may change.
        numbers = np.array(numbers, np.uint64)
        first = &numbers[0] if count else NULL
        for i in range(count):
            if first[i] >= self.dataset.count:
                raise IndexError(f"record index {first[i]} is out of range "
                                 f"({self.dataset.count} records)")
        with nogil:
            status = c.fr_dataset_take(&self.dataset, first, count, &data.buffer, &offsets.buffer,
                                       &err)
        check(status, &err, self.paths[err.file] if status < 0 and err.file >= 0 else None)
        return bytes_column(data, offsets)


cdef class Indexed:
    """Base class with a native ``__getitem__``, without a Python frame in between.

    ``_dataset`` has the records, or is None until the first call of ``_at()`` sets it. ``_at()`` is
    also called for slices.
    """

    cdef Dataset dataset

    @property
    def _dataset(self):
        with cython.critical_section(self):
            return self.dataset

    @_dataset.setter
    def _dataset(self, Dataset dataset):
        with cython.critical_section(self):
            self.dataset = dataset

    def __getitem__(self, index):
        cdef Dataset dataset
        with cython.critical_section(self):
            dataset = self.dataset
        if dataset is None or isinstance(index, slice):
            return self._at(index)
        return dataset.at(index)
