/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk through deflate streams under libFuzzer: the first byte says into what pieces the rest
 * is cut, and these have the verdict, the output and the blocks of the whole.
 */
#include "format/deflate.h"
#include "fuzz.h"

typedef struct {
    int status;
    uint64_t bits, output, marks;
} outcome;

static outcome walk(fr_span stream, size_t step) {
    fr_deflate deflate = {.stop = 64, .every = 64};
    outcome found = {.status = FR_AGAIN};
    for (size_t fed = 0; found.status == FR_AGAIN || found.status == FR_OK;) {
        if (found.status == FR_AGAIN) fed = stream.size - fed <= step ? stream.size : fed + step;
        const size_t begin = (size_t)(deflate.bits / 8);
        CHECK(begin <= fed);
        uint8_t *copy = malloc(fed - begin + 1);
        CHECK(copy);
        memcpy(copy, stream.data + begin, fed - begin);
        fr_span input = {copy, fed - begin};
        found.status = fr_deflate_walk(&deflate, input, fed == stream.size, NULL);
        free(copy);
        if (found.status == FR_OK) found.marks += deflate.bits * 31 + deflate.output;
        CHECK(found.status != FR_AGAIN || fed < stream.size);
    }
    found.bits = deflate.bits;
    found.output = deflate.output;
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const fr_span stream = {data + 1, size - 1};
    const outcome whole = walk(stream, stream.size);
    const outcome pieces = walk(stream, 1 + (size_t)data[0] * 8);
    CHECK((whole.status < 0) == (pieces.status < 0));
    if (whole.status == FR_END) {
        CHECK(whole.bits <= (uint64_t)stream.size * 8);
        CHECK(pieces.bits == whole.bits && pieces.output == whole.output);
        CHECK(pieces.marks == whole.marks);
    }
    return 0;
}
