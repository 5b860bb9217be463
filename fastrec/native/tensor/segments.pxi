# SPDX-License-Identifier: Apache-2.0

cdef tuple SEGMENT_KINDS = ("Sum", "Prod", "Max", "Min")
cdef dict SEGMENT_TYPES = {
    np.dtype("float32"): c.FR_SEGMENT_FLOAT32,
    np.dtype("float64"): c.FR_SEGMENT_FLOAT64,
    np.dtype("int32"): c.FR_SEGMENT_INT32,
    np.dtype("int64"): c.FR_SEGMENT_INT64,
}


cdef int segment_type(x) except -1:
    if x.dtype not in SEGMENT_TYPES:
        raise TypeError(f"numbers must be float32, float64, int32 or int64, got {x.dtype}")
    return SEGMENT_TYPES[x.dtype]


cdef c.fr_segment_ids segment_ids(ids, size_t limit, list keep) except *:
    """Return ids of int32 or int64 below `limit`. `keep` holds their memory."""
    cdef c.fr_segment_ids result
    cdef size_t size
    if ids.dtype not in (np.int32, np.int64):
        raise TypeError(f"ids must be int32 or int64, got {ids.dtype}")
    result.are_wide, result.count, result.limit = ids.dtype.itemsize == 8, ids.size, limit
    result.values = memory_of(np.ascontiguousarray(ids), keep, &size)
    return result


cdef int check_ids(const c.fr_segment_ids *ids, bint allow_negative) except -1:
    cdef size_t place = c.fr_segments_check(ids, allow_negative)
    if place < ids.count:
        raise IndexError(place)
    return 0


def combine_segments(str kind, rows, ids, size_t count):
    """Combine the rows of each segment.

    Parameters
    ----------
    kind : {"Sum", "Prod", "Max", "Min"}
    rows : ndarray of float32, float64, int32 or int64
        The first dimension is the dimension of `ids`.
    ids : ndarray of int32 or int64, shape (rows,)
        The segment of each row, below `count`; a negative one drops the row.
    count : int
        The number of segments.

    Returns
    -------
    ndarray, of the type of `rows`, with `count` rows
        Segments without rows have 0, 1, the least or the largest finite number.

    Raises
    ------
    IndexError
        With the index of an id that is too large.
    """
    cdef list keep = []
    cdef c.fr_segment_ids given = segment_ids(ids, count, keep)
    cdef int code = SEGMENT_KINDS.index(kind), type_code = segment_type(rows)
    cdef size_t size, width
    cdef const uint8_t *numbers
    cdef uint8_t[::1] out
    if ids.ndim != 1 or not rows.ndim or len(rows) != len(ids):
        raise ValueError(f"ids of shape {ids.shape} do not fit rows of shape {rows.shape}")
    check_ids(&given, True)
    neutral = code
    if code >= 2:
        limits = np.finfo(rows.dtype) if rows.dtype.kind == "f" else np.iinfo(rows.dtype)
        neutral = limits.min if kind == "Max" else limits.max
    result = np.full((count, *rows.shape[1:]), neutral, rows.dtype)
    if result.size and rows.size:
        width = result[0].size
        numbers = memory_of(np.ascontiguousarray(rows), keep, &size)
        out = result.reshape(-1).view(np.uint8)
        with nogil:
            c.fr_segments_combine(&given, <c.fr_segment_kind>code, <c.fr_segment_type>type_code,
                                  numbers, width, &out[0])
    return result


def count_segments(ids, size_t limit):
    """Count the rows of each segment below `limit`, as int64; other ids are not counted."""
    cdef list keep = []
    cdef c.fr_segment_ids given = segment_ids(ids, limit, keep)
    cdef int64_t[::1] counts
    result = np.zeros(limit, np.int64)
    if limit:
        counts = result
        with nogil:
            c.fr_segments_count(&given, &counts[0])
    return result


def split_segments(rows, ids, size_t count):
    """Return the rows of each segment, in order, as a list of arrays.

    Parameters
    ----------
    rows : ndarray without objects
        The first dimension is the dimension of `ids`.
    ids : ndarray of int32 or int64, shape (rows,)
    count : int
        The number of segments; each id must be from 0 to below it.

    Raises
    ------
    IndexError
        With the index of an id that is out of range.
    """
    cdef list keep = []
    cdef c.fr_segment_ids given = segment_ids(ids, count, keep)
    cdef size_t size, bytes_of_row
    cdef const uint8_t *source
    cdef int64_t[::1] places
    cdef uint8_t[::1] out
    if rows.dtype.hasobject or not rows.ndim or ids.shape != rows.shape[:1]:
        raise TypeError(f"rows of {rows.dtype} and shape {rows.shape} cannot be split by ids of "
                        f"shape {ids.shape}")
    check_ids(&given, False)
    result = empty(rows.shape, rows.dtype)
    ends = count_segments(ids, count).cumsum()
    if result.size:
        starts = np.concatenate([[0], ends[:-1]])
        places, bytes_of_row = starts, rows[0].nbytes
        source = memory_of(np.ascontiguousarray(rows), keep, &size)
        out = result.reshape(-1).view(np.uint8)
        with nogil:
            c.fr_segments_sort(&given, source, bytes_of_row, &places[0], &out[0])
    return np.split(result, ends[:-1]) if count else []


def histogram(numbers, double low, double high, size_t bins):
    """Count numbers in `bins` bins of equal width from `low` to `high`, as int64.

    Numbers outside count in the first or the last bin, NaN in the first.
    """
    cdef list keep = []
    cdef int type_code = segment_type(numbers)
    cdef size_t size, count = numbers.size
    cdef const uint8_t *source = memory_of(np.ascontiguousarray(numbers), keep, &size)
    cdef int64_t[::1] counts
    result = np.zeros(bins, np.int64)
    if bins and count:
        counts = result
        with nogil:
            c.fr_segments_histogram(
                source, <c.fr_segment_type>type_code, count, low, high, bins, &counts[0])
    return result
