# SPDX-License-Identifier: Apache-2.0


cdef c.fr_texts texts_of(texts, list keep) except *:
    """Return the strings of a Bytes. `keep` holds their memory."""
    cdef c.fr_texts result
    cdef const uint8_t[::1] data = np.ascontiguousarray(texts.data)
    cdef const int64_t[::1] offsets = checked_offsets(data, texts.offsets)
    keep += [data, offsets]
    result.data = &data[0] if data.shape[0] else NULL
    result.offsets = &offsets[0]
    result.count = <size_t>offsets.shape[0] - 1
    return result


cdef int64_t size_of(const c.fr_texts *texts):
    return texts.offsets[texts.count] - texts.offsets[0]


cdef lengths_of(const c.fr_texts *texts):
    """Return sizes of the strings, as int64."""
    if not texts.count:
        return np.zeros(0, np.int64)
    return np.diff(np.asarray(<const int64_t[:texts.count + 1]>texts.offsets))


cdef copied_parts(const c.fr_texts *given, begins, ends, shape):
    """Copy parts of strings to new Bytes."""
    cdef const int64_t[::1] first = begins, last = ends
    cdef uint8_t[::1] out
    offsets = np.zeros(len(begins) + 1, np.int64)
    np.cumsum(ends - begins, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    if data.size:
        out = data
        with nogil:
            c.fr_texts_copy(given.data, &first[0], &last[0], <size_t>first.shape[0], &out[0])
    return Bytes(data, offsets, shape)


def strip_texts(texts):
    """Return the strings of a Bytes without surrounding white space."""
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef int64_t[::1] first, last
    begins, ends = (np.empty(given.count, np.int64) for _ in range(2))
    if given.count:
        first, last = begins, ends
        with nogil:
            c.fr_texts_strip(&given, &first[0], &last[0])
    return copied_parts(&given, begins, ends, texts.shape)


def take_parts(texts, int64_t start, int64_t size, *, bint characters=False):
    """Return a part of each string of a Bytes.

    Parameters
    ----------
    texts : Bytes
    start : int
        The first byte; a negative number counts from the end.
    size : int
        Greatest number of bytes; a negative number takes the rest.
    characters : bool, optional
        Count UTF-8 characters instead of bytes.

    Raises
    ------
    IndexError
        With the number of the first string that is too short.
    """
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef int64_t[::1] first, last
    cdef size_t place
    begins, ends = (np.empty(given.count, np.int64) for _ in range(2))
    if given.count:
        first, last = begins, ends
        with nogil:
            place = c.fr_texts_part(&given, start, size, characters, &first[0], &last[0])
        if place < given.count:
            raise IndexError(place)
    return copied_parts(&given, begins, ends, texts.shape)


def count_characters(texts):
    """Count the UTF-8 characters of each string of a Bytes, as int32."""
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef int32_t[::1] counts
    result = np.empty(texts.shape, np.int32)
    if given.count:
        counts = result.reshape(-1)
        with nogil:
            c.fr_texts_count(&given, &counts[0])
    return result


def join_texts(list columns, bytes separator):
    """Join the strings of columns row by row.

    Parameters
    ----------
    columns : list of Bytes
        Columns of equal length, or of one string, which each row repeats.
    separator : bytes

    Returns
    -------
    data : ndarray of uint8
    offsets : ndarray of int64
    """
    cdef size_t number, column_count = len(columns)
    cdef size_t count = max([len(each.offsets) - 1 for each in columns])
    cdef list keep = []
    cdef c.fr_span between
    cdef uint8_t[::1] out
    cdef const uint8_t[::1] mark = separator
    cdef uint8_t[::1] memory = np.empty(column_count * sizeof(c.fr_texts), np.uint8)
    cdef c.fr_texts *all = <c.fr_texts *>&memory[0]
    offsets = np.zeros(count + 1, np.int64)
    sizes = np.full(count, len(separator) * (len(columns) - 1), np.int64)
    for number in range(column_count):
        all[number] = texts_of(columns[number], keep)
        if all[number].count not in (1, count):
            raise ValueError(f"columns must have 1 or {count} strings, got {all[number].count}")
        sizes += lengths_of(all + number)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(offsets[count], np.uint8)
    if data.size:
        out = data
        between.data, between.size = &mark[0] if separator else NULL, len(separator)
        with nogil:
            c.fr_texts_join(all, column_count, between, count, &out[0])
    return data, offsets


def join_text_rows(texts, splits, bytes separator):
    """Join the strings of each row; row i has the strings splits[i] to splits[i + 1].

    Returns
    -------
    data : ndarray of uint8
    offsets : ndarray of int64
    """
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef const int64_t[::1] rows = checked_splits(splits, given.count)
    cdef c.fr_span between
    cdef uint8_t[::1] out
    cdef const uint8_t[::1] mark = separator
    own, bounds = np.asarray(keep[1]), np.asarray(rows)
    sizes = own[bounds[1:]] - own[bounds[:-1]]
    sizes += np.maximum(np.diff(bounds) - 1, 0) * len(separator)
    offsets = np.zeros(len(bounds), np.int64)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(offsets[len(bounds) - 1], np.uint8)
    if data.size:
        out = data
        between.data, between.size = &mark[0] if separator else NULL, len(separator)
        with nogil:
            c.fr_texts_join_rows(&given, &rows[0], <size_t>rows.shape[0] - 1, between, &out[0])
    return data, offsets


cdef const int64_t[::1] checked_splits(splits, size_t count):
    """Return a copy of row splits, checked to ascend from 0 and not to exceed `count`."""
    own = np.array(splits, np.int64)
    if own.ndim != 1 or not len(own) or own[0] < 0 or <size_t>own[-1] > count \
            or (own[1:] < own[:-1]).any():
        raise ValueError(f"splits must ascend from 0 to at most {count}")
    return own


def number_texts(texts):
    """Assign numbers to the strings of a Bytes in order of their first occurrence.

    Equal strings get the same number.

    Returns
    -------
    numbers : ndarray of int64
    firsts : ndarray of int64
        The first string with each number.
    """
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef size_t slots = 8, different = 0
    cdef int64_t[::1] table, own, first
    while slots < 2 * given.count:
        slots *= 2
    numbers, firsts = (np.empty(given.count, np.int64) for _ in range(2))
    if given.count:
        table, own, first = np.full(slots, -1, np.int64), numbers, firsts
        with nogil:
            different = c.fr_texts_number(&given, &table[0], slots, &own[0], &first[0])
    return numbers, firsts[:different]


def encode_base64(texts, *, bint pad):
    """Encode the strings of a Bytes in web-safe base64."""
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef uint8_t[::1] out
    offsets = np.zeros(given.count + 1, np.int64)
    sizes = lengths_of(&given)
    rest = sizes % 3
    np.cumsum(sizes // 3 * 4 + np.where(rest, 4 if pad else rest + 1, 0), out=offsets[1:])
    data = np.empty(offsets[given.count], np.uint8)
    if data.size:
        out = data
        with nogil:
            c.fr_texts_encode_base64(&given, pad, &out[0])
    return Bytes(data, offsets, texts.shape)


def decode_base64(texts):
    """Decode the strings of a Bytes from web-safe base64.

    Raises
    ------
    IndexError
        With the number of the first string that is malformed.
    """
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef int64_t[::1] places
    cdef uint8_t[::1] out
    cdef size_t wrong
    offsets = np.zeros(given.count + 1, np.int64)
    data = np.empty(size_of(&given) // 4 * 3 + 3, np.uint8)
    places, out = offsets, data
    with nogil:
        wrong = c.fr_texts_decode_base64(&given, &places[0], &out[0])
    if wrong < given.count:
        raise IndexError(wrong)
    return Bytes(data[:offsets[given.count]], offsets, texts.shape)


def decode_utf8(texts):
    """Decode the strings of a Bytes to code points.

    Returns
    -------
    points : ndarray of int32
        The points of all strings, concatenated.
    begins : ndarray of int64
        Where each character begins in `texts.data`, and where the last ends.
    splits : ndarray of int64
        The first character of each string, and the number of characters.

    Raises
    ------
    IndexError
        With the number of the first string that is malformed.
    """
    cdef list keep = []
    cdef c.fr_texts given = texts_of(texts, keep)
    cdef int32_t[::1] out
    cdef int64_t[::1] first, rows
    cdef size_t wrong
    points = np.empty(size_of(&given) + 1, np.int32)
    begins, splits = np.empty(size_of(&given) + 1, np.int64), np.empty(given.count + 1, np.int64)
    out, first, rows = points, begins, splits
    with nogil:
        wrong = c.fr_texts_decode(&given, &out[0], &first[0], &rows[0])
    if wrong < given.count:
        raise IndexError(wrong)
    count = splits[given.count]
    return points[:count].copy(), begins[:count + 1], splits


def encode_utf8(points, splits):
    """Encode rows of valid code points (without surrogates) as Bytes."""
    cdef const int32_t[::1] source = np.ascontiguousarray(points, np.int32)
    cdef const int64_t[::1] rows = checked_splits(splits, <size_t>source.shape[0])
    cdef uint8_t[::1] out
    cdef int64_t[::1] places
    offsets = np.zeros(rows.shape[0], np.int64)
    data = np.empty(4 * source.shape[0] + 1, np.uint8)
    out, places = data, offsets
    if source.shape[0]:
        with nogil:
            c.fr_texts_encode(
                &source[0], &rows[0], <size_t>rows.shape[0] - 1, &places[0], &out[0])
    return Bytes(data[:offsets[rows.shape[0] - 1]].copy(), offsets)


def spell_integers(numbers):
    """Return integers in decimal, as Bytes."""
    cdef const int64_t[::1] source = np.ascontiguousarray(numbers, np.int64).reshape(-1)
    cdef uint8_t[::1] out
    cdef int64_t[::1] places
    offsets = np.zeros(source.shape[0] + 1, np.int64)
    data = np.empty(20 * source.shape[0] + 1, np.uint8)
    out, places = data, offsets
    if source.shape[0]:
        with nogil:
            c.fr_texts_of_integers(&source[0], <size_t>source.shape[0], &places[0], &out[0])
    return Bytes(data[:offsets[source.shape[0]]].copy(), offsets, numbers.shape)
