# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class _Decoder:
    """Decodes images of any sizes in sequence, by the libraries that are built in."""

    cdef c.fr_jpeg *jpeg
    cdef int channels
    cdef bint has_jpeg, has_png, fast_dct, upright
    cdef uint64_t max_pixels

    def __dealloc__(self):
        c.fr_jpeg_free(self.jpeg)

    cdef int size_of(self, c.fr_span span, int64_t *shape, c.fr_error *err) noexcept nogil:
        """Get height and width. Return FR_AGAIN for an image that needs another decoder."""
        cdef c.fr_jpeg_header jpeg
        cdef c.fr_png_header png
        cdef c.fr_bmp_header bmp
        cdef c.fr_tiff tiff
        cdef int status = c.FR_AGAIN
        if self.has_jpeg and c.fr_jpeg_is(span):
            status = c.fr_jpeg_open(self.jpeg, span, &jpeg, err)
            if status == c.FR_OK and self.upright and jpeg.orientation != 1:
                status = c.FR_AGAIN
            shape[0], shape[1] = <int64_t>jpeg.height, <int64_t>jpeg.width
        elif self.has_png and not self.upright and c.fr_png_is(span):
            status = c.fr_png_read_header(span, self.max_pixels, &png, err)
            shape[0], shape[1] = <int64_t>png.height, <int64_t>png.width
        elif self.read_bmp(span, &bmp):
            shape[0], shape[1] = <int64_t>bmp.height, <int64_t>bmp.width
            status = c.FR_OK
        elif self.read_tiff(span, &tiff):
            shape[0], shape[1] = <int64_t>tiff.height, <int64_t>tiff.width
            status = c.FR_OK
        return status

    cdef bint read_tiff(self, c.fr_span span, c.fr_tiff *tiff) noexcept nogil:
        return (c.fr_tiff_read(span, tiff) and tiff.channels == <size_t>self.channels
                and tiff.width <= self.max_pixels // tiff.height)

    cdef bint read_bmp(self, c.fr_span span, c.fr_bmp_header *bmp) noexcept nogil:
        return (self.channels == 3 and c.fr_bmp_read_header(span, bmp)
                and bmp.width <= self.max_pixels // bmp.height)

    cdef int decode(self, c.fr_span span, const int64_t *shape, uint8_t *out,
                    c.fr_error *err) noexcept nogil:
        """Decode an image with the height and width that size_of() returned.

        The header is read again, and another thread may have written to its memory. Its size is
        therefore compared with the size that `out` was allocated for. Return FR_AGAIN if they
        differ.
        """
        cdef c.fr_jpeg_header jpeg
        cdef c.fr_jpeg_region part
        cdef c.fr_png_header png
        cdef c.fr_png_format format
        cdef c.fr_bmp_header bmp
        cdef c.fr_tiff tiff
        cdef int status
        if self.read_bmp(span, &bmp):
            if <int64_t>bmp.height != shape[0] or <int64_t>bmp.width != shape[1]:
                return c.FR_AGAIN
            c.fr_bmp_decode(&bmp, out)
            return c.FR_OK
        if self.read_tiff(span, &tiff):
            if <int64_t>tiff.height != shape[0] or <int64_t>tiff.width != shape[1]:
                return c.FR_AGAIN
            memcpy(out, tiff.pixels, tiff.height * tiff.width * tiff.channels)
            return c.FR_OK
        if not c.fr_jpeg_is(span):
            format.channels, format.bits = self.channels, 8
            status = c.fr_png_read_header(span, self.max_pixels, &png, err)
            if status != c.FR_OK:
                return status
            if <int64_t>png.height != shape[0] or <int64_t>png.width != shape[1]:
                return c.FR_AGAIN
            return c.fr_png_decode(span, &png, &format, out, png.width * self.channels, err)
        status = c.fr_jpeg_open(self.jpeg, span, &jpeg, err)
        if status != c.FR_OK:
            return status
        if <int64_t>jpeg.height != shape[0] or <int64_t>jpeg.width != shape[1]:
            return c.FR_AGAIN
        memset(&part, 0, sizeof(part))
        part.denominator, part.channels, part.fast_dct = 1, self.channels, self.fast_dct
        part.height, part.width = jpeg.height, jpeg.width
        return c.fr_jpeg_decode(self.jpeg, &part, out, part.width * self.channels, err)


def decode_images(const uint8_t[::1] data, const int64_t[::1] offsets, int channels, *,
                  bint fast_dct=False, bint upright=False, uint64_t max_pixels=1 << 27,
                  bint jpeg=True, bint png=True):
    """Decode images of any sizes, contiguously into one array.

    Image ``i`` is ``data[offsets[i]:offsets[i + 1]]``; `channels` is 1 or 3. `jpeg` and `png`
    select the formats that the built-in libraries decode, in addition to plain BMPs and TIFFs.

    Returns
    -------
    (values, splits, shapes), as :class:`~fastrec.Arrays` has them, or None
        None if an image has another format, fails, or would have to be rotated for `upright`.
    """
    cdef _Decoder decoder = _Decoder()
    cdef c.fr_jpeg_limits limits
    cdef c.fr_error err
    cdef c.fr_span span
    cdef size_t row, count = <size_t>offsets.shape[0] - 1
    cdef int status = c.FR_OK
    cdef int64_t end = 0
    cdef int64_t[::1] splits = np.zeros(count + 1, np.int64)
    cdef int64_t[:, ::1] shapes = np.full((count, 3), channels, np.int64)
    cdef uint8_t[::1] out
    cdef const int64_t[::1] own = np.array(offsets, np.int64)  # copy; the caller's array may change
    for row in range(count + 1):
        if not end <= own[row] <= data.shape[0]:
            raise ValueError(f"offsets of image {row} are out of range")
        end = own[row]
    decoder.channels, decoder.fast_dct, decoder.upright = channels, fast_dct, upright
    decoder.has_jpeg, decoder.has_png, decoder.max_pixels = jpeg, png, max_pixels
    if jpeg:
        limits.pixels, limits.scans = max_pixels, JPEG_SCANS
        check(c.fr_jpeg_new(&limits, &decoder.jpeg, &err), &err)
    with nogil:
        for row in range(count):
            span.size = <size_t>(own[row + 1] - own[row])
            span.data = &data[own[row]] if span.size else NULL
            status = decoder.size_of(span, &shapes[row, 0], &err)
            if status != c.FR_OK:
                break
            splits[row + 1] = splits[row] + shapes[row, 0] * shapes[row, 1] * channels
    if status != c.FR_OK:
        return None
    values = empty((splits[count],), np.uint8)
    out = values
    for row in range(count):
        span.size = <size_t>(own[row + 1] - own[row])
        span.data = &data[own[row]]
        with nogil:
            status = decoder.decode(span, &shapes[row, 0], &out[splits[row]], &err)
        if status != c.FR_OK:
            return None
        if row % SLICE_IMAGES == SLICE_IMAGES - 1:
            PyErr_CheckSignals()
    return values, np.asarray(splits), np.asarray(shapes)
