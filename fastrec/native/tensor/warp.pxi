# SPDX-License-Identifier: Apache-2.0

cdef tuple WARP_MODES = ("constant", "reflect", "wrap", "nearest")


def warp(images, transforms, size_t height, size_t width, str mode, fill, *, bint bilinear=False):
    """Rotate, shear or move images.

    Parameters
    ----------
    images : ndarray, shape (images, rows, columns, channels)
        With `bilinear`, the type is float32; otherwise any type without objects.
    transforms : ndarray of float32, shape (1, 8) or (images, 8)
        Map each pixel of the result to its source.
    height, width : int
        Size of the result.
    mode : {"constant", "reflect", "wrap", "nearest"}
        The values of pixels outside an image.
    fill : ndarray, shape (channels,), of the type of the images
        The pixel for ``"constant"``; its channels are equal.
    bilinear : bool
        Interpolate between four pixels; otherwise take the nearest.
    """
    cdef c.fr_warp how
    cdef const float[:, ::1] rows
    cdef const uint8_t[::1] source, pixel
    cdef uint8_t[::1] out
    cdef const float[::1] floats
    cdef float[::1] mixed
    cdef size_t count, number, channels, size, step
    cdef float around
    if images.ndim != 4 or images.dtype.hasobject or fill.dtype != images.dtype \
            or fill.shape != images.shape[3:] or (bilinear and images.dtype != np.float32):
        raise TypeError(f"images of {images.dtype} and shape {images.shape} cannot be warped")
    # Copy, because it determines which pixels are inside.
    rows = np.array(transforms, np.float32, order="C")
    count = images.shape[0]
    if rows.shape[1] != 8 or rows.shape[0] not in (1, images.shape[0]):
        raise ValueError(f"transforms must be of shape ({count}, 8), got {transforms.shape}")
    result = empty((count, height, width, images.shape[3]), images.dtype)
    if not result.size:
        return result
    if not images.size:
        result[...] = fill
        return result
    how.mode = <c.fr_warp_mode><int>WARP_MODES.index(mode)
    how.height, how.width = images.shape[1], images.shape[2]
    how.out_height, how.out_width = height, width
    channels, size = images.shape[3], images.shape[3] * images.dtype.itemsize
    if bilinear:
        floats, mixed = np.ascontiguousarray(images).reshape(-1), result.reshape(-1)
        around = fill[0]
    else:
        source = np.ascontiguousarray(images).reshape(-1).view(np.uint8)
        pixel = np.ascontiguousarray(fill).view(np.uint8)
        out = result.reshape(-1).view(np.uint8)
    with nogil:
        for number in range(count):
            how.transform = &rows[number if rows.shape[0] > 1 else 0, 0]
            step = how.height * how.width
            if bilinear:
                c.fr_warp_bilinear(&how, &floats[number * step * channels], channels, around,
                                   &mixed[number * height * width * channels])
            else:
                c.fr_warp_nearest(&how, &source[number * step * size], size, &pixel[0],
                                  &out[number * height * width * size])
    return result


def depthwise(images, weights, size, *, strides=(1, 1), steps=(1, 1), corner=(0, 0)):
    """Filter each channel of images with its own filters.

    Parameters
    ----------
    images : ndarray of float32, shape (images, rows, columns, channels)
    weights : ndarray of float32, shape (rows, columns, channels, multiplier)
    size : pair of int
        Height and width of the result.
    strides, steps : pair of int
        Distance between filter positions, and between weights.
    corner : pair of int
        Rows and columns of zeros before the first pixel.

    Returns
    -------
    ndarray of float32, shape (images, height, width, channels * multiplier)
    """
    cdef c.fr_depthwise how
    cdef const float[:, :, :, ::1] source, factors
    cdef float[:, :, :, ::1] out
    cdef float[::1] scratch
    cdef size_t number, height = size[0], width = size[1]
    source = np.ascontiguousarray(images, np.float32)
    factors = np.ascontiguousarray(weights, np.float32)
    if factors.shape[2] != source.shape[3]:
        raise ValueError(f"weights of {factors.shape[2]} channels, images of {source.shape[3]}")
    if min(*strides, *steps) < 1 or min(*size, *corner) < 0:
        raise ValueError(f"strides {strides}, steps {steps} or sizes {size} are too small")
    result = np.zeros((*images.shape[:1], height, width, weights.shape[2] * weights.shape[3]),
                      np.float32)
    if not (result.size and images.size and weights.size):
        return result
    out, scratch = result, empty((2 * result[0, 0].size,), np.float32)
    how.weights = &factors[0, 0, 0, 0]
    how.rows, how.columns = factors.shape[0], factors.shape[1]
    how.channels, how.multiplier = factors.shape[2], factors.shape[3]
    how.stride_y, how.stride_x = strides
    how.step_y, how.step_x = steps
    how.top, how.left = corner
    with nogil:
        for number in range(<size_t>source.shape[0]):
            c.fr_depthwise_filter(&how, &source[number, 0, 0, 0], source.shape[1],
                                  source.shape[2], height, width, &scratch[0],
                                  &out[number, 0, 0, 0])
    return result
