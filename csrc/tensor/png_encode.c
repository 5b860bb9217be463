/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an error, libpng does a longjmp to guarded(), which has the only setjmp. Functions called
 * there keep their state in `encoder`, so that no local variable is read after the jump.
 */
#include "tensor/png_encode.h"

#if defined(FASTREC_HAVE_PNG)

#include <png.h>

enum { SIDE_MAX = 1000000 /* libpng's */, MEMORY_LEVEL = 9 };

typedef struct {
    png_structp png;
    png_infop info;
    const uint8_t *pixels;
    size_t height, width;
    const fr_png_format *format;
    int level;
    fr_buffer *out;
    int status; /* error outside of libpng, or 0 */
    fr_error *err;
    char reason[128];
} encoder;

static void take(png_structp png, png_bytep data, size_t size) {
    encoder *e = png_get_io_ptr(png);
    e->status = fr_buffer_append(e->out, data, size, e->err);
    if (e->status) png_error(png, "no memory");
}

static void flush(png_structp png) {
    (void)png;
}

_Noreturn static void leave(png_structp png, png_const_charp reason) {
    encoder *e = png_get_error_ptr(png);
    strncpy(e->reason, reason, sizeof e->reason - 1);
    png_longjmp(png, 1);
}

static void stay_silent(png_structp png, png_const_charp reason) {
    (void)png, (void)reason;
}

static void encode(encoder *e) { /* called by guarded() */
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    const int channels = e->format->channels, bits = e->format->bits;
    const size_t step = e->width * (size_t)channels * (size_t)bits / 8;
    png_set_write_fn(e->png, e, take, flush);
    png_set_compression_level(e->png, e->level);
    png_set_compression_mem_level(e->png, MEMORY_LEVEL);
    png_set_IHDR(e->png, e->info, (png_uint_32)e->width, (png_uint_32)e->height, bits,
                 types[channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(e->png, e->info);
    if (bits == 16) png_set_swap(e->png);
    for (size_t y = 0; y < e->height; y++)
        png_write_row(e->png, e->pixels + y * step);
    png_write_end(e->png, NULL);
}

static int guarded(encoder *e, fr_error *err) {
    if (setjmp(png_jmpbuf(e->png)))
        return e->status ? e->status
                         : fr_fail(err, FR_ERR_ARG, "no PNG can be made: %s", e->reason);
    encode(e);
    return FR_OK;
}

int fr_png_encode(const uint8_t *pixels, size_t height, size_t width, const fr_png_format *format,
                  int level, fr_buffer *out, fr_error *err) {
    const bool is_known =
        format->channels >= 1 && format->channels <= 4 && (format->bits == 8 || format->bits == 16);
    if (!is_known || !height || !width || height > SIDE_MAX || width > SIDE_MAX)
        return fr_fail(err, FR_ERR_ARG, "no PNG is of %zux%zu pixels, %d channels and %d bits",
                       height, width, format->channels, format->bits);
    if (level < -1 || level > 9)
        return fr_fail(err, FR_ERR_ARG, "level %d is out of range (-1 to 9)", level);
    encoder e = {.pixels = pixels,
                 .height = height,
                 .width = width,
                 .format = format,
                 .level = level,
                 .out = out,
                 .err = err};
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, leave, stay_silent);
    if (e.png) e.info = png_create_info_struct(e.png);
    const size_t before = out->size;
    const int status = e.info ? guarded(&e, err) : fr_fail_nomem(err, sizeof e);
    if (status) out->size = before;
    if (e.png) png_destroy_write_struct(&e.png, &e.info);
    return status;
}

#else

int fr_png_encode(const uint8_t *pixels, size_t height, size_t width, const fr_png_format *format,
                  int level, fr_buffer *out, fr_error *err) {
    (void)pixels, (void)height, (void)width, (void)format, (void)level, (void)out;
    return fr_fail(err, FR_ERR_STATE, "fastrec was built without libpng");
}

#endif
