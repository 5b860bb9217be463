/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of tar archives under libFuzzer. The first byte states the size of the pieces in which
 * the rest is fed: the samples, the fault and its position equal those of the whole. Checksums of
 * headers are corrected first, because a fuzzer does not guess them.
 */
#include "example/tar.h"
#include "format/frame.h"
#include "fuzz.h"

#define LIMIT 20000

static void correct_checksums(uint8_t *data, size_t size) {
    for (size_t at = 0; at + FR_TAR_BLOCK <= size; at += FR_TAR_BLOCK) {
        uint8_t *block = data + at;
        uint32_t sum = 0;
        if (memcmp(block + 257, "ustar", 5)) continue;
        memset(block + 148, ' ', 8);
        for (size_t i = 0; i < FR_TAR_BLOCK; i++)
            sum += block[i];
        char text[8];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(block + 148, text, 7);
    }
}

typedef struct {
    int status;
    int64_t offset;
    fr_buffer out;
    uint64_t resume; /* a position at which reading can start, */
    size_t after;    /* and the output before it */
} outcome;

static outcome read_archive(fr_span archive, size_t step, bool flush) {
    outcome found = {.offset = -1};
    fr_error err = {.offset = -1};
    fr_tar *tar;
    CHECK(fr_tar_new(&tar, LIMIT, NULL) == FR_OK);
    size_t fed = 0;
    do {
        const size_t size = archive.size - fed < step ? archive.size - fed : step;
        uint8_t *copy = malloc(size ? size : 1);
        CHECK(copy);
        if (size) memcpy(copy, archive.data + fed, size);
        fed += size;
        if (fed < archive.size / 2)
            found.resume = fr_tar_position(tar), found.after = found.out.size;
        found.status = fr_tar_feed(tar, (fr_span){copy, size}, fed == archive.size && !flush,
                                   &found.out, &err);
        free(copy);
    } while (found.status == FR_OK && fed < archive.size);
    if (flush && found.status == FR_OK) found.status = fr_tar_flush(tar, &found.out, &err);
    if (found.status != FR_OK) found.offset = err.offset;
    CHECK(fr_tar_position(tar) <= archive.size || found.status != FR_OK);
    fr_tar_free(tar);
    return found;
}

/* Every output is a sequence of whole frames. */
static void check_frames(fr_span window) {
    const fr_frame_options options = {.verify = true};
    fr_frame frame;
    int status;
    while ((status = fr_frame_next(window, true, &options, &frame, NULL)) == FR_OK)
        window = fr_span_after(window, frame.size);
    CHECK(status == FR_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    uint8_t *copy = malloc(size - 1);
    CHECK(copy);
    memcpy(copy, data + 1, size - 1);
    correct_checksums(copy, size - 1);
    const fr_span archive = {copy, size - 1};
    outcome whole = read_archive(archive, archive.size, false);
    outcome pieces = read_archive(archive, 1 + (size_t)data[0] * 7, false);
    CHECK(whole.status == pieces.status && whole.offset == pieces.offset);
    CHECK(whole.out.size == pieces.out.size);
    CHECK(!whole.out.size || !memcmp(whole.out.data, pieces.out.data, whole.out.size));
    check_frames((fr_span){whole.out.data, whole.out.size});
    /* A truncated member that is skipped ends after the archive. */
    if (pieces.resume > archive.size) pieces.resume = archive.size, pieces.after = whole.out.size;
    outcome rest = read_archive(fr_span_after(archive, (size_t)pieces.resume), archive.size, false);
    CHECK(rest.status == whole.status || pieces.resume == archive.size);
    CHECK(rest.out.size == whole.out.size - pieces.after);
    CHECK(!rest.out.size || !memcmp(rest.out.data, whole.out.data + pieces.after, rest.out.size));
    fr_buffer_free(&whole.out);
    fr_buffer_free(&pieces.out);
    fr_buffer_free(&rest.out);
    outcome cut = read_archive((fr_span){copy, archive.size / 1024 * 512}, archive.size, true);
    check_frames((fr_span){cut.out.data, cut.out.size});
    fr_buffer_free(&cut.out);
    free(copy);
    return 0;
}
