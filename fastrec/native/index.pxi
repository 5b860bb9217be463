# SPDX-License-Identifier: Apache-2.0

cdef object UNFILLED = object()


@cython.final
cdef class FileIndex:
    """Offsets of the records of one file, with its size and modification time. Immutable."""

    cdef c.fr_index index
    cdef c.fr_file_stamp stamp
    cdef readonly list gaps  # as in RecordReader, if a pass that skipped damage made the index

    def __cinit__(self, offsets, uint64_t size=0, int64_t mtime_ns=0, *, bint gaps=False):
        """Copy `offsets`, a block of uint64: the start of each record, and the end of the last one.

        Other code of the extension passes UNFILLED, and sets the index itself.
        """
        cdef c.fr_error err
        cdef Py_buffer view
        cdef int status
        self.gaps = []
        if offsets is UNFILLED:
            return
        offsets = bytes(offsets)  # copy before the check, because the caller's block may change
        PyObject_GetBuffer(offsets, &view, PyBUF_SIMPLE)
        try:
            if view.len < 8 or view.len % 8:
                raise ValueError(f"offsets must be at least one uint64, got {view.len} bytes")
            with nogil:
                status = c.fr_index_set(&self.index, <const uint64_t *>view.buf, view.len // 8 - 1,
                                        size, gaps, &err)
        finally:
            PyBuffer_Release(&view)
        self.stamp.size, self.stamp.mtime_ns = size, mtime_ns
        check(status, &err)

    def __dealloc__(self):
        c.fr_index_free(&self.index)

    @staticmethod
    def load(data, path=None):
        """Load the bytes that :meth:`save` made. Raise IndexMismatchError for any other bytes."""
        cdef FileIndex self = FileIndex.__new__(FileIndex, UNFILLED)
        cdef c.fr_error err
        cdef c.fr_index loaded
        cdef c.fr_span file
        cdef Py_buffer view
        cdef int status
        memset(&loaded, 0, sizeof(loaded))
        chosen()
        data = bytes(data)  # copy before the check, because the caller's block may change
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            file.data, file.size = <const uint8_t *>view.buf, <size_t>view.len
            with nogil:
                status = c.fr_index_load(&loaded, file, &self.stamp, &err)
                if status == c.FR_OK:
                    status = c.fr_index_copy(&loaded, &self.index, &err)
                c.fr_index_free(&loaded)
        finally:
            PyBuffer_Release(&view)
        check(status, &err, path)
        return self

    def compare(self, place, path):
        """Raise IndexMismatchError, with `path`, unless this indexes the file at `place`."""
        cdef c.fr_error err
        cdef c.fr_file_stamp now
        cdef bytes name = path_bytes(place)
        cdef const char *raw = name
        cdef int status
        chosen()
        with nogil:
            status = c.fr_file_map_stat(raw, &now, &err)
            if status == c.FR_OK:
                status = c.fr_index_compare(&self.index, &self.stamp, raw, &now, &err)
        check(status, &err, path)

    def save(self):
        """Return a block that :meth:`load` accepts."""
        cdef OwnedBuffer out = OwnedBuffer()
        cdef c.fr_error err
        cdef int status
        with nogil:
            status = c.fr_index_save(&self.index, &self.stamp, &out.buffer, &err)
        check(status, &err)
        return out

    def __len__(self):
        return <Py_ssize_t>self.index.count

    def bounds(self, const uint64_t[::1] records not None):
        """Return the offsets of records, and of the records after them: two blocks of uint64."""
        cdef OwnedBuffer begins = OwnedBuffer(), ends = OwnedBuffer()
        cdef c.fr_error err
        cdef size_t count = records.shape[0], i
        # Copy before the check, because the caller's array may change.
        records = np.array(records, np.uint64)
        check(c.fr_buffer_reserve(&begins.buffer, max(count, <size_t>1) * 8, &err), &err)
        check(c.fr_buffer_reserve(&ends.buffer, max(count, <size_t>1) * 8, &err), &err)
        for i in range(count):
            if records[i] >= self.index.count:
                raise IndexError(f"record index {records[i]} is out of range "
                                 f"({self.index.count} records)")
        if count:
            with nogil:
                c.fr_index_bounds(&self.index, &records[0], count,
                                  <uint64_t *>begins.buffer.data, <uint64_t *>ends.buffer.data)
        begins.buffer.size = ends.buffer.size = count * 8
        return block_of(begins, &begins.buffer), block_of(ends, &ends.buffer)

    def find(self, uint64_t offset):
        """Return the record that contains the byte at `offset`. It is not before the first."""
        return c.fr_index_find(&self.index, offset)

    def offsets(self):
        """A block of uint64: the start of each record, and the end of the last one."""
        cdef OwnedBuffer offsets = OwnedBuffer()
        cdef c.fr_error err
        cdef int status
        with nogil:
            status = c.fr_index_offsets(&self.index, &offsets.buffer, &err)
        check(status, &err)
        cdef Block block = block_of(offsets, &offsets.buffer)
        block.fixed = True
        return block

    @property
    def size(self):
        """Size of the file, in bytes."""
        return self.stamp.size

    @property
    def mtime_ns(self):
        """Time of the file's last change, in nanoseconds since 1970."""
        return self.stamp.mtime_ns
