/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of Riegeli files under libFuzzer. The first byte chooses what the others are: the
 * header of a chunk, whose checksum is corrected; a chunk that is written, read and damaged; the
 * sizes of records; or a transposed chunk without compression.
 */
#include "format/riegeli.h"
#include "format/riegeli_records.h"
#include "format/riegeli_transposed.h"
#include "fuzz.h"

#define HEADER 40
#define MOST 100000 /* records, and their bytes */

static uint8_t *copy_of(fr_span data) {
    uint8_t *copy = malloc(data.size ? data.size : 1);
    CHECK(copy);
    if (data.size) memcpy(copy, data.data, data.size);
    return copy;
}

static void check_chunks(const fr_riegeli_chunk *chunks, size_t count, size_t size,
                         uint64_t begin) {
    for (size_t i = 0; i < count; i++) {
        CHECK(chunks[i].begin == begin && chunks[i].end >= begin + HEADER);
        CHECK(chunks[i].data <= size && chunks[i].data_size <= size - chunks[i].data);
        begin = chunks[i].end;
    }
}

static void read_header(fr_span data) {
    enum { CHUNKS = 4 };
    fr_riegeli_chunk chunks[CHUNKS];
    size_t count;
    uint64_t wanted;
    if (data.size < HEADER + 2) return;
    const uint64_t begin = 1 + (uint64_t)data.data[0] * 300 + data.data[1];
    const fr_riegeli_options options = {begin, begin + data.size - 2, MOST, data.data[0] & 1};
    uint8_t *window = copy_of(fr_span_after(data, 2));
    fr_store_u64(window, fr_riegeli_hash((fr_span){window + 8, HEADER - 8}));
    const int status =
        fr_riegeli_read(window, data.size - 2, &options, chunks, CHUNKS, &count, &wanted, NULL);
    CHECK(status != FR_AGAIN || wanted > data.size - 2 || count);
    if (!options.headers) check_chunks(chunks, count, data.size - 2, begin);
    free(window);
}

static void write_and_read(fr_span data) {
    fr_riegeli_chunk chunk = {.kind = 'r'}, found;
    size_t count;
    uint64_t wanted;
    if (data.size < 6) return;
    const uint8_t *const choice = data.data;
    chunk.begin = 65536 - 200 + (uint64_t)choice[0] + choice[1];
    if (chunk.begin % 65536 && chunk.begin % 65536 <= 24) return; /* in a block header */
    chunk.records = (uint64_t)choice[2] << 9;
    const size_t flipped = (size_t)choice[3] << 8 | choice[4];
    data = fr_span_after(data, 6);
    chunk.size = data.size;
    fr_riegeli_place(&chunk, data);
    const size_t size = (size_t)(chunk.end - chunk.begin);
    uint8_t *window = malloc(size);
    CHECK(window);
    const fr_riegeli_options options = {chunk.begin, chunk.end, MOST + (1 << 18), false};
    fr_riegeli_write(&chunk, data, window);
    CHECK(fr_riegeli_read(window, size, &options, &found, 1, &count, &wanted, NULL) == FR_OK);
    CHECK(count == 1 && found.end == chunk.end && found.records == chunk.records);
    CHECK(fr_span_equal(data, (fr_span){window + found.data, (size_t)found.data_size}));
    fr_riegeli_write(&chunk, data, window);
    /* What follows the data is not covered by a checksum. */
    if (!chunk.records && flipped < size) {
        window[flipped] ^= (uint8_t)(1 << (choice[5] & 7));
        CHECK(fr_riegeli_read(window, size, &options, &found, 1, &count, &wanted, NULL) < 0);
        CHECK(count == 0);
    }
    free(window);
}

static void read_sizes(fr_span data) {
    size_t *offsets, size;
    fr_span content;
    if (data.size < 3) return;
    const uint8_t compression = data.data[0] & 1 ? FR_RIEGELI_ZSTD : 0;
    const uint64_t count = data.data[1];
    const size_t stated = data.data[2];
    const int status =
        fr_riegeli_open(compression, fr_span_after(data, 3), MOST, &content, &size, NULL);
    if (status < 0) return;
    CHECK(size <= MOST && (status == FR_AGAIN || size == content.size));
    if (fr_riegeli_offsets(content, count, stated, &offsets, NULL) != FR_OK) return;
    CHECK(offsets[0] == 0 && offsets[count] == stated);
    for (size_t i = 0; i < count; i++)
        CHECK(offsets[i] <= offsets[i + 1]);
    free(offsets);
}

static void run_transposed(fr_span data) {
    enum { BUCKETS = 64 };
    fr_span buckets[BUCKETS];
    fr_riegeli_transposed chunk = {.buckets = buckets};
    uint64_t count, size, value;
    const bool is_whole =
        fr_riegeli_number(&data, 1000, "", &count, NULL) == FR_OK &&
        fr_riegeli_number(&data, MOST, "", &size, NULL) == FR_OK &&
        fr_riegeli_number(&data, MOST, "", &value, NULL) == FR_OK &&
        fr_riegeli_take(&data, value, "", &chunk.header, NULL) == FR_OK &&
        fr_riegeli_number(&chunk.header, BUCKETS, "", &value, NULL) == FR_OK &&
        fr_riegeli_number(&chunk.header, chunk.header.size, "", &chunk.buffer_count, NULL) == FR_OK;
    if (!is_whole) return;
    for (chunk.bucket_count = 0; chunk.bucket_count < value; chunk.bucket_count++) {
        uint64_t bucket;
        if (fr_riegeli_number(&chunk.header, MOST, "", &bucket, NULL) != FR_OK ||
            fr_riegeli_take(&data, bucket, "", &buckets[chunk.bucket_count], NULL) != FR_OK)
            return;
    }
    chunk.transitions = data;
    uint8_t *out = malloc((size_t)size + 1);
    size_t *offsets = malloc(((size_t)count + 1) * sizeof *offsets);
    CHECK(out && offsets);
    memset(out, 0, (size_t)size + 1);
    const int status =
        fr_riegeli_transposed_run(&chunk, (size_t)count, (size_t)size, out, offsets, NULL);
    if (status == FR_OK) {
        CHECK(offsets[0] == 0 && offsets[count] == size);
        for (size_t i = 0; i < count; i++)
            CHECK(offsets[i] <= offsets[i + 1]);
    }
    free(out);
    free(offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const ways[])(fr_span) = {read_header, write_and_read, read_sizes,
                                            run_transposed};
    if (!size) return 0;
    ways[data[0] & 3]((fr_span){data + 1, size - 1});
    return 0;
}
