/* SPDX-License-Identifier: Apache-2.0 */
#include "varint.h"

#include "wire.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

size_t fr_varint_count(fr_span run) {
    size_t count = 0;
    for (size_t i = 0; i < run.size; i++)
        count += run.data[i] < 0x80;
    return count;
}

/* The varint in the low bytes of `word`, whose last byte is byte `last`. */
static inline uint64_t gather(uint64_t word, unsigned last) {
    word &= UINT64_MAX >> (56 - 8 * last);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

size_t fr_varint_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count) {
    const uint8_t *at = *p;
    size_t done = 0;
    while (done < count && end - at >= 8) {
        uint64_t word = fr_load_u64(at), ends = ~word & HIGH_BITS;
        if (ends == HIGH_BITS && count - done >= 8) {
            for (int i = 0; i < 8; i++)
                out[done + (size_t)i] = at[i];
            at += 8;
            done += 8;
        } else if (FR_LIKELY(ends)) {
            unsigned last = (unsigned)__builtin_ctzll(ends) / 8;
            out[done++] = (int64_t)gather(word, last);
            at += last + 1;
        } else {
            uint64_t value;
            at = fr_wire_varint_slow(at, end, &value);
            if (!at) break;
            out[done++] = (int64_t)value;
        }
    }
    while (at && done < count && at < end) {
        uint64_t value;
        at = fr_wire_varint(at, end, &value);
        if (at) out[done++] = (int64_t)value;
    }
    *p = at;
    return done;
}
