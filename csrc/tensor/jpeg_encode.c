/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an error, libjpeg does a longjmp to guarded(), which has the only setjmp. Functions called
 * there keep their state in `encoder`, so that no local variable is read after the jump.
 */
#include "tensor/jpeg_encode.h"

#if defined(FASTREC_HAVE_JPEG)

#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

static const char XMP_NAME[] = "http://ns.adobe.com/xap/1.0/"; /* including its 0 */

enum { ROOM = 1 << 14, MARKER_MAX = 65533, ROWS_AT_ONCE = 16 };

typedef struct {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr target;
    jmp_buf escape;
    const uint8_t *pixels;
    size_t height, width;
    int channels;
    const fr_jpeg_settings *settings;
    fr_buffer *out;
    int status; /* error outside of libjpeg, or 0 */
    fr_error *err;
    char reason[JMSG_LENGTH_MAX];
} encoder;

/* --- what libjpeg calls ----------------------------------------------------------------------- */

_Noreturn static void leave(j_common_ptr cinfo) {
    encoder *e = cinfo->client_data;
    cinfo->err->format_message(cinfo, e->reason);
    longjmp(e->escape, 1);
}

static void stay_silent(j_common_ptr cinfo) {
    (void)cinfo;
}

static void offer_room(encoder *e) {
    e->status = fr_buffer_reserve(e->out, ROOM, e->err);
    if (e->status) longjmp(e->escape, 1);
    e->target.next_output_byte = e->out->data + e->out->size;
    e->target.free_in_buffer = e->out->capacity - e->out->size;
}

static void begin_target(j_compress_ptr cinfo) {
    offer_room(cinfo->client_data);
}

static boolean enlarge_target(j_compress_ptr cinfo) { /* called when the target is full */
    encoder *e = cinfo->client_data;
    e->out->size = e->out->capacity;
    offer_room(e);
    return TRUE;
}

static void end_target(j_compress_ptr cinfo) {
    encoder *e = cinfo->client_data;
    e->out->size = e->out->capacity - e->target.free_in_buffer;
}

/* --- inside of guarded() ---------------------------------------------------------------------- */

static void choose(encoder *e) {
    j_compress_ptr cinfo = &e->cinfo;
    const fr_jpeg_settings *settings = e->settings;
    cinfo->image_width = (JDIMENSION)e->width;
    cinfo->image_height = (JDIMENSION)e->height;
    cinfo->input_components = e->channels;
    cinfo->in_color_space = e->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, settings->quality, TRUE);
    cinfo->optimize_coding = settings->optimize;
    cinfo->density_unit = (UINT8)settings->density_unit;
    cinfo->X_density = settings->x_density;
    cinfo->Y_density = settings->y_density;
    if (settings->is_progressive) jpeg_simple_progression(cinfo);
    for (int i = 0; settings->no_subsampling && i < cinfo->num_components; i++)
        cinfo->comp_info[i].h_samp_factor = cinfo->comp_info[i].v_samp_factor = 1;
}

static void write_xmp(encoder *e) {
    const fr_span xmp = e->settings->xmp;
    const unsigned size = (unsigned)(sizeof XMP_NAME + xmp.size);
    if (!xmp.size) return;
    jpeg_write_m_header(&e->cinfo, JPEG_APP0 + 1, size);
    for (size_t i = 0; i < sizeof XMP_NAME; i++)
        jpeg_write_m_byte(&e->cinfo, XMP_NAME[i]);
    for (size_t i = 0; i < xmp.size; i++)
        jpeg_write_m_byte(&e->cinfo, xmp.data[i]);
}

static void write_rows(encoder *e) {
    const size_t step = e->width * (size_t)e->channels;
    while (e->cinfo.next_scanline < e->height) { /* the target never suspends */
        JSAMPROW rows[ROWS_AT_ONCE];
        const size_t first = e->cinfo.next_scanline, left = e->height - first;
        const size_t count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        for (size_t i = 0; i < count; i++)
            rows[i] = (JSAMPROW)e->pixels + (first + i) * step; /* libjpeg does not write to it */
        jpeg_write_scanlines(&e->cinfo, rows, (JDIMENSION)count);
    }
}

static void encode(encoder *e) {
    jpeg_create_compress(&e->cinfo);
    e->cinfo.client_data = e;
    e->cinfo.dest = &e->target;
    choose(e);
    jpeg_start_compress(&e->cinfo, TRUE);
    write_xmp(e);
    write_rows(e);
    jpeg_finish_compress(&e->cinfo);
}

/* ---------------------------------------------------------------------------------------------- */

static int guarded(encoder *e, fr_error *err) {
    if (setjmp(e->escape) == 0) {
        encode(e);
        return FR_OK;
    }
    if (e->status) return e->status;
    if (e->errors.msg_code == JERR_OUT_OF_MEMORY)
        return fr_fail(err, FR_ERR_NOMEM, "no memory for a JPEG of %zu x %zu pixels", e->height,
                       e->width);
    return fr_fail(err, FR_ERR_ARG, "no JPEG can be made: %s", e->reason);
}

int fr_jpeg_encode(const uint8_t *pixels, size_t height, size_t width, int channels,
                   const fr_jpeg_settings *settings, fr_buffer *out, fr_error *err) {
    if ((channels != 1 && channels != 3) || !height || !width || height > JPEG_MAX_DIMENSION ||
        width > JPEG_MAX_DIMENSION)
        return fr_fail(err, FR_ERR_ARG, "no JPEG is of %zux%zu pixels and %d channels", height,
                       width, channels);
    if (settings->xmp.size > MARKER_MAX - sizeof XMP_NAME)
        return fr_fail(err, FR_ERR_ARG, "%zu bytes of XMP metadata exceed the limit of %zu",
                       settings->xmp.size, MARKER_MAX - sizeof XMP_NAME);
    encoder e = {.pixels = pixels,
                 .height = height,
                 .width = width,
                 .channels = channels,
                 .settings = settings,
                 .out = out,
                 .err = err};
    e.cinfo.err = jpeg_std_error(&e.errors);
    e.cinfo.client_data = &e; /* jpeg_create_compress() keeps both */
    e.errors.error_exit = leave;
    e.errors.output_message = stay_silent;
    e.target.init_destination = begin_target;
    e.target.empty_output_buffer = enlarge_target;
    e.target.term_destination = end_target;
    const size_t before = out->size;
    const int status = guarded(&e, err);
    if (status) out->size = before;
    jpeg_destroy_compress(&e.cinfo);
    return status;
}

#else

int fr_jpeg_encode(const uint8_t *pixels, size_t height, size_t width, int channels,
                   const fr_jpeg_settings *settings, fr_buffer *out, fr_error *err) {
    (void)pixels, (void)height, (void)width, (void)channels, (void)settings, (void)out;
    return fr_fail(err, FR_ERR_STATE, "built without libjpeg-turbo");
}

#endif
