# SPDX-License-Identifier: Apache-2.0

cdef tuple ELEMENTWISE = (
    "exp", "log", "log1p", "tanh", "sigmoid", "sin", "cos", "rsqrt", "sign",
    "acosh", "asinh", "cosh", "sinh", "tan",
)


def elementwise(str function, x, Py_ssize_t row=0):
    """Calculate a function of each number.

    Parameters
    ----------
    function : str
        One of ``exp log log1p tanh sigmoid sin cos rsqrt sign``, or of ``acosh asinh cosh sinh tan``.
    x : ndarray of float32
    row : int, optional
        The size of each of several tensors that `x` has one after the other.

    Returns
    -------
    ndarray of float32, of the same shape
    """
    cdef int code = ELEMENTWISE.index(function)
    cdef const float[::1] source
    cdef float[::1] out
    if x.dtype != np.float32:
        raise TypeError(f"x must be float32, got {x.dtype}")
    if row < 0 or (row and x.size % row):
        raise ValueError(f"row must divide the {x.size} numbers, got {row}")
    result = empty(x.shape, np.float32)
    if result.size:
        source, out = np.ascontiguousarray(x).reshape(-1), result.reshape(-1)
        with nogil:
            c.fr_elementwise_apply(
                <c.fr_elementwise>code, &source[0], <size_t>source.shape[0],
                <size_t>(row or source.shape[0]), &out[0])
    return result


def power(x, powers):
    """Calculate powers of each number.

    Parameters
    ----------
    x : ndarray of float32
    powers : ndarray of float32
        One, or one for each number of `x`.

    Returns
    -------
    ndarray of float32, of the shape of `x`
    """
    cdef const float[::1] source, by
    cdef float[::1] out
    if x.dtype != np.float32 or powers.dtype != np.float32:
        raise TypeError(f"x and powers must be float32, got {x.dtype} and {powers.dtype}")
    if powers.size != 1 and powers.shape != x.shape:
        raise ValueError(f"powers must be one or of shape {x.shape}, got shape {powers.shape}")
    result = empty(x.shape, np.float32)
    if result.size:
        source, out = np.ascontiguousarray(x).reshape(-1), result.reshape(-1)
        by = np.ascontiguousarray(powers).reshape(-1)
        with nogil:
            c.fr_power(
                &source[0], &by[0], by.shape[0] == 1, <size_t>source.shape[0], &out[0])
    return result


def to_halves(x):
    """Round float32 to float16."""
    cdef const float[::1] source
    cdef uint8_t[::1] out
    if x.dtype != np.float32:
        raise TypeError(f"x must be float32, got {x.dtype}")
    result = empty(x.shape, np.float16)
    if result.size:
        source = np.ascontiguousarray(x).reshape(-1)
        out = result.reshape(-1).view(np.uint8)
        with nogil:
            c.fr_pixel_format_store(
                c.FR_PIXEL_FLOAT16, &source[0], <size_t>source.shape[0], &out[0])
    return result


def from_halves(x):
    """Convert float16 to float32."""
    cdef const uint16_t[::1] source
    cdef float[::1] out
    if x.dtype != np.float16:
        raise TypeError(f"x must be float16, got {x.dtype}")
    result = empty(x.shape, np.float32)
    if result.size:
        source = np.ascontiguousarray(x).reshape(-1).view(np.uint16)
        out = result.reshape(-1)
        with nogil:
            c.fr_pixel_format_load_halves(&source[0], <size_t>source.shape[0], &out[0])
    return result


def select(conditions, x, y):
    """Take each number of `x` where its condition holds, and of `y` elsewhere.

    Parameters
    ----------
    conditions : ndarray of bool
    x, y : ndarray
        Of one type of 1, 2, 4 or 8 bytes without objects, of the shape of `conditions` or one
        number each.
    """
    cdef size_t width = x.dtype.itemsize, count = conditions.size, size
    cdef size_t x_step = x.size != 1 or count == 1, y_step = y.size != 1 or count == 1
    cdef list keep = []
    if conditions.dtype != np.bool_ or x.dtype != y.dtype or x.dtype.hasobject or \
            width not in (1, 2, 4, 8):
        raise TypeError(f"select of {x.dtype} and {y.dtype} by {conditions.dtype}")
    if any(each.size != 1 and each.shape != conditions.shape for each in (x, y)):
        raise ValueError(f"shapes {x.shape} and {y.shape} do not fit {conditions.shape}")
    result = empty(conditions.shape, x.dtype)
    if count == 0:
        return result
    cdef const uint8_t *where = memory_of(np.ascontiguousarray(conditions), keep, &size)
    cdef const uint8_t *one = memory_of(np.ascontiguousarray(x), keep, &size)
    cdef const uint8_t *other = memory_of(np.ascontiguousarray(y), keep, &size)
    cdef uint8_t[::1] out = result.reshape(-1).view(np.uint8)
    with nogil:
        c.fr_select(where, one, x_step, other, y_step, width, count, &out[0])
    return result
