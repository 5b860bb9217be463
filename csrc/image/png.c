/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an error, libpng leaves by longjmp to guarded(), which has the only setjmp. The code that runs
 * inside keeps its state in `decoder`, so no local variable is read after the jump.
 */
#include "image/png.h"

static const uint8_t SIGNATURE[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/* The signature, followed by the length, name, body and checksum of IHDR. */
enum { HEADER_SIZE = 8 + 4 + 4 + 13 + 4, SIDE_MAX = 1 << 24 };
/* Bytes of a chunk's length, name and checksum; bytes after the last row that are still
   inflated. */
enum { CHUNK_OVERHEAD = 12, REST_MAX = 8192 };
/* Largest number of bytes that one byte of a deflate stream can produce. */
#define INFLATED_PER_BYTE 1032

bool fr_png_is(fr_span data) {
    return data.size >= sizeof SIGNATURE && memcmp(data.data, SIGNATURE, sizeof SIGNATURE) == 0;
}

static uint32_t big_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int fr_png_read_header(fr_span data, uint64_t limit, fr_png_header *header, fr_error *err) {
    static const int samples[] = {1, 0, 3, 1, 2, 0, 4}; /* samples per pixel, by colour type */
    const uint8_t *p = data.data;
    if (data.size < HEADER_SIZE || !fr_png_is(data) || memcmp(p + 12, "IHDR", 4) != 0)
        return fr_fail(err, FR_ERR_MALFORMED, "it is not a PNG");
    const uint32_t width = big_u32(p + 16), height = big_u32(p + 20);
    const int bits = p[24], type = p[25];
    const bool is_known = type < 7 && samples[type] && bits && bits <= 16 && !(bits & (bits - 1));
    if (!is_known || !width || !height || width > SIDE_MAX || height > SIDE_MAX)
        return fr_fail(err, FR_ERR_MALFORMED, "the header of a PNG is damaged");
    if (limit && width > limit / height)
        return fr_fail(err, FR_ERR_LIMIT, "%ux%u pixels exceed the limit of %llu", width, height,
                       (unsigned long long)limit);
    const uint64_t row = ((uint64_t)width * (uint64_t)(samples[type] * bits) + 7) / 8;
    if (row * height / INFLATED_PER_BYTE > data.size)
        return fr_fail(err, FR_ERR_MALFORMED, "%zu bytes are too few for %ux%u pixels", data.size,
                       width, height);
    *header = (fr_png_header){height, width, bits, type & 2, type & 4};
    return FR_OK;
}

#if defined(FASTREC_HAVE_PNG)

#include <png.h>
#if defined(FASTREC_HAVE_DEFLATE) && defined(FASTREC_HAVE_ISAL)
#include <isa-l.h>
#include <libdeflate.h>
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define ISAL_VERSION_STRING TEXT(ISAL_MAJOR_VERSION) "." TEXT(ISAL_MINOR_VERSION)
#define INFLATER ", libdeflate " LIBDEFLATE_VERSION_STRING ", isal " ISAL_VERSION_STRING
#elif defined(FASTREC_HAVE_DEFLATE)
#include <libdeflate.h>
#define INFLATER ", libdeflate " LIBDEFLATE_VERSION_STRING
#else
#define INFLATER ""
#endif

#include "image/png_plain.h"

/* Weights of the channels in grey, in 1/100000. */
enum { RED = 29900, GREEN = 58700 };

typedef struct {
    png_structp png;
    png_infop info;
    fr_span file, data; /* the file, and its unread rest */
    const fr_png_header *header;
    const fr_png_format *format;
    uint8_t *out;
    size_t row_step;
    bool in_last_row;
    size_t rest_limit; /* bytes of the file that may be read in the last row and behind it */
    char reason[128];
} decoder;

static void give(png_structp png, png_bytep out, size_t size) {
    decoder *d = png_get_io_ptr(png);
    if (size > d->data.size) png_error(png, "the file is truncated");
    if (d->in_last_row) {
        if (size > d->rest_limit) png_error(png, "IDAT goes on behind the last row");
        d->rest_limit -= size;
    }
    memcpy(out, d->data.data, size);
    d->data = fr_span_after(d->data, size);
}

_Noreturn static void leave(png_structp png, png_const_charp reason) {
    decoder *d = png_get_error_ptr(png);
    strncpy(d->reason, reason, sizeof d->reason - 1);
    png_longjmp(png, 1);
}

static void stay_silent(png_structp png, png_const_charp reason) {
    (void)png, (void)reason;
}

/* --- functions that run within guarded()
   -------------------------------------------------------- */

static void choose_channels(decoder *d) {
    const fr_png_format *f = d->format;
    const bool is_color = d->header->is_color, wants_alpha = f->channels % 2 == 0;
    const bool has_colour_key = png_get_valid(d->png, d->info, PNG_INFO_tRNS) != 0;
    if (png_get_color_type(d->png, d->info) == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(d->png);
    else if (d->header->bits < 8)
        png_set_expand_gray_1_2_4_to_8(d->png);
    if (!wants_alpha)
        png_set_strip_alpha(d->png);
    else if (has_colour_key)
        png_set_tRNS_to_alpha(d->png);
    else if (!d->header->has_alpha)
        png_set_add_alpha(d->png, 0xffff, PNG_FILLER_AFTER);
    if (!is_color && f->channels > 2) png_set_gray_to_rgb(d->png);
    if (is_color && f->channels < 3)
        png_set_rgb_to_gray_fixed(d->png, PNG_ERROR_ACTION_NONE, RED, GREEN);
}

static void choose_bits(decoder *d) {
    if (d->format->bits == 8) {
        if (d->header->bits == 16) png_set_strip_16(d->png);
        return;
    }
    if (d->header->bits < 16) png_set_expand_16(d->png);
    png_set_swap(d->png);
}

/* Returns PNG's checksum. It is computed bit by bit because few files need it. */
static uint32_t crc32_of(fr_span bytes) {
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & (0u - (crc & 1)));
    }
    return ~crc;
}

/* Checks all chunks up to IEND, as png_read_end() does, without inflating any. */
static void check_chunks(const decoder *d) {
    fr_span rest = fr_span_after(d->file, sizeof SIGNATURE);
    for (bool is_last = false; !is_last;) {
        if (rest.size < CHUNK_OVERHEAD) png_error(d->png, "the file is truncated");
        const size_t size = big_u32(rest.data);
        const uint8_t *name = rest.data + 4;
        if (size > rest.size - CHUNK_OVERHEAD) png_error(d->png, "the file is truncated");
        if (memcmp(name, "IDAT", 4) == 0 &&
            crc32_of((fr_span){name, size + 4}) != big_u32(name + 4 + size))
            png_error(d->png, "IDAT: CRC error");
        is_last = memcmp(name, "IEND", 4) == 0;
        rest = fr_span_after(rest, size + CHUNK_OVERHEAD);
    }
}

/* png_read_end() inflates the rest of IDAT, possibly a thousand times its size, only to discard it.
   It is therefore called only for files that end soon after their last row. */
static void read_end(decoder *d) {
    if (d->data.size <= REST_MAX)
        png_read_end(d->png, NULL);
    else
        check_chunks(d);
}

static void decode(decoder *d) {
    png_set_read_fn(d->png, d, give);
    png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, NULL,
                                -1); /* skips text and profiles */
    png_set_user_limits(d->png, SIDE_MAX, SIDE_MAX);
    png_read_info(d->png, d->info);
    choose_channels(d);
    choose_bits(d);
    const int passes = png_set_interlace_handling(d->png);
    png_read_update_info(d->png, d->info);
    if (png_get_image_height(d->png, d->info) != d->header->height ||
        png_get_image_width(d->png, d->info) != d->header->width)
        png_error(d->png, "the header changed while it was read");
    const size_t size =
        d->header->width * (size_t)d->format->channels * (size_t)d->format->bits / 8;
    if (png_get_rowbytes(d->png, d->info) != size) png_error(d->png, "rows are of another size");
    /* With the last row, libpng inflates all of IDAT that follows it. */
    d->rest_limit = 2 * size + REST_MAX;
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < d->header->height; y++) {
            d->in_last_row = pass + 1 == passes && y + 1 == d->header->height;
            png_read_row(d->png, d->out + y * d->row_step, NULL);
        }
    d->in_last_row = false;
    read_end(d);
}

/* ---------------------------------------------------------------------------------------------- */

static int guarded(decoder *d, fr_error *err) {
    if (setjmp(png_jmpbuf(d->png))) return fr_fail(err, FR_ERR_MALFORMED, "%s", d->reason);
    decode(d);
    return FR_OK;
}

const char *fr_png_version(void) {
    return "libpng " PNG_LIBPNG_VER_STRING INFLATER;
}

int fr_png_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                  uint8_t *out, size_t row_step, fr_error *err) {
    if (fr_png_plain_decode(data, header, format, out, row_step)) return FR_OK;
    decoder d = {.file = data,
                 .data = data,
                 .header = header,
                 .format = format,
                 .out = out,
                 .row_step = row_step};
    d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, leave, stay_silent);
    if (d.png) d.info = png_create_info_struct(d.png);
    const int status = d.info ? guarded(&d, err) : fr_fail_nomem(err, sizeof d);
    if (d.png) png_destroy_read_struct(&d.png, &d.info, NULL);
    return status;
}

#else

const char *fr_png_version(void) {
    return NULL;
}

int fr_png_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                  uint8_t *out, size_t row_step, fr_error *err) {
    (void)data, (void)header, (void)format, (void)out, (void)row_step;
    return fr_fail(err, FR_ERR_STATE, "fastrec was built without libpng");
}

#endif
