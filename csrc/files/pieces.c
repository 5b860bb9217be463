/* SPDX-License-Identifier: Apache-2.0 */
#include "files/pieces.h"

#include <errno.h>

#include "base/platform.h"
#include "format/crc32c.h"
#include "format/wire.h"

static int fill(int fd, uint64_t offset, uint8_t *out, size_t size, fr_error *err) {
    while (size) {
        const int64_t some = fr_fd_read_at(fd, out, size, offset);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return fr_fail_io(err, errno, "pread");
        if (some == 0) {
            fr_fail(err, FR_ERR_TRUNCATED, "the file ends %zu bytes before the value does", size);
            if (err) err->fault = FR_FAULT_SHRUNK;
            return FR_ERR_TRUNCATED;
        }
        out += some, offset += (uint64_t)some, size -= (size_t)some;
    }
    return FR_OK;
}

static int check(const fr_piece *piece, const uint8_t *data, fr_error *err) {
    const uint32_t crc = fr_crc32c(data, piece->size);
    if (crc == piece->crc) return FR_OK;
    fr_fail(err, FR_ERR_CORRUPT, "the checksum of %u bytes must be %08x, got %08x", piece->size,
            piece->crc, crc);
    if (err) {
        err->fault = FR_FAULT_DATA_CRC;
        err->length = piece->size;
        err->stored_crc = piece->crc, err->computed_crc = crc;
    }
    return FR_ERR_CORRUPT;
}

int fr_pieces_read(const fr_piece *pieces, size_t count, const int *fds, uint8_t *out,
                   fr_error *err) {
    for (size_t i = 0; i < count; out += pieces[i++].size) {
        const fr_piece *piece = &pieces[i];
        const int fd = fds[piece->file];
        int status = fd < 0 ? FR_OK : fill(fd, piece->offset, out, piece->size, err);
        if (status == FR_OK) status = check(piece, out, err);
        if (status == FR_OK) continue;
        if (err) {
            err->record = (int64_t)i;
            err->file = (int64_t)piece->file;
            err->offset = (int64_t)piece->offset;
        }
        return status;
    }
    return FR_OK;
}

static int append(fr_buffer *pieces, fr_span value, uint64_t offset, fr_error *err) {
    const fr_piece piece = {offset, (uint32_t)value.size, fr_crc32c(value.data, value.size), 0};
    return fr_buffer_append(pieces, &piece, sizeof piece, err);
}

static int find_strings(fr_span list, uint64_t offset, fr_buffer *pieces, fr_error *err) {
    fr_wire_fields fields = fr_wire_begin(list);
    fr_wire_field field;
    while (fr_wire_next(&fields, &field)) {
        if (field.tag != FR_TAG(1, FR_WIRE_SIZED))
            return fr_fail(err, FR_ERR_MALFORMED, "field %u of a list of bytes is not known",
                           field.tag >> 3);
        const uint64_t at = offset + (uint64_t)(field.bytes.data - list.data);
        FR_TRY(append(pieces, field.bytes, at, err));
    }
    if (fr_wire_malformed(&fields))
        return fr_fail(err, FR_ERR_MALFORMED, "offset %zu is not inside a bytes_list value",
                       (size_t)(fields.p - list.data));
    return FR_OK;
}

int fr_pieces_find(fr_span list, uint64_t offset, uint32_t each, fr_buffer *pieces, fr_error *err) {
    if (!each) return find_strings(list, offset, pieces, err);
    if (list.size % each)
        return fr_fail(err, FR_ERR_MALFORMED, "%zu bytes are no elements of %u", list.size, each);
    for (size_t at = 0; at < list.size; at += each)
        FR_TRY(append(pieces, (fr_span){list.data + at, each}, offset + at, err));
    return FR_OK;
}
