/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an encoded image to its place in a batch: header, crop, decoding of that region at the scale
 * that suffices, resizing, mirroring, colour, normalisation, output; nothing in between is kept.
 * What becomes of an image is a function of its bytes, the options (their seed included) and its
 * key.
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
    double mirror;       /* the share of images that are mirrored, left to right */
    bool has_jitter;
    fr_color_jitter jitter;
    bool fast_dct, no_fancy, upright; /* of JPEGs; upright: turned as EXIF says */
    fr_jpeg_limits limits;
    fr_pixel_format format; /* 1 or 3 channels */
    uint64_t seed;
} fr_preprocess_options;

/* Each kind of chance draws from a part of the key's stream of its own, beyond what fr_augment
   draws, so that what is switched off does not change the rest. */
typedef enum { FR_DRAW_CROP = 1, FR_DRAW_MIRROR, FR_DRAW_COLOR } fr_draw_part;

void fr_preprocess_stream(uint64_t seed, uint64_t key, fr_draw_part part, fr_philox *philox);

/* For one thread at a time; different ones may share options. */
typedef struct fr_preprocessor fr_preprocessor;

/* `options` are borrowed. FR_ERR_ARG for a number that cannot be. */
FR_NODISCARD int fr_preprocessor_new(const fr_preprocess_options *options,
                                     fr_preprocessor **preprocessor, fr_error *err);

/* A JPEG into `out`, fr_pixel_format_size() bytes. Errors of fr_jpeg; FR_ERR_SCHEMA for an image
   that is too small to be cropped. */
FR_NODISCARD int fr_preprocessor_jpeg(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                                      uint8_t *out, fr_error *err);

/* The same of a PNG. FR_AGAIN where it has to be upright, which others see to. */
FR_NODISCARD int fr_preprocessor_png(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                                     uint8_t *out, fr_error *err);

/* Decoded pixels into `out`: uint8, as many channels as the format has. */
FR_NODISCARD int fr_preprocessor_pixels(fr_preprocessor *preprocessor, const uint8_t *pixels,
                                        size_t height, size_t width, uint64_t key, uint8_t *out,
                                        fr_error *err);

void fr_preprocessor_free(fr_preprocessor *preprocessor);

#endif
