/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the common form of BMP: 24 bits per pixel, uncompressed. Other decoders handle the rest.
 */
#ifndef FASTREC_BMP_H
#define FASTREC_BMP_H

#include "base/bytes.h"

typedef struct {
    size_t height, width;
    const uint8_t *top; /* the first row, within the file */
    ptrdiff_t step;     /* bytes from one row to the row below it */
} fr_bmp_header;

/* Reads the header. Returns false for any other file and for an incomplete one. */
bool fr_bmp_read_header(fr_span data, fr_bmp_header *header);

/* Copies the pixels to `out` as RGB, height x width x 3 bytes. */
void fr_bmp_decode(const fr_bmp_header *header, uint8_t *out);

#endif
