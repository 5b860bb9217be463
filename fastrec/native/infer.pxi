# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class Survey:
    """Collects the features of Examples."""

    cdef c.fr_infer infer
    cdef cython.pymutex lock

    def __cinit__(self, uint64_t first=0):
        """`first`: number of the first record, for messages."""
        self.infer.records = first
        self.infer.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        c.fr_infer_free(&self.infer)

    def add(self, records):
        """Look at a sequence of bytes-like records, or a Bytes."""
        cdef Spans spans = Spans(records)
        cdef c.fr_error err
        cdef int status = c.FR_OK
        cdef size_t i
        with nogil, self.lock:
            for i in range(spans.count):
                status = c.fr_infer_add(&self.infer, spans.spans[i], &err)
                if status != c.FR_OK:
                    break
        check(status, &err)

    def sightings(self):
        """Map keys to the number of records with no kind, bytes, floats and integers."""
        cdef const c.fr_sighting *seen
        cdef size_t i
        result = {}
        for i in range(c.fr_infer_count(&self.infer)):
            seen = c.fr_infer_sighting(&self.infer, i)
            key = PyBytes_FromStringAndSize(
                <const char *>self.infer.keys.data + seen.key, seen.key_size)
            result[key] = (seen.records[0], seen.records[1], seen.records[2], seen.records[3])
        return result
