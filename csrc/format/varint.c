/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A varint stores seven bits per byte, lowest first; every byte except the last has its top bit
 * set. Decoded one by one, each varint must wait for the length of the one before it. This
 * dependency, not the arithmetic, takes the time.
 *
 * All implementations therefore first examine the top bits of many bytes at once. The clear bits
 * mark the ends of varints, and thus the start and length of each. The varints can then be decoded
 * independently. This file processes eight bytes at a time, varint_x86.c 32 and 64.
 */
#include "format/varint.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "format/varint_internal.h"
#include "format/wire.h"

size_t fr_varint_decode_rest(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count) {
    const uint8_t *at = *p;
    size_t done = 0;
    while (at && done < count && at < end) {
        uint64_t value;
        at = fr_wire_varint(at, end, &value);
        if (at) out[done++] = (int64_t)value;
    }
    *p = at;
    return done;
}

static bool sw_supported(void) {
    return true;
}

static size_t sw_count(fr_span run) {
    const uint8_t *p = run.data;
    size_t left = run.size, count = 0;
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t ends = (~fr_load_u64(p) & FR_WIRE_HIGH_BITS) >> 7;
        count += (size_t)(ends * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; left; p++, left--)
        count += *p < 0x80;
    return count;
}

/* Decodes the varints that end within the eight bytes at `at`, as many as fit, and returns the
   start of the next. Reads fifteen bytes. */
static const uint8_t *take_word(const uint8_t *at, uint64_t ends, int64_t *out, size_t room,
                                size_t *done) {
    unsigned begin = 0;
    size_t taken = 0;
    for (; ends && taken < room; ends &= ends - 1) {
        unsigned next = (unsigned)__builtin_ctzll(ends) / 8 + 1;
        out[taken++] = (int64_t)fr_wire_gather(fr_load_u64(at + begin), next - begin);
        begin = next;
    }
    *done += taken;
    return at + begin;
}

static size_t sw_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count) {
    const uint8_t *at = *p;
    size_t done = 0;
    while (done < count && end - at >= 16) {
        uint64_t ends = ~fr_load_u64(at) & FR_WIRE_HIGH_BITS;
        if (ends == FR_WIRE_HIGH_BITS && count - done >= 8) {
            for (int i = 0; i < 8; i++)
                out[done + (size_t)i] = at[i];
            at += 8;
            done += 8;
        } else if (FR_LIKELY(ends)) {
            at = take_word(at, ends, out + done, count - done, &done);
        } else {
            uint64_t value;
            at = fr_wire_varint_slow(at, end, &value);
            if (!at) break;
            out[done++] = (int64_t)value;
        }
    }
    *p = at;
    if (!at) return done;
    return done + fr_varint_decode_rest(p, end, out + done, count - done);
}

const fr_varint_impl fr_varint_impls[] = {
#if defined(FR_VARINT_X86)
    {"avx512", fr_varint_avx512_supported, fr_varint_avx512_count, fr_varint_avx512_decode},
    {"bmi2", fr_varint_bmi2_supported, fr_varint_bmi2_count, fr_varint_bmi2_decode},
#endif
    {"sw", sw_supported, sw_count, sw_decode},
    {NULL, NULL, NULL, NULL},
};

/* Used if the value of FASTREC_VARINT is unknown or unsupported. */
static const fr_varint_impl refused = {NULL, sw_supported, sw_count, sw_decode};

static const fr_varint_impl *choose(void) {
    const char *wanted = getenv("FASTREC_VARINT");
    bool any = !wanted || !*wanted;
    for (const fr_varint_impl *impl = fr_varint_impls; impl->name; impl++)
        if ((any || strcmp(wanted, impl->name) == 0) && impl->supported()) return impl;
    return &refused;
}

/* Threads that arrive here together choose the same implementation. Relaxed order suffices because
   the implementation is constant. */
static const fr_varint_impl *active(void) {
    static const fr_varint_impl *_Atomic resolved;
    const fr_varint_impl *impl = atomic_load_explicit(&resolved, memory_order_relaxed);
    if (FR_UNLIKELY(!impl)) {
        impl = choose();
        atomic_store_explicit(&resolved, impl, memory_order_relaxed);
    }
    return impl;
}

const fr_varint_impl *fr_varint_chosen(void) {
    const fr_varint_impl *impl = active();
    return impl == &refused ? NULL : impl;
}

size_t fr_varint_count(fr_span run) {
    return active()->count(run);
}

size_t fr_varint_decode(const uint8_t **p, const uint8_t *end, int64_t *out, size_t count) {
    return active()->decode(p, end, out, count);
}
