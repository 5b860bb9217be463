# SPDX-License-Identifier: Apache-2.0

def resize(images, size_t height, size_t width, str method="bilinear", *, bint antialias=False,
           bint align_corners=False, bint half_pixel_centers=True, float scale=1,
           bint mirror=False, bytes changes=b"", values=None, out=None):
    """Resize images by the formulas of TensorFlow's kernels, in float32.

    Parameters
    ----------
    images : ndarray of uint8 or float32, shape (n, rows, columns, channels)
    height, width : int
    method : str
        ``"nearest"``, ``"bilinear"``, ``"bicubic"``, ``"bicubic_torch"``, ``"area"``,
        ``"lanczos3"``, ``"lanczos5"``, ``"gaussian"`` or ``"mitchellcubic"``.
    antialias : bool
        Widen the kernel where images become smaller. The last four methods always use kernels.
    align_corners, half_pixel_centers : bool
        Options of ``tf.compat.v1``'s operations: with ``half_pixel_centers=False`` a pixel is at
        its number, not half a pixel further. Without `antialias` only.
    scale : float
        Factor by which the pixels of uint8 images are multiplied first.
    mirror : bool
        Reverse the columns.
    changes, values
        Changes of the results, as in :func:`change_pixels`.
    out : ndarray, optional
        Array for the result, C-contiguous, with its type and shape.

    Returns
    -------
    ndarray of float32, shape (n, height, width, channels)
    """
    cdef c.fr_interpolation how
    cdef c.fr_sampling rows, columns
    cdef c.fr_resampler resampler
    cdef c.fr_pixels source
    cdef c.fr_error err
    cdef int status
    cdef PixelSteps then
    cdef bint is_float = images.dtype == np.float32
    cdef size_t i, count, channels, step, size_of = 4 if is_float else 1
    cdef const uint8_t[::1] raw
    cdef float[:, :, :, ::1] target
    if images.ndim != 4 or (not is_float and images.dtype != np.uint8):
        raise TypeError(
            "images must be uint8 or float32 of shape (n, height, width, channels), "
            f"got {images.dtype} of shape {images.shape}")
    find_interpolation(&how, method, antialias)
    how.align_corners, how.legacy_centers = align_corners, not half_pixel_centers
    count, channels = images.shape[0], images.shape[3]
    rows = c.fr_sampling_whole(images.shape[1], height)
    columns = c.fr_sampling_whole(images.shape[2], width)
    memset(&resampler, 0, sizeof(resampler))
    try:
        with nogil:
            status = c.fr_resampler_init(
                &resampler, &how, &rows, &columns, channels, mirror, &err)
        check(status, &err)
        resampler.scale = scale
        then = PixelSteps(changes, values, channels)
        result = result_or(out, (count, height, width, channels))
        if count:
            raw = np.ascontiguousarray(images).reshape(-1).view(np.uint8)
            target = result
            step = raw.shape[0] // count
            source.is_float = is_float
            source.row_step = step // rows.size
            with nogil:
                for i in range(count):
                    source.data = &raw[i * step + resampler.first_row * source.row_step
                                       + resampler.first_column * channels * size_of]
                    status = c.fr_pixelwise_resize(
                        &then.steps, &resampler, &source, &target[i, 0, 0, 0], &err)
                    if status != c.FR_OK:
                        break
            check(status, &err)
        return result
    finally:
        c.fr_resampler_free(&resampler)
