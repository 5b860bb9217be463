# SPDX-License-Identifier: Apache-2.0


cdef const c.fr_crc32c_impl *chosen() except NULL:
    cdef const c.fr_crc32c_impl *impl = c.fr_crc32c_chosen()
    if impl == NULL:
        names = ", ".join(crc32c_implementations())
        raise ValueError(
            f"FASTREC_CRC={os.environ.get('FASTREC_CRC')!a} names no implementation that this "
            f"machine supports; there are {names}")
    return impl


cdef inline uint32_t extend(const c.fr_crc32c_impl *impl, data, uint32_t value) except? 1:
    if type(data) is bytes and PyBytes_GET_SIZE(data) < GIL_THRESHOLD:
        return impl.extend(
            value, <const uint8_t *>PyBytes_AS_STRING(data), <size_t>PyBytes_GET_SIZE(data))
    return extend_any(impl, data, value)


cdef uint32_t extend_any(const c.fr_crc32c_impl *impl, data, uint32_t value) except? 1:
    cdef Py_buffer view
    cdef Py_ssize_t done = 0, some
    if not PyObject_CheckBuffer(data):
        raise TypeError(f"data must be bytes-like, got {type(data).__name__}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len < GIL_THRESHOLD:
            return impl.extend(value, <const uint8_t *>view.buf, <size_t>view.len)
        while done < view.len:
            some = min(view.len - done, <Py_ssize_t>SLICE_CHECKSUMMED)
            with nogil:
                value = impl.extend(value, <const uint8_t *>view.buf + done, <size_t>some)
            PyErr_CheckSignals()
            done += some
        return value
    finally:
        PyBuffer_Release(&view)


cdef uint32_t as_checksum(value) except? 1:
    """Return the argument `value` of crc32c() as a 32-bit integer."""
    if isinstance(value, bool) or isinstance(value, np.ndarray) or not PyIndex_Check(value):
        raise TypeError(f"value must be an int, got {type(value).__name__}")
    number = PyNumber_Index(value)
    if not 0 <= number < 1 << 32:
        raise ValueError(f"value must be 0 to 2**32 - 1, got {number}")
    return number


# A builtin function, because the interpreter calls builtins fastest.
@cython.binding(False)
@cython.embedsignature.format("clinic")
def crc32c(data, value=0):
    """Compute the CRC-32C (Castagnoli, RFC 3720) of bytes.

    Parameters
    ----------
    data : bytes-like
        C-contiguous.
    value : int, optional
        Checksum of the preceding bytes.

    Returns
    -------
    int
        32 bits.

    Examples
    --------
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    return extend(chosen(), data, as_checksum(value))


@cython.binding(False)
@cython.embedsignature.format("clinic")
def masked_crc32c(data):
    """Compute the checksum that a TFRecord file stores: rotated right by 15, plus 0xa282ead8.

    Parameters
    ----------
    data : bytes-like
        C-contiguous.

    Examples
    --------
    >>> hex(masked_crc32c(b"123456789"))
    '0xc78ab0e5'
    """
    return c.fr_crc_mask(extend(chosen(), data, 0))


def crc32c_implementation():
    """Return the implementation in use: ``"avx512"``, ``"sse42"``, ``"arm64"`` or ``"sw"``.

    The environment variable ``FASTREC_CRC`` selects one.

    Raises
    ------
    ValueError
        If ``FASTREC_CRC`` names an unknown or unsupported implementation.

    Examples
    --------
    >>> crc32c_implementation() in ("avx512", "sse42", "arm64", "sw")
    True
    """
    return chosen().name.decode("ascii")


def crc32c_implementations():
    """Return the names of the implementations that this machine supports, fastest first."""
    names = []
    cdef int i = 0
    while c.fr_crc32c_impls[i].name != NULL:
        if c.fr_crc32c_impls[i].supported():
            names.append(c.fr_crc32c_impls[i].name.decode("ascii"))
        i += 1
    return names


def crc32c_with(str name, data, uint32_t value=0):
    """Compute :func:`crc32c` by the named implementation."""
    cdef int i = 0
    while c.fr_crc32c_impls[i].name != NULL:
        if c.fr_crc32c_impls[i].name.decode("ascii") == name and c.fr_crc32c_impls[i].supported():
            return extend(&c.fr_crc32c_impls[i], data, value)
        i += 1
    raise ValueError(f"no implementation {name!r} here")
