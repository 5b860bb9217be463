# SPDX-License-Identifier: Apache-2.0

def pad_rows(values, begins, shapes, sizes, fill, Spares spares=None):
    """Put arrays of many shapes into the rows of one array, and fill what they leave.

    Parameters
    ----------
    values : ndarray, one dimension
        The elements of all arrays, each in C order.
    begins : ndarray of int64, shape (n,)
        Where the elements of each array begin.
    shapes : ndarray of int64, shape (n, rank)
    sizes : sequence of int, length rank
        Of a row; no array is larger.
    fill : scalar
        What a row has after the array.
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
