/* SPDX-License-Identifier: Apache-2.0 */
#include "image/color_jitter.h"

#include "image/crop.h"

#define MAX 255.0f

fr_color_change fr_color_jitter_draw(const fr_color_jitter *jitter, fr_philox *philox) {
    fr_color_change c = {.order = {0, 1, 2, 3}};
    for (size_t i = 3; i > 0; i--) {
        const size_t j = fr_draw_below(philox, i + 1);
        const int kept = c.order[i];
        c.order[i] = c.order[j];
        c.order[j] = kept;
    }
    c.brightness = (float)fr_draw_between(philox, jitter->brightness[0], jitter->brightness[1]);
    c.contrast = (float)fr_draw_between(philox, jitter->contrast[0], jitter->contrast[1]);
    c.saturation = (float)fr_draw_between(philox, jitter->saturation[0], jitter->saturation[1]);
    c.hue = (float)fr_draw_between(philox, jitter->hue[0], jitter->hue[1]);
    return c;
}

static float clamp(float x) {
    return x < 0 ? 0 : x > MAX ? MAX : x;
}

static float grey_of(const float *pixel) {
    return 0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

static void brighten(float *restrict pixels, size_t count, float factor) {
    for (size_t i = 0; i < 3 * count; i++)
        pixels[i] = clamp(pixels[i] * factor);
}

static void change_contrast(float *restrict pixels, size_t count, float factor) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)grey_of(pixels + 3 * i);
    const float rest = (1 - factor) * (float)(sum / (double)count);
    for (size_t i = 0; i < 3 * count; i++)
        pixels[i] = clamp(pixels[i] * factor + rest);
}

static void saturate(float *restrict pixels, size_t count, float factor) {
    for (size_t i = 0; i < count; i++, pixels += 3) {
        const float rest = (1 - factor) * grey_of(pixels);
        for (int c = 0; c < 3; c++)
            pixels[c] = clamp(pixels[c] * factor + rest);
    }
}

/* Returns the hue of a pixel in sixths of a turn, from the difference of the other two channels. */
static float hue_of(float r, float g, float b, float max, float chroma) {
    if (max == r) return (g - b) / chroma + (g < b ? 6 : 0);
    if (max == g) return (b - r) / chroma + 2;
    return (r - g) / chroma + 4;
}

/* Returns the fraction of the chroma, 0 to 1, that a channel lacks if its hue is `sixths` away. */
static float lack(float sixths) {
    const float away = sixths < 4 - sixths ? sixths : 4 - sixths;
    return away < 0 ? 0 : away > 1 ? 1 : away;
}

static void turn_hue(float *restrict pixels, size_t count, float turn) {
    const float sixths = 6 * turn + (turn < 0 ? 6 : 0);
    for (size_t i = 0; i < count; i++, pixels += 3) {
        const float r = pixels[0], g = pixels[1], b = pixels[2];
        const float max = r > g ? (r > b ? r : b) : (g > b ? g : b);
        const float min = r < g ? (r < b ? r : b) : (g < b ? g : b);
        if (max == min) continue;
        float hue = hue_of(r, g, b, max, max - min) + sixths;
        if (hue >= 6) hue -= 6;
        pixels[0] = max - (max - min) * lack(hue + 5 >= 6 ? hue - 1 : hue + 5);
        pixels[1] = max - (max - min) * lack(hue + 3 >= 6 ? hue - 3 : hue + 3);
        pixels[2] = max - (max - min) * lack(hue + 1 >= 6 ? hue - 5 : hue + 1);
    }
}

void fr_color_change_apply(const fr_color_change *change, float *pixels, size_t count) {
    for (int i = 0; i < 4; i++) {
        const int step = change->order[i];
        if (step == 0 && change->brightness != 1) brighten(pixels, count, change->brightness);
        if (step == 1 && change->contrast != 1) change_contrast(pixels, count, change->contrast);
        if (step == 2 && change->saturation != 1) saturate(pixels, count, change->saturation);
        if (step == 3 && change->hue != 0) turn_hue(pixels, count, change->hue);
    }
}
