/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord framing (FORMAT.md) as pure functions on spans. Knows no files.
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

/* A record's length beyond which the size of the file alone no longer vouches for it. */
#define FR_DEFAULT_MAX_RECORD ((uint64_t)INT32_MAX)

/* The rotation keeps data that itself holds CRCs from having degenerate ones. */
static inline uint32_t fr_crc_mask(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static inline uint32_t fr_crc_unmask(uint32_t masked) {
    uint32_t rotated = masked - 0xa282ead8u;
    return (rotated >> 17) | (rotated << 15);
}

typedef struct {
    bool verify;         /* check the data's CRC; the length's is always checked */
    uint64_t max_record; /* refuse longer data; 0 for FR_DEFAULT_MAX_RECORD on input of unknown
                            size and no limit but the file's size elsewhere */
} fr_frame_options;

typedef struct {
    fr_span data; /* inside the window */
    size_t size;  /* of the whole frame; after FR_AGAIN, how large a window is needed */
} fr_frame;

/*
 * The frame at the start of `window`. `ended` says that no bytes follow the window.
 *
 * FR_OK; FR_END when the window is empty and ended; FR_AGAIN when more bytes are needed. Errors
 * have err->fault, length and CRCs, and offset 0: FR_ERR_CORRUPT, FR_ERR_TRUNCATED,
 * FR_ERR_LIMIT. After FR_FAULT_DATA_CRC the frame is filled in all the same.
 */
FR_NODISCARD int fr_frame_next(fr_span window, bool ended, const fr_frame_options *options,
                               fr_frame *frame, fr_error *err);

/*
 * Checks the header at the start of `head`, at least 12 bytes or all that are left, of a frame with
 * `left` bytes until the end of the file: FR_OK, and the size of the frame, or FR_END or the errors
 * of fr_frame_next() on a window that is ended.
 */
FR_NODISCARD int fr_frame_measure(fr_span head, uint64_t left, uint64_t max_record, uint64_t *size,
                                  fr_error *err);

/* FR_OK when `crc` is what the footer behind `data` says; else the error of fr_frame_next(). */
FR_NODISCARD int fr_frame_check(fr_span data, uint32_t crc, fr_error *err);

/* Copies the data of a frame to `dst`, and checks the copy: whatever another process writes to the
   file meanwhile, `dst` has what the footer is the checksum of, or the error of fr_frame_check().
 */
FR_NODISCARD int fr_frame_copy(fr_span data, uint8_t *dst, fr_error *err);

/* True, and the data's length, when the 12 bytes at `p` are a header that agrees with its CRC. */
bool fr_frame_header(const uint8_t *p, uint64_t *length);

/* Writes the 12 bytes of a header. */
void fr_frame_put_header(uint8_t *p, uint64_t length);

/* Writes a whole frame, data.size + FR_FRAME_OVERHEAD bytes, copying and checksumming at once. */
void fr_frame_put(uint8_t *p, fr_span data);

#endif
