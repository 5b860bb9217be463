/* SPDX-License-Identifier: Apache-2.0 */
#include "image/bmp.h"

#include "base/cpu.h"

/* The file header, and the info header of Windows 3. */
enum { HEADER_SIZE = 14 + 40, BYTES_PER_PIXEL = 3 };

static uint32_t little_u16(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

bool fr_bmp_read_header(fr_span data, fr_bmp_header *header) {
    const uint8_t *p = data.data;
    if (data.size < HEADER_SIZE || p[0] != 'B' || p[1] != 'M') return false;
    const size_t begin = fr_load_u32(p + 10), width = fr_load_u32(p + 18);
    const int32_t signed_height = (int32_t)fr_load_u32(p + 22);
    const uint32_t planes = little_u16(p + 26), bits = little_u16(p + 28);
    const uint32_t compression = fr_load_u32(p + 30);
    if (fr_load_u32(p + 14) != 40 || planes != 1 || bits != 24 || compression != 0) return false;
    const size_t height = (size_t)(signed_height < 0 ? -(int64_t)signed_height : signed_height);
    if (width == 0 || height == 0 || width > INT32_MAX) return false;
    const size_t step = (width * BYTES_PER_PIXEL + 3) / 4 * 4;
    if (begin < HEADER_SIZE || begin > data.size || height > (data.size - begin) / step)
        return false;
    *header = (fr_bmp_header){height, width, p + begin, (ptrdiff_t)step};
    if (signed_height > 0) { /* a positive height means rows from the bottom up */
        header->top += (height - 1) * step;
        header->step = -header->step;
    }
    return true;
}

static inline void swap_red_and_blue(const uint8_t *pixels, size_t count, uint8_t *restrict out) {
    for (size_t i = 0; i < count * BYTES_PER_PIXEL; i += BYTES_PER_PIXEL) {
        out[i] = pixels[i + 2];
        out[i + 1] = pixels[i + 1];
        out[i + 2] = pixels[i];
    }
}

static inline void copy_rows(const fr_bmp_header *h, uint8_t *out) {
    const uint8_t *row = h->top;
    for (size_t y = 0; y < h->height; y++, out += h->width * BYTES_PER_PIXEL) {
        swap_red_and_blue(row, h->width, out);
        if (y + 1 < h->height) row += h->step;
    }
}

#if defined(__x86_64__)
/* Compiled for AVX2 because the baseline lacks byte shuffles. */
__attribute__((target("avx2"))) static void copy_rows_avx2(const fr_bmp_header *h, uint8_t *out) {
    copy_rows(h, out);
}
#endif

void fr_bmp_decode(const fr_bmp_header *header, uint8_t *out) {
#if defined(__x86_64__)
    if (fr_cpu_features() & FR_CPU_AVX2) {
        copy_rows_avx2(header, out);
        return;
    }
#endif
    copy_rows(header, out);
}
