/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of Riegeli files: written and read around block headers, damaged, and with false headers;
   the sizes of records; programs of transposed chunks. */
#include "format/riegeli.h"

#include "format/riegeli_records.h"
#include "format/riegeli_transposed.h"
#include "test.h"

enum { BLOCK = 65536, HEADER = 40, MOST = 1 << 20, RECORDS = 4 };

/* The first chunk of each file, from the specification. */
static const uint8_t SIGNATURE[64] = {
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0,    0,    0,    0,    0,    0,    0,    0,
    0x40, 0,    0,    0,    0,    0,    0,    0,    0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9,
    0,    0,    0,    0,    0,    0,    0,    0,    0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72,
    0x73, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0};

typedef struct {
    fr_riegeli_chunk chunk;
    uint8_t *bytes;
    size_t size;
} written;

static written chunk_at(uint64_t begin, uint64_t records, fr_span data) {
    written made = {.chunk = {.begin = begin, .records = records, .size = 5, .kind = 'r'}};
    fr_riegeli_place(&made.chunk, data);
    made.size = (size_t)(made.chunk.end - begin);
    made.bytes = malloc(made.size);
    CHECK(made.bytes);
    fr_riegeli_write(&made.chunk, data, made.bytes);
    return made;
}

/* Reads one chunk from a copy of exactly these bytes. */
static int read_one(const uint8_t *bytes, size_t size, fr_riegeli_options options,
                    fr_riegeli_chunk *chunk, fr_span expected, fr_error *err) {
    uint8_t *copy = malloc(size ? size : 1);
    uint64_t wanted;
    size_t count;
    CHECK(copy);
    if (size) memcpy(copy, bytes, size);
    const int status = fr_riegeli_read(copy, size, &options, chunk, 1, &count, &wanted, err);
    CHECK((status == FR_OK) == (count == 1));
    CHECK(status != FR_AGAIN || wanted > size);
    if (status == FR_OK && !options.headers)
        CHECK(fr_span_equal((fr_span){copy + chunk->data, (size_t)chunk->data_size}, expected));
    free(copy);
    return status;
}

static void a_file_begins_with_the_signature(void) {
    fr_riegeli_chunk chunk = {.kind = 's'};
    uint8_t made[sizeof SIGNATURE];
    fr_riegeli_place(&chunk, (fr_span){NULL, 0});
    CHECK(chunk.end == sizeof made);
    fr_riegeli_write(&chunk, (fr_span){NULL, 0}, made);
    CHECK(!memcmp(made, SIGNATURE, sizeof made));
}

static void chunks_cross_blocks(void) {
    static uint8_t data[3 * BLOCK];
    fr_riegeli_chunk found;
    fr_error err;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    for (uint64_t begin = BLOCK - 70; begin <= BLOCK + 30; begin++) {
        if (begin % BLOCK && begin % BLOCK < 25) {
            const fr_riegeli_options within = {begin, begin + BLOCK, MOST, false};
            CHECK(read_one(data, 1000, within, &found, (fr_span){NULL, 0}, &err) == FR_ERR_CORRUPT);
            continue;
        }
        for (size_t size = 0; size < 40; size += 3) {
            const fr_span content = {data, size == 39 ? sizeof data : size};
            written made = chunk_at(begin, 1, content);
            const fr_riegeli_options options = {begin, made.chunk.end, MOST, false};
            CHECK(read_one(made.bytes, made.size, options, &found, content, &err) == FR_OK);
            CHECK(found.end == made.chunk.end && found.kind == 'r' && found.records == 1);
            CHECK(read_one(made.bytes, made.size - 1, options, &found, content, &err) == FR_AGAIN);
            const fr_riegeli_options cut = {begin, made.chunk.end - 1, MOST, false};
            CHECK(read_one(made.bytes, made.size - 1, cut, &found, content, &err) ==
                  FR_ERR_TRUNCATED);
            free(made.bytes);
        }
    }
}

static void every_flipped_bit_is_refused(void) {
    const fr_span content = {(const uint8_t *)"some bytes of records", 21};
    fr_riegeli_chunk found;
    fr_error err;
    for (uint64_t begin = BLOCK - 50; begin <= BLOCK; begin += 25) {
        written made = chunk_at(begin, 1, content);
        const fr_riegeli_options options = {begin, made.chunk.end + 1000, MOST, false};
        for (size_t bit = 0; bit < 8 * made.size; bit++) {
            made.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            CHECK(read_one(made.bytes, made.size, options, &found, content, &err) ==
                  FR_ERR_CORRUPT);
            made.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(made.bytes);
    }
}

static void false_headers_are_refused(void) {
    const struct {
        uint64_t data_size, records, size;
        int status;
    } cases[] = {
        {UINT64_MAX, 1, 3, FR_ERR_TRUNCATED},
        {INT64_MAX, 1, 3, FR_ERR_TRUNCATED},
        {3, UINT64_MAX >> 8, 3, FR_ERR_TRUNCATED},
        {3, 1, UINT64_MAX, FR_ERR_LIMIT},
        {3, 1, MOST + 1, FR_ERR_LIMIT},
        {3, 1, MOST, FR_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_riegeli_chunk found;
        fr_error err;
        written made = chunk_at(100, 1, (fr_span){(const uint8_t *)"abc", 3});
        fr_store_u64(made.bytes + 8, cases[i].data_size);
        fr_store_u64(made.bytes + 24, cases[i].records << 8 | 'r');
        fr_store_u64(made.bytes + 32, cases[i].size);
        fr_store_u64(made.bytes, fr_riegeli_hash((fr_span){made.bytes + 8, HEADER - 8}));
        const fr_riegeli_options options = {100, 1000, MOST, true};
        CHECK(read_one(made.bytes, made.size, options, &found, (fr_span){NULL, 0}, &err) ==
              cases[i].status);
        free(made.bytes);
    }
}

static void sizes_become_offsets(void) {
    const struct {
        const char *bytes;
        size_t size, count, stated;
        int status;
    } cases[] = {
        {"\x02\x00\x81\x01", 4, 3, 131, FR_OK},
        {"\x02\x00\x81\x01", 4, 3, 130, FR_ERR_CORRUPT},
        {"\x02\x00\x81\x01", 4, 3, 132, FR_ERR_CORRUPT},
        {"\x02\x00\x81\x01", 4, 2, 2, FR_ERR_CORRUPT},
        {"\x02\x00\x81", 3, 3, 131, FR_ERR_CORRUPT},
        {"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 2, 1, FR_ERR_CORRUPT},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 1, 1, FR_ERR_CORRUPT},
        {"", 0, 0, 0, FR_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t *offsets;
        fr_error err;
        const fr_span sizes = {(const uint8_t *)cases[i].bytes, cases[i].size};
        const int status =
            fr_riegeli_offsets(sizes, cases[i].count, cases[i].stated, &offsets, &err);
        CHECK_CASE(status == cases[i].status, "%zu", i);
        if (status == FR_OK && cases[i].count) CHECK(offsets[1] == 2 && offsets[3] == 131);
        free(offsets);
    }
}

static void frames_that_are_not_compressed_are_opened(void) {
    uint8_t stored[] = "\x02\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00.."; /* of two bytes */
    const fr_span all = {stored, sizeof stored - 1};
    fr_span content;
    size_t size;
    CHECK(fr_riegeli_open(FR_RIEGELI_ZSTD, all, 9, &content, &size, NULL) == FR_OK);
    CHECK(size == 2 && content.size == 2 && content.data == stored + 10);
    CHECK(fr_riegeli_open(FR_RIEGELI_ZSTD, all, 1, &content, &size, NULL) == FR_ERR_CORRUPT);
    stored[7] = 0x13; /* compressed */
    CHECK(fr_riegeli_open(FR_RIEGELI_ZSTD, all, 9, &content, &size, NULL) == FR_AGAIN);
    stored[6] = 3; /* bytes of content */
    CHECK(fr_riegeli_open(FR_RIEGELI_ZSTD, all, 9, &content, &size, NULL) == FR_ERR_CORRUPT);
    CHECK(fr_riegeli_open('s', all, 9, &content, &size, NULL) == FR_AGAIN);
    CHECK(fr_riegeli_open(0, all, 9, &content, &size, NULL) == FR_ERR_CORRUPT);
}

/* Two records of a message with a varint in field 1, and one that is no message. */
static void a_program_writes_records_from_the_end(void) {
    const uint8_t header[] = {
        3, 1,        /* sizes of the buffers: of values, and of lengths of records */
        4,           /* nodes */
        1, 8, 3, 14, /* tags: no message, field 1, a record begins, a message ends */
        1, 6, 1, 0,  /* next ones; node 1 leads to node 2 without a transition */
        0,           /* the subtype: one digit */
        0, 0,        /* the buffers of two nodes */
        0,           /* the first node */
    };
    const fr_span bucket = {(const uint8_t *)"x\x05\x07\x01", 4};
    const uint8_t transitions[] = {0, 0};
    uint8_t out[5];
    size_t offsets[RECORDS];
    fr_error err;
    const fr_riegeli_transposed chunk = {
        {header, sizeof header}, &bucket, 1, 2, {transitions, sizeof transitions}};
    CHECK(fr_riegeli_transposed_run(&chunk, 3, 5, out, offsets, &err) == FR_OK);
    CHECK(!memcmp(out, "\x08\x07\x08\x05x", 5));
    CHECK(offsets[0] == 0 && offsets[1] == 2 && offsets[2] == 4 && offsets[3] == 5);
    CHECK(fr_riegeli_transposed_run(&chunk, 3, 4, out, offsets, &err) == FR_ERR_CORRUPT);
    CHECK(fr_riegeli_transposed_run(&chunk, 2, 5, out, offsets, &err) == FR_ERR_CORRUPT);
    for (size_t size = 0; size < chunk.header.size; size++) {
        fr_riegeli_transposed cut = chunk;
        cut.header.size = size;
        CHECK(fr_riegeli_transposed_run(&cut, 3, 5, out, offsets, &err) == FR_ERR_CORRUPT);
    }
}

int main(void) {
    a_file_begins_with_the_signature();
    chunks_cross_blocks();
    every_flipped_bit_is_refused();
    false_headers_are_refused();
    sizes_become_offsets();
    frames_that_are_not_compressed_are_opened();
    a_program_writes_records_from_the_end();
    puts("riegeli: ok");
    return 0;
}
