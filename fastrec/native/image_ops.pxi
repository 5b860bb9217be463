# SPDX-License-Identifier: Apache-2.0

def distort(pictures, starts, size, mirror, brightness, contrast, bint standardize):
    """Cut, mirror and change uint8 or float32 pictures of shape (n, height, width, channels).

    `starts`: int64, (n, 3), where each cut of `size` begins. `mirror`, uint8, and `brightness` and
    `contrast`, float32: one a picture, or None.
    """
    cdef c.fr_image_op how
    cdef c.fr_error err
    cdef int status
    cdef size_t count = pictures.shape[0]
    cdef const uint8_t[:, :, :, :] small
    cdef const float[:, :, :, :] large
    cdef const uint8_t *source
    cdef const uint8_t[::1] mirrored
    cdef const float[::1] deltas, factors
    if any(len(one) != <Py_ssize_t>count
           for one in (starts, mirror, brightness, contrast) if one is not None):
        raise ValueError(f"there are {count} pictures")
    room = np.subtract(pictures.shape[1:], size)
    if min(size) < 1 or (starts < 0).any() or (starts > room).any():
        raise ValueError(f"a cut of {size} does not fit in pictures of {pictures.shape[1:]}")
    result = np.empty((count, *size), np.float32)
    if count == 0:
        return result
    how.bytes = pictures.dtype == np.uint8
    if how.bytes:
        small = pictures
        source = &small[0, 0, 0, 0]
    else:
        large = pictures
        source = <const uint8_t *>&large[0, 0, 0, 0]
    how.height, how.width, how.channels = size
    how.row_step, how.column_step, how.channel_step = pictures.strides[1:]
    how.standardize = standardize
    how.mirror, how.brightness, how.contrast = NULL, NULL, NULL
    if mirror is not None:
        mirrored = mirror
        how.mirror = &mirrored[0]
    if brightness is not None:
        deltas = brightness
        how.brightness = &deltas[0]
    if contrast is not None:
        factors = contrast
        how.contrast = &factors[0]
    cdef const int64_t[::1] offsets = (
        np.arange(count) * pictures.strides[0] + starts @ np.array(pictures.strides[1:]))
    cdef float[:, :, :, ::1] out = result
    if result.nbytes < GIL_THRESHOLD:
        status = c.fr_image_ops_apply(&how, source, &offsets[0], count, &out[0, 0, 0, 0], &err)
    else:
        with nogil:
            status = c.fr_image_ops_apply(&how, source, &offsets[0], count, &out[0, 0, 0, 0], &err)
    check(status, &err)
    return result
