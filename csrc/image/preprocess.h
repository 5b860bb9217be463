/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts an encoded image to its place in a batch: header, crop, decoding of the region at the
 * smallest sufficient scale, resizing, mirroring, colour, normalisation, output. No intermediate
 * image is kept. The result is a function of the image's bytes, the options, which include the
 * seed, and the image's key.
 */
#ifndef FASTREC_PREPROCESS_H
#define FASTREC_PREPROCESS_H

#include "image/color_jitter.h"
#include "image/crop.h"
#include "image/jpeg.h"
#include "image/pixel_format.h"
#include "image/png.h"
#include "image/resample.h"

typedef struct {
    fr_crop_options crop;
    fr_interpolation interpolation;
    double reducing_gap; /* JPEGs are decoded at most this many times too large; 0: at full size */
    double mirror;       /* fraction of images that are mirrored left to right */
    bool has_jitter;
    fr_color_jitter jitter;
    bool fast_dct, no_fancy, upright; /* options of JPEGs; upright: apply the EXIF orientation */
    fr_jpeg_limits limits;
    fr_pixel_format format; /* 1 or 3 channels */
    uint64_t seed;
} fr_preprocess_options;

/* Streams of random numbers. Each kind of draw has a separate part of the key's stream, which
   fr_augment does not use either, so that disabling one kind does not change the others. */
typedef enum { FR_DRAW_CROP = 1, FR_DRAW_MIRROR, FR_DRAW_COLOR } fr_draw_part;

void fr_preprocess_stream(uint64_t seed, uint64_t key, fr_draw_part part, fr_philox *philox);

/* A preprocessor is used by one thread at a time; several may share options. */
typedef struct fr_preprocessor fr_preprocessor;

/* Creates a preprocessor. `options` must outlive it. Returns FR_ERR_ARG for a number out of
   range. */
FR_NODISCARD int fr_preprocessor_new(const fr_preprocess_options *options,
                                     fr_preprocessor **preprocessor, fr_error *err);

/* Converts a JPEG to `out`, fr_pixel_format_size() bytes. Returns the errors of fr_jpeg, and
   FR_ERR_SCHEMA for an image that is smaller than its crop. */
FR_NODISCARD int fr_preprocessor_jpeg(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                                      uint8_t *out, fr_error *err);

/* Converts a PNG. Returns FR_AGAIN if it must be turned upright, which the caller does. */
FR_NODISCARD int fr_preprocessor_png(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                                     uint8_t *out, fr_error *err);

/* Converts a BMP or TIFF of the forms in bmp.h and tiff.h. Returns FR_AGAIN for any other bytes,
   for another number of channels, and for too many pixels. */
FR_NODISCARD int fr_preprocessor_stored(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                                        uint8_t *out, fr_error *err);

/* Converts decoded uint8 pixels, with the number of channels of the format. */
FR_NODISCARD int fr_preprocessor_pixels(fr_preprocessor *preprocessor, const uint8_t *pixels,
                                        size_t height, size_t width, uint64_t key, uint8_t *out,
                                        fr_error *err);

void fr_preprocessor_free(fr_preprocessor *preprocessor);

#endif
