# SPDX-License-Identifier: Apache-2.0

cdef dict NUMBER_TYPES = {
    np.dtype(name): code
    for code, name in enumerate(("float32", "float64", "int32", "int64", "uint32", "uint64"))
}


cdef int check_strings(const uint8_t[::1] data, const int64_t[::1] offsets) except -1:
    if offsets.shape[0] == 0:
        raise ValueError("offsets must have at least one element, got none")
    if not c.fr_strings_valid(
            &offsets[0], 1, <size_t>(offsets.shape[0] - 1), <size_t>data.shape[0]):
        raise ValueError("offsets must ascend, and lie within the data")
    return 0


cdef Py_ssize_t check_every(
        const uint8_t[::1] data, const int64_t[::1] offsets, size_t first, size_t step) except -1:
    """How many strings are `first`, `first` + `step` and so on, which alone are looked at."""
    if offsets.shape[0] == 0:
        raise ValueError("offsets must have at least one element, got none")
    if step < 1:
        raise ValueError("step must be at least 1, got 0")
    cdef Py_ssize_t count = len(range(first, offsets.shape[0] - 1, step))
    if count and not c.fr_strings_valid(
            &offsets[first], step, <size_t>count, <size_t>data.shape[0]):
        raise ValueError("offsets must ascend, and lie within the data")
    return count


def every_string(
        const uint8_t[::1] data, const int64_t[::1] offsets, size_t first, size_t step):
    """Return strings `first`, `first` + `step` and so on, one after the other, and their begins."""
    cdef size_t count = <size_t>check_every(data, offsets, first, step)
    cdef int64_t[::1] places
    cdef uint8_t[::1] out
    cdef c.fr_span all
    begins = np.zeros(count + 1, np.int64)
    places = begins
    found = np.empty(
        c.fr_strings_every(&offsets[first], step, count, &places[0]) if count else 0, np.uint8)
    if found.size:
        out = found
        all.data, all.size = &data[0], <size_t>data.shape[0]
        with nogil:
            c.fr_strings_take_every(all, &offsets[first], step, count, &places[0], &out[0])
    return found, begins


def take_strings(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] order):
    """Return the strings with these numbers, one after the other, and where each begins."""
    cdef const int64_t[::1] places
    cdef uint8_t[::1] out
    cdef size_t count = <size_t>order.shape[0]
    check_strings(data, offsets)
    sizes = np.diff(offsets)[order]  # which looks at the bounds of the numbers
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    found = np.empty(begins[count], np.uint8)
    if found.size:
        places, out = begins, found
        order = np.asarray(order) % (offsets.shape[0] - 1)  # numbers below 0 count from the end
        with nogil:
            c.fr_strings_take(&data[0], &offsets[0], &order[0], count, &places[0], &out[0])
    return found, begins


def cut_strings(
        const uint8_t[::1] data, const int64_t[::1] offsets, bytes marks, bint skip_empty,
        bint skip_nothing):
    """Cut strings at single bytes.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    marks : bytes
        Each of which is between two parts.
    skip_empty : bool
        Whether parts without bytes are left out.
    skip_nothing : bool
        Whether strings without bytes have no part.

    Returns
    -------
    parts : ndarray of uint8
        One after the other.
    begins : ndarray of int64
        Where each part begins, and where the last ends.
    splits : ndarray of int64, shape (n + 1,)
        The number of the first part of each string, and how many there are.
    """
    cdef c.fr_cut how
    cdef size_t count = <size_t>offsets.shape[0] - 1, marked = 0, size
    cdef int64_t place, first, last
    cdef uint8_t[::1] out
    cdef int64_t[::1] places, numbers
    check_strings(data, offsets)
    for place in range(256):
        how.is_mark[place] = False
    for place in marks:
        how.is_mark[place] = True
    how.skip_empty, how.skip_nothing = skip_empty, skip_nothing
    first, last = offsets[0], offsets[count]
    with nogil:
        for place in range(first, last):
            marked += how.is_mark[data[place]]
    size = <size_t>(last - first) - marked
    parts, begins = np.empty(size, np.uint8), np.empty(marked + count + 1, np.int64)
    splits = np.empty(count + 1, np.int64)
    out, places, numbers = parts, begins, splits
    with nogil:
        c.fr_strings_cut(
            &data[0] if last > first else NULL, &offsets[0], count, &how,
            &out[0] if size else NULL, &places[0], &numbers[0])
    return parts, begins[:numbers[count] + 1], splits


def cut_csv(
        const uint8_t[::1] data, const int64_t[::1] offsets, uint8_t delimiter, bint quoted,
        bint lines, bint last=True):
    """Cut rows of comma-separated values into fields, up to the first that is not plain.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    delimiter : int
        No quote, line feed or carriage return.
    quoted : bool
        Whether fields may stand in quotes.
    lines : bool
        Whether each string is one row; otherwise there may be many in each.
    last : bool, optional
        Whether the end of a string is that of a row.

    Returns
    -------
    parts : ndarray of uint8
        The fields, one after the other.
    begins : ndarray of int64
        Where each field begins, and where the last ends.
    splits : ndarray of int64
        The number of the first field of each row, and how many there are.
    used : int
        Bytes up to the first row that is not plain: that is not there wholly, or whose quotes do
        not go together, or that is another than the line.
    """
    cdef c.fr_csv csv
    cdef c.fr_csv_fields fields
    cdef size_t i, stops = 0, count = <size_t>offsets.shape[0] - 1, size
    cdef int64_t place, end
    cdef uint8_t[::1] out
    cdef int64_t[::1] places, numbers
    check_strings(data, offsets)
    if delimiter in b'"\n\r':
        raise ValueError("the delimiter must not be a quote or an end of a line")
    c.fr_csv_init(&csv, delimiter, quoted)
    size = <size_t>(offsets[count] - offsets[0])
    if size:
        with nogil:
            stops = c.fr_csv_stops(&csv, &data[offsets[0]], size)
    parts, begins = np.empty(size, np.uint8), np.empty(stops + count + 1, np.int64)
    splits = np.empty(stops + count + 1, np.int64)
    out, places, numbers = parts, begins, splits
    fields.out = &out[0] if size else NULL
    fields.begins, fields.splits, fields.rows = &places[0], &numbers[0], 0
    places[0] = numbers[0] = 0
    place = offsets[0]
    with nogil:
        for i in range(count):
            end = offsets[i + 1]
            if lines and (place == end or data[end - 1] == 10 or data[end - 1] == 13):
                break
            while place < end:
                size = c.fr_csv_row(&csv, &data[place], <size_t>(end - place), last, &fields)
                place += <int64_t>size
                if lines or size == 0:
                    break
            if place < end:
                break
    return (parts, begins[:numbers[fields.rows] + 1], splits[:fields.rows + 1],
            place - offsets[0])


def read_numbers(
        const uint8_t[::1] data, const int64_t[::1] offsets, dtype, size_t first=0, size_t step=1):
    """Read the numbers that strings spell in decimal digits, rounded once.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    dtype : numpy.dtype
        ``float32``, ``float64``, or an integer of as many bits.
    first, step : int, optional
        The number of the first string to read, and how far the next one is from it.

    Returns
    -------
    numbers : ndarray of `dtype`
    left : ndarray of int64
        Places of the strings that were not read, which are wrong or take long to round.
    """
    cdef int code
    cdef size_t count, others
    cdef uint8_t[::1] out
    cdef int64_t[::1] places
    if dtype not in NUMBER_TYPES:
        dtype = dtype.newbyteorder("=")
    code = NUMBER_TYPES[dtype]
    count = <size_t>check_every(data, offsets, first, step)
    if count == 0 or data.shape[0] == 0:
        return np.zeros(count, dtype), np.arange(count)
    numbers, left = np.empty(count, dtype), np.empty(count, np.int64)
    out, places = numbers.view(np.uint8), left
    with nogil:
        others = c.fr_numbers_read(
            &data[0], &offsets[first], step, count, <c.fr_number_type>code, &out[0], &places[0])
    return numbers, left[:others]
