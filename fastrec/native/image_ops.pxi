# SPDX-License-Identifier: Apache-2.0

def distort(images, starts, size, mirror, brightness, contrast, bint standardize):
    """Cut, mirror and change uint8 or float32 images of shape (n, height, width, channels).

    `starts`: int64, (n, 3), where each cut of `size` begins. `mirror` (uint8), `brightness` and
    `contrast` (float32) have one element for each image, or are None.
    """
    cdef c.fr_image_op how
    cdef c.fr_error err
    cdef int status
    cdef size_t count = images.shape[0]
    cdef const uint8_t[:, :, :, :] small
    cdef const float[:, :, :, :] large
    cdef const uint8_t *source
    cdef const uint8_t[::1] mirrored
    cdef const float[::1] deltas, factors
    if any(len(one) != <Py_ssize_t>count
           for one in (starts, mirror, brightness, contrast) if one is not None):
        raise ValueError(f"there are {count} images")
    # Copy before the check, because the caller's array may change.
    starts = np.array(starts, np.int64)
    room = np.subtract(images.shape[1:], size)
    if min(size) < 1 or (starts < 0).any() or (starts > room).any():
        raise ValueError(f"a cut of {size} does not fit in images of {images.shape[1:]}")
    result = np.empty((count, *size), np.float32)
    if count == 0:
        return result
    how.bytes = images.dtype == np.uint8
    if how.bytes:
        small = images
        source = &small[0, 0, 0, 0]
    else:
        large = images
        source = <const uint8_t *>&large[0, 0, 0, 0]
    how.height, how.width, how.channels = size
    how.row_step, how.column_step, how.channel_step = images.strides[1:]
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
        np.arange(count) * images.strides[0] + starts @ np.array(images.strides[1:]))
    cdef float[:, :, :, ::1] out = result
    if result.nbytes < GIL_THRESHOLD:
        status = c.fr_image_ops_apply(&how, source, &offsets[0], count, &out[0, 0, 0, 0], &err)
    else:
        with nogil:
            status = c.fr_image_ops_apply(&how, source, &offsets[0], count, &out[0, 0, 0, 0], &err)
    check(status, &err)
    return result
