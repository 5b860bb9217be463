/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/row_plan.h"

#include <stdlib.h>

#include "base/permutation.h"

#define NO_ROW UINT32_MAX
#define MOST_SEGMENTS (UINT32_C(1) << 30)
#define LEVELS 4 /* 64^4 bits cover FR_ROW_LENGTH_MAX */

/* The segments in the order of the documents, and the row of each. */
typedef struct {
    const fr_row_options *options;
    fr_segment *segments;
    uint32_t *rows;
    uint32_t count;
    uint32_t row_count;
} packer;

static int check_options(const fr_row_options *options, fr_error *err) {
    if (options->length == 0 || options->length > FR_ROW_LENGTH_MAX)
        return fr_fail(err, FR_ERR_ARG, "the length of a row must be 1 to %u tokens, got %u",
                       FR_ROW_LENGTH_MAX, options->length);
    return FR_OK;
}

/* Computes an upper bound of the number of segments that documents of these lengths have. */
static int most_segments(const uint32_t *lengths, uint32_t count, const fr_row_options *options,
                         uint64_t *most, fr_error *err) {
    uint64_t segments = count;
    for (uint32_t i = 0; i < count; i++) {
        if (lengths[i] <= options->length) continue;
        if (options->overlong == FR_OVERLONG_ERROR) {
            fr_fail(err, FR_ERR_LIMIT, "a document must have at most %u tokens, got %u",
                    options->length, lengths[i]);
            if (err) err->record = i;
            return FR_ERR_LIMIT;
        }
        segments += lengths[i] / options->length;
    }
    if (options->fit == FR_FIT_SPLIT) segments *= 2; /* the end of a row may cut each once more */
    if (segments > MOST_SEGMENTS)
        return fr_fail(err, FR_ERR_ARG, "the documents have more than %u segments", MOST_SEGMENTS);
    *most = segments;
    return FR_OK;
}

static void add(packer *self, uint32_t document, uint32_t begin, uint32_t length) {
    self->segments[self->count] = (fr_segment){document, begin, length};
    self->rows[self->count++] = NO_ROW;
}

static bool is_dropped(const packer *self, uint32_t length) {
    return length > self->options->length && self->options->overlong == FR_OVERLONG_DROP;
}

/* Cuts documents that are longer than a row. */
static void cut(packer *self, const uint32_t *lengths, uint32_t count) {
    const uint32_t whole = self->options->length;
    for (uint32_t i = 0; i < count; i++) {
        if (is_dropped(self, lengths[i])) continue;
        uint32_t begin = 0;
        for (; lengths[i] - begin > whole; begin += whole)
            add(self, i, begin, whole);
        if (lengths[i] > begin) add(self, i, begin, lengths[i] - begin);
    }
}

/* FR_FIT_SPLIT: cuts documents where rows end. */
static void split(packer *self, const uint32_t *lengths, uint32_t count) {
    const fr_row_options *options = self->options;
    uint32_t space = 0, segments = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_dropped(self, lengths[i])) continue;
        for (uint32_t begin = 0; begin < lengths[i];) {
            if (space == 0 || (options->max_segments && segments == options->max_segments)) {
                self->row_count++;
                space = options->length;
                segments = 0;
            }
            const uint32_t rest = lengths[i] - begin, length = rest < space ? rest : space;
            add(self, i, begin, length);
            self->rows[self->count - 1] = self->row_count - 1;
            begin += length;
            space -= length;
            segments++;
        }
    }
}

/*
 * FR_FIT_FIRST: uses a tree. Each leaf has the free space of a row, and each inner node has the
 * greatest free space below it. A row without segments has the space of a whole row.
 */
static int place_first(packer *self, fr_error *err) {
    const fr_row_options *options = self->options;
    uint32_t leaves = 1;
    while (leaves < self->count)
        leaves *= 2;
    uint32_t *space = malloc(2 * (size_t)leaves * sizeof *space);
    uint32_t *segments = calloc(leaves, sizeof *segments);
    if (!space || !segments) {
        free(space);
        free(segments);
        return fr_fail_nomem(err, 3 * (uint64_t)leaves * sizeof *space);
    }
    for (uint32_t i = 0; i < 2 * leaves; i++)
        space[i] = options->length;
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t node = 1;
        while (node < leaves)
            node = 2 * node + (space[2 * node] < self->segments[i].length);
        const uint32_t row = node - leaves;
        self->rows[i] = row;
        if (row >= self->row_count) self->row_count = row + 1;
        space[node] -= self->segments[i].length;
        if (++segments[row] == options->max_segments) space[node] = 0;
        while (node /= 2)
            space[node] =
                space[2 * node] > space[2 * node + 1] ? space[2 * node] : space[2 * node + 1];
    }
    free(space);
    free(segments);
    return FR_OK;
}

/* The rows that have free space, grouped by it: a set of the spaces that occur, and a list of
   rows for each. */
typedef struct {
    uint64_t *levels[LEVELS]; /* bit n of a level: word n of the level below is not 0 */
    uint32_t *first;          /* for each space: a row, or NO_ROW */
    uint32_t *next;           /* for each row: another row with the same space, or NO_ROW */
    uint32_t *segments;       /* for each row: the number of its segments */
} spaces;

static void spaces_free(spaces *self) {
    for (int level = 0; level < LEVELS; level++)
        free(self->levels[level]);
    free(self->first);
    free(self->next);
    free(self->segments);
}

static int spaces_init(spaces *self, uint32_t length, uint32_t rows, fr_error *err) {
    *self = (spaces){0};
    bool made = true;
    uint64_t bits = (uint64_t)length + 1;
    for (int level = 0; level < LEVELS; level++) {
        bits = bits / 64 + 1;
        self->levels[level] = calloc(bits, sizeof(uint64_t));
        made = made && self->levels[level];
    }
    self->first = malloc(((size_t)length + 1) * sizeof(uint32_t));
    self->next = malloc(((size_t)rows + 1) * sizeof(uint32_t));
    self->segments = calloc((size_t)rows + 1, sizeof(uint32_t));
    if (!made || !self->first || !self->next || !self->segments) {
        spaces_free(self);
        return fr_fail_nomem(err, ((uint64_t)length + 2 * (uint64_t)rows) * sizeof(uint32_t));
    }
    memset(self->first, 0xff, ((size_t)length + 1) * sizeof(uint32_t));
    return FR_OK;
}

static void spaces_add(spaces *self, uint32_t space, uint32_t row) {
    self->next[row] = self->first[space];
    self->first[space] = row;
    for (int level = 0; level < LEVELS; level++, space /= 64)
        self->levels[level][space / 64] |= UINT64_C(1) << space % 64;
}

/* Takes a row with the smallest space that is at least `*space`, and sets `*space` to its space.
   Returns NO_ROW if there is none. */
static uint32_t spaces_take(spaces *self, uint32_t *space) {
    uint64_t number = *space;
    for (int level = 0; level < LEVELS; level++) {
        const uint64_t word = self->levels[level][number / 64] >> number % 64;
        if (word == 0) {
            number = number / 64 + 1; /* the next word, which is a bit of the level above */
            continue;
        }
        number += (unsigned)__builtin_ctzll(word);
        for (; level > 0; level--)
            number = number * 64 + (unsigned)__builtin_ctzll(self->levels[level - 1][number]);
        const uint32_t row = self->first[number];
        self->first[number] = self->next[row];
        *space = (uint32_t)number;
        if (self->first[number] != NO_ROW) return row;
        for (level = 0; level < LEVELS; level++, number /= 64)
            if (self->levels[level][number / 64] &= ~(UINT64_C(1) << number % 64)) break;
        return row;
    }
    return NO_ROW;
}

/* Sorts the numbers of the segments from the longest to the shortest. Segments of equal length
   keep their order. */
static int by_length(const packer *self, uint32_t **sorted, fr_error *err) {
    const uint32_t length = self->options->length;
    uint32_t *places = calloc((size_t)length + 1, sizeof *places);
    uint32_t *order = malloc(((size_t)self->count + 1) * sizeof *order);
    if (!places || !order) {
        free(places);
        free(order);
        return fr_fail_nomem(err, ((uint64_t)length + self->count) * sizeof *order);
    }
    for (uint32_t i = 0; i < self->count; i++)
        places[self->segments[i].length]++;
    uint32_t place = 0;
    for (uint32_t n = length; n > 0; n--) {
        const uint32_t own = places[n];
        places[n] = place;
        place += own;
    }
    for (uint32_t i = 0; i < self->count; i++)
        order[places[self->segments[i].length]++] = i;
    free(places);
    *sorted = order;
    return FR_OK;
}

static void place_each(packer *self, spaces *open, const uint32_t *order) {
    const fr_row_options *options = self->options;
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t length = self->segments[order[i]].length;
        uint32_t space = length, row = spaces_take(open, &space);
        if (row == NO_ROW) {
            row = self->row_count++;
            space = options->length;
        }
        self->rows[order[i]] = row;
        space -= length;
        if (space && ++open->segments[row] != options->max_segments) spaces_add(open, space, row);
    }
}

/* Renumbers the rows in a random order. REQUIRES: `numbers` has space for one number per row. */
static void mix_rows(packer *self, uint32_t *numbers) {
    uint64_t state = self->options->seed;
    for (uint32_t row = 0; row < self->row_count; row++) { /* inside-out Fisher-Yates shuffle */
        const uint64_t random = fr_splitmix(&state) >> 32;
        const uint32_t other = (uint32_t)(random * ((uint64_t)row + 1) >> 32);
        numbers[row] = numbers[other];
        numbers[other] = row;
    }
    for (uint32_t i = 0; i < self->count; i++)
        self->rows[i] = numbers[self->rows[i]];
}

static int place_best(packer *self, fr_error *err) {
    uint32_t *order = NULL;
    spaces open;
    FR_TRY(by_length(self, &order, err));
    const int status = spaces_init(&open, self->options->length, self->count, err);
    if (status == FR_OK) {
        place_each(self, &open, order);
        spaces_free(&open);
        mix_rows(self, order);
    }
    free(order);
    return status;
}

/* Sorts the segments by row. */
static int finish(const packer *self, fr_row_plan *plan, fr_error *err) {
    const size_t splits = ((size_t)self->row_count + 1) * sizeof(uint32_t);
    FR_TRY(fr_buffer_reserve(&plan->splits, splits + sizeof(uint32_t), err));
    FR_TRY(fr_buffer_reserve(&plan->segments, ((size_t)self->count + 1) * sizeof(fr_segment), err));
    uint32_t *begins = (uint32_t *)(void *)plan->splits.data;
    fr_segment *sorted = (fr_segment *)(void *)plan->segments.data;
    memset(begins, 0, splits + sizeof(uint32_t));
    for (uint32_t i = 0; i < self->count; i++) {
        begins[self->rows[i] + 2]++;
        plan->tokens += self->segments[i].length;
    }
    for (uint32_t row = 2; row <= self->row_count; row++)
        begins[row] += begins[row - 1];
    for (uint32_t i = 0; i < self->count; i++)
        sorted[begins[self->rows[i] + 1]++] = self->segments[i];
    plan->rows = self->row_count;
    plan->splits.size = splits;
    plan->segments.size = (size_t)self->count * sizeof(fr_segment);
    return FR_OK;
}

static int pack(packer *self, const uint32_t *lengths, uint32_t count, fr_row_plan *plan,
                fr_error *err) {
    if (self->options->fit == FR_FIT_SPLIT) {
        split(self, lengths, count);
    } else {
        cut(self, lengths, count);
        FR_TRY(self->options->fit == FR_FIT_FIRST ? place_first(self, err) : place_best(self, err));
    }
    return finish(self, plan, err);
}

int fr_row_plan_make(fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                     const fr_row_options *options, fr_error *err) {
    uint64_t most = 0;
    *plan = (fr_row_plan){0};
    FR_TRY(check_options(options, err));
    FR_TRY(most_segments(lengths, count, options, &most, err));
    packer self = {.options = options,
                   .segments = malloc((most + 1) * sizeof(fr_segment)),
                   .rows = malloc((most + 1) * sizeof(uint32_t))};
    int status = FR_OK;
    if (self.segments && self.rows)
        status = pack(&self, lengths, count, plan, err);
    else
        status = fr_fail_nomem(err, most * (sizeof(fr_segment) + sizeof(uint32_t)));
    free(self.segments);
    free(self.rows);
    if (status != FR_OK) fr_row_plan_free(plan);
    return status;
}

void fr_row_plan_free(fr_row_plan *plan) {
    fr_buffer_free(&plan->segments);
    fr_buffer_free(&plan->splits);
    *plan = (fr_row_plan){0};
}
