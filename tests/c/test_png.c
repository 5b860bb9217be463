/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and pixels lie flush against pages that nobody may touch. */
#include "png.h"

#include "test.h"

enum { MOST_HEIGHT = 7, MOST_PITCH = 40 };

static fr_png_lines random_lines(uint64_t *random) {
    fr_png_lines lines = {.height = 1 + test_random(random) % MOST_HEIGHT,
                          .pitch = 1 + test_random(random) % MOST_PITCH};
    lines.pixel = 1 + test_random(random) % (lines.pitch < 8 ? lines.pitch : 8);
    return lines;
}

static int at(const uint8_t *line, size_t i, size_t pixel) {
    return i < pixel ? 0 : line[i - pixel];
}

/* What a filter takes for a byte, as the standard has it. */
static int guess(int filter, const uint8_t *line, const uint8_t *above, size_t i, size_t pixel) {
    const int a = at(line, i, pixel), b = above[i], c = at(above, i, pixel), p = a + b - c;
    switch (filter) {
        case 1:
            return a;
        case 2:
            return b;
        case 3:
            return (a + b) / 2;
        case 4:
            if (abs(p - a) <= abs(p - b) && abs(p - a) <= abs(p - c)) return a;
            return abs(p - b) <= abs(p - c) ? b : c;
        default:
            return 0;
    }
}

static void lines_with_every_filter_become_their_pixels(void) {
    uint64_t random = 1;
    test_guarded in = test_guarded_new(MOST_HEIGHT * (1 + MOST_PITCH));
    test_guarded out = test_guarded_new((1 + MOST_HEIGHT) * MOST_PITCH);
    for (int round = 0; round < 5000; round++) {
        const fr_png_lines lines = random_lines(&random);
        uint8_t *filtered = in.end - lines.height * (1 + lines.pitch);
        uint8_t *pixels = out.end - (1 + lines.height) * lines.pitch;
        test_fill(filtered, lines.height * (1 + lines.pitch), test_random(&random));
        for (size_t row = 0; row < lines.height; row++)
            filtered[row * (1 + lines.pitch)] = (uint8_t)(test_random(&random) % 5);
        CHECK(fr_png_unfilter(&lines, filtered, pixels, NULL) == FR_OK);
        for (size_t row = 0; row < lines.height; row++) {
            const uint8_t *line = filtered + row * (1 + lines.pitch);
            const uint8_t *above = pixels + row * lines.pitch, *here = above + lines.pitch;
            for (size_t i = 0; i < lines.pitch; i++)
                CHECK(here[i] ==
                      (uint8_t)(line[1 + i] + guess(line[0], here, above, i, lines.pixel)));
        }
    }
    test_guarded_free(&in);
    test_guarded_free(&out);
}

static void pixels_come_back_and_the_best_filter_is_taken(void) {
    uint64_t random = 2;
    test_guarded in = test_guarded_new((1 + MOST_HEIGHT) * MOST_PITCH);
    test_guarded out = test_guarded_new((1 + MOST_HEIGHT) * (1 + MOST_PITCH));
    static uint8_t back[(1 + MOST_HEIGHT) * MOST_PITCH];
    for (int round = 0; round < 5000; round++) {
        const fr_png_lines lines = random_lines(&random);
        uint8_t *pixels = in.end - (1 + lines.height) * lines.pitch;
        uint8_t *filtered = out.end - (1 + lines.height) * (1 + lines.pitch);
        test_fill(pixels, (1 + lines.height) * lines.pitch, test_random(&random));
        memset(pixels, 0, lines.pitch);
        fr_png_filter(&lines, pixels, filtered);
        CHECK(fr_png_unfilter(&lines, filtered, back, NULL) == FR_OK);
        CHECK(memcmp(back, pixels, (1 + lines.height) * lines.pitch) == 0);
        for (size_t row = 0; row < lines.height; row++) {
            const uint8_t *above = pixels + row * lines.pitch, *here = above + lines.pitch;
            int sums[5] = {0};
            for (int filter = 0; filter < 5; filter++)
                for (size_t i = 0; i < lines.pitch; i++)
                    sums[filter] +=
                        abs((int8_t)(here[i] - guess(filter, here, above, i, lines.pixel)));
            for (int filter = 0; filter < 5; filter++)
                CHECK(sums[filtered[row * (1 + lines.pitch)]] <= sums[filter]);
        }
    }
    test_guarded_free(&in);
    test_guarded_free(&out);
}

static void other_filters_are_refused(void) {
    const fr_png_lines lines = {.height = 2, .pitch = 3, .pixel = 3};
    uint8_t filtered[] = {4, 1, 2, 3, 5, 1, 2, 3}, pixels[9];
    fr_error err;
    CHECK(fr_png_unfilter(&lines, filtered, pixels, &err) == FR_ERR_MALFORMED);
    CHECK(strcmp(err.message, "line 1 has filter 5, which there is not") == 0);
}

int main(void) {
    lines_with_every_filter_become_their_pixels();
    pixels_come_back_and_the_best_filter_is_taken();
    other_filters_are_refused();
    printf("png: ok\n");
    return 0;
}
