/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing under libFuzzer. Checksums would keep a fuzzer from getting anywhere, so a mutator of our
 * own puts most of them right again.
 *
 * The first byte says how: bit 0 checks data, bit 1 takes the rest as records to be written,
 * damaged and read back; the second is how many bytes a read gives at once.
 */
#include "files/index.h"
#include "files/reader.h"
#include "fuzz.h"

#define PREFIX 2
#define SMALLEST_FEED 1

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ---- Reading -------------------------------------------------------------------------------- */

typedef struct {
    fr_span input;
    size_t fed, feed;
    uint64_t seen; /* every byte up to here was given as a record or reported as skipped */
    size_t count;
    bool verify;
} walk;

static void feed(fr_reader *reader, walk *w) {
    size_t left = w->input.size - w->fed, size = left < w->feed ? left : w->feed;
    fr_span piece = {w->input.data + w->fed, size};
    CHECK(fr_source_feed(&reader->source, piece, NULL) == FR_OK);
    w->fed += size;
}

/* What is given stands in the input, behind a header and before a checksum that are right. */
static void check_record(walk *w, const fr_record *record) {
    uint64_t length;
    CHECK(record->offset == w->seen);
    const uint8_t *frame = w->input.data + record->offset;
    CHECK(fr_frame_header(frame, &length) && length == record->data.size);
    CHECK(memcmp(frame + FR_HEADER_SIZE, record->data.data, record->data.size) == 0);
    uint32_t stored = fr_load_u32(frame + FR_HEADER_SIZE + length);
    CHECK(!w->verify || fr_crc_mask(fr_crc32c(record->data.data, length)) == stored);
    w->seen += length + FR_FRAME_OVERHEAD;
    w->count++;
}

static void skip(fr_reader *reader, walk *w) {
    fr_skipped skipped;
    int status;
    while ((status = fr_reader_skip(reader, &skipped, NULL)) == FR_AGAIN) {
        CHECK(fr_reader_fill(reader, NULL) == FR_AGAIN);
        feed(reader, w);
    }
    CHECK(status == FR_OK);
    CHECK(skipped.begin == w->seen && skipped.end > skipped.begin);
    w->seen = skipped.end;
}

static void read_all(walk *w, void (*each)(void *, const fr_record *), void *context) {
    fr_reader reader = {.source = FR_SOURCE_FED, .options = {.verify = w->verify}};
    fr_record record;
    fr_error err;
    for (;;) {
        int status = fr_reader_next(&reader, &record, &err);
        if (status == FR_END) break;
        if (status == FR_OK) {
            check_record(w, &record);
            if (each) each(context, &record);
        } else if (status == FR_AGAIN) {
            if (fr_reader_fill(&reader, &err) == FR_AGAIN) feed(&reader, w);
        } else {
            CHECK(fr_reader_next(&reader, &record, NULL) == status);
            skip(&reader, w);
        }
    }
    CHECK(w->seen == w->input.size);
    fr_reader_close(&reader);
}

static void read_hostile(fr_span input, bool verify, size_t at_once) {
    walk pieces = {.input = input, .feed = at_once, .verify = verify};
    read_all(&pieces, NULL, NULL);
    walk whole = {.input = input, .feed = input.size ? input.size : 1, .verify = verify};
    read_all(&whole, NULL, NULL);

    fr_index index = {0};
    fr_file_stamp stamp;
    fr_frame_options options = {.verify = verify};
    if (fr_index_scan(&index, &(fr_index_file){input, -1}, &options, UINT64_MAX, NULL) == FR_OK)
        CHECK(index.end == input.size); /* searching inside a torn frame may find more, or fewer */
    fr_index_free(&index);
    if (fr_index_load(&index, input, &stamp, NULL) == FR_OK)
        CHECK(fr_index_offset(&index, index.count) == stamp.size);
    fr_index_free(&index);
}

/* ---- Writing, damaging, reading back -------------------------------------------------------- */

typedef struct {
    fr_span originals;
    size_t at;
} written;

/* Each record that comes back is one that was written, further on than the last. */
static void check_written(void *context, const fr_record *record) {
    written *w = context;
    for (;;) {
        CHECK(w->at < w->originals.size);
        const uint8_t *frame = w->originals.data + w->at;
        size_t length = (size_t)fr_load_u64(frame);
        w->at += length + FR_FRAME_OVERHEAD;
        if (length == record->data.size &&
            memcmp(frame + FR_HEADER_SIZE, record->data.data, length) == 0)
            return;
    }
}

static void write_and_damage(fr_span input, size_t at_once) {
    uint8_t frames[1 << 14], damaged[1 << 14];
    size_t size = 0, changes = input.size ? input.data[0] % 8 : 0;
    fr_span rest = input;
    while (rest.size > 3 * changes + 1) {
        size_t length = rest.data[0] % 64;
        if (length > rest.size - 1 || sizeof frames - size < 64 + FR_FRAME_OVERHEAD) break;
        uint8_t record[64];
        for (size_t i = 0; i < length; i++)
            record[i] = rest.data[1 + i] | 1; /* and so there is no header inside */
        fr_frame_put(frames + size, (fr_span){record, length});
        size += length + FR_FRAME_OVERHEAD;
        rest = fr_span_after(rest, length + 1);
    }
    memcpy(damaged, frames, size);
    for (; size && rest.size >= 3; rest = fr_span_after(rest, 3))
        damaged[(rest.data[0] | rest.data[1] << 8) % size] ^= rest.data[2];
    walk w = {.input = {damaged, size}, .feed = at_once, .verify = true};
    written originals = {{frames, size}, 0};
    read_all(&w, check_written, &originals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < PREFIX) return 0;
    fr_span input = {data + PREFIX, size - PREFIX};
    size_t at_once = (size_t)data[1] + SMALLEST_FEED;
    if (data[0] & 2)
        write_and_damage(input, at_once);
    else
        read_hostile(input, data[0] & 1, at_once);
    return 0;
}

/* ---- The mutator ---------------------------------------------------------------------------- */

#if !defined(FUZZ_STANDALONE)

/* Goes from frame to frame as far as lengths can be made to fit, and mends most checksums. */
static void mend(uint8_t *p, size_t size, uint64_t *seed) {
    while (size >= FR_FRAME_OVERHEAD) {
        uint64_t chance = test_random(seed), length = fr_load_u64(p);
        if (length > size - FR_FRAME_OVERHEAD && chance % 4) length = chance % 64;
        if (chance % 16) fr_frame_put_header(p, length);
        if (length > size - FR_FRAME_OVERHEAD) return;
        uint32_t crc = fr_crc32c(p + FR_HEADER_SIZE, (size_t)length);
        if (chance % 32 > 1) fr_store_u32(p + FR_HEADER_SIZE + length, fr_crc_mask(crc));
        p += length + FR_FRAME_OVERHEAD;
        size -= (size_t)length + FR_FRAME_OVERHEAD;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    uint64_t random = seed;
    size = LLVMFuzzerMutate(data, size, max_size);
    if (size > PREFIX && seed % 8) mend(data + PREFIX, size - PREFIX, &random);
    return size;
}

#endif
