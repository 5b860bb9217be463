# SPDX-License-Identifier: Apache-2.0
# The headers of csrc/tensor/, once more, in their order and spelling; no logic.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from _csrc cimport (
    FR_ERR_MALFORMED, FR_ERR_NOMEM, FR_OK, FR_PIXEL_FLOAT16, fr_buffer, fr_buffer_free, fr_error,
    fr_filter, fr_interpolation, fr_philox, fr_philox_init, fr_philox_seek,
    fr_pixel_format_load_halves, fr_pixel_format_store, fr_pixels, fr_png_format, fr_resampler,
    fr_resampler_free, fr_resampler_init, fr_sampling, fr_sampling_whole, fr_span,
    fr_strings_valid)


cdef extern from "tensor/cut.h" nogil:
    ctypedef struct fr_cut:
        bint is_mark[256]
        bint skip_empty
        bint skip_nothing

    int64_t fr_strings_every(
        const int64_t *offsets, size_t step, size_t count, int64_t *begins) noexcept
    void fr_strings_take_every(
        fr_span data, const int64_t *offsets, size_t step, size_t count, const int64_t *begins,
        uint8_t *out) noexcept
    void fr_strings_cut(const uint8_t *data, const int64_t *offsets, size_t count,
                        const fr_cut *cut, uint8_t *out, int64_t *begins,
                        int64_t *splits) noexcept


cdef extern from "tensor/csv.h" nogil:
    ctypedef struct fr_csv:
        bint stops[256]
        uint8_t delimiter
        bint quoted

    ctypedef struct fr_csv_fields:
        uint8_t *out
        int64_t *begins
        int64_t *splits
        size_t rows

    void fr_csv_init(fr_csv *csv, uint8_t delimiter, bint quoted) noexcept
    size_t fr_csv_stops(const fr_csv *csv, const uint8_t *data, size_t size) noexcept
    size_t fr_csv_row(const fr_csv *csv, const uint8_t *data, size_t size, bint last,
                      fr_csv_fields *fields) noexcept


cdef extern from "tensor/numbers.h" nogil:
    ctypedef enum fr_number_type:
        FR_NUMBER_FLOAT32

    size_t fr_numbers_read(const uint8_t *data, const int64_t *offsets, size_t step, size_t count,
                           fr_number_type type, void *out, int64_t *left) noexcept


cdef extern from "tensor/hashes.h" nogil:
    ctypedef enum fr_hash:
        FR_HASH_COUNT

    uint64_t fr_hash_of(fr_hash hash, const uint64_t *key, fr_span text) noexcept


cdef extern from "tensor/draws.h" nogil:
    ctypedef enum fr_distribution:
        FR_DRAW_ORDER

    ctypedef struct fr_draw:
        fr_distribution distribution
        bint wide
        uint64_t low
        uint64_t range

    void fr_draw_numbers(const fr_draw *draw, const fr_philox *philox, size_t count,
                         void *out) noexcept
    void fr_draw_edges(double *edges, size_t classes) noexcept
    void fr_draw_classes(const double *edges, size_t rows, size_t classes, size_t count,
                         const fr_philox *philox, int64_t *out) noexcept
    void fr_draw_gammas(const double *shapes, size_t sets, size_t count, const fr_philox *philox,
                        double *out) noexcept


cdef extern from "tensor/colour.h" nogil:
    void fr_colour_turn_hue(const float *pixels, size_t count, float delta, float *out) noexcept
    void fr_colour_scale_saturation(const float *pixels, size_t count, float factor,
                                    float *out) noexcept
    void fr_colour_from_hsv(const float *pixels, size_t count, float *out) noexcept
    void fr_colour_to_grey(const float *pixels, size_t count, float *out) noexcept
    void fr_colour_mirror(const uint8_t *source, size_t rows, size_t columns, size_t size,
                          uint8_t *out) noexcept


cdef extern from "tensor/pixelwise.h" nogil:
    ctypedef struct fr_pixel_steps:
        const uint8_t *changes
        const float *values
        size_t count
        size_t channels

    ctypedef struct fr_pixel_source:
        fr_pixels pixels
        size_t height
        size_t width
        bint mirror

    int fr_pixel_steps_check(const fr_pixel_steps *steps, fr_error *err) noexcept
    int fr_pixelwise_change(const fr_pixel_steps *steps, const fr_pixel_source *source, float *out,
                            fr_error *err) noexcept
    int fr_pixelwise_resize(const fr_pixel_steps *steps, fr_resampler *resampler,
                            const fr_pixels *source, float *out, fr_error *err) noexcept
    void fr_pixels_spread(const uint8_t *source, size_t count, size_t size, size_t pitch,
                          uint8_t *out) noexcept


cdef extern from "tensor/png_encode.h" nogil:
    int fr_png_encode(const uint8_t *pixels, size_t height, size_t width,
                      const fr_png_format *format, int level, fr_buffer *out,
                      fr_error *err) noexcept


cdef extern from "tensor/jpeg_encode.h" nogil:
    ctypedef struct fr_jpeg_settings:
        int quality
        bint is_progressive
        bint optimize
        bint no_subsampling
        int density_unit
        uint16_t x_density
        uint16_t y_density
        fr_span xmp

    int fr_jpeg_encode(const uint8_t *pixels, size_t height, size_t width, int channels,
                       const fr_jpeg_settings *settings, fr_buffer *out, fr_error *err) noexcept


cdef extern from "tensor/elementwise.h" nogil:
    ctypedef enum fr_elementwise:
        FR_ELEMENTWISE_COUNT

    void fr_elementwise_apply(
        fr_elementwise function, const float *x, size_t count, size_t row, float *out) noexcept


cdef extern from "tensor/select.h" nogil:
    void fr_select(const uint8_t *conditions, const void *x, size_t x_step, const void *y,
                   size_t y_step, size_t width, size_t count, void *out) noexcept


cdef extern from "tensor/extremes.h" nogil:
    ctypedef enum fr_extreme_type:
        FR_EXTREME_FLOAT32
        FR_EXTREME_FLOAT64
        FR_EXTREME_INT32
        FR_EXTREME_INT64
        FR_EXTREME_UINT8

    ctypedef struct fr_extreme_source:
        const void *numbers
        fr_extreme_type type
        size_t outer, count, inner

    void fr_extreme_values(
        const fr_extreme_source *source, bint greatest, void *out) noexcept
    void fr_extreme_places(
        const fr_extreme_source *source, bint greatest, int64_t *out) noexcept
    void fr_extreme_top(const fr_extreme_source *source, size_t most, void *values,
                        int32_t *places) noexcept

    ctypedef struct fr_windows:
        size_t height, width, channels
        size_t rows, columns
        size_t stride_y, stride_x
        size_t top, left
        size_t out_height, out_width

    void fr_extreme_pool(const fr_windows *windows, const float *image, float *scratch,
                         float *out) noexcept


cdef extern from "tensor/formula.h" nogil:
    enum:
        FR_FORMULA_REGISTERS
        FR_FORMULA_RANK

    ctypedef enum fr_formula_type:
        FR_FORMULA_FLOAT32
        FR_FORMULA_BOOL

    ctypedef struct fr_formula_step:
        uint8_t code, a, b, c, out

    ctypedef struct fr_formula_input:
        const void *data
        fr_formula_type type
        ptrdiff_t strides[FR_FORMULA_RANK]

    ctypedef struct fr_formula_result:
        void *data
        fr_formula_type type
        uint8_t place
        size_t width
        ptrdiff_t pitch

    ctypedef struct fr_formula:
        const fr_formula_step *steps
        const fr_formula_input *inputs
        const fr_formula_result *results
        size_t step_count, input_count, result_count
        size_t rank
        size_t sizes[FR_FORMULA_RANK]

    int fr_formula_check(const fr_formula *self, fr_error *err) noexcept
    int fr_formula_run(const fr_formula *self, fr_error *err) noexcept


cdef extern from "tensor/power.h" nogil:
    void fr_power(
        const float *x, const float *powers, bint one_power, size_t count, float *out) noexcept


cdef extern from "tensor/warp.h" nogil:
    ctypedef enum fr_warp_mode:
        FR_WARP_MODES

    ctypedef struct fr_warp:
        const float *transform
        size_t height
        size_t width
        size_t out_height
        size_t out_width
        fr_warp_mode mode

    void fr_warp_nearest(const fr_warp *warp, const uint8_t *source, size_t size,
                         const uint8_t *fill, uint8_t *out) noexcept
    void fr_warp_bilinear(const fr_warp *warp, const float *source, size_t channels, float fill,
                          float *out) noexcept

    ctypedef struct fr_depthwise:
        const float *weights
        size_t rows
        size_t columns
        size_t channels
        size_t multiplier
        size_t stride_y
        size_t stride_x
        size_t step_y
        size_t step_x
        size_t top
        size_t left

    void fr_depthwise_filter(const fr_depthwise *filter, const float *source, size_t height,
                             size_t width, size_t out_height, size_t out_width, float *scratch,
                             float *out) noexcept


cdef extern from "tensor/boxes.h" nogil:
    ctypedef struct fr_suppression:
        const float *boxes
        const float *overlaps
        const float *scores
        size_t count, most
        float limit
        float least
        float sigma

    ctypedef struct fr_candidate:
        float score
        uint32_t number, begin

    size_t fr_boxes_suppress(const fr_suppression *suppression, fr_candidate *candidates,
                             float *corners, int32_t *kept, float *kept_scores) noexcept

    ctypedef struct fr_crop:
        size_t height, width, channels
        size_t out_height, out_width
        bint is_bytes
        bint nearest
        float outside

    ctypedef struct fr_crop_column:
        uint32_t left, right
        float share

    void fr_boxes_crop(const fr_crop *crop, const void *image, const float *box,
                       fr_crop_column *columns, float *out) noexcept
    void fr_boxes_outline(float *image, size_t height, size_t width, size_t channels,
                          const float *box, const float *colour) noexcept


cdef extern from "tensor/segments.h" nogil:
    ctypedef enum fr_segment_kind:
        FR_SEGMENT_KINDS

    ctypedef enum fr_segment_type:
        FR_SEGMENT_FLOAT32
        FR_SEGMENT_FLOAT64
        FR_SEGMENT_INT32
        FR_SEGMENT_INT64

    ctypedef struct fr_segment_ids:
        const void *values
        bint are_wide
        size_t count
        size_t limit

    size_t fr_segments_check(const fr_segment_ids *ids, bint allow_negative) noexcept
    void fr_segments_combine(const fr_segment_ids *ids, fr_segment_kind kind, fr_segment_type type,
                             const void *rows, size_t width, void *out) noexcept
    void fr_segments_count(const fr_segment_ids *ids, int64_t *counts) noexcept
    void fr_segments_sort(const fr_segment_ids *ids, const uint8_t *rows, size_t size,
                          int64_t *starts, uint8_t *out) noexcept
    void fr_segments_histogram(const void *numbers, fr_segment_type type, size_t count, double low,
                               double high, size_t bins, int64_t *counts) noexcept


cdef extern from "tensor/texts.h" nogil:
    ctypedef struct fr_texts:
        const uint8_t *data
        const int64_t *offsets
        size_t count

    void fr_texts_strip(const fr_texts *texts, int64_t *begins, int64_t *ends) noexcept
    size_t fr_texts_part(const fr_texts *texts, int64_t start, int64_t size, bint characters,
                         int64_t *begins, int64_t *ends) noexcept
    void fr_texts_copy(const uint8_t *data, const int64_t *begins, const int64_t *ends,
                       size_t count, uint8_t *out) noexcept
    void fr_texts_count(const fr_texts *texts, int32_t *counts) noexcept
    void fr_texts_join(const fr_texts *columns, size_t column_count, fr_span separator,
                       size_t count, uint8_t *out) noexcept
    void fr_texts_join_rows(const fr_texts *texts, const int64_t *splits, size_t rows,
                            fr_span separator, uint8_t *out) noexcept
    size_t fr_texts_number(const fr_texts *texts, int64_t *table, size_t slots, int64_t *numbers,
                           int64_t *firsts) noexcept
    void fr_texts_encode_base64(const fr_texts *texts, bint pad, uint8_t *out) noexcept
    size_t fr_texts_decode_base64(
        const fr_texts *texts, int64_t *offsets, uint8_t *out) noexcept
    size_t fr_texts_decode(const fr_texts *texts, int32_t *points, int64_t *begins,
                           int64_t *splits) noexcept
    void fr_texts_encode(const int32_t *points, const int64_t *splits, size_t rows,
                         int64_t *offsets, uint8_t *out) noexcept
    void fr_texts_of_integers(const int64_t *numbers, size_t count, int64_t *offsets,
                              uint8_t *out) noexcept


cdef extern from "tensor/special.h" nogil:
    ctypedef enum fr_special:
        FR_SPECIAL_COUNT

    ctypedef struct fr_special_operand:
        const void *numbers
        size_t step

    size_t fr_special_operands(fr_special function) noexcept
    void fr_special_apply(fr_special function, bint are_floats, const fr_special_operand *operands,
                          size_t count, void *out) noexcept
