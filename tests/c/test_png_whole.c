/* SPDX-License-Identifier: Apache-2.0 */
/* Images of all sizes, encoded and inflated at once between pages not to be touched; bytes that are
   changed, which are refused or left to libpng. */
#include "image/png_whole.h"

#include "image/png_encode.h"
#include "test.h"

enum { SIDE = 40, TRIALS = 400, CHANGES = 8 };

static uint8_t pixels[SIDE * SIDE * 4];

static void draw_pixels(uint64_t *random) {
    const uint64_t smooth = test_random(random) % 2;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(smooth ? i / 3 + test_random(random) % 3 : test_random(random));
}

static void change_bytes(uint64_t *random, fr_span data, test_guarded *to, fr_png_format format,
                         uint8_t *out) {
    fr_png_header header;
    fr_error err;
    uint8_t *changed = to->end - data.size;
    for (int i = 0; i < CHANGES; i++) {
        memcpy(changed, data.data, data.size);
        changed[test_random(random) % data.size] ^= (uint8_t)(1 << test_random(random) % 8);
        const fr_span cut = {changed, data.size};
        if (fr_png_read_header(cut, SIDE * SIDE, &header, &err) != FR_OK) continue;
        const size_t step = header.width * (size_t)format.channels;
        const int status = fr_png_decode(cut, &header, &format, out, step, &err);
        CHECK(status == FR_OK || status == FR_ERR_MALFORMED);
    }
}

int main(void) {
    uint64_t random = 7;
    fr_error err;
    test_guarded from = test_guarded_new(1 << 16), to = test_guarded_new(sizeof pixels);
    uint8_t *room = malloc(sizeof pixels);
    CHECK(room);
    for (int trial = 0; fr_png_version() && trial < TRIALS; trial++) {
        const size_t height = 1 + test_random(&random) % SIDE,
                     width = 1 + test_random(&random) % SIDE;
        const fr_png_format format = {.channels = 1 + trial % 4, .bits = 8};
        const size_t step = width * (size_t)format.channels, size = height * step;
        fr_buffer file = {0};
        fr_png_header header;
        draw_pixels(&random);
        CHECK(fr_png_encode(pixels, height, width, &format, -1, &file, &err) == FR_OK);
        CHECK(file.size <= (size_t)(from.end - from.begin));
        uint8_t *data = from.end - file.size, *out = to.end - size;
        memcpy(data, file.data, file.size);
        const fr_span png = {data, file.size};
        CHECK(fr_png_read_header(png, 0, &header, &err) == FR_OK);
#if defined(FASTREC_HAVE_ZLIB)
        CHECK(fr_png_whole(png, &header, &format, out, step));
#else
        CHECK(fr_png_decode(png, &header, &format, out, step, &err) == FR_OK);
#endif
        CHECK(memcmp(out, pixels, size) == 0);
        change_bytes(&random, (fr_span){file.data, file.size}, &from, format, room);
        fr_buffer_free(&file);
    }
    free(room);
    test_guarded_free(&from);
    test_guarded_free(&to);
    puts("png_whole: ok");
    return 0;
}
