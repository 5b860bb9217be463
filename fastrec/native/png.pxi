# SPDX-License-Identifier: Apache-2.0

cdef enum:
    PNG_DEPTH = 24  # offset of the bits of a sample


def png_version():
    """Return name and version of the built-in PNG library, or None."""
    cdef const char *version = c.fr_png_version()
    return None if version == NULL else version.decode("ascii")


def png_rows_of_16_bits(const uint8_t[::1] data, const int64_t[::1] offsets):
    """Return the numbers of the strings that are PNGs with samples of 16 bits.

    String ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    """
    cdef c.fr_span span
    cdef Py_ssize_t row
    cdef int64_t begin, end, size = data.shape[0]
    cdef list rows = []
    cdef const int64_t[::1] own = np.array(offsets, np.int64)  # copy; the caller's array may change
    for row in range(own.shape[0] - 1):
        begin, end = own[row], own[row + 1]
        if not 0 <= begin <= end <= size:
            raise ValueError(f"offsets of image {row} are out of range")
        span.size = <size_t>(end - begin)
        if span.size > PNG_DEPTH:
            span.data = &data[begin]
            if c.fr_png_is(span) and span.data[PNG_DEPTH] == 16:
                rows.append(row)
    return rows


def decode_png(data, int channels, *, int bits=8, uint64_t max_pixels=1 << 27):
    """Decode a PNG, as ``tf.io.decode_png`` does.

    Parameters
    ----------
    data : bytes-like
    channels : {1, 2, 3, 4}
    bits : {8, 16}

    Returns
    -------
    ndarray of uint8 or uint16, shape (height, width, channels)

    Raises
    ------
    ExampleParseError
        If `data` is not a complete PNG.
    LimitExceededError
        For more pixels than `max_pixels`.
    ValueError
        Without libpng.
    """
    cdef const uint8_t[::1] raw = memoryview(data).cast("B")
    cdef c.fr_png_header header
    cdef c.fr_png_format format
    cdef c.fr_error err
    cdef c.fr_span span
    cdef int status
    cdef size_t step
    cdef uint8_t[::1] out
    if not 1 <= channels <= 4 or bits not in (8, 16):
        raise ValueError(f"channels must be 1 to 4 and bits 8 or 16, got {channels} and {bits}")
    span.size = raw.shape[0]
    span.data = &raw[0] if span.size else NULL
    check(c.fr_png_read_header(span, max_pixels, &header, &err), &err)
    result = empty((header.height, header.width, channels), np.uint8 if bits == 8 else np.uint16)
    out = result.reshape(-1).view(np.uint8)
    format.channels, format.bits = channels, bits
    step = header.width * <size_t>(channels * bits // 8)
    with nogil:
        status = c.fr_png_decode(span, &header, &format, &out[0], step, &err)
    check(status, &err)
    return result
