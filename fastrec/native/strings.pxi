# SPDX-License-Identifier: Apache-2.0

def take_strings(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] order):
    """Return the strings with these numbers, concatenated, and the offset of each."""
    cdef const int64_t[::1] places, own = checked_offsets(data, offsets), numbers
    cdef uint8_t[::1] out
    cdef size_t count = <size_t>order.shape[0]
    indices = np.array(order, np.int64)
    sizes = np.diff(own)[indices]  # NumPy checks the bounds of the indices
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    strings = empty((begins[count],), np.uint8)
    if strings.size:
        places, out = begins, strings
        numbers = indices % (own.shape[0] - 1)  # a negative index counts from the end
        with nogil:
            c.fr_strings_take(&data[0], &own[0], &numbers[0], count, &places[0], &out[0])
    return strings, begins


def join_strings(strings):
    """Copy a sequence of bytes-like objects to one block; return it and the offset of each."""
    cdef Spans spans = Spans(strings)
    cdef int64_t[::1] begins
    cdef uint8_t[::1] out
    cdef size_t size = 0, i
    for i in range(spans.count):
        size += spans.spans[i].size
    data, offsets = empty((size,), np.uint8), empty((spans.count + 1,), np.int64)
    begins = offsets
    out = data
    with nogil:
        c.fr_strings_join(spans.spans, spans.count, &begins[0], &out[0] if size else NULL)
    return data, offsets


def string_objects(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return the strings as an array of bytes objects."""
    cdef const int64_t[::1] own = checked_offsets(data, offsets)
    cdef const uint8_t *start = &data[0] if data.shape[0] else &_nothing
    cdef Py_ssize_t i
    strings = np.empty(own.shape[0] - 1, object)
    cdef object[::1] out = strings
    for i in range(own.shape[0] - 1):
        out[i] = bytes_of(start + own[i], <size_t>(own[i + 1] - own[i]))
    return strings


def fit_strings(strings, width=None):
    """Copy bytes-like objects, or a Bytes, to the rows of one array of uint8.

    Each is cut, or filled with zeros, to `width` bytes. Without a width, all must have the same
    size.
    """
    cdef Spans spans = Spans(strings)
    cdef uint8_t[::1] out
    cdef size_t size, i
    if width is not None:
        size = width
    else:
        size = spans.spans[0].size if spans.count else 0
        for i in range(spans.count):
            if spans.spans[i].size != size:
                raise errors.ExampleParseError(
                    f"decode_raw requires strings of one size: string {i} has "
                    f"{spans.spans[i].size} bytes and the first has {size}; fixed_length makes "
                    f"them equal")
    rows = empty((spans.count, size), np.uint8)
    if rows.size:
        out = rows.reshape(-1)
        with nogil:
            c.fr_strings_fit(spans.spans, spans.count, size, &out[0])
    return rows
