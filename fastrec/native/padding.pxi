# SPDX-License-Identifier: Apache-2.0

def pad_rows(values, begins, shapes, sizes, fill, Spares spares=None):
    """Copy arrays of different shapes to the rows of one array, and fill the rest of each row.

    Parameters
    ----------
    values : ndarray, one dimension
        The elements of all arrays, each in C order.
    begins : ndarray of int64, shape (n,)
        Where the elements of each array begin.
    shapes : ndarray of int64, shape (n, rank)
    sizes : sequence of int, length rank
        Shape of a row; no array may be larger.
    fill : scalar
        Value of the elements outside the array.
    spares : Spares, optional

    Returns
    -------
    ndarray, shape (n, *sizes)
    """
    cdef c.fr_padding padding
    cdef const int64_t[::1] places = np.array(begins, np.int64)
    cdef const int64_t[:, ::1] each = np.array(shapes, np.int64, order="C")
    sizes = tuple([int(size) for size in sizes])
    cdef const int64_t[::1] row = np.array(sizes, np.int64)
    cdef size_t rows = <size_t>places.shape[0], rank = <size_t>row.shape[0], size, place
    cdef const uint8_t[::1] filler
    cdef size_t[::1] steps
    cdef Py_ssize_t d
    cdef uint8_t[::1] raw
    cdef list keep = []
    cdef const uint8_t *elements
    if <size_t>each.shape[0] != rows or <size_t>each.shape[1] != rank or rank == 0:
        raise ValueError(f"shapes must be of shape ({rows}, {rank}) and rank at least 1")
    values = np.ascontiguousarray(values)
    if values.dtype.hasobject or values.ndim != 1:
        raise TypeError(f"padding requires a vector of numbers, got {values.dtype}")
    filler = np.full(1, fill, values.dtype).view(np.uint8)
    place = padding.item = <size_t>values.dtype.itemsize
    strides = np.empty(rank, np.uintp)
    steps = strides
    for d in range(<Py_ssize_t>rank - 1, -1, -1):
        steps[d] = place
        place *= <size_t>row[d]
    padding.rank, padding.sizes, padding.steps, padding.fill = rank, &row[0], &steps[0], &filler[0]
    elements = memory_of(values, keep, &size)
    if rows and not c.fr_padding_valid(
            &padding, &places[0], &each[0, 0], rows, size // padding.item):
        raise ValueError("an array must lie within the values, and within its row")
    padded = empty((rows, *sizes), values.dtype, spares)
    if padded.size:
        raw = padded.reshape(-1).view(np.uint8)
        with nogil:
            c.fr_padding_fill(&padding, elements, &places[0], &each[0, 0], rows, &raw[0])
    return padded


def pad_strings(const uint8_t[::1] data, const int64_t[::1] offsets, splits, size_t width,
                bytes filler=b""):
    """Copy rows of strings to rows of `width`, and fill the rest of each row.

    Parameters
    ----------
    data, offsets : ndarray
        The strings of all rows, as in a Bytes.
    splits : ndarray of int64, shape (rows + 1,)
        Row ``i`` has the strings ``splits[i]`` to ``splits[i + 1]``.
    width : int
        Number of strings in a row; no row may have more.
    filler : bytes
        The string that fills the rest of a row.

    Returns
    -------
    data, offsets : ndarray
        The ``rows * width`` strings. Without a filler, `data` is the argument.
    """
    cdef const int64_t[::1] own = checked_offsets(data, offsets), cuts = np.array(splits, np.int64)
    cdef size_t rows = <size_t>cuts.shape[0] - 1, count = <size_t>own.shape[0] - 1, total
    cdef int64_t[::1] begins
    cdef uint8_t[::1] strings
    cdef uint8_t *out = NULL
    cdef c.fr_span span = span_of(filler)
    cdef const uint8_t *start = &data[0] if data.shape[0] else &_nothing
    if not c.fr_strings_valid(&cuts[0], 1, rows, count) or rows and np.diff(cuts).max() > width:
        raise ValueError("a row must lie within the strings, and have no more than its width")
    places = empty((rows * width + 1,), np.int64)
    begins = places
    padded = np.asarray(data)
    if span.size:
        total = <size_t>(own[cuts[rows]] - own[cuts[0]])
        total += (rows * width - <size_t>(cuts[rows] - cuts[0])) * span.size
        padded = empty((total,), np.uint8)
        if total:
            strings = padded
            out = &strings[0]
    with nogil:
        c.fr_strings_pad(start, &own[0], &cuts[0], rows, width, span, &begins[0], out)
    return padded, places
