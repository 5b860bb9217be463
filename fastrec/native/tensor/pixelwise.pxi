# SPDX-License-Identifier: Apache-2.0

PIXEL_CHANGES = ("add", "subtract", "multiply", "divide", "minimum", "maximum", "hue",
                 "saturation", "contrast")


@cython.final
cdef class PixelSteps:
    """Changes of pixels, in their order.

    Parameters
    ----------
    changes : bytes
        The index of each in ``PIXEL_CHANGES``.
    values : ndarray of float32, shape (len(changes), channels)
    channels : int
    """

    cdef c.fr_pixel_steps steps
    cdef bytes changes
    cdef const float[:, ::1] values

    def __cinit__(self, bytes changes, values, size_t channels):
        cdef c.fr_error err
        self.changes = changes
        self.steps.count, self.steps.channels = len(changes), channels
        self.steps.changes = <const uint8_t *>PyBytes_AS_STRING(changes)
        self.steps.values = NULL
        if changes:
            self.values = np.array(values, np.float32, order="C")
            if self.values.shape[0] != len(changes) or self.values.shape[1] != <Py_ssize_t>channels:
                raise ValueError(
                    f"values must be of shape ({len(changes)}, {channels}), got {values.shape}")
            self.steps.values = &self.values[0, 0]
        check(c.fr_pixel_steps_check(&self.steps, &err), &err)


cdef object result_or(out, shape):
    """Return `out`, which must be floats of this shape, or a new array if it is None."""
    if out is None:
        return empty(shape, np.float32)
    if out.dtype != np.float32 or out.shape != shape or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous float32 of shape {shape}, "
                         f"got {out.dtype} of shape {out.shape}")
    return out


def change_pixels(image, bytes changes, values, *, bint mirror=False, out=None):
    """Change the pixels of an image.

    Parameters
    ----------
    image : ndarray of uint8 or float32, shape (height, width, channels)
    changes : bytes
        The index of each change in ``PIXEL_CHANGES``, in their order.
    values : ndarray of float32, shape (len(changes), channels)
        The operand of each change. ``"hue"``, ``"saturation"`` and ``"contrast"`` use only the
        first value; the first two require three channels.
    mirror : bool
        Reverse the columns.
    out : ndarray, optional
        Array for the result, C-contiguous, with its type and shape.

    Returns
    -------
    ndarray of float32, of the same shape
    """
    cdef c.fr_pixel_source source
    cdef c.fr_error err
    cdef int status
    cdef PixelSteps how
    cdef float[:, :, ::1] target
    cdef const uint8_t[:, :, :] small
    cdef const float[:, :, :] large
    cdef bint is_float = image.dtype == np.float32
    if image.ndim != 3 or (not is_float and image.dtype != np.uint8):
        raise TypeError("image must be uint8 or float32 of shape (height, width, channels), "
                        f"got {image.dtype} of shape {image.shape}")
    how = PixelSteps(changes, values, image.shape[2])
    result = result_or(out, image.shape)
    if not result.size:
        return result
    if image.strides[1:] != (image.shape[2] * image.itemsize, image.itemsize) \
            or image.strides[0] < 0 or not image.flags.aligned:
        image = np.ascontiguousarray(image)
    if is_float:
        large = image
        source.pixels.data = <const uint8_t *>&large[0, 0, 0]
    else:
        small = image
        source.pixels.data = &small[0, 0, 0]
    source.pixels.is_float, source.pixels.row_step = is_float, image.strides[0]
    source.height, source.width, source.mirror = image.shape[0], image.shape[1], mirror
    target = result
    with nogil:
        status = c.fr_pixelwise_change(&how.steps, &source, &target[0, 0, 0], &err)
    check(status, &err)
    return result


def join_channels(list arrays):
    """Join arrays of one type, without objects, along their last dimension.

    Their other dimensions must be equal.
    """
    cdef size_t pixels, size, pitch = 0, offset = 0
    cdef const uint8_t[::1] source
    cdef uint8_t[::1] out
    leading, dtype = arrays[0].shape[:-1], arrays[0].dtype
    if any(each.shape[:-1] != leading or each.dtype != dtype for each in arrays):
        raise ValueError("arrays must be of one type and shape but for their last dimension")
    channels = sum(each.shape[-1] for each in arrays)
    result = empty((*leading, channels), dtype)
    if not result.size:
        return result
    pitch = channels * dtype.itemsize
    out = result.reshape(-1).view(np.uint8)
    pixels = out.shape[0] // pitch
    for each in arrays:
        size = each.shape[-1] * dtype.itemsize
        if size == 0:
            continue
        source = np.ascontiguousarray(each).reshape(-1).view(np.uint8)
        with nogil:
            c.fr_pixels_spread(&source[0], pixels, size, pitch, &out[offset])
        offset += size
    return result
