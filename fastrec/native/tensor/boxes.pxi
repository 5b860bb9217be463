# SPDX-License-Identifier: Apache-2.0


def suppress(scores, size_t most, float limit, float least, float sigma=0, *, boxes=None,
             overlaps=None):
    """Keep the boxes with the highest scores that do not overlap a kept box too much.

    Parameters
    ----------
    scores : ndarray of float32, shape (count,)
    most : int
        Greatest number of boxes to keep.
    limit : float
        A greater overlap suppresses the box with the lower score.
    least : float
        Boxes with this score or a lower one are dropped.
    sigma : float, optional
        If above 0, an overlap lowers the score instead.
    boxes : ndarray of float32, shape (count, 4), optional
    overlaps : ndarray of float32, shape (count, count), optional
        The overlap of each two boxes; one of `boxes` and `overlaps` is required.

    Returns
    -------
    numbers : ndarray of int32
    scores : ndarray of float32
    """
    cdef c.fr_suppression how
    cdef const float[::1] marks = np.ascontiguousarray(scores, np.float32)
    cdef const float[:, ::1] matrix = np.ascontiguousarray(
        overlaps if boxes is None else boxes, np.float32)
    cdef size_t count = marks.shape[0], kept_count
    cdef uint32_t[::1] candidates
    cdef float[::1] corners, kept_scores
    cdef int32_t[::1] kept
    if <size_t>matrix.shape[0] != count or \
            <size_t>matrix.shape[1] != (count if boxes is None else 4):
        shape = overlaps.shape if boxes is None else boxes.shape
        raise ValueError(f"{count} scores do not fit an array of shape {shape}")
    if count >= 1 << 31:
        raise ValueError(f"the number of boxes must be below 2**31, got {count}")
    most = min(most, count)
    numbers, values = np.empty(most, np.int32), np.empty(most, np.float32)
    if not most:
        return numbers, values
    how.boxes = how.overlaps = NULL
    if boxes is None:
        how.overlaps = &matrix[0, 0]
    else:
        how.boxes = &matrix[0, 0]
    how.scores, how.count, how.most = &marks[0], count, most
    how.limit, how.least, how.sigma = limit, least, sigma
    candidates, corners = np.empty(3 * count, np.uint32), np.empty(5 * most, np.float32)
    kept, kept_scores = numbers, values
    with nogil:
        kept_count = c.fr_boxes_suppress(
            &how, <c.fr_candidate *>&candidates[0], &corners[0], &kept[0], &kept_scores[0])
    return numbers[:kept_count], values[:kept_count]


def crop_boxes(images, boxes, numbers, size, *, bint nearest=False, float outside=0):
    """Scale parts of images to one size.

    Parameters
    ----------
    images : ndarray of float32 or uint8, shape (images, rows, columns, channels)
    boxes : ndarray of float32, shape (boxes, 4)
        Two opposite corners, y and x each, as fractions of the image.
    numbers : ndarray of int, shape (boxes,)
        The image of each box.
    size : pair of int
        Height and width of the parts.
    nearest : bool, optional
        Take the nearest pixel instead of interpolating.
    outside : float, optional
        Value of pixels outside the image.

    Returns
    -------
    ndarray of float32, shape (boxes, height, width, channels)
    """
    cdef c.fr_crop how
    cdef list keep = []
    cdef size_t bytes_of_all, number, step, out_step, count = len(boxes)
    # These are copies, so that no other thread changes them after the checks.
    cdef const float[:, ::1] corners = np.array(boxes, np.float32, order="C")
    cdef const int64_t[::1] image_of = np.array(numbers, np.int64, order="C")
    cdef float[::1] out
    cdef uint32_t[::1] columns
    cdef const uint8_t *pixels
    if images.dtype not in (np.uint8, np.float32) or images.ndim != 4:
        raise TypeError(f"images of {images.dtype} and shape {images.shape} cannot be cropped")
    if corners.shape[1] != 4 or <size_t>image_of.shape[0] != count:
        raise ValueError(f"{image_of.shape[0]} numbers do not fit boxes of shape {boxes.shape}")
    how.height, how.width, how.channels = images.shape[1:]
    how.out_height, how.out_width = size
    how.is_bytes, how.nearest, how.outside = images.dtype == np.uint8, nearest, outside
    result = empty((count, size[0], size[1], images.shape[3]), np.float32)
    if not images.size:
        result[...] = outside
    if not result.size or not images.size:
        return result
    if np.min(image_of) < 0 or np.max(image_of) >= len(images):
        raise ValueError(f"numbers must be in [0, {len(images)})")
    if max(how.height, how.width) >= 1 << 31:
        raise ValueError(f"sides must be below 2**31, got {images.shape[1:3]}")
    pixels = memory_of(np.ascontiguousarray(images), keep, &bytes_of_all)
    step, out_step = bytes_of_all // <size_t>len(images), result[0].size
    out, columns = result.reshape(-1), np.empty(3 * how.out_width, np.uint32)
    with nogil:
        for number in range(count):
            c.fr_boxes_crop(&how, pixels + <size_t>image_of[number] * step, &corners[number, 0],
                            <c.fr_crop_column *>&columns[0], &out[number * out_step])
    return result


def outline(images, boxes, colours):
    """Draw the outlines of boxes on images.

    Parameters
    ----------
    images : ndarray of float32, shape (images, rows, columns, channels)
        Changed in place.
    boxes : ndarray of float32, shape (images, boxes, 4)
        Two opposite corners, y and x each, as fractions of the image.
    colours : ndarray of float32, shape (colours, channels)
        Box i has colour i modulo the number of colours.
    """
    cdef float[:, :, :, ::1] pixels = images
    cdef const float[:, :, ::1] corners = np.ascontiguousarray(boxes, np.float32)
    cdef const float[:, ::1] table = np.ascontiguousarray(colours, np.float32)
    cdef Py_ssize_t image, number
    if corners.shape[0] != pixels.shape[0] or corners.shape[2] != 4 or not table.shape[0] \
            or table.shape[1] != pixels.shape[3]:
        raise ValueError(f"boxes {boxes.shape} or colours {colours.shape} do not fit images of "
                         f"shape {images.shape}")
    if not images.size:
        return
    with nogil:
        for image in range(corners.shape[0]):
            for number in range(corners.shape[1]):
                c.fr_boxes_outline(&pixels[image, 0, 0, 0], pixels.shape[1], pixels.shape[2],
                                   pixels.shape[3], &corners[image, number, 0],
                                   &table[number % table.shape[0], 0])
