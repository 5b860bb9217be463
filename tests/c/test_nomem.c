/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped: malloc calloc realloc aligned_alloc posix_memalign strdup free pthread_create */
/*
 * Each job is done again and again: the first time the first allocation fails, then the second,
 * until the job needs none that fails. Every time but the last it says FR_ERR_NOMEM, and always it
 * leaves nothing behind. The Makefile hands the names above to the linker's --wrap.
 */
#include <stdatomic.h>

#include "batch/loader.h"
#include "example/encode.h"
#include "files/writer.h"
#include "image/augment.h"
#include "test.h"

#if defined(__linux__)

#include <errno.h>
#include <limits.h>
#include <pthread.h>

static atomic_long countdown = -1; /* allocations until one fails; below 0: none does */
static atomic_long live;           /* blocks allocated and not yet freed */
static int threads_allowed = INT_MAX;

static bool fails(void) {
    return atomic_fetch_sub(&countdown, 1) == 0;
}

static void *counted(void *block) {
    if (block) atomic_fetch_add(&live, 1);
    return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *block);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__real_calloc(count, size));
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size) {
    if (fails()) return ENOMEM;
    int status = __real_posix_memalign(block, alignment, size);
    if (status == 0) counted(*block);
    return status;
}

char *__wrap_strdup(const char *s) {
    return fails() ? NULL : counted(__real_strdup(s));
}

/* The library has no use for these; who gives it one has to count here too. */
void *__wrap_realloc(void *block, size_t size) {
    (void)block, (void)size;
    abort();
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    (void)alignment, (void)size;
    abort();
}

void __wrap_free(void *block) {
    if (block) atomic_fetch_sub(&live, 1);
    __real_free(block);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument) {
    if (threads_allowed == 0) return EAGAIN;
    threads_allowed--;
    return __real_pthread_create(thread, attributes, run, argument);
}

static char path[64];
static const char *const paths[] = {path};
static const fr_frame_options verified = {.verify = true};

static fr_span text(const char *s) {
    return (fr_span){(const uint8_t *)s, strlen(s)};
}

static int write_records(fr_writer *w) {
    static uint8_t big[3000000];
    const fr_writer_options options = {.no_sync = true};
    FR_TRY(fr_writer_open(w, path, &options, NULL));
    FR_TRY(fr_writer_record(w, text("small"), NULL));
    FR_TRY(fr_writer_record(w, (fr_span){big, sizeof big}, NULL));
    return fr_writer_close(w, NULL);
}

static int writing(void) {
    fr_writer w = {0};
    int status = write_records(&w);
    fr_writer_abort(&w);
    fr_writer_abort(&w);
    return status;
}

/* Seventy features of five integers in ROWS rows. */
enum { FEATURES = 70, ROWS = 300 };

static int encode_into(fr_buffer *frames, fr_buffer *offsets) {
    static int64_t numbers[ROWS * 5];
    static char keys[FEATURES][12];
    fr_value values[FEATURES];
    for (int i = 0; i < FEATURES; i++) {
        snprintf(keys[i], sizeof keys[i], "%02d", i);
        values[i] = (fr_value){.key = text(keys[i]),
                               .kind = FR_KIND_INT64,
                               .dtype = FR_INT64,
                               .values = (const uint8_t *)numbers,
                               .count = 5};
    }
    FR_TRY(fr_encode_sort(values, FEATURES, NULL));
    return fr_encode_rows(values, FEATURES, (fr_rows){0, ROWS, 1}, true, frames, offsets, NULL);
}

static int encoding(void) {
    fr_buffer frames = {0}, offsets = {0};
    int status = encode_into(&frames, &offsets);
    CHECK(status == FR_OK || (frames.size == 0 && offsets.size == 0));
    fr_buffer_free(&frames);
    fr_buffer_free(&offsets);
    return status;
}

/* Feature "00" as it is, "01" with any number of elements, "zz" with a fallback, "b" of bytes. */
static int make_schema(fr_schema *schema) {
    static const uint8_t fallback[] = {0x0a, 0x03, 0x0a, 0x01, 'x'};
    const fr_feature features[] = {
        {.key = text("00"), .kind = FR_KIND_INT64, .dtype = FR_INT64, .count = 5},
        {.key = text("01"), .kind = FR_KIND_INT64, .dtype = FR_INT8, .ragged = true},
        {.key = text("zz"),
         .kind = FR_KIND_BYTES,
         .dtype = FR_BYTES,
         .count = 1,
         .fallback = {fallback, sizeof fallback}},
        {.key = text("b"), .kind = FR_KIND_BYTES, .dtype = FR_BYTES, .ragged = true},
    };
    return fr_schema_init(schema, features, 4, NULL);
}

/* An Example whose feature "01" comes twice in its entry, each time with another part. */
static const uint8_t pieces[] = {
    0x0a, 0x2b, 0x0a, 0x0f, 0x0a, 0x02, '0',  '0',  0x12, 0x09, 0x1a, 0x07, 0x0a, 0x05, 1,
    2,    3,    4,    5,    0x0a, 0x18, 0x0a, 0x02, '0',  '1',  0x12, 0x07, 0x1a, 0x05, 0x0a,
    0x03, 1,    2,    3,    0x12, 0x09, 0x1a, 0x02, 0x08, 0x04, 0x1a, 0x03, 0x0a, 0x01, 5};

static int parse_with(fr_schema *schema, fr_parser *parser, fr_columns *columns) {
    FR_TRY(make_schema(schema));
    FR_TRY(fr_parser_init(parser, schema, NULL));
    for (int round = 0; round < 2; round++) {
        FR_TRY(fr_columns_begin(columns, schema, 400, NULL));
        for (int i = 0; i < 400; i++)
            FR_TRY(fr_parse_row(parser, (fr_span){pieces, sizeof pieces}, columns, NULL));
    }
    CHECK(columns->columns[1].values.size == 400 * 5);
    return FR_OK;
}

static int parsing(void) {
    fr_schema schema = {0};
    fr_parser parser = {0};
    fr_columns columns = {0};
    int status = parse_with(&schema, &parser, &columns);
    for (int twice = 0; twice < 2; twice++) {
        fr_columns_free(&columns);
        fr_parser_free(&parser);
        fr_schema_free(&schema);
    }
    return status;
}

/* What the file holds comes in by small bites, and goes out in one block. */
static int read_all(fr_reader *reader, fr_buffer *data, fr_buffer *offsets) {
    static uint8_t frames[300 * 116];
    static const uint8_t record[100];
    for (int i = 0; i < 300; i++)
        fr_frame_put(frames + i * 116, (fr_span){record, 100});
    size_t taken, fed = 0;
    for (;;) {
        int status = fr_reader_take(reader, 1000, SIZE_MAX, data, offsets, &taken, NULL);
        if (status == FR_END) return FR_OK;
        if (status < 0) return status;
        if (status == FR_OK) continue;
        status = fr_reader_fill(reader, NULL);
        if (status < 0) return status;
        size_t bite = sizeof frames - fed < 4000 ? sizeof frames - fed : 4000;
        if (status == FR_AGAIN)
            FR_TRY(fr_source_feed(&reader->source, (fr_span){frames + fed, bite}, NULL));
        if (status == FR_AGAIN) fed += bite;
    }
}

static int reading(void) {
    fr_reader reader = {.options = {.verify = true}};
    fr_buffer data = {0}, offsets = {0};
    int status = read_all(&reader, &data, &offsets);
    CHECK(status != FR_OK || (reader.count == 300 && data.size == 30000));
    for (int twice = 0; twice < 2; twice++) {
        fr_reader_close(&reader);
        fr_buffer_free(&data);
        fr_buffer_free(&offsets);
    }
    return status;
}

static int open_dataset(fr_dataset *dataset) {
    FR_TRY(fr_dataset_open(dataset, paths, 1, &verified, NULL));
    return fr_dataset_scan(dataset, UINT64_MAX, NULL);
}

static int opening(void) {
    fr_dataset dataset = {0};
    int status = open_dataset(&dataset);
    CHECK(status != FR_OK || dataset.count == ROWS);
    fr_dataset_close(&dataset);
    fr_dataset_close(&dataset);
    return status;
}

static int take_all(fr_loader *loader, fr_pool *pool) {
    fr_columns *batch;
    fr_error err;
    int status;
    while ((status = fr_loader_next(loader, 1000, &batch, &err)) == FR_OK || status == FR_AGAIN)
        if (status == FR_OK) fr_pool_give(pool, batch);
    return status == FR_END ? FR_OK : status;
}

static fr_shuffle shuffle = FR_SHUFFLE_RECORDS;

static int load(const fr_dataset *dataset, fr_schema *schema, fr_pool **pool) {
    FR_TRY(make_schema(schema));
    FR_TRY(fr_pool_new(schema, 2, pool, NULL));
    /* One block is large enough, and one is not: it is let go of. */
    static _Alignas(FR_ALIGNMENT) uint8_t lent[2][30 * 5 * 8 + FR_ALIGNMENT];
    size_t size;
    FR_TRY(fr_columns_dense_size(fr_pool_schema(*pool), 30, &size, NULL));
    CHECK(size < sizeof lent[0]);
    FR_TRY(fr_pool_lend(*pool, lent[0], sizeof lent[0], NULL));
    FR_TRY(fr_pool_lend(*pool, lent[1], 64, NULL));
    const fr_order order = {.count = ROWS,
                            .shuffle = shuffle,
                            .epochs = 2,
                            .shard_count = 1,
                            .batch_size = 30,
                            .block = 10,
                            .window = 3,
                            .buffer = 20};
    const fr_loader_options options = {dataset, *pool, order, 3, 4, 0, true};
    fr_loader *loader = NULL;
    FR_TRY(fr_loader_start(&options, &loader, NULL));
    int status = take_all(loader, *pool);
    fr_loader_free(loader);
    return status;
}

static int loading(void) {
    fr_dataset dataset = {0};
    fr_schema schema = {0};
    fr_pool *pool = NULL;
    int status = open_dataset(&dataset);
    if (status == FR_OK) status = load(&dataset, &schema, &pool);
    CHECK(!pool || fr_pool_taken(pool) == 0);
    fr_pool_release(pool);
    fr_schema_free(&schema);
    fr_dataset_close(&dataset);
    return status;
}

static int augmenting(void) {
    static const fr_augment augment = {8, 8, 3, 6, 6, true, true, 1, 1, 2, true, 7};
    static const uint8_t images[2 * 8 * 8 * 3];
    static const uint64_t keys[2] = {1, 2};
    float out[2 * 6 * 6 * 3];
    return fr_augment_floats(&augment, images, keys, 2, out, NULL);
}

static int telling_passes(void) {
    static const fr_mix_part parts[] = {{0, 40, 2}, {40, 10, 1}};
    const fr_order order = {.count = 50,
                            .epochs = 2,
                            .shard_count = 1,
                            .batch_size = 30,
                            .parts = parts,
                            .part_count = 2,
                            .mixed = fr_order_mixed_size(parts, 2, true)};
    fr_slice slice;
    uint64_t passes[30];
    CHECK(fr_order_slice(&order, 1, &slice) == FR_OK);
    int status = fr_sampler_passes(&order, &slice, passes, NULL);
    CHECK(status != FR_OK || passes[29] <= 2);
    return status;
}

static void every_allocation_may_fail(const char *name, int (*job)(void)) {
    int status = job(); /* what is kept for good is made here */
    CHECK_CASE(status == FR_OK, "%s: %d", name, status);
    long before = live;
    for (long nth = 0;; nth++) {
        countdown = nth;
        status = job();
        bool failed = countdown < 0;
        countdown = -1;
        CHECK_CASE(live == before, "%s left %ld blocks at %ld", name, live - before, nth);
        CHECK_CASE(status == (failed ? FR_ERR_NOMEM : FR_OK), "%s at %ld: %d", name, nth, status);
        if (!failed) {
            CHECK_CASE(nth > 0, "%s allocates nothing", name);
            break;
        }
    }
}

/* With fewer threads, or none, the same batches come. */
static void every_thread_may_fail_to_start(void) {
    for (threads_allowed = 0; threads_allowed < 3;) {
        int allowed = threads_allowed;
        long before = live;
        CHECK(loading() == FR_OK && live == before);
        threads_allowed = allowed + 1;
    }
    threads_allowed = INT_MAX;
    CHECK(loading() == FR_OK);
}

static void make_file(void) {
    fr_buffer frames = {0};
    snprintf(path, sizeof path, TEST_FOLDER "/test_nomem.%ld", (long)getpid());
    CHECK(encode_into(&frames, NULL) == FR_OK);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(frames.data, 1, frames.size, f) == frames.size && fclose(f) == 0);
    fr_buffer_free(&frames);
}

int main(void) {
    make_file();
    every_allocation_may_fail("encoding", encoding);
    every_allocation_may_fail("parsing", parsing);
    every_allocation_may_fail("reading", reading);
    every_allocation_may_fail("opening", opening);
    every_allocation_may_fail("loading", loading);
    shuffle = FR_SHUFFLE_BLOCKS;
    every_allocation_may_fail("loading blocks", loading);
    shuffle = FR_SHUFFLE_BUFFER;
    every_allocation_may_fail("loading through a buffer", loading);
    every_thread_may_fail_to_start();
    every_allocation_may_fail("augmenting", augmenting);
    every_allocation_may_fail("telling passes", telling_passes);
    every_allocation_may_fail("writing", writing);
    CHECK(unlink(path) == 0);
    printf("nomem: ok\n");
    return 0;
}

#else

int main(void) {
    printf("nomem: skipped, the linker has no --wrap\n");
    return 0;
}

#endif
