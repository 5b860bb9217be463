# SPDX-License-Identifier: Apache-2.0
# Riegeli files. Positions are in the file.


cdef enum:
    CHUNKS = 256  # that are read by one call
    SIMPLE_CHUNK = 114  # b"r"
    TRANSPOSED_CHUNK = 116  # b"t"
    MOST_DIGITS = 10  # bytes of a varint
    RECORDS_AT_ONCE = 1024  # that are made before other Python threads may run
    MOST_PROGRAM = 1 << 22  # bytes of the header of a transposed chunk


cdef int decoded(int status, c.fr_error *err) except -1:
    """Raise the exception for damage within a chunk, whose place the caller adds."""
    if status == c.FR_ERR_CORRUPT:
        raise errors.CorruptRecordError(text_of(err.cause))
    return check(status, err)


def riegeli_hash(data):
    """Compute the checksum that a Riegeli file stores: HighwayHash, 64 bits, with Riegeli's key."""
    return c.fr_riegeli_hash(_Contents(data).span)


def riegeli_chunks(
        uint8_t[::1] window not None, uint64_t begin, uint64_t file_size, uint64_t most,
        bint headers=False):
    """Read and verify the chunks in a window of a file, which begins with a chunk.

    The data of each chunk is moved into one piece, within the window. With `headers`, data is
    neither read nor verified.

    Parameters
    ----------
    window : buffer of uint8
        Writable.
    begin : int
        Position of the window in the file.
    file_size : int
    most : int
        Bytes that a chunk, or its records, may have.
    headers : bool, optional

    Returns
    -------
    chunks : list of tuple
        The chunks that the window holds: position, position after it, type, number of records,
        their size, and where its data begins and ends in the window.
    wanted : int
        Size of a window that holds the first chunk, in bytes, if `chunks` is empty.
    fault : tuple or None
        The damage after the chunks: name of the status, and cause. The content of the window is
        then undefined.
    """
    cdef c.fr_riegeli_chunk chunks[CHUNKS]
    cdef c.fr_riegeli_options options
    cdef c.fr_error err
    cdef uint8_t *data = &window[0] if window.shape[0] else NULL
    cdef size_t size = <size_t>window.shape[0], count = 0, i
    cdef uint64_t wanted = 0
    cdef int status
    options.begin, options.file_size, options.most = begin, file_size, most
    options.headers = headers
    with nogil:
        status = c.fr_riegeli_read(data, size, &options, chunks, CHUNKS, &count, &wanted, &err)
    found = []
    for i in range(count):
        found.append((
            chunks[i].begin, chunks[i].end, chunks[i].kind, chunks[i].records, chunks[i].size,
            chunks[i].data, chunks[i].data + chunks[i].data_size))
    if status >= 0:
        return found, wanted, None
    name = {c.FR_ERR_TRUNCATED: "truncated", c.FR_ERR_LIMIT: "limit"}.get(status, "damaged")
    return found, wanted, (name, text_of(err.cause))


def riegeli_chunk(int kind, uint64_t records, uint64_t size, data, uint64_t begin):
    """Return the bytes of a chunk to write at a position of a file, with block headers.

    Parameters
    ----------
    kind : int
        Type of the chunk.
    records, size : int
        Number of its records, and bytes of all of them.
    data : bytes-like
    begin : int
    """
    cdef _Contents content = _Contents(data)
    cdef c.fr_riegeli_chunk chunk
    cdef uint8_t *out
    if records >= <uint64_t>1 << 32 or begin >= <uint64_t>1 << 62:
        raise ValueError(f"a chunk of {records} records at {begin} cannot be written")
    chunk.kind, chunk.records, chunk.size, chunk.begin = kind, records, size, begin
    with nogil:
        c.fr_riegeli_place(&chunk, content.span)
    made = new_bytes(chunk.end - begin)
    out = <uint8_t *>PyBytes_AS_STRING(made)
    with nogil:
        c.fr_riegeli_write(&chunk, content.span, out)
    return made


@cython.final
cdef class _Contents:
    """The bytes of an object, which is held."""

    cdef Py_buffer view
    cdef c.fr_span span

    def __cinit__(self, data):
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.span.data, self.span.size = <const uint8_t *>self.view.buf, <size_t>self.view.len

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


@cython.final
cdef class _StoredChunk:
    """The data of a chunk, whose buffers `expand` decompresses."""

    cdef object source
    cdef _Contents data
    cdef c.fr_span rest  # what was not taken yet
    cdef object expand
    cdef uint8_t compression
    cdef c.fr_error err

    def __cinit__(self, data, expand):
        cdef c.fr_span head
        self.source, self.data, self.expand = data, _Contents(data), expand
        self.rest = self.data.span
        if not self.rest.size:
            raise errors.CorruptRecordError("it is empty")
        head = self.part(1, "the compression has")
        self.compression = head.data[0]

    cdef c.fr_span part(self, uint64_t size, const char *what) except *:
        """Take bytes from the front."""
        cdef c.fr_span part
        decoded(c.fr_riegeli_take(&self.rest, size, what, &part, &self.err), &self.err)
        return part

    cdef uint64_t number(self, c.fr_span *rest, uint64_t most, const char *what) except? 0:
        """Take a number from the front of other bytes."""
        cdef uint64_t value
        decoded(c.fr_riegeli_number(rest, most, what, &value, &self.err), &self.err)
        return value

    cdef object expanded(self, c.fr_span stored, uint64_t most, c.fr_span *content):
        """Set `content` to the content of a stored buffer; return what holds it."""
        cdef size_t size
        cdef Py_ssize_t at
        cdef _Contents made
        if decoded(c.fr_riegeli_open(self.compression, stored, most, content, &size, &self.err),
                   &self.err) == c.FR_OK:
            return self.data
        at = content.data - self.data.span.data
        packed = memoryview(self.source)[at:at + <Py_ssize_t>content.size]
        found = self.expand(self.compression, packed, size)
        made = _Contents(found)
        if made.span.size != size:
            raise errors.CorruptRecordError(
                f"a buffer states {size} bytes and has {made.span.size}")
        content[0] = made.span
        return found if type(found) is bytes else made


def riegeli_records(
        int kind, uint64_t count, uint64_t size, data, expand, bint first=False):
    """Decode the records of a chunk.

    Parameters
    ----------
    kind : int
        Type of the chunk.
    count, size : int
        Number of its records, and bytes of all of them, which bound memory.
    data : buffer of uint8
    expand : callable
        ``expand(compression, packed, size)`` decompresses a buffer to `size` bytes.
    first : bool, optional
        Whether to return the first record of a simple chunk alone.

    Returns
    -------
    list of bytes

    Raises
    ------
    CorruptRecordError
    """
    if count >= <uint64_t>1 << 56 or size >= <uint64_t>1 << 60:
        raise ValueError(f"a chunk of {count} records and {size} bytes does not fit memory")
    if not count:
        return []
    if kind == SIMPLE_CHUNK:
        return _simple(_StoredChunk(data, expand), count, size, first)
    if kind == TRANSPOSED_CHUNK:
        return _transposed(_StoredChunk(data, expand), count, size)
    raise errors.CorruptRecordError(f"{bytes([kind & 0xFF])!a} is no known type of a chunk")


cdef list _simple(_StoredChunk chunk, uint64_t count, size_t size, bint first):
    cdef c.fr_span part, sizes, values
    cdef uint64_t stated
    cdef size_t *offsets = NULL
    stated = chunk.number(&chunk.rest, UINT64_MAX, "the size of the sizes")
    part = chunk.part(stated, "its sizes have")
    held = chunk.expanded(part, count * MOST_DIGITS, &sizes)
    content = chunk.expanded(chunk.rest, size, &values)
    if count == 1 or first:
        stated = chunk.number(&sizes, UINT64_MAX, "the size of a record")
        if stated > values.size or (count == 1 and (
                sizes.size or stated != values.size or stated != size)):
            raise errors.CorruptRecordError(
                f"its record has {values.size} bytes, and {stated} are stated")
        whole = type(content) is bytes and stated == values.size
        return [content if whole else bytes_of(values.data, stated)]
    if values.size != size:
        raise errors.CorruptRecordError(
            f"its records have {size} bytes, and {values.size} follow")
    with nogil:
        status = c.fr_riegeli_offsets(sizes, count, size, &offsets, &chunk.err)
    decoded(status, &chunk.err)
    try:
        return cut(values.data, offsets, count)
    finally:
        free(offsets)


cdef list _transposed(_StoredChunk chunk, uint64_t count, size_t size):
    cdef OwnedBuffer spans = OwnedBuffer(), made = OwnedBuffer(), offsets = OwnedBuffer()
    cdef c.fr_riegeli_transposed parts
    cdef c.fr_span part
    cdef c.fr_span *buckets
    cdef uint64_t most = size + count * MOST_DIGITS, stated
    cdef size_t i
    cdef int status
    stated = chunk.number(&chunk.rest, chunk.rest.size, "the size of the header")
    part = chunk.part(stated, "the header has")
    held = [chunk.expanded(part, MOST_PROGRAM, &parts.header)]
    parts.bucket_count = chunk.number(
        &parts.header, parts.header.size, "the number of buckets")
    parts.buffer_count = chunk.number(
        &parts.header, parts.header.size, "the number of buffers")
    check(c.fr_buffer_reserve(
        &spans.buffer, parts.bucket_count * sizeof(c.fr_span), &chunk.err), &chunk.err)
    buckets = <c.fr_span *>spans.buffer.data
    for i in range(parts.bucket_count):
        stated = chunk.number(&parts.header, chunk.rest.size, "the size of a bucket")
        part = chunk.part(stated, "a bucket has")
        held.append(chunk.expanded(part, most, &buckets[i]))
        most -= buckets[i].size
    parts.buckets = buckets
    # Most steps make a byte of a record, and few do nothing.
    held.append(chunk.expanded(chunk.rest, 8 * (size + count) + 8, &parts.transitions))
    # No memory is touched before there is output.
    check(c.fr_buffer_reserve(&made.buffer, size + 1, &chunk.err), &chunk.err)
    check(c.fr_buffer_reserve(
        &offsets.buffer, (count + 1) * sizeof(size_t), &chunk.err), &chunk.err)
    with nogil:
        status = c.fr_riegeli_transposed_run(
            &parts, count, size, made.buffer.data, <size_t *>offsets.buffer.data, &chunk.err)
    decoded(status, &chunk.err)
    return cut(made.buffer.data, <const size_t *>offsets.buffer.data, count)


cdef list cut(const uint8_t *data, const size_t *offsets, size_t count):
    """Return the bytes between neighbouring offsets."""
    cdef list found = [None] * <Py_ssize_t>count
    cdef size_t i
    for i in range(count):
        found[i] = bytes_of(data + offsets[i], offsets[i + 1] - offsets[i])
        if i % RECORDS_AT_ONCE == RECORDS_AT_ONCE - 1:
            with nogil:
                pass
            PyErr_CheckSignals()
    return found
