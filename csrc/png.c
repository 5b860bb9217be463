/* SPDX-License-Identifier: Apache-2.0 */
#include "png.h"

#include <stdlib.h>
#include <string.h>

enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS };

/* Of left, above, and above left: the one next to left + above - corner. */
static uint8_t paeth(uint8_t left, uint8_t above, uint8_t corner) {
    const int to_left = abs(above - corner), to_above = abs(left - corner);
    const int to_corner = abs(left + above - 2 * corner);
    if (to_left <= to_above && to_left <= to_corner) return left;
    return to_above <= to_corner ? above : corner;
}

/* Left of a line is 0. So SUB leaves its first pixel alone, and of PAETH remains what is above. */
static void unfilter(int filter, const uint8_t *restrict in, size_t pitch, size_t pixel,
                     uint8_t *restrict out) {
    const uint8_t *above = out - pitch;
    switch (filter) {
        case NONE:
            memcpy(out, in, pitch);
            break;
        case SUB:
            memcpy(out, in, pixel);
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(in[i] + out[i - pixel]);
            break;
        case UP:
            for (size_t i = 0; i < pitch; i++)
                out[i] = (uint8_t)(in[i] + above[i]);
            break;
        case AVERAGE:
            for (size_t i = 0; i < pixel; i++)
                out[i] = (uint8_t)(in[i] + above[i] / 2);
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(in[i] + (out[i - pixel] + above[i]) / 2);
            break;
        case PAETH:
            for (size_t i = 0; i < pixel; i++)
                out[i] = (uint8_t)(in[i] + above[i]);
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(in[i] + paeth(out[i - pixel], above[i], above[i - pixel]));
            break;
    }
}

int fr_png_unfilter(const fr_png_lines *lines, const uint8_t *filtered, uint8_t *pixels,
                    fr_error *err) {
    const size_t pitch = lines->pitch;
    memset(pixels, 0, pitch);
    for (size_t i = 0; i < lines->height; i++, filtered += 1 + pitch) {
        if (filtered[0] >= FILTERS)
            return fr_fail(err, FR_ERR_MALFORMED, "line %zu has filter %d, which there is not", i,
                           filtered[0]);
        pixels += pitch;
        unfilter(filtered[0], filtered + 1, pitch, lines->pixel, pixels);
    }
    return FR_OK;
}

static void filter(int which, const uint8_t *restrict x, size_t pitch, size_t pixel,
                   uint8_t *restrict out) {
    const uint8_t *above = x - pitch;
    out[0] = (uint8_t)which;
    out++;
    for (size_t i = 0; i < pixel; i++) {
        const uint8_t guess[FILTERS] = {0, 0, above[i], above[i] / 2, above[i]};
        out[i] = (uint8_t)(x[i] - guess[which]);
    }
    switch (which) {
        case NONE:
            memcpy(out, x, pitch);
            break;
        case SUB:
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(x[i] - x[i - pixel]);
            break;
        case UP:
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(x[i] - above[i]);
            break;
        case AVERAGE:
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(x[i] - (x[i - pixel] + above[i]) / 2);
            break;
        case PAETH:
            for (size_t i = pixel; i < pitch; i++)
                out[i] = (uint8_t)(x[i] - paeth(x[i - pixel], above[i], above[i - pixel]));
            break;
    }
}

/* How far the bytes of a line, taken as signed, are from 0. */
static uint64_t weight(const uint8_t *line, size_t pitch) {
    uint64_t sum = 0;
    for (size_t i = 1; i <= pitch; i++)
        sum += (uint64_t)abs((int8_t)line[i]);
    return sum;
}

void fr_png_filter(const fr_png_lines *lines, const uint8_t *pixels, uint8_t *filtered) {
    const size_t pitch = lines->pitch;
    for (size_t row = 0; row < lines->height; row++, filtered += 1 + pitch) {
        uint8_t *trial = filtered + 1 + pitch;
        uint64_t least = UINT64_MAX;
        pixels += pitch;
        for (int which = NONE; which < FILTERS; which++) {
            filter(which, pixels, pitch, lines->pixel, trial);
            const uint64_t size = weight(trial, pitch);
            if (size >= least) continue;
            least = size;
            memcpy(filtered, trial, 1 + pitch);
        }
    }
}
