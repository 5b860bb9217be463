/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord framing (FORMAT.md) as pure functions on spans, independent of files.
 *
 *     length  u64le | masked crc32c of length  u32le | data | masked crc32c of data  u32le
 */
#ifndef FASTREC_FRAME_H
#define FASTREC_FRAME_H

#include "base/bytes.h"
#include "format/crc32c.h"

#define FR_HEADER_SIZE 12
#define FR_FOOTER_SIZE 4
#define FR_FRAME_OVERHEAD (FR_HEADER_SIZE + FR_FOOTER_SIZE)

/* Largest accepted record, in bytes, of input whose size is unknown. */
#define FR_DEFAULT_MAX_RECORD ((uint64_t)INT32_MAX)

/* The mask rotates the CRC and adds a constant, so that data that contains CRCs does not have a
   degenerate CRC itself. */
static inline uint32_t fr_crc_mask(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static inline uint32_t fr_crc_unmask(uint32_t masked) {
    uint32_t rotated = masked - 0xa282ead8u;
    return (rotated >> 17) | (rotated << 15);
}

typedef struct {
    bool verify;         /* check the data's CRC; the length's is always checked */
    uint64_t max_record; /* largest accepted record; 0 means FR_DEFAULT_MAX_RECORD for input of
                            unknown size, and the size of the file otherwise */
} fr_frame_options;

typedef struct {
    fr_span data; /* points into the window */
    size_t size;  /* bytes of the whole frame; after FR_AGAIN, bytes that the window must have */
} fr_frame;

/*
 * Reads the frame at the start of `window`. `ended` means that no bytes follow the window.
 *
 * Returns FR_OK; FR_END if the window is empty and ended; FR_AGAIN if more bytes are needed; or
 * FR_ERR_CORRUPT, FR_ERR_TRUNCATED or FR_ERR_LIMIT, with the fault, the length and the CRCs in
 * `err`, and offset 0. After FR_FAULT_DATA_CRC the frame is filled in, too.
 */
FR_NODISCARD int fr_frame_next(fr_span window, bool ended, const fr_frame_options *options,
                               fr_frame *frame, fr_error *err);

/*
 * Checks the header of a frame with `left` bytes until the end of the file, and sets the size of
 * the frame. `head` holds the header, at least 12 bytes unless the file ends before. Returns FR_OK,
 * FR_END, or an error as fr_frame_next() does for a window that is ended.
 */
FR_NODISCARD int fr_frame_measure(fr_span head, uint64_t left, uint64_t max_record, uint64_t *size,
                                  fr_error *err);

/* Returns FR_OK if the footer after `data` contains `crc`, and otherwise the error of
   fr_frame_next(). */
FR_NODISCARD int fr_frame_check(fr_span data, uint32_t crc, fr_error *err);

/* Copies the data of a frame to `dst` and checks the copy. If another process writes to the file
   meanwhile, `dst` either matches its footer, or the error of fr_frame_check() is returned. */
FR_NODISCARD int fr_frame_copy(fr_span data, uint8_t *dst, fr_error *err);

/* Returns true and the length of the data if the 12 bytes at `p` are a header with a correct
   CRC. */
bool fr_frame_header(const uint8_t *p, uint64_t *length);

/* Writes the 12 bytes of a header. */
void fr_frame_put_header(uint8_t *p, uint64_t length);

/* Writes a whole frame, data.size + FR_FRAME_OVERHEAD bytes, in one pass of copying and
   checksumming. */
void fr_frame_put(uint8_t *p, fr_span data);

#endif
