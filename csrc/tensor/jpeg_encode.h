/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes JPEGs by libjpeg-turbo, from 1 (grey) or 3 (RGB) channels of 8 bits. With TensorFlow's
 * settings, the output has the same bytes as TensorFlow's. Never exits or prints.
 *
 * If built without libjpeg-turbo (no FASTREC_HAVE_JPEG), encoding returns FR_ERR_STATE.
 */
#ifndef FASTREC_JPEG_ENCODE_H
#define FASTREC_JPEG_ENCODE_H

#include "base/bytes.h"

typedef struct {
    int quality; /* 0 to 100 */
    bool is_progressive;
    bool optimize;       /* compute Huffman tables for the image: smaller, slower */
    bool no_subsampling; /* keep the full resolution of colour */
    int density_unit;    /* 1: per inch; 2: per centimetre */
    uint16_t x_density, y_density;
    fr_span xmp; /* XMP metadata, or empty */
} fr_jpeg_settings;

/* Encodes an image with contiguous rows, and appends it to `out`. Returns FR_ERR_ARG for more
   than 65500 rows or columns, or for more metadata than fits in a marker. */
FR_NODISCARD int fr_jpeg_encode(const uint8_t *pixels, size_t height, size_t width, int channels,
                                const fr_jpeg_settings *settings, fr_buffer *out, fr_error *err);

#endif
