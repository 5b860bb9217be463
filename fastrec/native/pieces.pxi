# SPDX-License-Identifier: Apache-2.0

# Amount of work between checks for signals.
cdef enum:
    SLICE_PIECES = 1024

PIECE = np.dtype([("offset", "<u8"), ("size", "<u4"), ("crc", "<u4"), ("file", "<u8")])


def read_pieces(pieces, const int[::1] fds, uint8_t[::1] out, paths):
    """Read pieces of files contiguously, and compare each with its checksum.

    Parameters
    ----------
    pieces : ndarray of PIECE, shape (n,)
        Offset in the file, size, CRC-32C, number of the file.
    fds : ndarray of intc
        Descriptor of each file. With -1, the bytes are already in `out`.
    out : ndarray of uint8
        Its size is the size of all pieces.
    paths : sequence of path
        Path of each file, for messages.

    Raises
    ------
    OSError
        If a file cannot be read.
    CorruptRecordError, TruncatedFileError
        If a checksum differs, or the file ends too early. ``record`` is the number of the piece.
    """
    cdef c.fr_error err
    cdef int status
    cdef size_t done = 0, some, i, count, begin = 0, end = 0, files = <size_t>fds.shape[0]
    cdef const c.fr_piece *all
    cdef const uint8_t[::1] raw
    if pieces.dtype != PIECE or pieces.ndim != 1:
        raise TypeError(f"pieces must be of {PIECE}, got {pieces.dtype}")
    count = <size_t>len(pieces)
    if count == 0:
        return
    # Copy before the check, because the caller's array may change.
    raw = np.array(pieces).view(np.uint8)
    all = <const c.fr_piece *>&raw[0]
    for i in range(count):
        if all[i].file >= files or all[i].offset > <uint64_t>INT64_MAX - all[i].size:
            raise ValueError(f"piece {i} is out of range")
        end += all[i].size
    if end != <size_t>out.shape[0]:
        raise ValueError(f"out must have {end} bytes, got {out.shape[0]}")
    chosen()
    while done < count:
        some, end = min(count - done, <size_t>SLICE_PIECES), begin
        for i in range(done, done + some):
            end += all[i].size
        with nogil:
            status = c.fr_pieces_read(
                all + done, some, &fds[0], &out[begin] if end > begin else NULL, &err)
        if status < 0:
            err.record += done
            check(status, &err, paths[err.file])
        begin, done = end, done + some
        PyErr_CheckSignals()


def find_pieces(const uint8_t[::1] data not None, size_t begin, size_t end, uint64_t offset,
                uint32_t each=0):
    """Find the elements of a list of bytes, or of packed numbers of `each` bytes.

    The list is ``data[begin:end]``, and `offset` is its file position.

    Returns
    -------
    ndarray of PIECE

    Raises
    ------
    ExampleParseError
        If the bytes are not such a list.
    """
    cdef OwnedBuffer found = OwnedBuffer()
    cdef c.fr_error err
    cdef c.fr_span span
    cdef int status
    if not begin <= end <= <size_t>data.shape[0] or offset > <uint64_t>INT64_MAX - (end - begin):
        raise ValueError(f"bytes {begin} to {end} at {offset} are out of range")
    if begin == end:
        return np.empty(0, PIECE)
    span.data, span.size = &data[begin], end - begin
    chosen()
    with nogil:
        status = c.fr_pieces_find(span, offset, each, &found.buffer, &err)
    check(status, &err)
    return array_of(found, PIECE)
