# SPDX-License-Identifier: Apache-2.0

cdef dict FITS = {
    "best": c.FR_FIT_BEST, "first": c.FR_FIT_FIRST, "split": c.FR_FIT_SPLIT,
}
cdef dict OVERLONG = {
    "split": c.FR_OVERLONG_SPLIT, "drop": c.FR_OVERLONG_DROP, "error": c.FR_OVERLONG_ERROR,
}


@cython.final
cdef class RowPlan:
    """A plan of documents in rows of a fixed length, made from the lengths of the documents."""

    cdef c.fr_row_plan plan
    cdef readonly uint32_t length

    def __cinit__(self, lengths, *, uint32_t length, str fit, str overlong,
                  uint32_t max_segments=0, uint64_t seed=0):
        """Plan the rows.

        `lengths`: number of tokens of each document, uint32. `length`: tokens in a row. `fit`:
        "best", "first" or "split". `overlong`: "split", "drop" or "error". `max_segments`: greatest
        number of documents in a row; 0 is unlimited. `seed`: seed of the order of rows.
        """
        cdef const uint32_t[::1] raw = np.append(np.array(lengths, np.uint32), np.uint32(0))
        cdef uint32_t count = <uint32_t>(raw.shape[0] - 1)
        cdef c.fr_row_options options
        cdef c.fr_error err
        cdef int status
        options.length, options.max_segments, options.seed = length, max_segments, seed
        options.fit, options.overlong = FITS[fit], OVERLONG[overlong]
        self.length = length
        with nogil:
            status = c.fr_row_plan_make(&self.plan, &raw[0], count, &options, &err)
        check(status, &err)

    def __dealloc__(self):
        c.fr_row_plan_free(&self.plan)

    def __len__(self):
        return self.plan.rows

    @property
    def tokens(self):
        """Number of tokens in all rows."""
        return self.plan.tokens

    def rows(self, uint32_t begin, uint32_t end):
        """Return the segments of some rows, and the number of the first segment of each row.

        Returns
        -------
        segments : ndarray of uint32, shape (segments, 3)
            Document, its first token, and number of tokens.
        splits : ndarray of uint32, shape (end - begin + 1,)
        """
        if not begin <= end <= self.plan.rows:
            raise IndexError(f"rows must be within 0 to {self.plan.rows}, got {begin} to {end}")
        cdef const uint32_t *splits = <const uint32_t *>self.plan.splits.data
        cdef uint32_t first = splits[begin]
        cdef size_t count = splits[end] - first
        segments = np.empty((count, 3), np.uint32)
        begins = np.empty(end - begin + 1, np.uint32)
        cdef uint32_t[:, ::1] raw = segments
        cdef uint32_t[::1] places = begins
        cdef uint32_t i
        for i in range(end - begin + 1):
            places[i] = splits[begin + i] - first
        if count:
            memcpy(&raw[0, 0], self.plan.segments.data + first * sizeof(c.fr_segment),
                   count * sizeof(c.fr_segment))
        return segments, begins


@cython.final
cdef class RowLayout:
    """Planned rows with the tokens of their documents, ready to write to arrays."""

    cdef c.fr_row_layout layout
    cdef c.fr_row_part *parts
    cdef uint32_t[:, ::1] table  # segments
    cdef uint32_t[::1] splits
    cdef list kept
    cdef int64_t[::1] counts  # values of each document, in all parts that are not constant

    def __cinit__(self, segments, splits, uint32_t length, uint32_t documents, parts):
        """Lay out the documents.

        `segments`, `splits`: as in `RowPlan.rows`, with documents numbered below `documents`.
        `parts`: of a document, (values and splits, both int64, or a constant token; whether the
        loss counts it).
        """
        cdef c.fr_error err
        cdef size_t i
        self.kept = []
        self.table = np.append(np.array(segments, np.uint32), np.zeros((1, 3), np.uint32), 0)
        self.splits = np.array(splits, np.uint32)
        if self.table.shape[1] != 3 or self.splits.shape[0] < 1 or self.splits[0] != 0:
            raise ValueError("segments must be of shape (n, 3), and splits begin with 0")
        if (np.diff(np.asarray(self.splits).astype(np.int64)) < 0).any() or (
                self.splits[self.splits.shape[0] - 1] >= <uint32_t>self.table.shape[0]):
            raise ValueError("splits must ascend, and be within the segments")
        self.parts = <c.fr_row_part *>calloc(len(parts) + 1, sizeof(c.fr_row_part))
        if self.parts == NULL:
            raise MemoryError
        self.counts = np.zeros(documents, np.int64)
        for i, (source, has_loss) in enumerate(parts):
            self._set_part(&self.parts[i], source, documents)
            self.parts[i].has_loss = has_loss
        self.layout.segments = <c.fr_segment *>&self.table[0, 0]
        self.layout.splits = &self.splits[0]
        self.layout.rows, self.layout.length = <uint32_t>(self.splits.shape[0] - 1), length
        self.layout.parts, self.layout.part_count = self.parts, len(parts)
        self.layout.documents = documents
        check(c.fr_row_layout_check(&self.layout, &err), &err)

    cdef int _set_part(self, c.fr_row_part *part, source, uint32_t documents) except -1:
        cdef const int64_t[::1] values, splits
        if not isinstance(source, tuple):
            part.constant = source
            return 0
        values, splits = source[0], np.array(source[1], np.int64)  # copy before the check
        lengths = np.diff(np.asarray(splits))
        if splits.shape[0] != documents + 1 or splits[0] < 0 or (lengths < 0).any() or (
                splits[documents] > values.shape[0]):
            raise ValueError("splits of a part must ascend within its values")
        self.counts = np.asarray(self.counts) + lengths
        self.kept += [values, splits]
        part.values = &values[0] if values.shape[0] else &NO_VALUE
        part.splits = &splits[0]
        return 0

    def __dealloc__(self):
        free(self.parts)

    @property
    def shape(self):
        """Number of rows, and tokens in a row."""
        return self.layout.rows, self.layout.length

    def tokens(self, dtype, int64_t pad):
        """Return tokens of an integer dtype, shape (rows, length). `pad` fills the rows."""
        cdef c.fr_error err
        cdef int status
        dtype = np.dtype(dtype)
        if dtype.kind not in "iu":
            raise TypeError(f"dtype must be of integers, got {dtype}")
        cdef c.fr_dtype kind = DTYPES[dtype]
        result = np.empty(self.shape, dtype)
        cdef uint8_t[::1] raw = result.reshape(-1).view(np.uint8)
        if not result.size:
            return result
        with nogil:
            status = c.fr_row_fill_tokens(&self.layout, kind, pad, &raw[0], &err)
        check(status, &err)
        return result

    def segments(self):
        """Return for each token the number of its segment and its number there, as int32.

        Segments are numbered from 1 in each row, tokens from 0 in each segment. Both are 0 in the
        padding.
        """
        result = np.empty((2, *self.shape), np.int32)
        cdef int32_t[:, :, ::1] raw = result
        if result.size:
            with nogil:
                c.fr_row_fill_segments(&self.layout, &raw[0, 0, 0], &raw[1, 0, 0])
        return result[0], result[1]

    def loss(self):
        """Return for each token whether the loss counts it, as bool."""
        result = np.empty(self.shape, np.uint8)
        cdef uint8_t[:, ::1] raw = result
        if result.size:
            with nogil:
                c.fr_row_fill_loss(&self.layout, &raw[0, 0])
        return result.view(np.bool_)

    def aligned(self, values, splits, pad):
        """Return numbers that accompany the tokens of parts with values; `pad` elsewhere.

        Raises
        ------
        ValueError
            For the first document whose numbers and tokens differ in count.
        """
        values = np.array(values)
        cdef const int64_t[::1] begins = np.array(splits, np.int64)
        lengths = np.diff(np.asarray(begins))
        wrong = np.flatnonzero(lengths != np.asarray(self.counts)[: len(lengths)])
        if begins.shape[0] != self.layout.documents + 1 or len(wrong) or begins[0] < 0 or (
                begins[begins.shape[0] - 1] > len(values)):
            raise ValueError(f"document {wrong[0] if len(wrong) else 0}: aligned values must be "
                             "as many as the tokens")
        result = np.empty(self.shape, values.dtype)
        cdef size_t item = values.dtype.itemsize
        cdef const uint8_t[::1] raw = np.append(values, values.dtype.type(0)).view(np.uint8)
        cdef const uint8_t[::1] padding = np.full(1, pad, values.dtype).view(np.uint8)
        cdef uint8_t[::1] out = result.reshape(-1).view(np.uint8)
        if result.size:
            with nogil:
                c.fr_row_fill_aligned(&self.layout, &raw[0], &begins[0], item, &padding[0], &out[0])
        return result

    def boundaries(self):
        """Return the first token of each segment and padding, and the number of all tokens."""
        if self.layout.rows * <uint64_t>self.layout.length > <uint64_t>INT32_MAX:
            raise ValueError("boundaries of 2**31 tokens and more do not fit in int32")
        result = np.empty(self.table.shape[0] + self.layout.rows + 1, np.int32)
        cdef int32_t[::1] raw = result
        return result[:c.fr_row_fill_boundaries(&self.layout, &raw[0])]


cdef int64_t NO_VALUE = 0
