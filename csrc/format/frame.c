/* SPDX-License-Identifier: Apache-2.0 */
#include "format/frame.h"

#include <inttypes.h>

bool fr_frame_header(const uint8_t *p, uint64_t *length) {
    *length = fr_load_u64(p);
    return fr_crc_mask(fr_crc32c(p, 8)) == fr_load_u32(p + 8);
}

void fr_frame_put_header(uint8_t *p, uint64_t length) {
    fr_store_u64(p, length);
    fr_store_u32(p + 8, fr_crc_mask(fr_crc32c(p, 8)));
}

void fr_frame_put(uint8_t *p, fr_span data) {
    fr_frame_put_header(p, data.size);
    uint32_t crc = fr_crc32c_extend_copy(0, p + FR_HEADER_SIZE, data.data, data.size);
    fr_store_u32(p + FR_HEADER_SIZE + data.size, fr_crc_mask(crc));
}

static int fail_frame(fr_error *err, int status, fr_fault fault, uint64_t length) {
    if (err) {
        err->fault = fault;
        err->length = length;
        err->offset = 0;
    }
    return status;
}

static int fail_crc(fr_error *err, fr_fault fault, const char *what, uint64_t length,
                    uint32_t stored, uint32_t computed) {
    stored = fr_crc_unmask(stored);
    fr_fail(err, FR_ERR_CORRUPT,
            "%s checksum mismatch: computed 0x%08" PRIx32 ", stored 0x%08" PRIx32
            ", length %" PRIu64,
            what, computed, stored, length);
    if (err) {
        err->stored_crc = stored;
        err->computed_crc = computed;
    }
    return fail_frame(err, FR_ERR_CORRUPT, fault, length);
}

static bool all_zero(fr_span bytes) {
    for (size_t i = 0; i < bytes.size; i++)
        if (bytes.data[i]) return false;
    return true;
}

static int fail_zeros(fr_error *err, int status) {
    fr_fail(err, status, "zeros where a record should begin");
    return fail_frame(err, status, FR_FAULT_ZERO_FILL, 0);
}

/* Handles a window that is shorter than a header. */
static int short_header(fr_span window, bool ended, fr_frame *frame, fr_error *err) {
    frame->size = FR_HEADER_SIZE;
    if (!ended) return FR_AGAIN;
    if (window.size == 0) return FR_END;
    if (all_zero(window)) return fail_zeros(err, FR_ERR_TRUNCATED);
    fr_fail(err, FR_ERR_TRUNCATED, "%zu bytes are left, a header has 12", window.size);
    return fail_frame(err, FR_ERR_TRUNCATED, FR_FAULT_TORN_HEADER, 0);
}

static int bad_header(fr_span window, fr_error *err) {
    if (all_zero((fr_span){window.data, FR_HEADER_SIZE})) return fail_zeros(err, FR_ERR_CORRUPT);
    return fail_crc(err, FR_FAULT_LENGTH_CRC, "length", fr_load_u64(window.data),
                    fr_load_u32(window.data + 8), fr_crc32c(window.data, 8));
}

static int over_limit(uint64_t length, uint64_t limit, fr_error *err) {
    fr_fail(err, FR_ERR_LIMIT, "length %" PRIu64 " exceeds the limit of %" PRIu64 " bytes", length,
            limit);
    return fail_frame(err, FR_ERR_LIMIT, FR_FAULT_TOO_LARGE, length);
}

/* Reports that the input ends inside the record. */
static int torn(uint64_t length, uint64_t left, fr_error *err) {
    fr_fault fault = FR_FAULT_TORN_DATA;
    if (length > FR_DEFAULT_MAX_RECORD) fault = FR_FAULT_TOO_LARGE;
    if (length <= left) fault = FR_FAULT_TORN_FOOTER;
    fr_fail(err, FR_ERR_TRUNCATED,
            "the header promises %" PRIu64 " bytes of data and 4 of CRC32C, %" PRIu64
            " bytes are left",
            length, left);
    return fail_frame(err, FR_ERR_TRUNCATED, fault, length);
}

int fr_frame_check(fr_span data, uint32_t crc, fr_error *err) {
    uint32_t stored = fr_load_u32(data.data + data.size);
    if (FR_LIKELY(fr_crc_mask(crc) == stored)) return FR_OK;
    return fail_crc(err, FR_FAULT_DATA_CRC, "data", data.size, stored, crc);
}

int fr_frame_copy(fr_span data, uint8_t *dst, fr_error *err) {
    return fr_frame_check(data, fr_crc32c_extend_copy(0, dst, data.data, data.size), err);
}

int fr_frame_measure(fr_span head, uint64_t left, uint64_t max_record, uint64_t *size,
                     fr_error *err) {
    fr_frame frame;
    uint64_t length;
    if (left < FR_HEADER_SIZE) return short_header(head, true, &frame, err);
    if (FR_UNLIKELY(!fr_frame_header(head.data, &length))) return bad_header(head, err);
    if (max_record && length > max_record) return over_limit(length, max_record, err);
    left -= FR_HEADER_SIZE;
    if (FR_UNLIKELY(left < FR_FOOTER_SIZE || length > left - FR_FOOTER_SIZE))
        return torn(length, left, err);
    *size = length + FR_FRAME_OVERHEAD;
    return FR_OK;
}

int fr_frame_next(fr_span window, bool ended, const fr_frame_options *options, fr_frame *frame,
                  fr_error *err) {
    if (FR_UNLIKELY(window.size < FR_HEADER_SIZE)) return short_header(window, ended, frame, err);
    uint64_t length;
    if (FR_UNLIKELY(!fr_frame_header(window.data, &length))) return bad_header(window, err);
    uint64_t limit = options->max_record;
    if (!limit) limit = ended ? UINT64_MAX : FR_DEFAULT_MAX_RECORD;
    if (FR_UNLIKELY(length > limit)) return over_limit(length, limit, err);
    size_t left = window.size - FR_HEADER_SIZE;
    if (FR_UNLIKELY(left < FR_FOOTER_SIZE || length > left - FR_FOOTER_SIZE)) {
        if (ended) return torn(length, left, err);
        if (length > SIZE_MAX - FR_FRAME_OVERHEAD) return over_limit(length, SIZE_MAX, err);
        frame->size = (size_t)length + FR_FRAME_OVERHEAD;
        return FR_AGAIN;
    }
    frame->data = (fr_span){window.data + FR_HEADER_SIZE, (size_t)length};
    frame->size = (size_t)length + FR_FRAME_OVERHEAD;
    if (!options->verify) return FR_OK;
    return fr_frame_check(frame->data, fr_crc32c(frame->data.data, frame->data.size), err);
}
