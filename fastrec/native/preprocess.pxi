# SPDX-License-Identifier: Apache-2.0

cdef tuple CROPS = ("whole", "exact", "pad", "center", "random", "resized", "distorted")
cdef tuple PIXELS = ("uint8", "float32", "float16", "bfloat16")

@cython.final
cdef class Preprocessor:
    """Decodes images to rows of a batch, for one thread at a time.

    `fields` are the fields of fr_preprocess_options; enumerations are given by name.
    """

    cdef c.fr_preprocess_options options
    cdef c.fr_preprocessor *preprocessor
    cdef size_t size  # size of an image, in bytes

    def __cinit__(self, fields):
        cdef c.fr_preprocess_options *o = &self.options
        cdef c.fr_error err
        o.crop.kind = <c.fr_crop_kind><int>CROPS.index(fields["crop"])
        o.crop.out_height, o.crop.out_width = fields["size"]
        o.crop.shorter = fields["shorter"]
        o.crop.area_low, o.crop.area_high = fields["scale"]
        o.crop.ratio_low, o.crop.ratio_high = fields["ratio"]
        find_interpolation(&o.interpolation, fields["interpolation"], fields["antialias"])
        o.reducing_gap = fields["reducing_gap"]
        o.mirror = fields["flip"]
        o.has_jitter = fields["jitter"] is not None
        if o.has_jitter:
            brightness, contrast, saturation, hue = fields["jitter"]
            o.jitter.brightness[0], o.jitter.brightness[1] = brightness
            o.jitter.contrast[0], o.jitter.contrast[1] = contrast
            o.jitter.saturation[0], o.jitter.saturation[1] = saturation
            o.jitter.hue[0], o.jitter.hue[1] = hue
        o.fast_dct, o.upright = fields["fast_dct"], fields["upright"]
        o.limits.pixels, o.limits.scans = fields["max_pixels"], JPEG_SCANS
        o.format.type = <c.fr_pixel_type><int>PIXELS.index(fields["dtype"])
        o.format.channels_first = fields["channels_first"]
        o.format.height, o.format.width = fields["size"]
        o.format.channels = fields["channels"]
        for i, (factor, shift) in enumerate(fields["normalize"]):
            if i < 4:
                o.format.scale[i], o.format.shift[i] = factor, shift
        o.seed = fields["seed"]
        check(c.fr_preprocessor_new(o, &self.preprocessor, &err), &err)
        self.size = c.fr_pixel_format_size(&o.format)

    def __dealloc__(self):
        c.fr_preprocessor_free(self.preprocessor)

    cdef int _check_out(self, const uint8_t[::1] out, size_t count) except -1:
        if <size_t>out.shape[0] // self.size != count or <size_t>out.shape[0] % self.size:
            raise ValueError(f"out must be of {count} images, got {out.shape[0]} bytes")
        return 0

    def images(self, const uint8_t[::1] data, const int64_t[::1] offsets,
               const uint64_t[::1] keys, uint8_t[::1] out, size_t begin, *, bint jpeg, bint png):
        """Decode images from row `begin`, until an image has another format or fails.

        Image ``i`` is ``data[offsets[i]:offsets[i + 1]]``; `out` is the batch as bytes. `jpeg` and
        `png` select the formats that the built-in libraries decode, in addition to plain BMPs and
        TIFFs.

        Returns
        -------
        (int, Exception or None)
            The row that was not made, or the number of rows; the error, or None for another format.
        """
        cdef c.fr_error err
        cdef c.fr_span span
        cdef int status = c.FR_OK
        cdef bint out_of_range = False
        cdef const int64_t[::1] own
        cdef size_t row = begin, stop, count = keys.shape[0]
        cdef int64_t size = data.shape[0], start, end
        if <size_t>offsets.shape[0] != count + 1:
            raise ValueError(f"{count} keys for {offsets.shape[0] - 1} images")
        self._check_out(out, count)
        own = np.array(offsets, np.int64)  # copy; the caller's array may change
        while row < count:
            stop = min(count, row + SLICE_IMAGES)
            with nogil:
                while row < stop:
                    start, end = own[row], own[row + 1]
                    if not 0 <= start <= end <= size:
                        out_of_range = True
                        break
                    span.size = <size_t>(end - start)
                    span.data = &data[start] if span.size else NULL
                    if jpeg and c.fr_jpeg_is(span):
                        status = c.fr_preprocessor_jpeg(
                            self.preprocessor, span, keys[row], &out[row * self.size], &err)
                    elif png and c.fr_png_is(span):
                        status = c.fr_preprocessor_png(
                            self.preprocessor, span, keys[row], &out[row * self.size], &err)
                    else:
                        status = c.fr_preprocessor_stored(
                            self.preprocessor, span, keys[row], &out[row * self.size], &err)
                    if status != c.FR_OK:
                        break
                    row += 1
            if out_of_range:
                raise ValueError(f"offsets of image {row} are out of range")
            if status == c.FR_AGAIN:
                return row, None
            try:
                check(status, &err)
            except (errors.FastrecError, ValueError) as error:
                return row, error
            PyErr_CheckSignals()
        return row, None

    def pixels(self, const uint8_t[:, :, ::1] pixels, uint64_t key, uint8_t[::1] out):
        """Write decoded pixels, uint8 of shape (height, width, channels), as one image."""
        cdef c.fr_error err
        cdef int status
        cdef size_t height = pixels.shape[0], width = pixels.shape[1], channels = pixels.shape[2]
        if channels != self.options.format.channels or height == 0 or width == 0:
            raise ValueError(f"an image of shape {(height, width, channels)} cannot be used")
        self._check_out(out, 1)
        with nogil:
            status = c.fr_preprocessor_pixels(
                self.preprocessor, &pixels[0, 0, 0], height, width, key,
                &out[0], &err)
        check(status, &err)


def draw_crop(str kind, size_t height, size_t width, scale, ratio, const uint64_t[::1] keys,
              uint64_t seed=0):
    """Draw a crop for each key, as a Preprocessor does.

    Return int64, shape (n, 4): top, left, height, width.
    """
    cdef c.fr_crop_options options
    cdef c.fr_philox philox
    cdef c.fr_rect box
    cdef size_t i
    memset(&options, 0, sizeof(options))
    options.kind = <c.fr_crop_kind><int>CROPS.index(kind)
    options.area_low, options.area_high = scale
    options.ratio_low, options.ratio_high = ratio
    result = np.empty((keys.shape[0], 4), np.int64)
    cdef int64_t[:, ::1] out = result
    for i in range(<size_t>keys.shape[0]):
        c.fr_preprocess_stream(seed, keys[i], c.FR_DRAW_CROP, &philox)
        box = c.fr_crop_draw(&options, &philox, height, width)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = box.top, box.left, box.height, box.width
    return result
