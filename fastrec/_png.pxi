# SPDX-License-Identifier: Apache-2.0

cdef c.fr_png_lines _png_lines(size_t height, size_t pitch, size_t pixel) except *:
    cdef c.fr_png_lines lines
    if not 1 <= pixel <= pitch or not height:
        raise ValueError(f"{height} lines of {pitch} bytes, {pixel} a pixel")
    lines.height, lines.pitch, lines.pixel = height, pitch, pixel
    return lines


def png_unfilter(const uint8_t[::1] filtered, size_t height, size_t pitch, size_t pixel):
    """A PNG's lines of `pitch` bytes, each behind that of its filter, as an array of pixels."""
    cdef c.fr_png_lines lines = _png_lines(height, pitch, pixel)
    cdef c.fr_error err
    cdef int status
    if <size_t>filtered.shape[0] // height != 1 + pitch or <size_t>filtered.shape[0] % height:
        raise ValueError(f"{filtered.shape[0]} bytes for {height} lines of {pitch}")
    result = np.empty((1 + height, pitch), np.uint8)
    cdef uint8_t[:, ::1] pixels = result
    if filtered.shape[0] < GIL_THRESHOLD:
        status = c.fr_png_unfilter(&lines, &filtered[0], &pixels[0, 0], &err)
    else:
        with nogil:
            status = c.fr_png_unfilter(&lines, &filtered[0], &pixels[0, 0], &err)
    check(status, &err)
    return result[1:]


def png_filter(const uint8_t[:, ::1] pixels, size_t pixel):
    """The lines behind one of zeros, each filtered, behind the byte of its filter."""
    cdef c.fr_png_lines lines = _png_lines(pixels.shape[0] - 1, pixels.shape[1], pixel)
    result = np.empty((1 + lines.height, 1 + lines.pitch), np.uint8)
    cdef uint8_t[:, ::1] filtered = result
    if pixels.shape[0] * pixels.shape[1] < GIL_THRESHOLD:
        c.fr_png_filter(&lines, &pixels[0, 0], &filtered[0, 0])
    else:
        with nogil:
            c.fr_png_filter(&lines, &pixels[0, 0], &filtered[0, 0])
    return result[:-1]
