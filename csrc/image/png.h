/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes PNGs to 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 channels of 8 or 16 bits. libpng
 * decides whether a file is valid, and decodes the files that png_plain.h does not support.
 *
 * Every file is treated as hostile. An error of libpng becomes FR_ERR_MALFORMED with its message;
 * the library never exits or prints. Chunks such as text and profiles are ignored. Colours are
 * converted to grey as in TensorFlow.
 *
 * Built without libpng (no FASTREC_HAVE_PNG), decoding returns FR_ERR_STATE.
 */
#ifndef FASTREC_PNG_H
#define FASTREC_PNG_H

#include "base/bytes.h"

typedef struct {
    size_t height, width;
    int bits;      /* bits per sample */
    bool is_color; /* whether it is RGB or has a palette */
    bool has_alpha;
} fr_png_header;

/* The requested result. Samples of 16 bits are reduced to their upper 8; samples of 8 bits are
   scaled to 16 by a factor of 257. Alpha is dropped, or added as opaque. */
typedef struct {
    int channels; /* 1 to 4 */
    int bits;     /* 8, or 16 in native byte order */
} fr_png_format;

/* Returns names and versions of the libraries: "libpng 1.6.39, libdeflate 1.14"; NULL without
   libpng. */
const char *fr_png_version(void);

/* Returns whether the bytes begin with the signature of PNG. */
bool fr_png_is(fr_span data);

/* Reads the header. Returns FR_ERR_LIMIT for more than `limit` pixels (0: no limit), and
   FR_ERR_MALFORMED also if the file is too short for its pixels even at the best compression. */
FR_NODISCARD int fr_png_read_header(fr_span data, uint64_t limit, fr_png_header *header,
                                    fr_error *err);

/* Decodes the image to rows that are `row_step` bytes apart and have width x channels x bits / 8
   bytes each. */
FR_NODISCARD int fr_png_decode(fr_span data, const fr_png_header *header,
                               const fr_png_format *format, uint8_t *out, size_t row_step,
                               fr_error *err);

#endif
