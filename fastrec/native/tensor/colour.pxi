# SPDX-License-Identifier: Apache-2.0

cdef tuple CHANGES = ("hue", "saturation", "grey", "from_hsv")


def change_colours(images, str change, amounts=None):
    """Change the colours of images.

    Parameters
    ----------
    images : ndarray of float32, shape (n, height, width, 3)
    change : {"hue", "saturation", "grey", "from_hsv"}
    amounts : ndarray of float32, shape (n,), optional
        Rotation of the hue, in circles, or factor of the saturation.

    Returns
    -------
    ndarray of float32, shape (n, height, width, 3), or 1 channel for ``"grey"``
    """
    cdef size_t i, count, pixels
    cdef int kind = CHANGES.index(change)
    cdef const float[::1] source, by
    cdef float[::1] out
    if images.ndim != 4 or images.dtype != np.float32 or images.shape[3] != 3:
        raise TypeError(
            "images must be float32 of shape (n, height, width, 3), "
            f"got {images.dtype} of shape {images.shape}")
    count, pixels = images.shape[0], images.shape[1] * images.shape[2]
    if kind < 2:
        by = np.ascontiguousarray(amounts, np.float32)
        if by.shape[0] != <Py_ssize_t>count:
            raise ValueError(f"amounts must be {count} numbers, got {by.shape[0]}")
    channels = 1 if kind == 2 else 3
    result = empty((*images.shape[:3], channels), np.float32)
    if not result.size:
        return result
    source = np.ascontiguousarray(images).reshape(-1)
    out = result.reshape(-1)
    with nogil:
        for i in range(count):
            if kind == 0:
                c.fr_colour_turn_hue(
                    &source[i * pixels * 3], pixels, by[i], &out[i * pixels * 3])
            elif kind == 1:
                c.fr_colour_scale_saturation(
                    &source[i * pixels * 3], pixels, by[i], &out[i * pixels * 3])
            elif kind == 3:
                c.fr_colour_from_hsv(&source[i * pixels * 3], pixels, &out[i * pixels * 3])
            else:
                c.fr_colour_to_grey(&source[i * pixels * 3], pixels, &out[i * pixels])
    return result


def mirror(images):
    """Reverse the columns of images of any type, shape (..., height, width, channels)."""
    cdef size_t rows, columns, size
    cdef const uint8_t[::1] source
    cdef uint8_t[::1] out
    whole = np.ascontiguousarray(images)
    if not whole.size or whole.dtype.hasobject:
        return np.flip(whole, -2).copy()
    result = empty(whole.shape, whole.dtype)
    columns, size = whole.shape[-2], whole.shape[-1] * whole.itemsize
    rows = whole.nbytes // (columns * size)
    source = whole.reshape(-1).view(np.uint8)
    out = result.reshape(-1).view(np.uint8)
    with nogil:
        c.fr_colour_mirror(&source[0], rows, columns, size, &out[0])
    return result
