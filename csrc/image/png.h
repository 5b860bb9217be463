/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNGs decoded: 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 channels of 8 or 16 bits. libpng decides
 * what a PNG is, and decodes those that png_plain.h does not.
 *
 * Every file is taken for hostile. What libpng calls an error becomes FR_ERR_MALFORMED, with its
 * text; nothing exits or prints. Chunks of text, profiles and the like are not looked at. Colours
 * become grey as TensorFlow has it.
 *
 * Built without libpng (no FASTREC_HAVE_PNG) decoding is FR_ERR_STATE.
 */
#ifndef FASTREC_PNG_H
#define FASTREC_PNG_H

#include "base/bytes.h"

typedef struct {
    size_t height, width;
    int bits;      /* of a sample */
    bool is_color; /* RGB or a palette */
    bool has_alpha;
} fr_png_header;

/* What is decoded. Of 16 bits the upper 8 are taken; 8 become 16 by a factor of 257. Alpha is
   dropped, or added as opaque. */
typedef struct {
    int channels; /* 1 to 4 */
    int bits;     /* 8, or 16 in the machine's order */
} fr_png_format;

/* Names and versions of the libraries built in: "libpng 1.6.39, libdeflate 1.14"; NULL without
   libpng. */
const char *fr_png_version(void);

/* Whether these bytes begin as a PNG does. */
bool fr_png_is(fr_span data);

/* Reads the header. FR_ERR_LIMIT for more pixels than `limit`, unless that is 0; FR_ERR_MALFORMED
   also when the file is too short for what it says, however well it is compressed. */
FR_NODISCARD int fr_png_read_header(fr_span data, uint64_t limit, fr_png_header *header,
                                    fr_error *err);

/* Decodes the image of that header to rows that are `row_step` bytes apart, each of
   width x channels x bits / 8 bytes. */
FR_NODISCARD int fr_png_decode(fr_span data, const fr_png_header *header,
                               const fr_png_format *format, uint8_t *out, size_t row_step,
                               fr_error *err);

#endif
