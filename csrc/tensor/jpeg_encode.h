/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEGs encoded by libjpeg-turbo, from 1 (grey) or 3 (RGB) channels of 8 bits, with the settings
 * and so the bytes of TensorFlow's. Nothing exits or prints.
 *
 * Built without libjpeg-turbo (no FASTREC_HAVE_JPEG) encoding is FR_ERR_STATE.
 */
#ifndef FASTREC_JPEG_ENCODE_H
#define FASTREC_JPEG_ENCODE_H

#include "base/bytes.h"

typedef struct {
    int quality; /* 0 to 100 */
    bool is_progressive;
    bool optimize;       /* compute Huffman tables of its own: smaller, slower */
    bool no_subsampling; /* keep colour at the full size */
    int density_unit;    /* 1: of an inch; 2: of a centimetre */
    uint16_t x_density, y_density;
    fr_span xmp; /* XMP metadata, or nothing */
} fr_jpeg_settings;

/* Encodes an image whose rows follow each other, and appends it to `out`. FR_ERR_ARG for more than
   65500 rows or columns, or more metadata than a marker holds. */
FR_NODISCARD int fr_jpeg_encode(const uint8_t *pixels, size_t height, size_t width, int channels,
                                const fr_jpeg_settings *settings, fr_buffer *out, fr_error *err);

#endif
