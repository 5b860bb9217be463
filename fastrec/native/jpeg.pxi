# SPDX-License-Identifier: Apache-2.0

# No program writes this many. A hostile file has one scan for each coefficient and bit.
cdef enum:
    JPEG_SCANS = 100

# Images decoded between checks for signals.
cdef enum:
    SLICE_IMAGES = 16


def jpeg_version():
    """Return name and version of the built-in JPEG library, or None."""
    cdef const char *version = c.fr_jpeg_version()
    return None if version == NULL else version.decode("ascii")


@cython.final
cdef class _Jpeg:
    """A decoder with an open file, for one call."""

    cdef c.fr_jpeg *jpeg
    cdef c.fr_jpeg_header header
    cdef const uint8_t[::1] data

    def __cinit__(self, data, uint64_t max_pixels):
        cdef c.fr_jpeg_limits limits
        cdef c.fr_error err
        cdef c.fr_span span
        cdef int status
        self.data = memoryview(data).cast("B")
        span.size = self.data.shape[0]
        span.data = &self.data[0] if span.size else NULL
        limits.pixels, limits.scans = max_pixels, JPEG_SCANS
        check(c.fr_jpeg_new(&limits, &self.jpeg, &err), &err)
        with nogil:
            status = c.fr_jpeg_open(self.jpeg, span, &self.header, &err)
        check(status, &err)

    def __dealloc__(self):
        c.fr_jpeg_free(self.jpeg)


def jpeg_header(data, *, uint64_t max_pixels=1 << 27):
    """Read the header of a JPEG: (height, width, stored channels, EXIF orientation).

    Raises
    ------
    ExampleParseError
        If `data` is not a JPEG.
    LimitExceededError
        If it has more pixels than `max_pixels`.
    """
    cdef _Jpeg jpeg = _Jpeg(data, max_pixels)
    return jpeg.header.height, jpeg.header.width, jpeg.header.channels, jpeg.header.orientation


def decode_jpeg(data, int channels=0, *, int ratio=1, region=None, bint fast_dct=False,
                bint fancy_upsampling=True, uint64_t max_pixels=1 << 27):
    """Decode a JPEG, or a region of it, as ``tf.io.decode_jpeg`` does.

    Parameters
    ----------
    data : bytes-like
    channels : {0, 1, 3}
        With 0, a grey image has 1 channel, any other 3.
    ratio : {1, 2, 4, 8}
        Divisor of both sides, which are rounded up.
    region : (top, left, height, width), optional
        Region of the reduced image. Its pixels equal the pixels of a full decode.
    fast_dct : bool
        ``dct_method="INTEGER_FAST"``; otherwise ``"INTEGER_ACCURATE"``.
    fancy_upsampling : bool
        Interpolate between colour samples.

    Returns
    -------
    ndarray of uint8, shape (height, width, channels)

    Raises
    ------
    ExampleParseError
        If `data` is not a complete JPEG.
    LimitExceededError
        For more pixels than `max_pixels`, or more than 100 scans.
    ValueError
        If the region is not inside the image, or without libjpeg-turbo.
    """
    cdef _Jpeg jpeg = _Jpeg(data, max_pixels)
    cdef c.fr_jpeg_region part
    cdef c.fr_error err
    cdef int status
    cdef uint8_t[:, :, ::1] out
    if ratio not in (1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4 or 8, got {ratio}")
    part.denominator = ratio
    part.channels = channels or (1 if jpeg.header.channels == 1 else 3)
    part.fast_dct, part.no_fancy = fast_dct, not fancy_upsampling
    part.top = part.left = 0
    part.height = c.fr_jpeg_reduced(jpeg.header.height, ratio)
    part.width = c.fr_jpeg_reduced(jpeg.header.width, ratio)
    if region is not None:
        if min(region) < 0:
            raise ValueError(f"region must not be negative, got {region}")
        top, left, height, width = region
        if top + height > part.height or left + width > part.width or not (height and width):
            raise ValueError(f"region {region} is outside of {part.height}x{part.width}")
        part.top, part.left, part.height, part.width = region
    result = empty((part.height, part.width, part.channels), np.uint8)
    out = result
    with nogil:
        status = c.fr_jpeg_decode(
            jpeg.jpeg, &part, &out[0, 0, 0], part.width * part.channels, &err)
    check(status, &err)
    return result
