/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of all kinds of bytes: what is encoded is decoded to the same, parts are those of a plain
   search; between pages not to be touched. */
#include "tensor/texts.h"

#include "test.h"

enum { MOST = 20, LONGEST = 12, SIZE = MOST * LONGEST, TRIALS = 3000 };

typedef struct {
    test_guarded memory;
    int64_t offsets[MOST + 1];
    fr_texts all;
} fixture;

/* Random strings of `letters`, which end where the memory does. */
static void fill(fixture *f, uint64_t *random, const char *letters) {
    const size_t count = test_random(random) % MOST, kinds = strlen(letters);
    for (size_t i = 0; i < count; i++)
        f->offsets[i + 1] = f->offsets[i] + (int64_t)(test_random(random) % LONGEST);
    uint8_t *const data = f->memory.end - f->offsets[count];
    for (int64_t i = 0; i < f->offsets[count]; i++)
        data[i] =
            kinds ? (uint8_t)letters[test_random(random) % kinds] : (uint8_t)test_random(random);
    f->all = (fr_texts){data, f->offsets, count};
}

static void check_stripped(const fr_texts *texts) {
    int64_t begins[MOST], ends[MOST];
    fr_texts_strip(texts, begins, ends);
    for (size_t i = 0; i < texts->count; i++) {
        CHECK(texts->offsets[i] <= begins[i] && begins[i] <= ends[i]);
        CHECK(ends[i] <= texts->offsets[i + 1]);
        for (int64_t at = texts->offsets[i]; at < texts->offsets[i + 1]; at++) {
            const bool space = strchr(" \t\n\v\f\r", texts->data[at]) && texts->data[at];
            if (at < begins[i] || at >= ends[i]) CHECK(space);
            if (begins[i] < ends[i] && (at == begins[i] || at == ends[i] - 1)) CHECK(!space);
        }
    }
}

static void check_parts(const fr_texts *texts, uint64_t *random) {
    const int64_t start = (int64_t)(test_random(random) % 15) - 7;
    const int64_t size = (int64_t)(test_random(random) % 8) - 1;
    int64_t begins[MOST], ends[MOST];
    for (int characters = 0; characters < 2; characters++) {
        const size_t done = fr_texts_part(texts, start, size, characters, begins, ends);
        for (size_t i = 0; i < done; i++) {
            CHECK(texts->offsets[i] <= begins[i] && begins[i] <= ends[i]);
            CHECK(ends[i] <= texts->offsets[i + 1]);
            if (characters) continue;
            CHECK(begins[i] == (start < 0 ? texts->offsets[i + 1] : texts->offsets[i]) + start);
            CHECK(size < 0 ? ends[i] == texts->offsets[i + 1] : ends[i] - begins[i] <= size);
        }
        const int64_t left =
            done < texts->count ? texts->offsets[done + 1] - texts->offsets[done] : 0;
        if (done < texts->count && !characters) CHECK(start > left || -start > left);
    }
}

static void check_numbers(const fr_texts *texts) {
    int64_t table[64], numbers[MOST], firsts[MOST];
    for (int i = 0; i < 64; i++)
        table[i] = -1;
    const size_t different = fr_texts_number(texts, table, 64, numbers, firsts);
    for (size_t i = 0; i < texts->count; i++) {
        const size_t size = (size_t)(texts->offsets[i + 1] - texts->offsets[i]);
        CHECK((size_t)numbers[i] < different);
        for (size_t j = 0; j < texts->count; j++) {
            const size_t other = (size_t)(texts->offsets[j + 1] - texts->offsets[j]);
            const bool same =
                size == other && (!size || !memcmp(texts->data + texts->offsets[i],
                                                   texts->data + texts->offsets[j], size));
            CHECK(same == (numbers[i] == numbers[j]));
        }
    }
}

static void check_base64(const fr_texts *texts, bool pad) {
    uint8_t out[SIZE * 2 + 4 * MOST], back[SIZE * 2];
    int64_t offsets[MOST + 1] = {0}, again[MOST + 1];
    for (size_t i = 0; i < texts->count; i++) {
        const int64_t size = texts->offsets[i + 1] - texts->offsets[i], rest = size % 3;
        offsets[i + 1] = offsets[i] + size / 3 * 4 + (!rest ? 0 : pad ? 4 : rest + 1);
    }
    fr_texts_encode_base64(texts, pad, out);
    const fr_texts encoded = {out, offsets, texts->count};
    CHECK(fr_texts_decode_base64(&encoded, again, back) == texts->count);
    for (size_t i = 0; i <= texts->count; i++)
        CHECK(again[i] == texts->offsets[i]);
    CHECK(!again[texts->count] || !memcmp(back, texts->data, (size_t)again[texts->count]));
}

static void check_points(const fr_texts *texts) {
    int32_t points[SIZE + 1], counts[MOST];
    int64_t begins[SIZE + 1], splits[MOST + 1], offsets[MOST + 1];
    uint8_t out[4 * SIZE];
    if (fr_texts_decode(texts, points, begins, splits) < texts->count) return;
    fr_texts_encode(points, splits, texts->count, offsets, out);
    fr_texts_count(texts, counts);
    for (size_t i = 0; i < texts->count; i++) {
        CHECK(offsets[i + 1] == texts->offsets[i + 1]);
        CHECK(counts[i] == splits[i + 1] - splits[i]);
    }
    CHECK(!offsets[texts->count] || !memcmp(out, texts->data, (size_t)offsets[texts->count]));
}

static void malformed_characters_are_none(void) {
    static const char *const WRONG[] = {
        "\x80", "\xc0\x80", "\xc1\xbf",         "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xc3", "\xe2\x82", "\xf4\x90\x80\x80", "\xff"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        const int64_t offsets[] = {0, (int64_t)strlen(WRONG[i])};
        const fr_texts texts = {(const uint8_t *)WRONG[i], offsets, 1};
        int32_t points[8];
        int64_t begins[8], splits[2];
        CHECK_CASE(fr_texts_decode(&texts, points, begins, splits) == 0, "case %d", (int)i);
    }
}

int main(void) {
    static const char *const LETTERS[] = {"", "ab", " \t\na", "\xc3\xa4\xe2\x82\xac", "AZaz09-_="};
    uint64_t random = 5;
    fixture f = {.memory = test_guarded_new(SIZE)};
    for (int trial = 0; trial < TRIALS; trial++) {
        fill(&f, &random, LETTERS[trial % 5]);
        check_stripped(&f.all);
        check_parts(&f.all, &random);
        check_numbers(&f.all);
        check_base64(&f.all, trial % 2);
        check_points(&f.all);
        uint8_t out[SIZE];
        int64_t offsets[MOST + 1];
        (void)fr_texts_decode_base64(&f.all, offsets, out);
    }
    malformed_characters_are_none();
    const int64_t numbers[] = {0, -7, INT64_MIN, INT64_MAX};
    int64_t offsets[5];
    uint8_t out[80];
    fr_texts_of_integers(numbers, 4, offsets, out);
    CHECK(offsets[4] == 42 && !memcmp(out, "0-7-92233720368547758089223372036854775807", 42));
    test_guarded_free(&f.memory);
    puts("texts: ok");
    return 0;
}
