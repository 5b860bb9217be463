/* SPDX-License-Identifier: Apache-2.0 */
#include "image/png_whole.h"

#if defined(FASTREC_HAVE_ZLIB)

#include <stdlib.h>
#include <zlib.h>

/* The signature and IHDR; a chunk is its length, name, body and checksum. */
enum { CHUNKS = 8 + 25, AROUND = 12, ANCILLARY_MOST = 1 << 20 };

typedef struct {
    fr_span rest; /* from the next chunk on */
    fr_span body;
    uint32_t name;
} chunk;

#define NAME(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))
enum { IDAT = NAME('I', 'D', 'A', 'T'), IEND = NAME('I', 'E', 'N', 'D') };

static uint32_t big_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Whether there is a chunk in `c->rest`, which is taken from there. */
static bool next_chunk(chunk *c) {
    const fr_span from = c->rest;
    if (from.size < AROUND) return false;
    const uint32_t size = big_u32(from.data);
    if (size > INT32_MAX || size > from.size - AROUND) return false;
    c->name = big_u32(from.data + 4);
    c->body = (fr_span){from.data + 8, size};
    c->rest = fr_span_after(from, size + AROUND);
    return true;
}

static bool is_sound(fr_span body) {
    const uLong found = crc32(0, body.data - 4, (uInt)body.size + 4);
    return found == big_u32(body.data + body.size);
}

/* Whether libpng goes past it and does no more. */
static bool is_ignored(const chunk *c) {
    for (int shift = 0; shift < 32; shift += 8) {
        const uint32_t letter = (c->name >> shift & 0xff) | 0x20;
        if (letter < 'a' || letter > 'z') return false;
    }
    const bool is_ancillary = c->name >> 24 & 0x20;
    return is_ancillary && c->name != NAME('t', 'R', 'N', 'S') && c->body.size <= ANCILLARY_MOST;
}

/* Whether the chunks are those of a plain image: all of IDAT in one place, and then an end. */
static bool is_plain(chunk c) {
    enum { BEFORE, WITHIN, BEHIND } at = BEFORE;
    while (next_chunk(&c)) {
        if (c.name == IDAT) {
            if (at == BEHIND || !is_sound(c.body)) return false;
            at = WITHIN;
        } else if (c.name == IEND) {
            return at != BEFORE && !c.body.size && is_sound(c.body);
        } else {
            if (!is_ignored(&c)) return false;
            if (at == WITHIN) at = BEHIND;
        }
    }
    return false;
}

/* Whether all of IDAT inflates to exactly `size` bytes. */
static bool inflate_all(chunk c, uint8_t *out, size_t size) {
    z_stream z = {.next_out = out, .avail_out = (uInt)size};
    int status = inflateInit2(&z, 0);
    if (status != Z_OK) return false;
    while (status == Z_OK && next_chunk(&c) && c.name != IEND) {
        if (c.name != IDAT) continue;
        z.next_in = (z_const Bytef *)c.body.data;
        z.avail_in = (uInt)c.body.size;
        if (z.avail_in) status = inflate(&z, Z_NO_FLUSH);
    }
    inflateEnd(&z);
    return status == Z_STREAM_END && !z.avail_out && !z.avail_in;
}

/* --- Filters: each byte is that of the row plus what `a`, left of it, `b`, above, and `c`, left of
   that, foretell. They are kept by channel, so that pixels wait for nothing but each other. ------
 */

static inline int none(int a, int b, int c) {
    (void)a, (void)b, (void)c;
    return 0;
}

static inline int left(int a, int b, int c) {
    (void)b, (void)c;
    return a;
}

static inline int above(int a, int b, int c) {
    (void)a, (void)c;
    return b;
}

static inline int average(int a, int b, int c) {
    (void)c;
    return (a + b) >> 1;
}

static inline int paeth(int a, int b, int c) {
    const int to_a = abs(b - c), to_b = abs(a - c), to_c = abs(a + b - 2 * c);
    const int other = to_b <= to_c ? b : c;
    return to_a <= to_b && to_a <= to_c ? a : other;
}

static inline __attribute__((always_inline)) void row_of(int (*foretell)(int, int, int),
                                                         int channels, const uint8_t *row,
                                                         const uint8_t *up, uint8_t *restrict out,
                                                         size_t size) {
    int a[4] = {0}, c[4] = {0};
    for (size_t i = 0; i < size; i += (size_t)channels)
        for (int k = 0; k < channels; k++) {
            const int b = up[i + (size_t)k];
            a[k] = (row[i + (size_t)k] + foretell(a[k], b, c[k])) & 0xff;
            c[k] = b;
            out[i + (size_t)k] = (uint8_t)a[k];
        }
}

/* --- Paeth's for pixels of 3 or 4 bytes: the channels of one are a vector, of 16 bits each. ------
 */

typedef int16_t lanes __attribute__((vector_size(16)));
typedef uint64_t words __attribute__((vector_size(16)));

/* Four bytes, of which the last one may be the next pixel's. */
static inline lanes pixel_at(const uint8_t *p) {
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    uint64_t spread = bytes;
    spread = (spread | spread << 16) & 0x0000ffff0000ffff;
    spread = (spread | spread << 8) & 0x00ff00ff00ff00ff;
    return (lanes)(words){spread, 0};
}

static inline void put_pixel(uint8_t *p, lanes pixel) {
    uint64_t spread = ((words)pixel)[0];
    spread = (spread | spread >> 8) & 0x0000ffff0000ffff;
    const uint32_t bytes = (uint32_t)(spread | spread >> 16);
    memcpy(p, &bytes, sizeof bytes);
}

static inline lanes distance(lanes x) {
    const lanes sign = x >> 15;
    return (x ^ sign) - sign;
}

static void paeth_row(int channels, const uint8_t *row, const uint8_t *up, uint8_t *out,
                      size_t size) {
    const lanes low = {0xff, 0xff, 0xff, 0xff};
    lanes a = {0}, c = {0};
    size_t i = 0;
    for (; i + 4 <= size; i += (size_t)channels) {
        const lanes b = pixel_at(up + i), to_a = distance(b - c), to_b = distance(a - c);
        const lanes to_c = distance(a + b - c - c), is_b = to_b <= to_c;
        const lanes is_a = (to_a <= to_b) & (to_a <= to_c), other = (b & is_b) | (c & ~is_b);
        a = (pixel_at(row + i) + ((a & is_a) | (other & ~is_a))) & low;
        c = b;
        put_pixel(out + i, a);
    }
    for (; i < size; i++) { /* the last pixel of 3 bytes */
        const bool is_first = i < (size_t)channels;
        const int at_left = is_first ? 0 : out[i - (size_t)channels];
        const int above_that = is_first ? 0 : up[i - (size_t)channels];
        out[i] = (uint8_t)(row[i] + paeth(at_left, up[i], above_that));
    }
}

static inline __attribute__((always_inline)) bool unfilter_by(int channels, const uint8_t *row,
                                                              const uint8_t *up, uint8_t *out,
                                                              size_t size) {
    switch (row[0]) {
        case 0:
            row_of(none, 1, row + 1, up, out, size);
            return true;
        case 1:
            row_of(left, channels, row + 1, up, out, size);
            return true;
        case 2:
            row_of(above, 1, row + 1, up, out, size);
            return true;
        case 3:
            row_of(average, channels, row + 1, up, out, size);
            return true;
        case 4:
            if (channels > 2)
                paeth_row(channels, row + 1, up, out, size);
            else
                row_of(paeth, channels, row + 1, up, out, size);
            return true;
        default:
            return false;
    }
}

static bool unfilter(int channels, const uint8_t *row, const uint8_t *up, uint8_t *out,
                     size_t size) {
    switch (channels) {
        case 1:
            return unfilter_by(1, row, up, out, size);
        case 2:
            return unfilter_by(2, row, up, out, size);
        case 3:
            return unfilter_by(3, row, up, out, size);
        default:
            return unfilter_by(4, row, up, out, size);
    }
}

/* ---------------------------------------------------------------------------------------------- */

bool fr_png_whole(fr_span data, const fr_png_header *header, const fr_png_format *format,
                  uint8_t *out, size_t row_step) {
    const int channels = (header->is_color ? 3 : 1) + header->has_alpha;
    const uint8_t *p = data.data; /* of which fr_png_read_header() has read the header */
    const bool is_indexed = p[25] == 3, is_usual = !p[26] && !p[27] && !p[28];
    if (header->bits != 8 || format->bits != 8 || channels != format->channels || is_indexed ||
        !is_usual || big_u32(p + 8) != 13 || !is_sound((fr_span){p + 16, 13}))
        return false;
    const chunk first = {.rest = fr_span_after(data, CHUNKS)};
    const size_t size = header->width * (size_t)channels;
    const uint64_t total = (uint64_t)(size + 1) * header->height;
    if (total > UINT32_MAX || !is_plain(first)) return false;
    fr_buffer rows = {0};
    fr_error err;
    if (fr_buffer_grow(&rows, size + (size_t)total, &err) != FR_OK) return false;
    memset(rows.data, 0, size); /* what is above the first */
    uint8_t *inflated = rows.data + size;
    const uint8_t *up = rows.data;
    bool is_done = inflate_all(first, inflated, (size_t)total);
    for (size_t y = 0; is_done && y < header->height; y++) {
        is_done = unfilter(channels, inflated + y * (size + 1), up, out + y * row_step, size);
        up = out + y * row_step;
    }
    fr_buffer_free(&rows);
    return is_done;
}

#else

bool fr_png_whole(fr_span data, const fr_png_header *header, const fr_png_format *format,
                  uint8_t *out, size_t row_step) {
    (void)data, (void)header, (void)format, (void)out, (void)row_step;
    return false;
}

#endif
