/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot loops, one at a time, on records made here: what benchmarks/callgrind.py counts the
 * instructions of.
 *
 *     guard LOOP RECORDS          one of the loops below; prints RECORDS when it has done them
 *
 * Only what `measured` calls is counted: making the records is not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/padding.h"
#include "base/strings.h"
#include "base/task_ring.h"
#include "example/encode.h"
#include "example/sequence.h"
#include "example/sparse_indices.h"
#include "files/index.h"
#include "files/reader.h"
#include "image/augment.h"
#include "image/bmp.h"
#include "image/png_unfilter.h"

#define MAX_FIELDS 40
#define BATCH 128
#define PIXELS 3072
#define TOKENS 2048
#define MOST 29
#define STEPS 60

typedef struct {
    fr_value values[MAX_FIELDS];
    fr_feature features[MAX_FIELDS];
    char keys[MAX_FIELDS][16];
    size_t count, rows;
    bool is_sequence;       /* each record has some of the rows as the steps of its feature lists */
    fr_buffer frames, ends; /* the rows as framed Examples, or framed SequenceExamples */
} table;

static uint64_t random_state = 1;

/* splitmix64 */
static uint64_t random_word(void) {
    uint64_t x = (random_state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Fewer than 2**bits, and small ones as often as large ones. */
static int64_t random_int(unsigned bits) {
    uint64_t word = random_word();
    return (int64_t)(word >> (64 - bits) >> (word % bits));
}

static void check(int status, const fr_error *err) {
    if (status == FR_OK) return;
    fprintf(stderr, "guard: status %d: %s\n", status, err->cause);
    exit(1);
}

static void *zeroed(size_t size) {
    void *block = calloc(size ? size : 1, 1);
    if (!block) abort();
    return block;
}

/* A column of `per_row` elements a row: what encoding takes, and what parsing is asked for. */
static fr_value *add(table *t, const char *prefix, fr_kind kind, fr_dtype dtype, size_t per_row) {
    size_t i = t->count++;
    snprintf(t->keys[i], sizeof t->keys[i], "%s%zu", prefix, i);
    fr_span key = {(const uint8_t *)t->keys[i], strlen(t->keys[i])};
    t->values[i] = (fr_value){.key = key, .kind = kind, .dtype = dtype, .count = per_row};
    t->values[i].elements = t->rows * per_row;
    t->values[i].size = t->values[i].elements * fr_dtype_size(dtype);
    t->values[i].values = zeroed(t->values[i].size);
    t->features[i] = (fr_feature){.key = key, .kind = kind, .dtype = dtype, .count = per_row};
    return &t->values[i];
}

static void add_ints(table *t, const char *prefix, size_t per_row, unsigned bits) {
    int64_t *values =
        (int64_t *)(uintptr_t)add(t, prefix, FR_KIND_INT64, FR_INT64, per_row)->values;
    for (size_t i = 0; i < t->rows * per_row; i++)
        values[i] = random_int(bits);
}

static void add_floats(table *t, const char *prefix, size_t per_row) {
    float *values = (float *)(uintptr_t)add(t, prefix, FR_KIND_FLOAT, FR_FLOAT32, per_row)->values;
    for (size_t i = 0; i < t->rows * per_row; i++)
        values[i] = (float)random_int(20) / 1024;
}

static void add_raw(table *t, const char *prefix, size_t size) {
    fr_value *value = add(t, prefix, FR_KIND_BYTES, FR_UINT8, size);
    uint8_t *bytes = (uint8_t *)(uintptr_t)value->values;
    for (size_t i = 0; i < t->rows * size; i++)
        bytes[i] = (uint8_t)random_word();
    value->dtype = FR_BYTES;
    value->count = 1;
    value->element_size = size;
    t->features[t->count - 1].raw = true;
}

/* Makes the last column ragged: its rows are of 0 to MOST elements. */
static void make_ragged(table *t) {
    fr_value *value = &t->values[t->count - 1];
    int64_t *splits = zeroed((t->rows + 1) * sizeof *splits);
    for (size_t row = 0; row < t->rows; row++)
        splits[row + 1] = splits[row] + (int64_t)(random_word() % (MOST + 1));
    value->splits = splits;
    t->features[t->count - 1].ragged = true;
}

static void add_strings(table *t, const char *prefix) {
    fr_value *value = add(t, prefix, FR_KIND_BYTES, FR_BYTES, (size_t)MOST * 12);
    int64_t *offsets = zeroed((t->rows * MOST + 1) * sizeof *offsets);
    for (size_t i = 0; i < t->rows * MOST; i++)
        offsets[i + 1] = offsets[i] + 3 + (int64_t)(random_word() % 10);
    value->offsets = offsets;
    value->elements = t->rows * MOST;
    make_ragged(t);
}

static void make_tabular(table *t) {
    add_ints(t, "label", 1, 1);
    for (size_t i = 0; i < 13; i++)
        add_floats(t, "I", 1);
    for (unsigned i = 0; i < 26; i++)
        add_ints(t, "C", 1, 3 + i);
}

static void make_cifar(table *t) {
    add_raw(t, "image", PIXELS);
    add_raw(t, "shape", 12);
    add_ints(t, "label", 1, 4);
}

static void make_tokens(table *t) {
    add_ints(t, "tokens", TOKENS, 16);
}

static void make_ragged_rows(table *t) {
    add_strings(t, "words");
    add_ints(t, "ids", MOST, 28);
    make_ragged(t);
    add_floats(t, "weights", MOST);
    make_ragged(t);
}

/* Tokens, and states of 16 floats. */
static void make_steps(table *t) {
    const size_t records = t->rows;
    t->rows = STEPS;
    add_ints(t, "tokens", 1, 16);
    add_floats(t, "states", 16);
    t->rows = records;
    t->features[0].frames = t->features[1].frames = t->features[0].ragged = true;
    t->is_sequence = true;
}

/* Strings of 3 to 12 bytes, one in each step. */
static void make_string_steps(table *t) {
    const size_t records = t->rows;
    t->rows = STEPS;
    add_strings(t, "words");
    int64_t *splits = (int64_t *)(uintptr_t)t->values[0].splits;
    for (size_t step = 0; step <= STEPS; step++)
        splits[step] = (int64_t)step;
    t->rows = records;
    t->features[0].frames = true;
    t->is_sequence = true;
}

static void encode_sequences(table *t, fr_buffer *out) {
    fr_error err = {0};
    fr_buffer record = {0};
    check(fr_encode_sort(t->values, t->count, &err), &err);
    for (size_t row = 0; row < t->rows; row++) {
        const size_t steps = 5 + random_word() % (STEPS - 4), counts[] = {steps, steps};
        record.size = 0;
        check(fr_encode_sequence(NULL, 0, t->values, counts, t->count, &record, &err), &err);
        const size_t size = FR_FRAME_OVERHEAD + record.size;
        check(fr_buffer_reserve(out, size, &err), &err);
        fr_frame_put(out->data + out->size, (fr_span){record.data, record.size});
        out->size += size;
    }
    fr_buffer_free(&record);
}

static void encode(table *t, fr_buffer *out) {
    fr_error err = {0};
    if (t->is_sequence) {
        encode_sequences(t, out);
        return;
    }
    fr_rows rows = {.end = t->rows, .step = 1};
    check(fr_encode_sort(t->values, t->count, &err), &err);
    check(fr_encode_rows(t->values, t->count, rows, true, out, NULL, &err), &err);
}

static void parse(table *t) {
    fr_error err = {0};
    fr_schema schema = {0};
    fr_parser parser = {0};
    fr_columns columns = {0};
    check(fr_schema_init(&schema, t->features, t->count, &err), &err);
    check(fr_parser_init(&parser, &schema, &err), &err);
    fr_span left = {t->frames.data, t->frames.size};
    fr_frame_options options = {.verify = true};
    for (size_t row = 0; row < t->rows; row++) {
        fr_frame frame;
        if (row % BATCH == 0) check(fr_columns_begin(&columns, &schema, BATCH, &err), &err);
        check(fr_frame_next(left, true, &options, &frame, &err), &err);
        check(fr_parse_row(&parser, frame.data, &columns, &err), &err);
        left = fr_span_after(left, frame.size);
    }
    fr_columns_free(&columns);
    fr_parser_free(&parser);
    fr_schema_free(&schema);
}

static void parse_sequences(table *t) {
    fr_error err = {0};
    fr_schema schemas[2] = {0};
    fr_sequence_parser parser = {0};
    fr_columns context = {0}, lists = {0};
    check(fr_schema_init(&schemas[0], NULL, 0, &err), &err);
    check(fr_schema_init(&schemas[1], t->features, t->count, &err), &err);
    check(fr_sequence_parser_init(&parser, &schemas[0], &schemas[1], &err), &err);
    fr_span left = {t->frames.data, t->frames.size};
    fr_frame_options options = {.verify = true};
    for (size_t row = 0; row < t->rows; row++) {
        fr_frame frame;
        if (row % BATCH == 0) {
            check(fr_columns_begin(&context, &schemas[0], BATCH, &err), &err);
            check(fr_columns_begin(&lists, &schemas[1], BATCH, &err), &err);
        }
        check(fr_frame_next(left, true, &options, &frame, &err), &err);
        check(fr_sequence_parse_rows(&parser, &frame.data, 1, &context, &lists, &err), &err);
        left = fr_span_after(left, frame.size);
    }
    fr_columns_free(&context);
    fr_columns_free(&lists);
    fr_sequence_parser_free(&parser);
    fr_schema_free(&schemas[0]);
    fr_schema_free(&schemas[1]);
}

/* The indices of the ragged columns, by batches. */
static void index_sparse(table *t) {
    int64_t *indices = zeroed((size_t)BATCH * MOST * 2 * sizeof *indices);
    for (size_t i = 0; i < t->count; i++)
        for (size_t row = 0; row < t->rows; row += BATCH) {
            const size_t rows = t->rows - row < BATCH ? t->rows - row : BATCH;
            fr_sparse_indices(t->values[i].splits + row, rows, indices);
        }
    free(indices);
}

/* The indices of the steps of records, each of STEPS steps of up to MOST elements. */
static void index_nested(table *t) {
    const int64_t records[] = {0, STEPS};
    int64_t *indices = zeroed((size_t)STEPS * MOST * 3 * sizeof *indices), widest[2];
    for (size_t i = 0; i < t->count; i++)
        for (size_t row = 0; row + STEPS <= t->rows; row += STEPS)
            fr_sparse_nested_indices(records, 1, t->values[i].splits + row, indices, widest);
    free(indices);
}

/* Pads the rows of all columns, numbers and strings. */
static void pad(table *t) {
    const int64_t size = MOST;
    int64_t *lengths = zeroed(t->rows * sizeof *lengths);
    int64_t *begins = zeroed((t->rows * MOST + 1) * sizeof *begins);
    uint8_t *out = zeroed(t->rows * MOST * sizeof(int64_t));
    for (size_t i = 0; i < t->count; i++) {
        const fr_value *v = &t->values[i];
        const size_t item = fr_dtype_size(v->dtype);
        if (v->offsets) {
            if (!fr_strings_valid(v->offsets, 1, v->elements, v->size)) abort();
            fr_strings_pad(v->values, v->offsets, v->splits, t->rows, MOST, (fr_span){0}, begins,
                           NULL);
            continue;
        }
        const fr_padding padding = {1, &size, &item, (const uint8_t *)&(int64_t){0}, item};
        for (size_t row = 0; row < t->rows; row++)
            lengths[row] = v->splits[row + 1] - v->splits[row];
        if (!fr_padding_valid(&padding, v->splits, lengths, t->rows, v->elements)) abort();
        fr_padding_fill(&padding, v->values, v->splits, lengths, t->rows, out);
    }
    free(lengths);
    free(begins);
    free(out);
}

/* Joins and fits the images as decode_raw() does with a list of strings. */
static void join(table *t) {
    fr_span *spans = zeroed(t->rows * sizeof *spans);
    int64_t *begins = zeroed((t->rows + 1) * sizeof *begins);
    uint8_t *out = zeroed(t->rows * PIXELS);
    for (size_t row = 0; row < t->rows; row++)
        spans[row] = (fr_span){t->values[0].values + row * PIXELS, PIXELS};
    fr_strings_join(spans, t->rows, begins, out);
    fr_strings_fit(spans, t->rows, PIXELS, out);
    free(spans);
    free(begins);
    free(out);
}

/* Undoes each filter of PNGs, for rows of 32 pixels, and copies the images as rows of BMPs. */
static void unfilter(table *t) {
    enum { WIDTH = 32, CHANNELS = 3, PITCH = WIDTH * CHANNELS };
    uint8_t above[PITCH] = {0}, *out = zeroed(PIXELS);
    for (size_t row = 0; row < t->rows; row++) {
        const uint8_t *image = t->values[0].values + row * PIXELS;
        const fr_bmp_header header = {PIXELS / PITCH, WIDTH, image, PITCH};
        for (size_t at = 0; at < PIXELS; at += PITCH) {
            const uint8_t *before = at ? out + at - PITCH : above;
            if (!fr_png_unfilter((int)(at / PITCH % 5), image + at, before, WIDTH, CHANNELS,
                                 out + at))
                abort();
        }
        fr_bmp_decode(&header, out);
    }
    free(out);
}

/* Undoes the filters of PNGs in pairs of rows, as in photographs, whose rows are mostly Paeth. */
static void unfilter_pairs(table *t) {
    enum { WIDTH = 31, CHANNELS = 3, PITCH = WIDTH * CHANNELS, PAETH = 4 };
    uint8_t above[PITCH] = {0}, first[PITCH], second[PITCH], filtered[2][1 + PITCH];
    const uint8_t *const rows[] = {filtered[0], filtered[1]};
    uint8_t *const out[] = {first, second};
    for (size_t row = 0; row < t->rows; row++) {
        const uint8_t *image = t->values[0].values + row * PIXELS;
        for (size_t at = 0; at + sizeof filtered <= PIXELS; at += sizeof filtered) {
            memcpy(filtered, image + at, sizeof filtered);
            filtered[0][0] = filtered[1][0] = PAETH;
            if (!fr_png_unfilter_pair(rows, above, WIDTH, CHANNELS, out)) abort();
            memcpy(above, second, PITCH);
        }
    }
}

static void iterate(table *t) {
    fr_error err = {0};
    fr_reader reader = {.source = FR_SOURCE_FED, .options = {.verify = true}};
    check(fr_source_feed(&reader.source, (fr_span){t->frames.data, t->frames.size}, &err), &err);
    check(fr_source_feed(&reader.source, (fr_span){NULL, 0}, &err), &err);
    fr_record record;
    int status;
    size_t count = 0;
    while ((status = fr_reader_next(&reader, &record, &err)) != FR_END) {
        if (status == FR_AGAIN)
            status = fr_reader_fill(&reader, &err);
        else
            count++;
        check(status, &err);
    }
    fr_reader_close(&reader);
    if (count != t->rows) abort();
}

static int do_nothing(void *context, size_t member, size_t number, fr_error *err) {
    (void)context;
    (void)member;
    (void)number;
    (void)err;
    return FR_OK;
}

/* Claims, times and delivers one task for each row, as for a batch: the cost of a report beside
   that of parsing a batch. */
static void schedule(table *t) {
    fr_error err = {0};
    const fr_task_ring_options options = {.task = do_nothing, .count = t->rows, .depth = 1};
    fr_task_ring *ring;
    check(fr_task_ring_start(&options, &ring, &err), &err);
    size_t number;
    for (size_t row = 0; row < t->rows; row++)
        check(fr_task_ring_next(ring, 0, &number, &err), &err);
    fr_task_ring_free(ring);
}

/* What CIFAR-10's distorted_inputs does. */
static void distort(table *t) {
    fr_error err = {0};
    const fr_augment how = {32, 32, 3, 24, 24, true, true, 63, 0.2f, 1.8f, true, 1};
    const uint8_t *images = t->values[0].values;
    uint64_t *keys = zeroed(t->rows * sizeof *keys);
    float *out = zeroed((size_t)24 * 24 * 3 * sizeof *out);
    for (size_t row = 0; row < t->rows; row++) {
        keys[row] = row;
        check(fr_augment_floats(&how, images + row * PIXELS, &keys[row], 1, out, &err), &err);
    }
    free(keys);
    free(out);
}

static const struct {
    const char *name;
    void (*make)(table *);
    void (*run)(table *); /* NULL: encoding */
} loops[] = {
    {"parse-tabular", make_tabular, parse},
    {"parse-cifar", make_cifar, parse},
    {"parse-tokens", make_tokens, parse},
    {"parse-ragged", make_ragged_rows, parse},
    {"parse-sequences", make_steps, parse_sequences},
    {"parse-string-sequences", make_string_steps, parse_sequences},
    {"sparse-indices", make_ragged_rows, index_sparse},
    {"nested-indices", make_ragged_rows, index_nested},
    {"pad-ragged", make_ragged_rows, pad},
    {"join-cifar", make_cifar, join},
    {"unfilter-cifar", make_cifar, unfilter},
    {"unfilter-pairs", make_cifar, unfilter_pairs},
    {"iterate", make_tabular, iterate},
    {"schedule", make_tabular, schedule},
    {"encode-tabular", make_tabular, NULL},
    {"encode-tokens", make_tokens, NULL},
    {"encode-cifar", make_cifar, NULL},
    {"distort-cifar", make_cifar, distort},
};

/* Kept whole by the compiler, so that counting can begin and end with it. */
__attribute__((noinline)) void measured(table *t, void (*run)(table *), fr_buffer *out);

__attribute__((noinline)) void measured(table *t, void (*run)(table *), fr_buffer *out) {
    if (run)
        run(t);
    else
        encode(t, out);
}

int main(int argc, char **argv) {
    table *t = zeroed(sizeof *t);
    t->rows = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    for (size_t i = 0; argc > 2 && i < sizeof loops / sizeof *loops; i++) {
        if (strcmp(loops[i].name, argv[1]) != 0) continue;
        fr_error err = {0};
        loops[i].make(t);
        encode(t, &t->frames);
        size_t size = t->frames.size;
        if (!loops[i].run) { /* into room that is there already */
            t->frames.size = 0;
            check(fr_buffer_reserve(&t->frames, size, &err), &err);
        }
        measured(t, loops[i].run, &t->frames);
        if (t->frames.size != size) abort();
        printf("%zu\n", t->rows);
        return 0;
    }
    fprintf(stderr, "usage: guard LOOP RECORDS\n");
    return 2;
}
