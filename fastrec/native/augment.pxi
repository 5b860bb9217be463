# SPDX-License-Identifier: Apache-2.0

def augment(images, keys, fields):
    """Cut, mirror and change uint8 images of shape (n, height, width, channels).

    `keys`: uint64, one for each image. `fields`: the fields of fr_augment; `floats` selects the
    dtype of the result.
    """
    cdef c.fr_augment how
    cdef c.fr_error err
    cdef int status
    cdef const uint8_t[:, :, :, ::1] raw = np.ascontiguousarray(images)
    cdef const uint64_t[::1] raw_keys = np.ascontiguousarray(keys, np.uint64)
    cdef size_t count = raw.shape[0]
    cdef uint8_t[:, :, :, ::1] small
    cdef float[:, :, :, ::1] large
    how.height, how.width, how.channels = raw.shape[1], raw.shape[2], raw.shape[3]
    how.out_height, how.out_width = fields["size"] or (how.height, how.width)
    how.random_crop, how.flip = fields["random_crop"], fields["flip"]
    how.brightness = fields["brightness"]
    how.contrast_low, how.contrast_high = fields["contrast"]
    how.standardize = fields["standardize"]
    how.seed = fields["seed"]
    check(c.fr_augment_check(&how, &err), &err)
    if raw_keys.shape[0] != raw.shape[0]:
        raise ValueError(f"{raw_keys.shape[0]} keys for {raw.shape[0]} images")
    shape = (count, how.out_height, how.out_width, how.channels)
    result = empty(shape, np.float32 if fields["floats"] else np.uint8)
    if count == 0:
        return result
    if fields["floats"]:
        large = result
        with nogil:
            status = c.fr_augment_floats(
                &how, &raw[0, 0, 0, 0], &raw_keys[0], count, &large[0, 0, 0, 0], &err)
        check(status, &err)
    else:
        small = result
        with nogil:
            c.fr_augment_bytes(&how, &raw[0, 0, 0, 0], &raw_keys[0], count, &small[0, 0, 0, 0])
    return result
