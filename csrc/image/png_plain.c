/* SPDX-License-Identifier: Apache-2.0 */
#include "image/png_plain.h"

#if defined(FASTREC_HAVE_DEFLATE)

#include <libdeflate.h>
#if defined(FASTREC_HAVE_ISAL)
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#endif

#include "image/png_unfilter.h"

/* Bytes of the signature and IHDR; bytes of a chunk's length, name and checksum; the largest
   accepted ancillary chunk, which is below libpng's limit. */
enum { HEADER_SIZE = 8 + 12 + 13, CHUNK_OVERHEAD = 12, ANCILLARY_MAX = 1 << 20 };
enum { ZLIB_HEADER = 2, ZLIB_CHECKSUM = 4 }; /* bytes before and after the deflate stream */
/* isal is faster than libdeflate for streams that shrink less than this, from this many bytes on;
   smaller images do not repay its larger tables. */
enum { LITERALS_RATIO = 4, LITERALS_MIN = 1 << 14 };
enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGB_ALPHA = 6 };

/* The contents of the chunks before the pixels. */
typedef struct {
    size_t channels; /* channels of the filtered rows */
    bool is_palette;
    fr_span palette;    /* RGB triples */
    fr_span stream;     /* the zlib stream, within the file or in `joined` */
    fr_buffer joined;   /* the concatenated bodies of several IDAT chunks */
    fr_buffer inflated; /* rows, each after its filter byte; then two rows of scratch memory */
} image;

static uint32_t big_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_undamaged(const uint8_t *name, size_t size) {
    return libdeflate_crc32(0, name, size + 4) == big_u32(name + 4 + size);
}

/* Returns whether libpng skips this ancillary chunk, whatever its content. */
static bool is_skipped(const uint8_t *name, size_t size) {
    for (int i = 0; i < 4; i++)
        if ((name[i] | 0x20) < 'a' || (name[i] | 0x20) > 'z') return false;
    return name[0] & 0x20 && !(name[2] & 0x20) && memcmp(name, "tRNS", 4) != 0 &&
           size <= ANCILLARY_MAX;
}

static bool add_data(image *image, fr_span body) {
    if (!image->stream.data) {
        image->stream = body;
        return true;
    }
    fr_buffer *joined = &image->joined;
    if (joined->size == 0 &&
        fr_buffer_append(joined, image->stream.data, image->stream.size, NULL) != FR_OK)
        return false;
    if (fr_buffer_append(joined, body.data, body.size, NULL) != FR_OK) return false;
    image->stream = (fr_span){joined->data, joined->size};
    return true;
}

/* Reads the chunks after IHDR: PLTE if the image has a palette, then IDAT, then IEND. */
static bool read_chunks(image *image, fr_span rest) {
    bool in_data = false;
    while (rest.size >= CHUNK_OVERHEAD) {
        const size_t size = big_u32(rest.data);
        const uint8_t *name = rest.data + 4;
        const fr_span body = {name + 4, size};
        if (size > rest.size - CHUNK_OVERHEAD) return false;
        if (!is_skipped(name, size)) {
            if (!is_undamaged(name, size)) return false;
            if (memcmp(name, "IEND", 4) == 0) return size == 0 && image->stream.data;
            if (memcmp(name, "IDAT", 4) == 0) {
                if (image->stream.data && !in_data) return false;
                if (!add_data(image, body)) return false;
            } else if (memcmp(name, "PLTE", 4) == 0 && image->is_palette && !image->stream.data &&
                       !image->palette.data && size && size % 3 == 0 && size <= (size_t)3 * 256) {
                image->palette = body;
            } else {
                return false;
            }
        }
        in_data = memcmp(name, "IDAT", 4) == 0;
        rest = fr_span_after(rest, size + CHUNK_OVERHEAD);
    }
    return false;
}

/* Returns whether copying the stored samples gives the requested format. */
static bool read_header(image *image, fr_span data, const fr_png_header *header,
                        const fr_png_format *format) {
    static const uint8_t samples[] = {1, 0, 3, 1, 2, 0, 4}; /* samples per pixel, by colour type */
    if (data.size < HEADER_SIZE || big_u32(data.data + 8) != 13) return false;
    const uint8_t *fields = data.data + 24; /* bits, colour, compression, filter, interlacing */
    const int type = fields[1];
    if (!is_undamaged(data.data + 12, 13) || fields[2] || fields[3] || fields[4]) return false;
    if (header->bits != 8 || format->bits != 8 || type > RGB_ALPHA) return false;
    image->channels = samples[type];
    image->is_palette = type == PALETTE;
    const int wanted = format->channels;
    return (size_t)wanted == image->channels + (image->is_palette ? 2 : 0) ||
           (type == GREY && wanted == 3) || (type == GREY_ALPHA && wanted != 2) ||
           (type == RGB_ALPHA && wanted == 3);
}

static bool inflate_by_libdeflate(fr_span stream, uint8_t *out, size_t size) {
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return false;
    size_t read = 0, written = 0;
    const enum libdeflate_result result = libdeflate_zlib_decompress_ex(
        inflater, stream.data, stream.size, out, size, &read, &written);
    libdeflate_free_decompressor(inflater);
    return result == LIBDEFLATE_SUCCESS && read == stream.size && written == size;
}

#if defined(FASTREC_HAVE_ISAL)
/* Inflates a stream of mostly literals. isal decodes up to three of them in one step. */
static bool inflate_by_isal(fr_span stream, uint8_t *out, size_t size) {
    const uint32_t header = (uint32_t)stream.data[0] << 8 | stream.data[1];
    if (header % 31 || (stream.data[0] & 15) != 8 || stream.data[0] > 0x78 || header & 0x20)
        return false;
    if (stream.size > UINT32_MAX || size > UINT32_MAX) return false;
    struct inflate_state *state = malloc(sizeof *state);
    if (!state) return false;
    isal_inflate_init(state);
    state->next_in = (uint8_t *)(uintptr_t)stream.data + ZLIB_HEADER;
    state->avail_in = (uint32_t)(stream.size - ZLIB_HEADER - ZLIB_CHECKSUM);
    state->next_out = out;
    state->avail_out = (uint32_t)size;
    const bool is_whole = isal_inflate_stateless(state) == ISAL_DECOMP_OK && state->avail_in == 0 &&
                          state->avail_out == 0;
    free(state);
    const uint8_t *checksum = stream.data + stream.size - ZLIB_CHECKSUM;
    return is_whole && libdeflate_adler32(1, out, size) == big_u32(checksum);
}
#endif

/* Inflates the stream to exactly the rows of the image, each after its filter byte. */
static bool inflate_rows(image *image, size_t row_size, size_t height) {
    const size_t size = (row_size + 1) * height;
    const fr_span stream = image->stream;
    if (stream.size < ZLIB_HEADER + ZLIB_CHECKSUM) return false;
    const size_t window = (size_t)1 << ((stream.data[0] >> 4) + 8);
    if (window < 32768 && window < size)
        return false; /* both libraries assume the largest window */
    if (fr_buffer_reserve(&image->inflated, size + 2 * row_size, NULL) != FR_OK) return false;
#if defined(FASTREC_HAVE_ISAL)
    if (size >= LITERALS_MIN && stream.size > size / LITERALS_RATIO)
        return inflate_by_isal(stream, image->inflated.data, size);
#endif
    return inflate_by_libdeflate(stream, image->inflated.data, size);
}

/* Converts a row to the requested samples. Returns false for an index outside the palette. */
static bool convert(const image *image, const uint8_t *row, size_t width, size_t channels,
                    uint8_t *out) {
    const size_t step = image->channels;
    if (image->is_palette) {
        const size_t entries = image->palette.size / 3;
        for (size_t x = 0; x < width; x++, out += 3) {
            if (row[x] >= entries) return false;
            memcpy(out, image->palette.data + (size_t)3 * row[x], 3);
        }
        return true;
    }
    for (size_t x = 0; x < width; x++, row += step, out += channels)
        for (size_t k = 0; k < channels; k++)
            out[k] = row[step < 3 ? (step == 2 && k == 3 ? 1 : 0) : k];
    return true;
}

static bool unfilter_rows(image *image, const fr_png_header *header, const fr_png_format *format,
                          uint8_t *out, size_t row_step) {
    const size_t width = header->width, height = header->height, channels = image->channels;
    const size_t row_size = width * channels;
    const bool is_same = !image->is_palette && channels == (size_t)format->channels;
    const uint8_t *row = image->inflated.data;
    uint8_t *scratch = image->inflated.data + (row_size + 1) * height;
    memset(scratch, 0, row_size); /* the row above the first */
    const uint8_t *before = scratch;
    uint8_t *next = scratch + row_size, *spare = scratch;
    for (size_t y = 0; y < height; y++, row += row_size + 1, out += row_step) {
        const uint8_t *const rows[] = {row, row + row_size + 1};
        uint8_t *const targets[] = {is_same ? out : next, out + row_step};
        if (is_same && y + 1 < height &&
            fr_png_unfilter_pair(rows, before, width, channels, targets)) {
            y++, row += row_size + 1, out += row_step;
            before = targets[1];
            continue;
        }
        if (!fr_png_unfilter(row[0], row + 1, before, width, channels, targets[0])) return false;
        if (!is_same && !convert(image, next, width, (size_t)format->channels, out)) return false;
        before = targets[0];
        next = spare;
        spare = targets[0];
    }
    return true;
}

bool fr_png_plain_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                         uint8_t *out, size_t row_step) {
    image image = {0};
    const bool done = read_header(&image, data, header, format) &&
                      read_chunks(&image, fr_span_after(data, HEADER_SIZE)) &&
                      (!image.is_palette || image.palette.data) &&
                      inflate_rows(&image, header->width * image.channels, header->height) &&
                      unfilter_rows(&image, header, format, out, row_step);
    fr_buffer_free(&image.joined);
    fr_buffer_free(&image.inflated);
    return done;
}

#else

bool fr_png_plain_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                         uint8_t *out, size_t row_step) {
    (void)data, (void)header, (void)format, (void)out, (void)row_step;
    return false;
}

#endif
