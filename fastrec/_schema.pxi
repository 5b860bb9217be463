# SPDX-License-Identifier: Apache-2.0

cdef dict DTYPES = {
    np.dtype(np.bool_): c.FR_BOOL,
    np.dtype(np.int8): c.FR_INT8,
    np.dtype(np.uint8): c.FR_UINT8,
    np.dtype(np.int16): c.FR_INT16,
    np.dtype(np.uint16): c.FR_UINT16,
    np.dtype(np.int32): c.FR_INT32,
    np.dtype(np.uint32): c.FR_UINT32,
    np.dtype(np.int64): c.FR_INT64,
    np.dtype(np.uint64): c.FR_UINT64,
    np.dtype(np.float16): c.FR_FLOAT16,
    np.dtype(np.float32): c.FR_FLOAT32,
    np.dtype(np.float64): c.FR_FLOAT64,
    np.dtype(np.complex64): c.FR_COMPLEX64,
    np.dtype(np.complex128): c.FR_COMPLEX128,
    np.dtype(object): c.FR_BYTES,
}
cdef dict KINDS = {
    "record": c.FR_KIND_NONE,
    "bytes": c.FR_KIND_BYTES,
    "float": c.FR_KIND_FLOAT,
    "int64": c.FR_KIND_INT64,
}


cdef c.fr_span span_of(bytes data):
    cdef c.fr_span span
    span.data = <const uint8_t *>PyBytes_AS_STRING(data)
    span.size = <size_t>PyBytes_GET_SIZE(data)
    return span


@cython.final
cdef class Schema:
    """Features to read, compiled once; with a pool of batches that are used again.

    It does not change, so any number of threads may share one.
    """

    cdef c.fr_pool *pool
    cdef tuple keys, lowered

    def __init__(self, features, size_t keep=4):
        """`features`: what `fastrec.features.lower_all` gives. `keep`: idle batches to keep."""
        self.keys = tuple([key for key, _, _ in features])
        self.lowered = tuple([lowered for _, _, lowered in features])
        self._compile([(name, lowered) for _, name, lowered in features], keep)

    cdef int _compile(self, list features, size_t keep) except -1:
        cdef c.fr_error err
        cdef c.fr_schema schema
        cdef size_t count = len(features), i
        cdef int status
        cdef c.fr_feature *raw = <c.fr_feature *>calloc(count + 1, sizeof(c.fr_feature))
        if raw == NULL:
            raise MemoryError
        try:
            for i in range(count):
                name, lowered = features[i]
                raw[i].key = span_of(name)
                raw[i].kind = KINDS[lowered.kind]
                raw[i].dtype = DTYPES[lowered.dtype]
                raw[i].ragged, raw[i].raw, raw[i].swap = lowered.ragged, lowered.raw, lowered.swap
                raw[i].count = 1
                for dim in lowered.shape:
                    raw[i].count *= dim
                if lowered.fallback is not None:
                    raw[i].fallback = span_of(lowered.fallback)
            check(c.fr_schema_init(&schema, raw, count, &err), &err)
        finally:
            free(raw)
        status = c.fr_pool_new(&schema, keep, &self.pool, &err)
        if status != c.FR_OK:
            c.fr_schema_free(&schema)
        check(status, &err)
        return 0

    def __dealloc__(self):
        if self.pool != NULL:
            c.fr_pool_release(self.pool)

    @property
    def parses(self):
        """False for a schema of the record itself."""
        return self.lowered[0].kind != "record"

    @property
    def taken(self):
        """Batches that are in use, by loaders and by arrays."""
        return c.fr_pool_taken(self.pool)

    def parse(self, records):
        """Parse a sequence of bytes-like records, or a Bytes, into a dict of columns."""
        cdef Batch batch
        if isinstance(records, Bytes) and len(records.shape) == 1:
            batch = self._parse_block(records)
        else:
            batch = self._parse_objects(
                tuple([r if type(r) is bytes else bytes(memoryview(r)) for r in records]))
        return batch.columns()

    cdef Batch _parse_objects(self, tuple records):
        cdef size_t count = len(records), i
        cdef c.fr_span *spans = <c.fr_span *>malloc((count + 1) * sizeof(c.fr_span))
        if spans == NULL:
            raise MemoryError
        try:
            for i in range(count):
                spans[i] = span_of(records[i])
            return self._parse_spans(spans, count)
        finally:
            free(spans)

    cdef Batch _parse_block(self, records):
        cdef const uint8_t[::1] data = np.ascontiguousarray(records.data)
        cdef const int64_t[::1] offsets = np.ascontiguousarray(records.offsets)
        cdef size_t count = <size_t>(offsets.shape[0] - 1), i
        cdef c.fr_span *spans = <c.fr_span *>malloc((count + 1) * sizeof(c.fr_span))
        if spans == NULL:
            raise MemoryError
        try:
            for i in range(count):
                if not 0 <= offsets[i] <= offsets[i + 1] <= data.shape[0]:
                    raise ValueError(f"the offsets of record {i} lie outside of the data")
                spans[i].data = &data[0] + offsets[i] if data.shape[0] else &_nothing
                spans[i].size = <size_t>(offsets[i + 1] - offsets[i])
            return self._parse_spans(spans, count)
        finally:
            free(spans)

    cdef Batch _parse_spans(self, c.fr_span *spans, size_t count):
        cdef Batch batch = Batch.__new__(Batch)
        cdef c.fr_parser parser
        cdef c.fr_error err
        cdef int status
        batch.schema = self
        check(c.fr_parser_init(&parser, c.fr_pool_schema(self.pool), &err), &err)
        with nogil:
            status = c.fr_pool_take(self.pool, count, &batch.batch, &err)
            if status == c.FR_OK:
                status = c.fr_parse_rows(&parser, spans, count, batch.batch, &err)
            c.fr_parser_free(&parser)
        check(status, &err)
        return batch


@cython.final
@cython.no_gc_clear
cdef class Batch:
    """Columns that are done; their memory goes back to the pool with the last array over it."""

    cdef Schema schema
    cdef c.fr_columns *batch

    def __dealloc__(self):
        if self.batch != NULL:
            c.fr_pool_give(self.schema.pool, self.batch)

    def __getbuffer__(self, Py_buffer *view, int flags):
        cdef c.fr_buffer *dense = &self.batch.dense
        PyBuffer_FillInfo(view, self, dense.data if dense.size else &_nothing, dense.size, 0, flags)

    def columns(self):
        """A dict of arrays, Bytes and Ragged, by feature."""
        cdef size_t i
        result = {}
        for i in range(self.batch.column_count):
            result[self.schema.keys[i]] = self._column(i, self.schema.lowered[i])
        return result

    def record_column(self):
        """The column of a schema of the record itself."""
        return self._column(0, self.schema.lowered[0])

    cdef object _column(self, size_t i, lowered):
        cdef c.fr_column *column = &self.batch.columns[i]
        cdef size_t rows = self.batch.rows
        if lowered.dtype.hasobject:
            values = Bytes(
                array_of(block_of(self, &column.values), np.uint8),
                array_of(block_of(self, &column.offsets), np.int64),
                None if lowered.ragged else (rows, *lowered.shape))
        elif lowered.ragged:
            values = array_of(block_of(self, &column.values), lowered.dtype)
        else:
            return np.ndarray((rows, *lowered.shape), lowered.dtype, self, column.dense)
        if not lowered.ragged:
            return values
        return Ragged(values, array_of(block_of(self, &column.splits), np.int64))
