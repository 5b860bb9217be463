# SPDX-License-Identifier: Apache-2.0

def encode_jpeg(const uint8_t[:, :, ::1] pixels, int quality=95, *, bint progressive=False,
                bint optimize=False, bint subsampling=True, int density_unit=1, density=(300, 300),
                bytes xmp=b""):
    """Encode a JPEG with the same bytes as ``tf.io.encode_jpeg``.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 1 or 3)
    quality : int
        0 to 100.
    progressive, optimize : bool
        Write several scans; compute Huffman tables for the image.
    subsampling : bool
        Halve the resolution of the colours.
    density_unit : int
        1 for inches, 2 for centimetres.
    density : (int, int)
        Pixels per unit, horizontally and vertically.
    xmp : bytes
        XMP metadata.

    Raises
    ------
    ValueError
        For other values, sides of more than 65500 pixels, and without libjpeg-turbo.
    """
    cdef c.fr_jpeg_settings settings
    cdef c.fr_error err
    cdef size_t height = pixels.shape[0], width = pixels.shape[1]
    cdef int status, channels = pixels.shape[2]
    cdef c.fr_buffer out
    if not pixels.size:
        raise ValueError("an image must have pixels")
    settings.quality, settings.density_unit = quality, density_unit
    settings.is_progressive, settings.optimize = progressive, optimize
    settings.no_subsampling = not subsampling
    settings.x_density, settings.y_density = density
    settings.xmp.data, settings.xmp.size = <const uint8_t *>xmp, len(xmp)
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            status = c.fr_jpeg_encode(
                &pixels[0, 0, 0], height, width, channels, &settings, &out, &err)
        check(status, &err)
        return out.data[:out.size]
    finally:
        c.fr_buffer_free(&out)


def encode_png(const uint8_t[:, :, ::1] pixels, int level=-1, *, int bits=8):
    """Encode a PNG, as ``tf.io.encode_png`` does.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 1 to 4)
        Bytes of the pixels; for 16-bit samples, shape (height, width, channels x 2).
    level : int
        Level of zlib, 0 to 9; -1 selects its default.
    bits : {8, 16}

    Raises
    ------
    ValueError
        For other values, an empty image, and without libpng.
    """
    cdef c.fr_png_format format
    cdef c.fr_error err
    cdef size_t height = pixels.shape[0]
    cdef int status
    cdef c.fr_buffer out
    if bits not in (8, 16) or not pixels.size:
        raise ValueError(f"an image must have pixels of 8 or 16 bits, got {bits}")
    cdef size_t width = pixels.shape[1]
    format.bits, format.channels = bits, pixels.shape[2] * 8 // bits
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            status = c.fr_png_encode(&pixels[0, 0, 0], height, width, &format, level, &out, &err)
        check(status, &err)
        return out.data[:out.size]
    finally:
        c.fr_buffer_free(&out)
