/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes JPEGs with libjpeg-turbo: a whole image or a region, at full size or reduced by 2, 4 or
 * 8. Rows above a region are only entropy-decoded, and rows below it are not read. The pixels of a
 * region equal those of a full decode.
 *
 * Every file is treated as hostile. An error of libjpeg becomes FR_ERR_MALFORMED with its message;
 * the library never exits or prints. An image with too many pixels or scans gives FR_ERR_LIMIT
 * before its pixels are decoded. A file without its end is malformed, even if the region comes
 * before the cut. Damage that libjpeg recovers from is accepted, as in TensorFlow and Pillow.
 *
 * CMYK and YCCK are converted to RGB as in TensorFlow. Results have 1 (grey) or 3 (RGB) channels.
 *
 * Built without libjpeg-turbo (no FASTREC_HAVE_JPEG), every function except free returns
 * FR_ERR_STATE.
 */
#ifndef FASTREC_JPEG_H
#define FASTREC_JPEG_H

#include "base/bytes.h"

/* A decoder for any number of images, used by one thread at a time. */
typedef struct fr_jpeg fr_jpeg;

/* Largest accepted values; 0 means no limit. */
typedef struct {
    uint64_t pixels;
    uint32_t scans; /* number of scans of a progressive image */
} fr_jpeg_limits;

typedef struct {
    size_t height, width; /* as stored */
    int channels;         /* number of stored components */
    int orientation;      /* EXIF orientation, 1 to 8; 1 if the file has none */
    bool is_progressive;
} fr_jpeg_header;

typedef struct {
    bool fast_dct;    /* use the faster, less exact transform instead of the slow integer one */
    bool no_fancy;    /* repeat colour samples instead of interpolating */
    int denominator;  /* 1, 2, 4 or 8 */
    int channels;     /* channels of the result, 1 or 3 */
    size_t top, left; /* position of the region, in pixels after the reduction */
    size_t height, width;
} fr_jpeg_region;

/* Returns, for example, "libjpeg-turbo 2.1.5" from build time, or NULL without the library. */
const char *fr_jpeg_version(void);

/* Returns whether the bytes begin with a JPEG signature. */
bool fr_jpeg_is(fr_span data);

FR_NODISCARD int fr_jpeg_new(const fr_jpeg_limits *limits, fr_jpeg **jpeg, fr_error *err);

/* Reads the header of `data`, which must stay valid until the next call to open or free. */
FR_NODISCARD int fr_jpeg_open(fr_jpeg *jpeg, fr_span data, fr_jpeg_header *header, fr_error *err);

/* Returns the side of an image after a reduction. */
static inline size_t fr_jpeg_reduced(size_t side, int denominator) {
    return (side + (size_t)denominator - 1) / (size_t)denominator;
}

/* Decodes a region within the image, once after each open. Rows are `row_step` bytes apart and have
   width x channels bytes each. */
FR_NODISCARD int fr_jpeg_decode(fr_jpeg *jpeg, const fr_jpeg_region *region, uint8_t *out,
                                size_t row_step, fr_error *err);

/* Decodes into memory of the decoder, which saves a copy. `*pixels` is the start of the region,
   valid until the next call to decode, view or free. */
FR_NODISCARD int fr_jpeg_view(fr_jpeg *jpeg, const fr_jpeg_region *region, const uint8_t **pixels,
                              size_t *row_step, fr_error *err);

void fr_jpeg_free(fr_jpeg *jpeg);

#endif
