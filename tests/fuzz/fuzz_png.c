/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes -> a format and a PNG -> its samples, decoded twice to the same.
 *
 * The first byte chooses the format; the rest is the file.
 */
#include "fuzz.h"
#include "image/png.h"

#define PIXELS_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fr_png_header h;
    fr_error err;
    if (size < 1 || fr_png_version() == NULL) return 0;
    const fr_png_format format = {.channels = 1 + data[0] % 4, .bits = data[0] & 4 ? 16 : 8};
    const fr_span png = {data + 1, size - 1};
    if (fr_png_read_header(png, PIXELS_MAX, &h, &err) != FR_OK) return 0;
    CHECK(h.height && h.width && h.height * h.width <= PIXELS_MAX);
    const size_t row = h.width * (size_t)(format.channels * format.bits / 8);
    uint8_t *first = malloc(row * h.height), *second = malloc(row * h.height);
    CHECK(first && second);
    const int status = fr_png_decode(png, &h, &format, first, row, &err);
    CHECK(fr_png_decode(png, &h, &format, second, row, &err) == status);
    if (status == FR_OK)
        CHECK(memcmp(first, second, row * h.height) == 0);
    else
        CHECK(err.cause[0] && err.status == status);
    free(first);
    free(second);
    return 0;
}
