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


# Size in bytes of a record that is parsed without releasing the GIL. If other threads wait for the
# GIL, acquiring it again takes longer than parsing.
cdef enum: QUICK = 1 << 14


cdef c.fr_span span_of(bytes data):
    cdef c.fr_span span
    span.data = <const uint8_t *>PyBytes_AS_STRING(data)
    span.size = <size_t>PyBytes_GET_SIZE(data)
    return span


cdef int _columns(c.fr_feature *raw, specs) except -1:
    raw.key = span_of(specs.key)
    raw.kind = KINDS[specs.kind]
    raw.dtype = DTYPES[specs.dtype]
    raw.ragged, raw.raw, raw.swap = specs.ragged, specs.raw, specs.swap
    raw.frames, raw.presence = specs.frames, specs.presence
    raw.count = 1
    for dim in specs.shape:
        raw.count *= dim
    if specs.fallback is not None:
        raw.fallback = span_of(specs.fallback)
    if specs.fit is not None:
        _lower_fit(raw, specs)
    return 0


cdef int _lower_fit(c.fr_feature *raw, specs) except -1:
    cdef size_t i
    raw.fit = c.FR_FIT_CROP_OR_PAD if specs.fit.crops else c.FR_FIT_PAD
    raw.rank = len(specs.shape)
    for i in range(raw.rank):
        raw.target[i] = specs.shape[i]
    for i, extent in enumerate(specs.fit.extents):
        if isinstance(extent, int):
            raw.extent[i].kind, raw.extent[i].value = c.FR_EXTENT_FIXED, extent
        else:
            which, raw.extent[i].value = extent
            raw.extent[i].kind = c.FR_EXTENT_ALL if which == "all" else c.FR_EXTENT_ONE
    return 0


@cython.final
cdef class Schema:
    """Features to read, compiled once, with a pool of batches that are reused.

    It is immutable, so any number of threads may share it.
    """

    cdef c.fr_pool *pool
    cdef tuple specs, outputs
    cdef list lent  # borrowed memory, in which batches are made
    cdef tuple runs  # (first, count, strides of a row) of columns that are wrapped together
    cdef tuple names  # names of the outputs if each is the unchanged column at its index; or None
    cdef bint skips

    def __cinit__(self, plan, size_t keep=4, *, bint skips=False):
        """Compile `plan`, a `fastrec.features.column_spec.ReadPlan`.

        `keep`: number of idle batches to keep. `skips`: leave out records that do not fit the
        features, or whose data is damaged.
        """
        self.specs, self.outputs = plan
        self.skips = skips
        direct = [build is None and which == (i,)
                  for i, (_, which, build) in enumerate(self.outputs)]
        same = all(direct) and len(direct) == len(self.specs)
        self.names = tuple([name for name, _, _ in self.outputs]) if same else None
        self._compile(keep)
        self.runs = self._find_runs()

    cdef int _compile(self, size_t keep) except -1:
        cdef c.fr_error err
        cdef c.fr_schema schema
        cdef size_t count = len(self.specs), i
        cdef int status
        cdef c.fr_feature *raw = <c.fr_feature *>calloc(count + 1, sizeof(c.fr_feature))
        if raw == NULL:
            raise MemoryError
        try:
            for i in range(count):
                _columns(&raw[i], self.specs[i])
            check(c.fr_schema_init(&schema, raw, count, &err), &err)
        finally:
            free(raw)
        schema.skips = self.skips
        status = c.fr_pool_new(&schema, keep, &self.pool, &err)
        if status != c.FR_OK:
            c.fr_schema_free(&schema)
        check(status, &err)
        return 0

    cdef tuple _find_runs(self):
        """Find columns of the same type and shape that are adjacent in the shared block."""
        cdef const c.fr_schema *schema = c.fr_pool_schema(self.pool)
        cdef size_t i
        runs, before = [], None
        for i in range(schema.count):
            kind = None
            if c.fr_feature_is_dense(&schema.features[i]):
                kind = (self.specs[i].dtype, self.specs[i].shape)
            if kind is not None and kind == before:
                runs[-1][1] += 1
            else:
                runs.append([i, 1, np.empty((1, *kind[1]), kind[0]).strides if kind else None])
            before = kind
        return tuple([tuple(run) for run in runs])

    def __dealloc__(self):
        if self.pool != NULL:
            c.fr_pool_release(self.pool)

    @property
    def parses(self):
        """False for a schema of whole records."""
        return not self.specs or self.specs[0].kind != "record"

    @property
    def keys(self):
        """Keys of the features, as bytes."""
        return [specs.key for specs in self.specs] if self.parses else []

    @property
    def unseen(self):
        """Keys, as bytes, of the features that did not occur in any record parsed so far."""
        cdef const c.fr_schema *schema = c.fr_pool_schema(self.pool)
        cdef size_t i
        return [self.specs[i].key for i in range(schema.count)
                if self.parses and not c.fr_schema_has_seen(schema, i)]

    @property
    def taken(self):
        """Number of batches in use, by loaders and by arrays."""
        return c.fr_pool_taken(self.pool)

    def dense_size(self, size_t rows):
        """Return the total size in bytes of the fixed-size columns of `rows` rows."""
        cdef c.fr_error err
        cdef size_t size
        check(c.fr_columns_dense_size(c.fr_pool_schema(self.pool), rows, &size, &err), &err)
        return size + 1

    def lend(self, uint8_t[::1] block not None):
        """Add memory for a batch, 64-byte aligned. It is used if it is large enough."""
        cdef c.fr_error err
        if <size_t>&block[0] % 64 != 0:
            raise ValueError("the memory does not begin on a 64-byte boundary")
        if self.lent is None:
            self.lent = []
        self.lent.append(block)
        check(c.fr_pool_lend(self.pool, &block[0], block.shape[0], &err), &err)

    def parse(self, records, size_t threads=1, list misfits=None):
        """Parse a sequence of bytes-like records, or a Bytes, to a dict of columns.

        The number and the error of each record that is left out are added to `misfits`.
        """
        cdef Spans spans = Spans(records)
        cdef Batch batch = self.batch()
        cdef c.fr_error err
        cdef int status
        if spans.count == 1 and spans.spans[0].size <= QUICK:
            status = self.fill(spans, threads, batch, &err)
        else:
            with nogil:
                status = self.fill(spans, threads, batch, &err)
        check(status, &err)
        return batch.finish(misfits)

    cdef int fill(self, Spans spans, size_t threads, Batch batch, c.fr_error *err) noexcept nogil:
        cdef int status = c.fr_pool_take(self.pool, spans.count, &batch.batch, err)
        if status != c.FR_OK:
            return status
        return c.fr_parallel_parse(c.fr_pool_schema(self.pool), spans.spans, spans.count, threads,
                                   batch.batch, err)

    def gather(self, Dataset dataset not None, const uint64_t[::1] numbers not None,
               size_t threads=1, list misfits=None):
        """Read the records with these numbers, and parse them to a dict of columns.

        `misfits` is as in :meth:`parse`.
        """
        cdef Batch batch = self.batch()
        cdef c.fr_error err
        cdef size_t count = numbers.shape[0]
        cdef const uint64_t *first
        # Copy before the check, because the caller's array may change.
        numbers = np.array(numbers, np.uint64)
        first = &numbers[0] if count else NULL
        dataset._check_numbers(first, count)
        check(c.fr_pool_take(self.pool, count, &batch.batch, &err), &err)
        self._gather(dataset, first, count, threads, batch)
        batch.dataset, batch.numbers = dataset, numbers
        return batch.finish(misfits)

    cdef int _gather(self, Dataset dataset, const uint64_t *numbers, size_t count, size_t threads,
                     Batch batch) except -1:
        cdef const c.fr_schema *schema = c.fr_pool_schema(self.pool)
        cdef c.fr_readahead ahead
        cdef c.fr_error err
        cdef size_t done = 0, some, pays
        cdef int status
        with cython.critical_section(dataset):
            ahead = dataset.ahead
        while done < count:
            some = min(count - done, dataset.slice)
            pays = some * dataset.mean_size // c.FR_PARALLEL_PARSE_BYTES
            pays = max(<size_t>1, min(threads, pays, <size_t>c.FR_PARALLEL_PARSE_MAX))
            with nogil:
                status = c.fr_gather_batch(&dataset.dataset, schema, &ahead, numbers + done, some,
                                           pays, batch.batch, &err)
            dataset._check(status, &err)
            PyErr_CheckSignals()
            done += some
        with cython.critical_section(dataset):
            dataset.ahead = ahead
        return 0

    cdef Batch batch(self):
        cdef Batch batch = Batch.__new__(Batch)
        batch.schema = self
        return batch


def parse_sequences(Schema context, Schema lists, records, list misfits=None):
    """Parse SequenceExamples to the columns of their context and of their feature lists.

    If `context` skips, the number and the error of each record that is left out are added to
    `misfits`.
    """
    cdef Spans spans = Spans(records)
    cdef Batch outer = context.batch(), inner = lists.batch()
    cdef c.fr_sequence_parser parser
    cdef c.fr_error err
    cdef int status
    check(c.fr_sequence_parser_init(&parser, c.fr_pool_schema(context.pool),
                                    c.fr_pool_schema(lists.pool), &err), &err)
    with nogil:
        status = c.fr_pool_take(context.pool, spans.count, &outer.batch, &err)
        if status == c.FR_OK:
            status = c.fr_pool_take(lists.pool, spans.count, &inner.batch, &err)
        if status == c.FR_OK:
            status = c.fr_sequence_parse_rows(&parser, spans.spans, spans.count, outer.batch,
                                              inner.batch, &err)
        c.fr_sequence_parser_free(&parser)
    check(status, &err)
    if outer.batch.misfits.size:
        outer._note_misfits()
    outputs = _outputs([outer, inner], [outer._all_columns(), inner._all_columns()])
    if misfits is not None and outer.misfits is not None:
        misfits += outer.misfits
    return tuple(outputs)


@cython.final
@cython.no_gc_clear
cdef class Batch:
    """Complete columns. Their memory returns to the pool with the last array that refers to it."""

    cdef Schema schema
    cdef c.fr_columns *batch
    cdef Dataset dataset  # the dataset of the records, or None; and their numbers in it
    cdef object numbers
    cdef list misfits  # (number in the batch, error) of records left out; None if not wanted

    def __dealloc__(self):
        if self.batch != NULL:
            c.fr_pool_give(self.schema.pool, self.batch)

    def __getbuffer__(self, Py_buffer *view, int flags):
        cdef c.fr_buffer *dense = &self.batch.dense
        PyBuffer_FillInfo(view, self, dense.data if dense.size else &_nothing, dense.size, 0, flags)

    cdef object finish(self, list misfits):
        """Return the columns and release everything else. Add the records left out to `misfits`."""
        columns = self.columns() if self.schema.parses else self.record_column()
        if misfits is not None and self.misfits is not None:
            misfits += self.misfits
        self.dataset = self.numbers = self.misfits = None  # because arrays keep the batch alive
        return columns

    def columns(self):
        """Return the columns by feature name, and add the records left out to `misfits`."""
        cdef list columns = self._all_columns()
        cdef dict result
        cdef Py_ssize_t i
        if self.batch.misfits.size:
            self._note_misfits()
        if self.schema.names is not None:
            result = {}
            for i in range(len(columns)):
                result[self.schema.names[i]] = columns[i]
            return result
        return _outputs([self], [columns])[0]

    cdef list _all_columns(self):
        cdef list columns = []
        cdef size_t first, count
        cdef Py_ssize_t i
        for first, count, strides in self.schema.runs:
            if count == 1:
                columns.append(self._column(first))
                continue
            run = self._run(first, count, strides)
            for i in range(<Py_ssize_t>count):  # iterating would raise an IndexError
                columns.append(run[i])
        return columns

    cdef int _note_misfits(self) except -1:
        cdef const c.fr_misfit *misfits = <const c.fr_misfit *>self.batch.misfits.data
        cdef c.fr_error err
        cdef size_t i
        self.misfits = []
        for i in range(self.batch.misfits.size // sizeof(c.fr_misfit)):
            err = misfits[i].error
            path = None
            if err.file >= 0:
                path = self.dataset.paths[err.file]
            else:
                err.record = <int64_t>misfits[i].number
            try:
                check(err.status, &err, path)
            except errors.FastrecError as error:
                self.misfits.append((misfits[i].number, error))
        return 0

    cdef object _kept(self):
        """Return the numbers in the batch of the records that have a row."""
        kept = np.arange(c.fr_columns_records(self.batch))
        return kept if self.misfits is None else np.delete(kept, [n for n, _ in self.misfits])

    cdef list _sparse_outputs(self, list columns):
        """Return the Sparse of each output that is one, and None for the others."""
        return [self._sparse(which[0], columns[which[0]]) if build == "sparse" else None
                for _, which, build in self.schema.outputs]

    cdef dict _build(self, list columns, list sparse):
        cdef dict result = {}
        for i, (name, which, build) in enumerate(self.schema.outputs):
            if build is None:
                result[name] = columns[which[0]]
            elif sparse[i] is not None:
                result[name] = sparse[i]
            else:
                result[name] = build(*[columns[number] for number in which])
        return result

    cdef object _located(self, error, size_t number):
        """Return an error about a row as an error about its record in the batch or file."""
        if self.dataset is not None:
            return self.dataset.located(error, self.numbers[number])
        return error.in_record(number)

    cdef object _sparse(self, size_t i, ragged):
        """Return a ragged column as Sparse: its values and their indices."""
        cdef c.fr_column *column = &self.batch.columns[i]
        cdef const int64_t *splits = <const int64_t *>column.splits.data
        cdef size_t rows = column.splits.size // sizeof(int64_t) - 1
        cdef bint nested = self.batch.schema.features[i].frames
        cdef int64_t widest[2]
        indices = empty((splits[rows], 3 if nested else 2), np.int64)
        cdef int64_t[:, ::1] raw = indices
        cdef int64_t *place = &raw[0, 0] if splits[rows] else NULL
        with nogil:
            if nested:
                c.fr_sparse_nested_indices(<const int64_t *>column.frames.data, self.batch.rows,
                                           splits, place, widest)
            else:
                widest[0] = c.fr_sparse_indices(splits, rows, place)
        if nested:
            shape = (self.batch.rows, widest[0], widest[1])
            return Sparse(indices, ragged.values.values, shape)
        return Sparse(indices, ragged.values, (self.batch.rows, widest[0]))

    def record_column(self):
        """Return the column of a schema of whole records, and set `misfits`."""
        if self.batch.misfits.size:
            self._note_misfits()
        return self._column(0)

    cdef object _run(self, size_t first, size_t count, tuple strides):
        """Return adjacent columns as items of one array, because NumPy makes these faster."""
        cdef c.fr_column *column = &self.batch.columns[first]
        specs = self.schema.specs[first]
        shape = (self.batch.rows, *specs.shape)
        # The distance of columns is their size, rounded up.
        strides = (column[1].dense - column.dense, *strides)
        return np.ndarray((count, *shape), specs.dtype, self, column.dense, strides)

    cdef object _column(self, size_t i):
        cdef c.fr_column *column = &self.batch.columns[i]
        specs = self.schema.specs[i]
        if c.fr_feature_is_dense(&self.batch.schema.features[i]):
            return np.ndarray(
                (self.batch.rows, *specs.shape), specs.dtype, self, column.dense)
        if specs.frames:
            return Ragged(self._values(column, specs, _rows(column)),
                          array_of(block_of(self, &column.frames), np.int64))
        return self._values(column, specs, self.batch.rows)

    cdef object _values(self, c.fr_column *column, specs, rows):
        if specs.dtype.hasobject:
            values = Bytes(
                array_of(block_of(self, &column.values), np.uint8),
                array_of(block_of(self, &column.offsets), np.int64),
                None if specs.ragged else (rows, *specs.shape))
        else:
            values = array_of(block_of(self, &column.values), specs.dtype)
            if not specs.ragged:
                values = values.reshape(rows, *specs.shape)
        if not specs.ragged:
            return values
        return Ragged(values, array_of(block_of(self, &column.splits), np.int64))


def _outputs(list batches, list columns):
    """Make the outputs of batches of the same records, from a list of columns for each batch.

    Records that an output refuses are left out, and added to the misfits of the first batch.
    """
    cdef Batch first = batches[0], batch
    inputs = []
    for batch, own in zip(batches, columns):
        inputs.append((own, batch._sparse_outputs(own)))

    def build(inputs):
        cdef Batch batch
        result = []
        for batch, (own, sparse) in zip(batches, inputs):
            result.append(batch._build(own, sparse))
        return result

    try:
        return build(inputs)
    except errors.ExampleParseError as error:
        if error.record is None:
            raise
        if not first.schema.skips:
            raise first._located(error, first._kept()[error.record]) from None
    from .parsing.refusals import build_without_refused

    kept = first._kept()
    outputs, refused = build_without_refused(inputs, _take_inputs, build, len(kept))
    located = [(kept[row], first._located(error, kept[row])) for row, error in refused]
    first.misfits = sorted([*(first.misfits or ()), *located], key=itemgetter(0))
    return outputs


def _take_inputs(list inputs, rows):
    """Select rows of the columns, and of the sparse outputs, of each batch."""
    result = []
    for columns, sparse in inputs:
        narrow = [column if column is None else _narrow(take_rows(column, rows))
                  for column in sparse]
        result.append(([take_rows(column, rows) for column in columns], narrow))
    return result


cdef object _narrow(column):
    """Return the Sparse with the smallest dense shape that holds its values."""
    cdef Py_ssize_t axis
    widest = [column.dense_shape[0]]
    for axis in range(1, column.indices.shape[1]):
        widest.append(int(column.indices[:, axis].max(initial=-1)) + 1)
    return Sparse(column.indices, column.values, tuple(widest))


cdef int64_t _rows(c.fr_column *column):
    """Return the number of frames of a column of frames."""
    return (<int64_t *>column.frames.data)[column.frames.size // sizeof(int64_t) - 1]
