/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEGs decoded by libjpeg-turbo: whole, or a region of them at the full size or a half, a quarter
 * or an eighth of it. Rows above a region are only entropy-decoded, those below not looked at.
 * Pixels are those of a full decode, whatever the region.
 *
 * Every file is taken for hostile. What libjpeg calls an error becomes FR_ERR_MALFORMED, with its
 * text; nothing exits or prints. More pixels or scans than allowed is FR_ERR_LIMIT, before pixels
 * are decoded. A file that lacks its end is malformed, even if the region came before that.
 * Damage that libjpeg recovers from is accepted, as it is by TensorFlow and Pillow.
 *
 * CMYK and YCCK become RGB as TensorFlow has it. There are 1 (grey) or 3 (RGB) channels.
 *
 * Built without libjpeg-turbo (no FASTREC_HAVE_JPEG) every call but free is FR_ERR_STATE.
 */
#ifndef FASTREC_JPEG_H
#define FASTREC_JPEG_H

#include "base/bytes.h"

/* A decoder, for one thread at a time and any number of images, one after the other. */
typedef struct fr_jpeg fr_jpeg;

/* What may be asked of an image before it is refused; 0 is not a limit. */
typedef struct {
    uint64_t pixels;
    uint32_t scans; /* of a progressive image */
} fr_jpeg_limits;

typedef struct {
    size_t height, width; /* as stored */
    int channels;         /* components that are stored */
    int orientation;      /* of EXIF, 1 to 8; 1 where there is none */
    bool is_progressive;
} fr_jpeg_header;

typedef struct {
    bool fast_dct;    /* the less exact transform; otherwise the slow integer one */
    bool no_fancy;    /* repeat colour samples instead of interpolating between them */
    int denominator;  /* 1, 2, 4 or 8 */
    int channels;     /* 1 or 3; of what is decoded */
    size_t top, left; /* of the region, in pixels after the reduction */
    size_t height, width;
} fr_jpeg_region;

/* "libjpeg-turbo 2.1.5" with what it was built, or NULL without it. */
const char *fr_jpeg_version(void);

/* Whether these bytes begin as a JPEG does. */
bool fr_jpeg_is(fr_span data);

FR_NODISCARD int fr_jpeg_new(const fr_jpeg_limits *limits, fr_jpeg **jpeg, fr_error *err);

/* Reads the header of `data`, which is borrowed until the next call to open or free. */
FR_NODISCARD int fr_jpeg_open(fr_jpeg *jpeg, fr_span data, fr_jpeg_header *header, fr_error *err);

/* Sides of an image after a reduction. */
static inline size_t fr_jpeg_reduced(size_t side, int denominator) {
    return (side + (size_t)denominator - 1) / (size_t)denominator;
}

/* Decodes a region that lies inside of the image, once after each open. Rows are `row_step` bytes
   apart, each width x channels bytes. */
FR_NODISCARD int fr_jpeg_decode(fr_jpeg *jpeg, const fr_jpeg_region *region, uint8_t *out,
                                size_t row_step, fr_error *err);

/* The same into memory of the decoder's, which spares a copy: `*pixels` is where the region begins,
   borrowed until the next call to decode, view or free. */
FR_NODISCARD int fr_jpeg_view(fr_jpeg *jpeg, const fr_jpeg_region *region, const uint8_t **pixels,
                              size_t *row_step, fr_error *err);

void fr_jpeg_free(fr_jpeg *jpeg);

#endif
