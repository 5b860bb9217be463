# SPDX-License-Identifier: Apache-2.0

cdef dict NUMBER_TYPES = {
    np.dtype(name): code
    for code, name in enumerate(("float32", "float64", "int32", "int64", "uint32", "uint64"))
}


def every_string(
        const uint8_t[::1] data, const int64_t[::1] offsets, size_t first, size_t step):
    """Return strings `first`, `first` + `step` and so on, concatenated, and their offsets."""
    cdef const int64_t[::1] own = checked_offsets(data, offsets, first, step)
    cdef size_t stride = 1 if step == 1 else 2
    cdef size_t count = (<size_t>own.shape[0] - (1 if step == 1 else 0)) // stride
    cdef int64_t[::1] places
    cdef uint8_t[::1] out
    cdef c.fr_span all
    begins = np.zeros(count + 1, np.int64)
    places = begins
    strings = np.empty(
        c.fr_strings_every(&own[0], stride, count, &places[0]) if count else 0, np.uint8)
    if strings.size:
        out = strings
        all.data, all.size = &data[0], <size_t>data.shape[0]
        with nogil:
            c.fr_strings_take_every(all, &own[0], stride, count, &places[0], &out[0])
    return strings, begins


cdef tuple own_strings(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return copies of the strings' offsets, from 0, and of their bytes.

    Splitting counts the separators before it allocates the result, so both passes must read the
    same bytes.
    """
    own = checked_offsets(data, offsets)
    text = np.array(data[own[0]:own[-1]], np.uint8)
    own -= own[0]
    return own, text


def cut_strings(
        const uint8_t[::1] data, const int64_t[::1] offsets, bytes marks, bint skip_empty,
        bint skip_nothing):
    """Split strings at single bytes.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    marks : bytes
        Separators between two parts, one byte each.
    skip_empty : bool
        Leave out empty parts.
    skip_nothing : bool
        An empty string has no parts.

    Returns
    -------
    parts : ndarray of uint8
        The parts, concatenated.
    begins : ndarray of int64
        Where each part begins, and where the last ends.
    splits : ndarray of int64, shape (n + 1,)
        The number of the first part of each string, and the number of all parts.
    """
    cdef c.fr_cut how
    cdef size_t count = <size_t>offsets.shape[0] - 1, marked = 0, size
    cdef int64_t place, last
    cdef uint8_t[::1] out
    cdef int64_t[::1] places, numbers
    cdef const int64_t[::1] own
    cdef const uint8_t[::1] bytes_of
    own, bytes_of = own_strings(data, offsets)
    for place in range(256):
        how.is_mark[place] = False
    for place in marks:
        how.is_mark[place] = True
    how.skip_empty, how.skip_nothing = skip_empty, skip_nothing
    last = own[count]
    with nogil:
        for place in range(last):
            marked += how.is_mark[bytes_of[place]]
    size = <size_t>last - marked
    parts, begins = np.empty(size, np.uint8), np.empty(marked + count + 1, np.int64)
    splits = np.empty(count + 1, np.int64)
    out, places, numbers = parts, begins, splits
    with nogil:
        c.fr_strings_cut(
            &bytes_of[0] if last else NULL, &own[0], count, &how,
            &out[0] if size else NULL, &places[0], &numbers[0])
    return parts, begins[:numbers[count] + 1], splits


def cut_csv(
        const uint8_t[::1] data, const int64_t[::1] offsets, uint8_t delimiter, bint quoted,
        bint lines, bint last=True):
    """Split rows of comma-separated values into fields, up to the first row that is not plain.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    delimiter : int
        Not a quote, line feed or carriage return.
    quoted : bool
        Fields may be quoted.
    lines : bool
        Each string is one row; otherwise a string may have many.
    last : bool, optional
        The end of a string ends a row.

    Returns
    -------
    parts : ndarray of uint8
        The fields, concatenated.
    begins : ndarray of int64
        Where each field begins, and where the last ends.
    splits : ndarray of int64
        The number of the first field of each row, and the number of all fields.
    used : int
        Bytes up to the first row that is not plain: a row that is incomplete, has quotes that do
        not match, or is not the whole line.
    """
    cdef c.fr_csv csv
    cdef c.fr_csv_fields fields
    cdef size_t i, stops = 0, count = <size_t>offsets.shape[0] - 1, size
    cdef int64_t place, end
    cdef uint8_t[::1] out
    cdef int64_t[::1] places, numbers
    cdef const int64_t[::1] own
    cdef const uint8_t[::1] bytes_of
    own, bytes_of = own_strings(data, offsets)
    if delimiter in b'"\n\r':
        raise ValueError("the delimiter must not be a quote or an end of a line")
    c.fr_csv_init(&csv, delimiter, quoted)
    size = <size_t>own[count]
    if size:
        with nogil:
            stops = c.fr_csv_stops(&csv, &bytes_of[0], size)
    parts, begins = np.empty(size, np.uint8), np.empty(stops + count + 1, np.int64)
    splits = np.empty(stops + count + 1, np.int64)
    out, places, numbers = parts, begins, splits
    fields.out = &out[0] if size else NULL
    fields.begins, fields.splits, fields.rows = &places[0], &numbers[0], 0
    places[0] = numbers[0] = 0
    place = 0
    with nogil:
        for i in range(count):
            end = own[i + 1]
            if lines and (place == end or bytes_of[end - 1] == 10 or bytes_of[end - 1] == 13):
                break
            while place < end:
                size = c.fr_csv_row(&csv, &bytes_of[place], <size_t>(end - place), last, &fields)
                place += <int64_t>size
                if lines or size == 0:
                    break
            if place < end:
                break
    return (parts, begins[:numbers[fields.rows] + 1], splits[:fields.rows + 1],
            place)


def read_numbers(
        const uint8_t[::1] data, const int64_t[::1] offsets, dtype, size_t first=0, size_t step=1):
    """Read the decimal numbers in strings, rounded once.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    dtype : numpy.dtype
        ``float32``, ``float64``, or an integer of 32 or 64 bits.
    first, step : int, optional
        The number of the first string to read, and the distance of the next one.

    Returns
    -------
    numbers : ndarray of `dtype`
    left : ndarray of int64
        Indices of the strings that were not read, because they are malformed or take long to round.
    """
    cdef int code
    cdef size_t count, others, stride = 1 if step == 1 else 2
    cdef uint8_t[::1] out
    cdef int64_t[::1] places
    cdef const int64_t[::1] own
    if dtype not in NUMBER_TYPES:
        dtype = dtype.newbyteorder("=")
    code = NUMBER_TYPES[dtype]
    own = checked_offsets(data, offsets, first, step)
    count = (<size_t>own.shape[0] - (1 if step == 1 else 0)) // stride
    if count == 0 or data.shape[0] == 0:
        return np.zeros(count, dtype), np.arange(count)
    numbers, left = np.empty(count, dtype), np.empty(count, np.int64)
    out, places = numbers.view(np.uint8), left
    with nogil:
        others = c.fr_numbers_read(
            &data[0], &own[0], stride, count, <c.fr_number_type>code, &out[0], &places[0])
    return numbers, left[:others]
