/* SPDX-License-Identifier: Apache-2.0 */
#include "format/riegeli.h"

#include <inttypes.h>

#include "format/highway.h"

#define BLOCK 65536
#define BLOCK_HEADER 24 /* checksum, bytes since the chunk's begin, bytes to its end */
#define USABLE (BLOCK - BLOCK_HEADER)
#define HEADER 40 /* checksum, size and checksum of the data, type and count, bytes of records */
#define HASH 8    /* bytes of a checksum, which comes first in a header */

/* "Riegeli/" and "records\n", twice. */
static const uint64_t KEY[4] = {UINT64_C(0x2f696c6567656952), UINT64_C(0x0a7364726f636572),
                                UINT64_C(0x2f696c6567656952), UINT64_C(0x0a7364726f636572)};

uint64_t fr_riegeli_hash(fr_span data) {
    return fr_highway64(KEY, data);
}

static uint64_t to_boundary(uint64_t at) {
    return (BLOCK - at % BLOCK) % BLOCK;
}

/* Returns the position after `size` bytes of content, between which are block headers. */
static uint64_t after(uint64_t begin, uint64_t size) {
    return begin + size + (size + (begin + USABLE - 1) % BLOCK) / USABLE * BLOCK_HEADER;
}

/* Returns where a chunk ends, which has at least a byte for each record. */
static uint64_t end_of(uint64_t begin, uint64_t data_size, uint64_t records) {
    const uint64_t end = after(begin, HEADER + data_size);
    uint64_t least = begin + records; /* not within nor right after a block header */
    if (to_boundary(least) >= USABLE) least += to_boundary(least) - (USABLE - 1);
    return end > least ? end : least;
}

/* Returns the position of the next byte of content. */
static uint64_t content_at(uint64_t at) {
    return at % BLOCK ? at : at + BLOCK_HEADER;
}

/* Copies content that begins at position `*at` to `out`, which may overlap it from below, and moves
   on. `window` has the bytes of the file from `begin` on. */
static void gather(const uint8_t *window, uint64_t begin, uint64_t *at, size_t size, uint8_t *out) {
    while (size) {
        *at = content_at(*at);
        const uint64_t room = BLOCK - *at % BLOCK;
        const size_t part = size < room ? size : (size_t)room;
        const uint8_t *from = window + (*at - begin);
        if (from != out) memmove(out, from, part);
        out += part, size -= part, *at += part;
    }
}

static int read_header(fr_span window, const fr_riegeli_options *options, fr_riegeli_chunk *chunk,
                       uint64_t *wanted, fr_error *err) {
    const uint64_t begin = chunk->begin, rest = options->file_size - begin;
    uint8_t header[HEADER];
    uint64_t at = begin;
    if (begin % BLOCK && begin % BLOCK <= BLOCK_HEADER)
        return fr_fail(err, FR_ERR_CORRUPT, "a chunk cannot begin within a block header");
    *wanted = after(begin, HEADER) - begin;
    if (*wanted > rest) return fr_fail(err, FR_ERR_TRUNCATED, "a chunk's header is cut off");
    if (*wanted > window.size) return FR_AGAIN;
    gather(window.data, begin, &at, HEADER, header);
    if (fr_riegeli_hash((fr_span){header + HASH, HEADER - HASH}) != fr_load_u64(header))
        return fr_fail(err, FR_ERR_CORRUPT, "a chunk's header has a wrong checksum");
    chunk->data_size = fr_load_u64(header + 8);
    chunk->data_hash = fr_load_u64(header + 16);
    chunk->kind = header[24];
    chunk->records = fr_load_u64(header + 24) >> 8;
    chunk->size = fr_load_u64(header + 32);
    if (chunk->data_size > rest || chunk->records > rest)
        return fr_fail(err, FR_ERR_TRUNCATED,
                       "a chunk has %" PRIu64 " bytes and %" PRIu64 " records, and %" PRIu64
                       " bytes follow",
                       chunk->data_size, chunk->records, rest);
    chunk->end = end_of(begin, chunk->data_size, chunk->records);
    if (chunk->end > options->file_size)
        return fr_fail(err, FR_ERR_TRUNCATED,
                       "a chunk ends at %" PRIu64 ", and the file has %" PRIu64 " bytes",
                       chunk->end, options->file_size);
    const uint64_t raw = chunk->end - begin, most = raw > chunk->size ? raw : chunk->size;
    if (most > options->most)
        return fr_fail(err, FR_ERR_LIMIT,
                       "a chunk takes %" PRIu64 " bytes of memory, more than the limit of %" PRIu64,
                       most, options->most);
    *wanted = raw;
    return FR_OK;
}

static void put_block_header(const fr_riegeli_chunk *chunk, uint64_t at, uint8_t *out) {
    fr_store_u64(out + HASH, at - chunk->begin);
    fr_store_u64(out + 2 * HASH, chunk->end - at);
    fr_store_u64(out, fr_riegeli_hash((fr_span){out + HASH, BLOCK_HEADER - HASH}));
}

/* Compares the checksums of a whole chunk, and moves its data into one piece. */
static int join(uint8_t *raw, fr_riegeli_chunk *chunk, fr_error *err) {
    const uint64_t begin = chunk->begin;
    for (uint64_t at = begin + to_boundary(begin); at < chunk->end; at += BLOCK) {
        uint8_t expected[BLOCK_HEADER];
        const size_t size = chunk->end - at < BLOCK_HEADER ? chunk->end - at : BLOCK_HEADER;
        put_block_header(chunk, at, expected);
        if (memcmp(raw + (at - begin), expected, size) || size < BLOCK_HEADER)
            return fr_fail(err, FR_ERR_CORRUPT, "the block header at %" PRIu64 " is wrong", at);
    }
    uint64_t at = after(begin, HEADER);
    chunk->data = chunk->data_size ? (size_t)(content_at(at) - begin) : 0;
    gather(raw, begin, &at, (size_t)chunk->data_size, raw + chunk->data);
    if (fr_riegeli_hash((fr_span){raw + chunk->data, (size_t)chunk->data_size}) != chunk->data_hash)
        return fr_fail(err, FR_ERR_CORRUPT, "a chunk's data has a wrong checksum");
    return FR_OK;
}

int fr_riegeli_read(uint8_t *window, size_t size, const fr_riegeli_options *options,
                    fr_riegeli_chunk *chunks, size_t most, size_t *count, uint64_t *wanted,
                    fr_error *err) {
    size_t at = 0; /* where the next chunk begins in the window */
    *count = 0;
    *wanted = 0;
    while (*count < most && options->begin + at < options->file_size) {
        fr_riegeli_chunk *chunk = chunks + *count;
        *chunk = (fr_riegeli_chunk){.begin = options->begin + at};
        FR_TRY(read_header((fr_span){window + at, size - at}, options, chunk, wanted, err));
        if (!options->headers) {
            if (*wanted > size - at) return FR_AGAIN;
            FR_TRY(join(window + at, chunk, err));
            chunk->data += at;
        }
        ++*count;
        if (chunk->end - options->begin > size) break; /* not with its data */
        at = (size_t)(chunk->end - options->begin);
    }
    return FR_OK;
}

void fr_riegeli_place(fr_riegeli_chunk *chunk, fr_span data) {
    chunk->data_size = data.size;
    chunk->data_hash = fr_riegeli_hash(data);
    chunk->end = end_of(chunk->begin, data.size, chunk->records);
}

/* Writes content from `*at` on, and moves on. */
static void scatter(const fr_riegeli_chunk *chunk, fr_span content, uint64_t *at, uint8_t *out) {
    while (content.size) {
        if (*at % BLOCK == 0) {
            put_block_header(chunk, *at, out + (*at - chunk->begin));
            *at += BLOCK_HEADER;
        }
        const uint64_t room = BLOCK - *at % BLOCK;
        const size_t part = content.size < room ? content.size : (size_t)room;
        memcpy(out + (*at - chunk->begin), content.data, part);
        content = fr_span_after(content, part);
        *at += part;
    }
}

void fr_riegeli_write(const fr_riegeli_chunk *chunk, fr_span data, uint8_t *out) {
    uint8_t header[HEADER];
    uint64_t at = chunk->begin;
    fr_store_u64(header + 8, chunk->data_size);
    fr_store_u64(header + 16, chunk->data_hash);
    fr_store_u64(header + 24, chunk->records << 8 | chunk->kind);
    fr_store_u64(header + 32, chunk->size);
    fr_store_u64(header, fr_riegeli_hash((fr_span){header + HASH, HEADER - HASH}));
    scatter(chunk, (fr_span){header, HEADER}, &at, out);
    scatter(chunk, data, &at, out);
    memset(out + (at - chunk->begin), 0, (size_t)(chunk->end - at));
    for (at += to_boundary(at); at < chunk->end; at += BLOCK)
        put_block_header(chunk, at, out + (at - chunk->begin));
}
