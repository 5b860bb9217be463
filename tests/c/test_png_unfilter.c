/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose filters are undone in pairs are equal to those of the specification of PNG. */
#include "image/png_unfilter.h"

#include "test.h"

enum { TYPES = 5, WIDEST = 40, CHANNELS_MAX = 4, TURNS = 400 };

/* Blocks of exactly this size, so that AddressSanitizer reports any access beyond a row. */
static uint8_t *block(uint64_t *random, size_t size) {
    uint8_t *bytes = malloc(size);
    CHECK(bytes);
    const bool is_extreme = test_random(random) % 4 == 0;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(is_extreme ? 255 * (test_random(random) % 2) : test_random(random));
    return bytes;
}

static uint8_t predict(int type, int left, int above, int corner) {
    const int estimate = left + above - corner;
    const int to_left = abs(estimate - left), to_above = abs(estimate - above);
    const int to_corner = abs(estimate - corner);
    if (type == 0) return 0;
    if (type == 1) return (uint8_t)left;
    if (type == 2) return (uint8_t)above;
    if (type == 3) return (uint8_t)((left + above) / 2);
    if (to_left <= to_above && to_left <= to_corner) return (uint8_t)left;
    return (uint8_t)(to_above <= to_corner ? above : corner);
}

static void check_row(const uint8_t *filtered, const uint8_t *before, size_t size, size_t channels,
                      const uint8_t *row) {
    for (size_t i = 0; i < size; i++) {
        const int left = i < channels ? 0 : row[i - channels];
        const int corner = i < channels ? 0 : before[i - channels];
        const uint8_t guess = predict(filtered[0], left, before[i], corner);
        CHECK(row[i] == (uint8_t)(filtered[1 + i] + guess));
    }
}

static bool check_pair(uint64_t *random, int type, int next_type, size_t channels) {
    const size_t count = 1 + test_random(random) % WIDEST, size = count * channels;
    uint8_t *rows[] = {block(random, size + 1), block(random, size + 1)};
    uint8_t *out[] = {block(random, size), block(random, size)}, *before = block(random, size);
    rows[0][0] = (uint8_t)type;
    rows[1][0] = (uint8_t)next_type;
    const uint8_t *const filtered[] = {rows[0], rows[1]};
    const bool done = fr_png_unfilter_pair(filtered, before, count, channels, out);
    if (!done) {
        CHECK(fr_png_unfilter(type, rows[0] + 1, before, count, channels, out[0]));
        CHECK(fr_png_unfilter(next_type, rows[1] + 1, out[0], count, channels, out[1]));
    }
    check_row(rows[0], before, size, channels, out[0]);
    check_row(rows[1], out[0], size, channels, out[1]);
    for (size_t i = 0; i < 2; i++)
        free(rows[i]), free(out[i]);
    free(before);
    return done;
}

int main(void) {
    uint64_t random = 1;
    size_t pairs = 0;
    for (size_t turn = 0; turn < TURNS; turn++)
        for (int types = 0; types < TYPES * TYPES; types++)
            for (size_t channels = 1; channels <= CHANNELS_MAX; channels++)
                pairs += check_pair(&random, types / TYPES, types % TYPES, channels);
#if defined(__SSE2__)
    CHECK(pairs == (size_t)TURNS * 2 * 8);
#endif
    printf("%zu pairs of rows\n", pairs);
    return 0;
}
