/* SPDX-License-Identifier: Apache-2.0 */
#include "format/riegeli_records.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/wire.h"

#define FRAME_HEAD 9      /* bytes before the content of a zstd frame that is not compressed */
#define FRAME_CONTENT 255 /* the most bytes of content, whose number is one byte of the head */

int fr_riegeli_number(fr_span *rest, uint64_t most, const char *what, uint64_t *value,
                      fr_error *err) {
    const uint8_t *const begin = rest->data, *const end = begin + rest->size;
    const uint8_t *const next = rest->size ? fr_wire_varint(begin, end, value) : NULL;
    if (!next || (next - begin == FR_VARINT_MAX && next[-1] > 1))
        return fr_fail(err, FR_ERR_CORRUPT, "%s is not a whole number", what);
    if (*value > most)
        return fr_fail(err, FR_ERR_CORRUPT, "%s must be at most %" PRIu64 ", got %" PRIu64, what,
                       most, *value);
    *rest = (fr_span){next, (size_t)(end - next)};
    return FR_OK;
}

int fr_riegeli_take(fr_span *rest, uint64_t size, const char *what, fr_span *part, fr_error *err) {
    if (size > rest->size)
        return fr_fail(err, FR_ERR_CORRUPT, "%s %" PRIu64 " bytes, and %zu follow", what, size,
                       rest->size);
    *part = (fr_span){rest->data, (size_t)size};
    *rest = fr_span_after(*rest, (size_t)size);
    return FR_OK;
}

/* Returns whether `size` bytes of content follow the head of a zstd frame as they are. */
static bool is_plain_frame(fr_span frame, size_t size) {
    uint8_t head[FRAME_HEAD] = {0x28, 0xb5, 0x2f, 0xfd, 0x20};
    if (size > FRAME_CONTENT || frame.size != FRAME_HEAD + size) return false;
    head[5] = (uint8_t)size;
    head[6] = (uint8_t)(size << 3 | 1);
    head[7] = (uint8_t)(size >> 5);
    return memcmp(frame.data, head, FRAME_HEAD) == 0;
}

/* Returns whether a zstd frame states that its content has another size. */
static bool states_another_size(fr_span frame, uint64_t size) {
    static const uint8_t id_sizes[4] = {0, 1, 2, 4}, stated_sizes[4] = {0, 2, 4, 8};
    uint8_t stated[8] = {0};
    if (frame.size < 5) return false;
    const uint8_t flags = frame.data[4];
    const bool is_single = flags & 0x20; /* states the size of its content, not of a window */
    const size_t begin = 5 + !is_single + id_sizes[flags & 3];
    const size_t digits = flags >> 6 ? stated_sizes[flags >> 6] : is_single;
    if (!digits || frame.size < begin + digits) return false;
    memcpy(stated, frame.data + begin, digits);
    return fr_load_u64(stated) + (digits == 2 ? 256 : 0) != size;
}

int fr_riegeli_open(uint8_t compression, fr_span stored, uint64_t most, fr_span *content,
                    size_t *size, fr_error *err) {
    uint64_t stated;
    *content = stored;
    *size = stored.size;
    if (!compression) {
        if (stored.size > most)
            return fr_fail(err, FR_ERR_CORRUPT, "a buffer has %zu bytes, more than %" PRIu64,
                           stored.size, most);
        return FR_OK;
    }
    FR_TRY(fr_riegeli_number(content, UINT64_MAX, "the size of a buffer", &stated, err));
    if (stated > most || stated > SIZE_MAX)
        return fr_fail(err, FR_ERR_CORRUPT, "a buffer states %" PRIu64 " bytes, more than %" PRIu64,
                       stated, most);
    *size = (size_t)stated;
    if (compression != FR_RIEGELI_ZSTD) return FR_AGAIN;
    if (states_another_size(*content, stated))
        return fr_fail(err, FR_ERR_CORRUPT, "a zstd frame does not state %" PRIu64 " bytes",
                       stated);
    if (!is_plain_frame(*content, *size)) return FR_AGAIN;
    *content = fr_span_after(*content, FRAME_HEAD);
    return FR_OK;
}

int fr_riegeli_offsets(fr_span sizes, uint64_t count, size_t size, size_t **offsets,
                       fr_error *err) {
    size_t bytes;
    *offsets = NULL;
    if (count > sizes.size)
        return fr_fail(err, FR_ERR_CORRUPT, "at most %zu of %" PRIu64 " sizes of records are in it",
                       sizes.size, count);
    if (fr_mul_overflows((size_t)count + 1, sizeof **offsets, &bytes)) bytes = SIZE_MAX;
    size_t *const out = malloc(bytes);
    if (!out) return fr_fail_nomem(err, bytes);
    int status = FR_OK;
    uint64_t length;
    out[0] = 0;
    for (size_t i = 0; i < count; i++) {
        status = fr_riegeli_number(&sizes, UINT64_MAX, "the size of a record", &length, err);
        if (status != FR_OK) break;
        if (length > size - out[i]) {
            const uint64_t sum = length > UINT64_MAX - out[i] ? UINT64_MAX : out[i] + length;
            status = fr_fail(err, FR_ERR_CORRUPT,
                             "its records have %" PRIu64 " bytes or more, and %zu are stated", sum,
                             size);
            break;
        }
        out[i + 1] = out[i] + (size_t)length;
    }
    if (status == FR_OK && sizes.size)
        status = fr_fail(err, FR_ERR_CORRUPT, "%zu bytes follow the sizes of %" PRIu64 " records",
                         sizes.size, count);
    if (status == FR_OK && out[count] != size)
        status = fr_fail(err, FR_ERR_CORRUPT, "its records have %zu bytes, and %zu are stated",
                         out[count], size);
    if (status == FR_OK)
        *offsets = out;
    else
        free(out);
    return status;
}
