/* SPDX-License-Identifier: Apache-2.0 */
#include "format/highway.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/cpu.h"
#endif

#define LANES 4
#define PACKET (LANES * 8) /* bytes that are mixed in at once */
#define LAST_ROUNDS 4

typedef struct {
    uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
} state;

static const uint64_t START0[LANES] = {UINT64_C(0xdbe6d5d5fe4cce2f), UINT64_C(0xa4093822299f31d0),
                                       UINT64_C(0x13198a2e03707344), UINT64_C(0x243f6a8885a308d3)};
static const uint64_t START1[LANES] = {UINT64_C(0x3bd39e10cb0ef593), UINT64_C(0xc0acf169b5f18a8c),
                                       UINT64_C(0xbe5466cf34e90c6c), UINT64_C(0x452821e638d01377)};

static inline uint64_t swap_halves(uint64_t v) {
    return v >> 32 | v << 32;
}

/* The byte of a lane with this number, in its place. */
static inline uint64_t byte_of(uint64_t v, int number) {
    return v & UINT64_C(0xff) << 8 * number;
}

/*
 * Adds the bytes of two lanes, in another order, to two lanes. A multiplication mixes the bytes in
 * the middle of a lane best; the order moves them to where the next one takes them from.
 */
static inline void add_mixed(const uint64_t *from, uint64_t *to) {
    const uint64_t a = from[0], b = from[1];
    to[0] += (byte_of(a, 3) | byte_of(b, 4)) >> 24 | (byte_of(a, 5) | byte_of(b, 6)) >> 16 |
             byte_of(a, 2) | byte_of(a, 1) << 32 | byte_of(b, 7) >> 8 | a << 56;
    to[1] += (byte_of(b, 3) | byte_of(a, 4)) >> 24 | byte_of(b, 2) | byte_of(b, 5) >> 16 |
             byte_of(b, 1) << 24 | byte_of(a, 6) >> 8 | byte_of(b, 0) << 48 | byte_of(a, 7);
}

static inline void update(state *s, const uint64_t lanes[LANES]) {
    for (int i = 0; i < LANES; i++) {
        s->v1[i] += s->mul0[i] + lanes[i];
        s->mul0[i] ^= (s->v1[i] & UINT32_MAX) * (s->v0[i] >> 32);
        s->v0[i] += s->mul1[i];
        s->mul1[i] ^= (s->v0[i] & UINT32_MAX) * (s->v1[i] >> 32);
    }
    for (int i = 0; i < LANES; i += 2)
        add_mixed(s->v1 + i, s->v0 + i);
    for (int i = 0; i < LANES; i += 2)
        add_mixed(s->v0 + i, s->v1 + i);
}

static inline void update_packet(state *s, const uint8_t *packet) {
    uint64_t lanes[LANES];
    for (int i = 0; i < LANES; i++)
        lanes[i] = fr_load_u64(packet + 8 * i);
    update(s, lanes);
}

/* Mixes in the last 1 to 31 bytes and their number. The 1 to 3 bytes after the last whole group of
   four go to fixed places. */
static void update_rest(state *s, fr_span rest) {
    uint8_t packet[PACKET] = {0};
    const unsigned size = (unsigned)rest.size, odd = size & 3;
    const uint8_t *const tail = rest.data + (size - odd);
    for (int i = 0; i < LANES; i++) {
        const uint32_t low = (uint32_t)s->v1[i], high = (uint32_t)(s->v1[i] >> 32);
        s->v0[i] += (uint64_t)size << 32 | size;
        s->v1[i] = (uint64_t)(high << size | high >> (32 - size)) << 32 |
                   (low << size | low >> (32 - size));
    }
    memcpy(packet, rest.data, size - odd);
    if (size & 16) {
        memcpy(packet + PACKET - 4, tail + odd - 4, 4);
    } else if (odd) {
        packet[16] = tail[0];
        packet[17] = tail[odd >> 1];
        packet[18] = tail[odd - 1];
    }
    update_packet(s, packet);
}

#if defined(__x86_64__)
/* Mixes in all whole packets with the four lanes in one register, six times as fast. */
__attribute__((target("avx2"))) static fr_span update_avx2(state *s, fr_span data) {
    const __m256i order = _mm256_setr_epi8(3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7, 3,
                                           12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7);
    __m256i v0 = _mm256_loadu_si256((const __m256i *)s->v0);
    __m256i v1 = _mm256_loadu_si256((const __m256i *)s->v1);
    __m256i mul0 = _mm256_loadu_si256((const __m256i *)s->mul0);
    __m256i mul1 = _mm256_loadu_si256((const __m256i *)s->mul1);
    for (; data.size >= PACKET; data = fr_span_after(data, PACKET)) {
        const __m256i lanes = _mm256_loadu_si256((const __m256i *)data.data);
        v1 = _mm256_add_epi64(v1, _mm256_add_epi64(mul0, lanes));
        mul0 = _mm256_xor_si256(mul0, _mm256_mul_epu32(v1, _mm256_srli_epi64(v0, 32)));
        v0 = _mm256_add_epi64(v0, mul1);
        mul1 = _mm256_xor_si256(mul1, _mm256_mul_epu32(v0, _mm256_srli_epi64(v1, 32)));
        v0 = _mm256_add_epi64(v0, _mm256_shuffle_epi8(v1, order));
        v1 = _mm256_add_epi64(v1, _mm256_shuffle_epi8(v0, order));
    }
    _mm256_storeu_si256((__m256i *)s->v0, v0);
    _mm256_storeu_si256((__m256i *)s->v1, v1);
    _mm256_storeu_si256((__m256i *)s->mul0, mul0);
    _mm256_storeu_si256((__m256i *)s->mul1, mul1);
    return data;
}
#endif

uint64_t fr_highway64(const uint64_t key[4], fr_span data) {
    state s;
    for (int i = 0; i < LANES; i++) {
        s.mul0[i] = START0[i], s.mul1[i] = START1[i];
        s.v0[i] = START0[i] ^ key[i];
        s.v1[i] = START1[i] ^ swap_halves(key[i]);
    }
#if defined(__x86_64__)
    if (fr_cpu_features() & FR_CPU_AVX2) data = update_avx2(&s, data);
#endif
    for (; data.size >= PACKET; data = fr_span_after(data, PACKET))
        update_packet(&s, data.data);
    if (data.size) update_rest(&s, data);
    for (int round = 0; round < LAST_ROUNDS; round++) {
        const uint64_t lanes[LANES] = {swap_halves(s.v0[2]), swap_halves(s.v0[3]),
                                       swap_halves(s.v0[0]), swap_halves(s.v0[1])};
        update(&s, lanes);
    }
    return s.v0[0] + s.v1[0] + s.mul0[0] + s.mul1[0];
}
