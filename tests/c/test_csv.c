/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of text are cut as one byte after the other says, and what is wrong with them is left. */
#include "tensor/csv.h"

#include "test.h"

enum { LONGEST = 24, TURNS = 200000, FIELDS = LONGEST + 2 };

typedef struct {
    uint8_t data[FIELDS][LONGEST];
    size_t sizes[FIELDS], count, used;
} row;

/* The row at `data` by a machine of states; used is 0 where it is wrong, or not there wholly. */
static row expected(const uint8_t *data, size_t size, bool last, uint8_t delimiter, bool quoted) {
    enum { BEGIN, PLAIN, QUOTED, AFTER } state = BEGIN;
    row r = {.count = 1};
    for (size_t at = 0; at < size; at++) {
        const uint8_t byte = data[at];
        if (state == QUOTED) {
            if (byte == '"')
                state = AFTER;
            else
                r.data[r.count - 1][r.sizes[r.count - 1]++] = byte;
        } else if (byte == delimiter) {
            r.count++;
            state = BEGIN;
        } else if (byte == '\n' || (byte == '\r' && (at + 1 < size || last))) {
            r.used = at + 1 + (byte == '\r' && at + 1 < size && data[at + 1] == '\n');
            return r;
        } else if (byte == '\r' || (state == AFTER && byte != '"')) {
            return r;
        } else if (quoted && byte == '"') {
            if (state == PLAIN) return r;
            if (state == AFTER) r.data[r.count - 1][r.sizes[r.count - 1]++] = byte;
            state = QUOTED;
        } else {
            r.data[r.count - 1][r.sizes[r.count - 1]++] = byte;
            state = PLAIN;
        }
    }
    r.used = last && state != QUOTED ? size : 0;
    return r;
}

static void check(uint64_t *random) {
    static const uint8_t few[] = {'a', 'b', ',', ',', '"', '"', '\n', '\r'};
    static const uint8_t plain[] = {'a', '-', 0x80, 0xac, '+', 0x8a, 0x0b, '#',
                                    'b', '!', 0xff, 0,    'c', ',',  '"',  '\r'};
    const bool mixed = test_random(random) % 2;
    const uint8_t *bytes = mixed ? few : plain;
    const size_t size = 1 + test_random(random) % LONGEST;
    const bool last = test_random(random) % 2, quoted = test_random(random) % 4;
    uint8_t *data = malloc(size), *out = malloc(size);
    size_t stops = 0;
    CHECK(data && out);
    for (size_t i = 0; i < size; i++) {
        data[i] = bytes[test_random(random) % (mixed ? sizeof few : sizeof plain)];
        stops += data[i] == ',' || data[i] == '\n' || data[i] == '\r';
    }
    int64_t *begins = calloc(stops + 2, sizeof *begins), splits[2] = {0};
    CHECK(begins);
    fr_csv csv;
    fr_csv_init(&csv, ',', quoted);
    fr_csv_fields fields = {out, begins, splits, 0};
    const row r = expected(data, size, last, ',', quoted);
    CHECK(fr_csv_stops(&csv, data, size) == stops);
    CHECK(fr_csv_row(&csv, data, size, last, &fields) == r.used);
    CHECK(fields.rows == (r.used > 0));
    for (size_t i = 0; r.used && i < r.count; i++) {
        CHECK((size_t)(begins[i + 1] - begins[i]) == r.sizes[i]);
        CHECK(memcmp(out + begins[i], r.data[i], r.sizes[i]) == 0);
    }
    CHECK(!r.used || (size_t)splits[1] == r.count);
    free(data), free(out), free(begins);
}

int main(void) {
    uint64_t random = 7;
    for (size_t turn = 0; turn < TURNS; turn++)
        check(&random);
    printf("csv: ok\n");
    return 0;
}
