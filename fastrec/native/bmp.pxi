# SPDX-License-Identifier: Apache-2.0


def decode_bmp(data, *, uint64_t max_pixels=1 << 27):
    """Decode an uncompressed BMP with 24 bits per pixel.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3), or None
        None for any other file, and for images of more than `max_pixels` pixels.
    """
    cdef const uint8_t[::1] raw = memoryview(data).cast("B")
    cdef c.fr_bmp_header header
    cdef c.fr_span span
    cdef uint8_t[::1] out
    span.size = raw.shape[0]
    span.data = &raw[0] if span.size else NULL
    if not c.fr_bmp_read_header(span, &header) or header.width > max_pixels // header.height:
        return None
    result = empty((header.height, header.width, 3), np.uint8)
    out = result.reshape(-1)
    with nogil:
        c.fr_bmp_decode(&header, &out[0])
    return result
