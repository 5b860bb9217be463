# SPDX-License-Identifier: Apache-2.0

cdef tuple ELEMENTWISE = (
    "exp", "log", "log1p", "expm1", "tanh", "sigmoid", "sin", "cos", "rsqrt", "sign",
    "erf", "erfc", "erfinv", "erfcinv", "ndtri", "softplus", "logsigmoid", "softsign", "silu",
    "elu", "selu", "gelu", "gelutanh",
    "acos", "asin", "atan", "atanh", "besseli0", "besseli0e", "besseli1", "besseli1e",
    "acosh", "asinh", "cosh", "sinh", "tan",
)


def elementwise(str function, x, Py_ssize_t row=0):
    """Apply a function to each number.

    Parameters
    ----------
    function : str
        One of ``exp log log1p expm1 tanh sigmoid sin cos rsqrt sign``, of ``erf erfc erfinv erfcinv
        ndtri softplus logsigmoid softsign silu elu selu gelu gelutanh``, of ``acos asin atan atanh
        besseli0 besseli0e besseli1 besseli1e``, or of ``acosh asinh cosh sinh tan``.
    x : ndarray of float32
    row : int, optional
        The size of each tensor, if `x` has several concatenated tensors.

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
    """Compute powers of numbers.

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
    """Take each number from `x` if its condition is true, otherwise from `y`.

    Parameters
    ----------
    conditions : ndarray of bool
    x, y : ndarray
        Arrays of the same type of 1, 2, 4 or 8 bytes, without objects. Each has the shape of
        `conditions`, or one number.
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


cdef dict EXTREMES = {
    np.dtype("float32"): c.FR_EXTREME_FLOAT32,
    np.dtype("float64"): c.FR_EXTREME_FLOAT64,
    np.dtype("int32"): c.FR_EXTREME_INT32,
    np.dtype("int64"): c.FR_EXTREME_INT64,
    np.dtype("uint8"): c.FR_EXTREME_UINT8,
    np.dtype("bool"): c.FR_EXTREME_UINT8,
}


def extremes(x, Py_ssize_t begin, Py_ssize_t end, *, bint greatest, bint places=False):
    """Find the largest or smallest number along adjacent dimensions.

    Parameters
    ----------
    x : ndarray of float32, float64, int32, int64, uint8 or bool
    begin, end : int
        The first of the dimensions, and the one after the last.
    greatest : bool
    places : bool, optional
        Return its index instead, counted through these dimensions.

    Returns
    -------
    ndarray of the type of `x`, or of int64
        NaN is an extreme, but its index is never returned. Among equal numbers, the first counts.
    """
    cdef c.fr_extreme_source source
    cdef list keep = []
    cdef size_t size
    cdef uint8_t[::1] out
    code = EXTREMES.get(x.dtype)
    if code is None:
        raise TypeError(f"extremes of {x.dtype}")
    if not 0 <= begin < end <= x.ndim:
        raise ValueError(f"dimensions {begin} to {end} are out of range (0 to {x.ndim})")
    source.type = code
    source.outer, source.inner = math.prod(x.shape[:begin]), math.prod(x.shape[end:])
    source.count = math.prod(x.shape[begin:end])
    if not 0 < source.count < 1 << 31:
        raise ValueError(f"extremes of {source.count} numbers")
    result = empty(x.shape[:begin] + x.shape[end:], np.int64 if places else x.dtype)
    if result.size:
        source.numbers = memory_of(np.ascontiguousarray(x), keep, &size)
        out = result.reshape(-1).view(np.uint8)
        with nogil:
            if places:
                c.fr_extreme_places(&source, greatest, <int64_t *>&out[0])
            else:
                c.fr_extreme_values(&source, greatest, &out[0])
    return result


def largest(x, size_t most):
    """Find the largest numbers of each row, in descending order.

    Parameters
    ----------
    x : ndarray of float32, float64, int32, int64, uint8 or bool
        The last dimension is the rows' dimension.
    most : int
        The number of results, from 1 to the length of a row.

    Returns
    -------
    values : ndarray of the type of `x`
    places : ndarray of int32
        Equal numbers keep their order; NaN comes before all others.
    """
    cdef c.fr_extreme_source source
    cdef list keep = []
    cdef size_t size
    cdef uint8_t[::1] out
    cdef int32_t[::1] at
    code = EXTREMES.get(x.dtype)
    if code is None:
        raise TypeError(f"largest numbers of {x.dtype}")
    if not 0 < most <= x.shape[x.ndim - 1] < 1 << 31:
        raise ValueError(f"most must be from 1 to {x.shape[x.ndim - 1]}, got {most}")
    source.type, source.count, source.inner = code, x.shape[x.ndim - 1], 1
    source.outer = x.size // <size_t>x.shape[x.ndim - 1]
    shape = (*x.shape[:x.ndim - 1], most)
    values, places = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    if values.size:
        source.numbers = memory_of(np.ascontiguousarray(x), keep, &size)
        out, at = values.reshape(-1).view(np.uint8), places.reshape(-1)
        with nogil:
            c.fr_extreme_top(&source, most, &out[0], &at[0])
    return values, places


def pool(images, window, size, *, strides=(1, 1), corner=(0, 0)):
    """Find the largest number of each window and channel.

    Parameters
    ----------
    images : ndarray of float32, shape (images, rows, columns, channels)
    window : pair of int
        Rows and columns of a window.
    size : pair of int
        Height and width of the result.
    strides : pair of int
        Distance between windows.
    corner : pair of int
        Rows and columns of the first window before the image.

    Returns
    -------
    ndarray of float32, shape (images, height, width, channels)
        NaN is skipped; a window without numbers gives the least finite number.
    """
    cdef c.fr_windows how
    cdef const float[:, :, :, ::1] source = np.ascontiguousarray(images)
    cdef float[:, :, :, ::1] out
    cdef float[::1] scratch
    cdef size_t number
    if min(*window, *strides) < 1 or min(*size, *corner) < 0:
        raise ValueError(f"window {window}, strides {strides} or size {size} are too small")
    result = empty((images.shape[0], size[0], size[1], images.shape[3]), np.float32)
    if not images.size:
        result[...] = np.finfo(np.float32).min
    if not result.size or not images.size:
        return result
    how.height, how.width, how.channels = images.shape[1:]
    how.rows, how.columns = window
    how.stride_y, how.stride_x = strides
    how.top, how.left = corner
    how.out_height, how.out_width = size
    out, scratch = result, np.empty(images[0, 0].size, np.float32)
    with nogil:
        for number in range(<size_t>source.shape[0]):
            c.fr_extreme_pool(&how, &source[number, 0, 0, 0], &scratch[0], &out[number, 0, 0, 0])
    return result


cdef tuple SPECIAL = (
    "lgamma", "digamma", "erf", "erfc", "i0", "i0e", "i1", "i1e", "igamma", "igammac", "zeta",
    "polygamma", "betainc",
)


def special(str function, *operands):
    """Compute a special function of each number, in double precision.

    Parameters
    ----------
    function : str
        One of ``lgamma digamma erf erfc i0 i0e i1 i1e``, of ``igamma igammac zeta polygamma``,
        which take two operands, or ``betainc``, which takes three.
    *operands : ndarray of float32 or float64
        Arrays of the same type; their shapes are broadcast.

    Returns
    -------
    ndarray, of the type of the operands
    """
    cdef int code = SPECIAL.index(function)
    cdef c.fr_special_operand given[3]
    cdef list keep = []
    cdef size_t size, number, count
    cdef uint8_t[::1] out
    cdef bint are_floats
    dtype = operands[0].dtype
    are_floats = dtype == np.float32
    if dtype not in (np.float32, np.float64) or any(each.dtype != dtype for each in operands):
        raise TypeError(f"operands must be float32 or float64, got {[x.dtype for x in operands]}")
    if <size_t>len(operands) != c.fr_special_operands(<c.fr_special>code):
        raise TypeError(f"{function} of {len(operands)} operands")
    shape = np.broadcast_shapes(*[each.shape for each in operands])
    result = empty(shape, dtype)
    count = result.size
    if not count:
        return result
    for number in range(<size_t>len(operands)):
        each = operands[number]
        given[number].step = each.size > 1 or count == 1
        whole = np.ascontiguousarray(np.broadcast_to(each, shape) if each.size > 1 else each)
        given[number].numbers = memory_of(whole, keep, &size)
    out = result.reshape(-1).view(np.uint8)
    with nogil:
        c.fr_special_apply(<c.fr_special>code, are_floats, given, count, &out[0])
    return result
