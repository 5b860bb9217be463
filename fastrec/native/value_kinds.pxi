# SPDX-License-Identifier: Apache-2.0
# How the common values of a row are told apart, and what is kept of each until it is encoded.

cdef extern from *:
    """
    #define FASTREC_IS_EXACT(object, type) (Py_TYPE(object) == (PyTypeObject *)(type))
    """
    bint is_exact "FASTREC_IS_EXACT"(object, object)

cdef enum Way:  # how a NumPy scalar is read
    AS_INT = 1
    AS_FLOAT32
    AS_FLOAT64
    AS_BOOL

cdef dict SCALARS = {
    **{t: AS_INT for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
                           np.uint64, np.intc, np.longlong)},
    np.float16: AS_FLOAT64, np.float32: AS_FLOAT32, np.float64: AS_FLOAT64, np.bool_: AS_BOOL,
}
cdef object ndarray = np.ndarray

# Where a slot's memory is, while it may still move.
cdef enum:
    NUMBERS_MOVE = 1
    OFFSETS_MOVE = 2
    STRINGS_MOVE = 4


cdef struct Pinned:
    bint given      # the specification names the feature
    bint plain      # it has the dtype that its kind has by itself, and is no raw one
    bint ragged
    c.fr_kind kind
    Py_ssize_t rank, count


cdef struct Slot:
    int64_t scalar
    int moves
    Pinned pin


cdef int code_of(const char *format) noexcept:
    """The dtype of a buffer's format, native byte order; -1 for any other."""
    cdef char letter = format[0]
    if letter == b"@" or letter == b"=":
        format += 1
        letter = format[0]
    if letter == 0 or format[1] != 0:
        return -1
    if letter == b"f":
        return c.FR_FLOAT32
    if letter == b"d":
        return c.FR_FLOAT64
    if letter == b"B":
        return c.FR_UINT8
    if letter == b"l":
        return c.FR_INT64 if sizeof(long) == 8 else c.FR_INT32
    if letter == b"q":
        return c.FR_INT64
    if letter == b"i":
        return c.FR_INT32
    if letter == b"?":
        return c.FR_BOOL
    if letter == b"b":
        return c.FR_INT8
    if letter == b"h":
        return c.FR_INT16
    if letter == b"H":
        return c.FR_UINT16
    if letter == b"I":
        return c.FR_UINT32
    if letter == b"L":
        return c.FR_UINT64 if sizeof(long) == 8 else c.FR_UINT32
    if letter == b"Q":
        return c.FR_UINT64
    if letter == b"e":
        return c.FR_FLOAT16
    return -1


cdef const char *utf8_of(text, Py_ssize_t *size) except? NULL:
    """What the str itself keeps; NULL for text that is no Unicode."""
    try:
        return PyUnicode_AsUTF8AndSize(text, size)
    except UnicodeEncodeError:
        return NULL
