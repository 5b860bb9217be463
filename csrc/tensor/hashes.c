/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/hashes.h"

#define K0 UINT64_C(0xC3A5C85C97CB3127)
#define K1 UINT64_C(0xB492B66FBE98F273)
#define K2 UINT64_C(0x9AE16A3B2F90404F)
#define MURMUR UINT64_C(0xC6A4A7935BD1E995)
#define MURMUR_SEED UINT64_C(0xDECAFCAFFE)

static inline uint64_t turned(uint64_t value, int bits) {
    return value >> bits | value << (64 - bits);
}

static inline uint64_t mixed(uint64_t value) {
    return value ^ value >> 47;
}

static inline uint64_t pair(uint64_t u, uint64_t v, uint64_t factor) {
    const uint64_t a = mixed((u ^ v) * factor);
    return mixed((v ^ a) * factor) * factor;
}

/* Hashes up to 16 bytes. */
static uint64_t farm_short(const uint8_t *p, size_t size) {
    const uint64_t factor = K2 + 2 * size;
    if (size >= 8) {
        const uint64_t a = fr_load_u64(p) + K2, b = fr_load_u64(p + size - 8);
        return pair(turned(b, 37) * factor + a, (turned(a, 25) + b) * factor, factor);
    }
    if (size >= 4)
        return pair(size + ((uint64_t)fr_load_u32(p) << 3), fr_load_u32(p + size - 4), factor);
    if (size == 0) return K2;
    const uint64_t y = p[0] + ((uint64_t)p[size >> 1] << 8);
    const uint64_t z = size + ((uint64_t)p[size - 1] << 2);
    return mixed(y * K2 ^ z * K0) * K2;
}

/* Computes two numbers from the first and the last 16 bytes. */
static inline void farm_ends(const uint8_t *p, size_t size, uint64_t first, uint64_t found[2]) {
    const uint64_t factor = K2 + 2 * size;
    const uint64_t a = fr_load_u64(p) * first, b = fr_load_u64(p + 8);
    const uint64_t c = fr_load_u64(p + size - 8) * factor, d = fr_load_u64(p + size - 16) * K2;
    found[0] = turned(a + b, 43) + turned(c, 30) + d;
    found[1] = a + turned(b + K2, 18) + c;
}

/* Hashes 17 to 64 bytes. */
static uint64_t farm_medium(const uint8_t *p, size_t size) {
    const uint64_t factor = K2 + 2 * size;
    uint64_t ends[2];
    farm_ends(p, size, size <= 32 ? K1 : K2, ends);
    const uint64_t y = ends[0], z = pair(ends[0], ends[1], factor);
    if (size <= 32) return z;
    const uint64_t a = fr_load_u64(p) * K2;
    const uint64_t e = fr_load_u64(p + 16) * factor, f = fr_load_u64(p + 24);
    const uint64_t g = (y + fr_load_u64(p + size - 32)) * factor;
    const uint64_t h = (z + fr_load_u64(p + size - 24)) * factor;
    return pair(turned(e + f, 43) + turned(g, 30) + h, e + turned(f + a, 18) + g, factor);
}

typedef struct {
    uint64_t x, y, z, v[2], w[2];
} farm_state;

static inline void farm_32(const uint8_t *p, uint64_t a, uint64_t b, uint64_t found[2]) {
    a += fr_load_u64(p);
    b = turned(b + a + fr_load_u64(p + 24), 21);
    const uint64_t c = a;
    a += fr_load_u64(p + 8) + fr_load_u64(p + 16);
    found[0] = a + fr_load_u64(p + 24);
    found[1] = b + turned(a, 44) + c;
}

/* Adds 64 bytes to the state. The last 64 bytes have another factor and other weights. */
static inline void farm_64(farm_state *s, const uint8_t *p, uint64_t factor, uint64_t weight) {
    s->x = turned(s->x + s->y + s->v[0] + fr_load_u64(p + 8), 37) * factor;
    s->y = turned(s->y + s->v[1] + fr_load_u64(p + 48), 42) * factor;
    s->x ^= s->w[1] * weight;
    s->y += s->v[0] * weight + fr_load_u64(p + 40);
    s->z = turned(s->z + s->w[0], 33) * factor;
    farm_32(p, s->v[1] * factor, s->x + s->w[0], s->v);
    farm_32(p + 32, s->z + s->w[1], s->y + fr_load_u64(p + 16), s->w);
    const uint64_t x = s->x;
    s->x = s->z, s->z = x;
}

static uint64_t farm_long(const uint8_t *p, size_t size) {
    const uint8_t *const last = p + size - 64;
    farm_state s = {.x = 81 * K2 + fr_load_u64(p), .y = 81 * K1 + 113};
    s.z = mixed(s.y * K2 + 113) * K2;
    for (size_t left = size; left > 64; left -= 64, p += 64)
        farm_64(&s, p, K1, 1);
    const uint64_t factor = K1 + ((s.z & 0xff) << 1);
    s.w[0] += (size - 1) & 63;
    s.v[0] += s.w[0];
    s.w[0] += s.v[0];
    farm_64(&s, last, factor, 9);
    return pair(pair(s.v[0], s.w[0], factor) + mixed(s.y) * K0 + s.z,
                pair(s.v[1], s.w[1], factor) + s.x, factor);
}

static uint64_t farm(fr_span text) {
    if (text.size <= 16) return farm_short(text.data, text.size);
    return text.size <= 64 ? farm_medium(text.data, text.size) : farm_long(text.data, text.size);
}

/* Returns the bytes after the last whole word of eight bytes, as a number. */
static inline uint64_t rest_of(fr_span text) {
    uint64_t rest = 0;
    for (size_t i = text.size; i > text.size / 8 * 8; i--)
        rest = rest << 8 | text.data[i - 1];
    return rest;
}

static uint64_t murmur(fr_span text) {
    uint64_t value = MURMUR_SEED ^ text.size * MURMUR;
    for (size_t at = 0; at < text.size / 8 * 8; at += 8)
        value = (value ^ mixed(fr_load_u64(text.data + at) * MURMUR) * MURMUR) * MURMUR;
    if (text.size % 8) value = (value ^ rest_of(text)) * MURMUR;
    return mixed(mixed(value) * MURMUR);
}

static inline void sip_rounds(uint64_t s[4], int count) {
    for (int i = 0; i < count; i++) {
        s[0] += s[1], s[2] += s[3];
        s[1] = turned(s[1], 51) ^ s[0], s[3] = turned(s[3], 48) ^ s[2];
        s[0] = turned(s[0], 32);
        s[2] += s[1], s[0] += s[3];
        s[1] = turned(s[1], 47) ^ s[2], s[3] = turned(s[3], 43) ^ s[0];
        s[2] = turned(s[2], 32);
    }
}

static inline void sip_word(uint64_t s[4], uint64_t word) {
    s[3] ^= word;
    sip_rounds(s, 2);
    s[0] ^= word;
}

static uint64_t sip(const uint64_t *key, fr_span text) {
    uint64_t s[4] = {key[0] ^ UINT64_C(0x736F6D6570736575), key[1] ^ UINT64_C(0x646F72616E646F6D),
                     key[0] ^ UINT64_C(0x6C7967656E657261), key[1] ^ UINT64_C(0x7465646279746573)};
    for (size_t at = 0; at < text.size / 8 * 8; at += 8)
        sip_word(s, fr_load_u64(text.data + at));
    sip_word(s, rest_of(text) | (uint64_t)(text.size & 0xff) << 56);
    s[2] ^= 0xff;
    sip_rounds(s, 4);
    return s[0] ^ s[1] ^ s[2] ^ s[3];
}

uint64_t fr_hash_of(fr_hash hash, const uint64_t *key, fr_span text) {
    if (hash == FR_HASH_FARM) return farm(text);
    return hash == FR_HASH_MURMUR ? murmur(text) : sip(key, text);
}
