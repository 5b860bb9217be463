/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pixels in the common form of TIFF: RGB or grey, 8 bits per sample, uncompressed, in
 * strips that follow one another. Other decoders handle the rest.
 */
#ifndef FASTREC_TIFF_H
#define FASTREC_TIFF_H

#include "base/bytes.h"

typedef struct {
    size_t height, width, channels; /* channels: 1 or 3 */
    const uint8_t *pixels;          /* height x width x channels bytes, within the file */
} fr_tiff;

/* Reads the first image. Returns false for any other file and for an incomplete one. */
bool fr_tiff_read(fr_span data, fr_tiff *tiff);

#endif
