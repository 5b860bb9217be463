/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/colour.h"

#include <math.h>
#include <string.h>

/* Pixels processed together, without branches, because the largest channel is unpredictable. */
#define LANES 4
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));

typedef struct {
    lanes r, g, b;
} colours;

static lanes pick(mask where, lanes a, lanes b) {
    return (lanes)((where & (mask)a) | (~where & (mask)b));
}

static lanes least(lanes a, lanes b) {
    return pick(a < b, a, b);
}

static lanes most(lanes a, lanes b) {
    return pick(a > b, a, b);
}

static lanes all(float x) {
    return (lanes){x, x, x, x};
}

static colours load(const float *p) {
    return (colours){
        {p[0], p[3], p[6], p[9]}, {p[1], p[4], p[7], p[10]}, {p[2], p[5], p[8], p[11]}};
}

static void store(colours c, float *out) {
    for (int i = 0; i < LANES; i++) {
        out[3 * i] = c.r[i];
        out[3 * i + 1] = c.g[i];
        out[3 * i + 2] = c.b[i];
    }
}

typedef colours (*change)(colours, lanes);

/* Inlined so that `how` is a constant. */
static inline void each(const float *pixels, size_t count, lanes by, float *out, change how) {
    for (; count >= LANES; count -= LANES, pixels += 3 * LANES, out += 3 * LANES)
        store(how(load(pixels), by), out);
    if (count) {
        float rest[3 * LANES] = {0};
        memcpy(rest, pixels, 3 * count * sizeof(float));
        store(how(load(rest), by), rest);
        memcpy(out, rest, 3 * count * sizeof(float));
    }
}

/* Returns a channel: 1 where the hue is up to 1/6 of the circle from the channel's hue, 0 from
   2/6 on. */
static lanes ramp(lanes hue, float shift) {
    lanes at = hue + shift;
    at -= pick(at >= 6, all(6), all(0));
    return most(all(0), least(all(1), least(at, 4 - at)));
}

static inline colours turned(colours c, lanes by) {
    const lanes value = most(c.r, most(c.g, c.b)), low = least(c.r, least(c.g, c.b));
    const lanes range = value - low;
    const mask red = c.r == value, green = c.g == value;
    const lanes apart = pick(red, c.g - c.b, pick(green, c.b - c.r, c.r - c.g));
    lanes hue = pick(red, all(0), pick(green, all(2), all(4)));
    hue += apart / pick(range > 0, range, all(1)) + by;
    hue += pick(hue < 0, all(6), all(0));
    hue -= pick(hue >= 6, all(6), all(0));
    return (colours){low + range * ramp(hue, 2), low + range * ramp(hue, 0),
                     low + range * ramp(hue, 4)};
}

void fr_colour_turn_hue(const float *pixels, size_t count, float delta, float *out) {
    each(pixels, count, all(6 * (delta - floorf(delta))), out, turned);
}

static inline colours saturated(colours c, lanes by) {
    const lanes value = most(c.r, most(c.g, c.b)), range = value - least(c.r, least(c.g, c.b));
    const mask lit = value > 0;
    const lanes before = pick(lit, range / pick(lit, value, all(1)), all(0));
    const lanes after = least(all(1), most(all(0), before * by));
    const lanes scale = after / pick(before > 0, before, all(1));
    return (colours){value - (value - c.r) * scale, value - (value - c.g) * scale,
                     value - (value - c.b) * scale};
}

void fr_colour_scale_saturation(const float *pixels, size_t count, float factor, float *out) {
    each(pixels, count, all(factor), out, saturated);
}

static lanes distance(lanes a, float b) {
    return most(a - b, b - a);
}

static inline lanes shaded(lanes part, colours hsv) {
    return ((1 - hsv.g) + hsv.g * most(all(0), least(all(1), part))) * hsv.b;
}

static inline colours from_hsv(colours c, lanes by) {
    const lanes place = c.r * by;
    return (colours){shaded(distance(place, 3) - 1, c), shaded(2 - distance(place, 2), c),
                     shaded(2 - distance(place, 4), c)};
}

void fr_colour_from_hsv(const float *pixels, size_t count, float *out) {
    each(pixels, count, all(6), out, from_hsv);
}

void fr_colour_to_grey(const float *pixels, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] =
            pixels[3 * i] * 0.2989f + pixels[3 * i + 1] * 0.5870f + pixels[3 * i + 2] * 0.1140f;
}

/* Copies of a size that the compiler knows are moves. */
#define MIRROR(n)                                                                                  \
    case n:                                                                                        \
        for (size_t i = 0; i < columns; i++)                                                       \
            memcpy(out + (columns - 1 - i) * n, source + i * n, n);                                \
        break

void fr_colour_mirror(const uint8_t *source, size_t rows, size_t columns, size_t size,
                      uint8_t *out) {
    for (size_t row = 0; row < rows; row++, source += columns * size, out += columns * size)
        switch (size) {
            MIRROR(1);
            MIRROR(3);
            MIRROR(4);
            MIRROR(12);
            MIRROR(16);
            default:
                for (size_t i = 0; i < columns; i++)
                    memcpy(out + (columns - 1 - i) * size, source + i * size, size);
        }
}
