/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On an error, libjpeg leaves by longjmp to guarded(), which has the only setjmp. The code that
 * runs inside keeps its state in fr_jpeg, so no local variable is read after the jump.
 */
#include "image/jpeg.h"

#if defined(FASTREC_HAVE_JPEG)

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

/* Number of pixels around the region that interpolated colour depends on. */
#define MARGIN 2
/* Upper bound of pixels per byte of a file. Each block of 64 pixels has a Huffman code of at least
   one bit in at least one component, and subsampling may halve that. Arithmetic coding has no such
   bound, but no real image comes near this one. */
#define PIXELS_PER_BYTE (2 * 64 * 8)
#define ARITHMETIC_GAIN 64
#define EXIF_MARKER (JPEG_APP0 + 1)
/* Offset of rows from a multiple of ROW_ALIGNMENT, in bytes. libjpeg-turbo writes rows that are
   aligned for its vectors past the caches, and reading them back would take half as long as
   decoding. */
#define MISALIGNED 8
#define ROW_ALIGNMENT 32
#define ROWS_AT_ONCE 8

struct fr_jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    fr_jpeg_limits limits;
    fr_span data;
    const fr_jpeg_region *region;
    uint8_t *out; /* destination of rows; NULL keeps all of them in `lines` */
    size_t out_step;
    fr_buffer lines;              /* decoded rows, wider than the region */
    size_t line_step, line_count; /* with one more line for rows that are not needed */
    size_t first;                 /* the region's first column within a line */
    int orientation;              /* EXIF orientation, 1 to 8 */
    bool made;                    /* whether `cinfo` must be destroyed */
    bool open;                    /* whether a header was read and not decoded yet */
    bool cut_off; /* whether the end marker is missing; everything is then decoded */
    bool starved; /* whether the data ended within a segment */
    bool too_many_scans;
    char reason[JMSG_LENGTH_MAX];
};

/* --- callbacks of libjpeg
   ----------------------------------------------------------------------- */

static fr_jpeg *owner(j_common_ptr cinfo) {
    return cinfo->client_data;
}

_Noreturn static void leave(j_common_ptr cinfo) {
    cinfo->err->format_message(cinfo, owner(cinfo)->reason);
    longjmp(owner(cinfo)->escape, 1);
}

static void stay_silent(j_common_ptr cinfo) {
    (void)cinfo;
}

static void note_warning(j_common_ptr cinfo, int level) {
    if (level >= 0) return;
    cinfo->err->num_warnings++;
    if (cinfo->err->msg_code == JWRN_HIT_MARKER) owner(cinfo)->starved = true;
}

static void begin_source(j_decompress_ptr cinfo) {
    (void)cinfo;
}

/* Supplies end markers after the last byte, as often as libjpeg asks. */
static boolean fill_with_end(j_decompress_ptr cinfo) {
    static const JOCTET end[] = {0xff, JPEG_EOI};
    owner((j_common_ptr)cinfo)->cut_off = true;
    cinfo->src->next_input_byte = end;
    cinfo->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr cinfo, long count) {
    struct jpeg_source_mgr *source = cinfo->src;
    if (count <= 0) return;
    if ((size_t)count >= source->bytes_in_buffer) {
        fill_with_end(cinfo);
        return;
    }
    source->next_input_byte += count;
    source->bytes_in_buffer -= (size_t)count;
}

static void count_scans(j_common_ptr cinfo) {
    fr_jpeg *jpeg = owner(cinfo);
    if (!cinfo->is_decompressor || !jpeg->limits.scans) return;
    if ((uint32_t)((j_decompress_ptr)cinfo)->input_scan_number <= jpeg->limits.scans) return;
    jpeg->too_many_scans = true;
    longjmp(jpeg->escape, 1);
}

/* Reads a number of an EXIF directory, which is a TIFF: offsets start at the byte order mark. */
static uint32_t exif_number(const uint8_t *at, int size, bool big) {
    uint32_t value = 0;
    for (int i = 0; i < size; i++)
        value |= (uint32_t)at[i] << 8 * (big ? size - 1 - i : i);
    return value;
}

static int exif_orientation(fr_span exif) {
    if (exif.size < 14 || memcmp(exif.data, "Exif\0\0", 6) != 0) return 1;
    const uint8_t *tiff = exif.data + 6;
    const size_t size = exif.size - 6;
    const bool big = tiff[0] == 'M';
    const size_t directory = exif_number(tiff + 4, 4, big);
    if (directory > size || size - directory < 2) return 1;
    const size_t entries = exif_number(tiff + directory, 2, big);
    for (size_t i = 0; i < entries && (size - directory - 2) / 12 > i; i++) {
        const uint8_t *entry = tiff + directory + 2 + 12 * i;
        if (exif_number(entry, 2, big) != 0x0112 || exif_number(entry + 2, 2, big) != 3) continue;
        const uint32_t value = exif_number(entry + 8, 2, big);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* Reads the orientation from an APP1 marker. libjpeg can save markers, but it appends each to a
   linked list from its start, which takes quadratic time for a file full of markers. */
static boolean read_exif(j_decompress_ptr cinfo) {
    fr_jpeg *jpeg = owner((j_common_ptr)cinfo);
    const fr_span left = {cinfo->src->next_input_byte, cinfo->src->bytes_in_buffer};
    if (left.size < 2) return fill_with_end(cinfo);
    size_t size = (size_t)left.data[0] << 8 | left.data[1]; /* size of this field and the data */
    if (size < 2) size = 2;
    const size_t there = size < left.size ? size : left.size;
    if (jpeg->orientation == 1)
        jpeg->orientation = exif_orientation((fr_span){left.data + 2, there - 2});
    skip_bytes(cinfo, (long)size);
    return TRUE;
}

/* --- functions that run within guarded()
   -------------------------------------------------------- */

/* Creates a decompressor for each image, because tables of one image would remain for the next. */
static void make(fr_jpeg *jpeg) {
    if (jpeg->made) jpeg_destroy_decompress(&jpeg->cinfo);
    jpeg->made = false;
    jpeg_create_decompress(&jpeg->cinfo);
    jpeg->made = true;
    jpeg->cinfo.client_data = jpeg;
    jpeg->cinfo.src = &jpeg->source;
    jpeg->cinfo.progress = &jpeg->progress;
    jpeg->orientation = 1;
    jpeg_set_marker_processor(&jpeg->cinfo, EXIF_MARKER, read_exif);
}

static void read_header(fr_jpeg *jpeg) {
    jpeg_read_header(&jpeg->cinfo, TRUE);
}

static bool is_cmyk(const fr_jpeg *jpeg) {
    const J_COLOR_SPACE space = jpeg->cinfo.jpeg_color_space;
    return space == JCS_CMYK || space == JCS_YCCK;
}

static void choose(fr_jpeg *jpeg) {
    j_decompress_ptr cinfo = &jpeg->cinfo;
    cinfo->dct_method = jpeg->region->fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    cinfo->do_fancy_upsampling = !jpeg->region->no_fancy;
    cinfo->scale_num = 1;
    cinfo->scale_denom = (unsigned)jpeg->region->denominator;
    cinfo->out_color_space = jpeg->region->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (is_cmyk(jpeg)) cinfo->out_color_space = JCS_CMYK;
}

/* Converts ink to light, in place if `out` <= `ink`. Adobe stores inverted values. */
static void cmyk_to_rgb(const fr_jpeg *jpeg, const uint8_t *ink, size_t count, size_t channels,
                        uint8_t *out) {
    const unsigned flip = jpeg->cinfo.saw_Adobe_marker ? 0 : 255;
    for (size_t i = 0; i < count; i++, ink += 4, out += channels) {
        const unsigned k = ink[3] ^ flip;
        const unsigned rgb[] = {k * (ink[0] ^ flip) / 255, k * (ink[1] ^ flip) / 255,
                                k * (ink[2] ^ flip) / 255};
        if (channels == 3)
            out[0] = (uint8_t)rgb[0], out[1] = (uint8_t)rgb[1], out[2] = (uint8_t)rgb[2];
        else /* with libjpeg's weights */
            out[0] = (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
    }
}

/* Limits decoding to the columns of the region. */
static void crop_columns(fr_jpeg *jpeg) {
    const fr_jpeg_region *region = jpeg->region;
    const JDIMENSION full = jpeg->cinfo.output_width;
    JDIMENSION left = region->left > MARGIN ? (JDIMENSION)(region->left - MARGIN) : 0;
    JDIMENSION width = (JDIMENSION)(region->left + region->width + MARGIN) - left;
    if (width > full - left) width = full - left;
    if (width < full) jpeg_crop_scanline(&jpeg->cinfo, &left, &width);
    if (width == full) left = 0;
    jpeg->first = region->left - left;
}

static void start(fr_jpeg *jpeg) {
    jpeg_start_decompress(&jpeg->cinfo);
    crop_columns(jpeg);
}

static uint8_t *line_at(const fr_jpeg *jpeg, size_t row) {
    return jpeg->lines.data + MISALIGNED + row * jpeg->line_step;
}

static void read_lines(fr_jpeg *jpeg, size_t count) {
    for (size_t row = 0; row < count;) { /* the source never suspends */
        JSAMPROW lines[ROWS_AT_ONCE];
        const size_t left = count - row, most = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
        for (size_t i = 0; i < most; i++)
            lines[i] = line_at(jpeg, row + i);
        row += jpeg_read_scanlines(&jpeg->cinfo, lines, (JDIMENSION)most);
    }
    if (!is_cmyk(jpeg)) return;
    const size_t channels = (size_t)jpeg->region->channels;
    for (size_t row = 0; row < count; row++) {
        uint8_t *line = line_at(jpeg, row);
        cmyk_to_rgb(jpeg, line + jpeg->first * 4, jpeg->region->width, channels,
                    line + jpeg->first * channels);
    }
}

static void read_region(fr_jpeg *jpeg) {
    const fr_jpeg_region *region = jpeg->region;
    const size_t channels = (size_t)region->channels;
    if (region->top) jpeg_skip_scanlines(&jpeg->cinfo, (JDIMENSION)region->top);
    for (size_t row = 0; row < region->height;) {
        const size_t left = region->height - row;
        const size_t count = left < jpeg->line_count ? left : jpeg->line_count;
        read_lines(jpeg, count);
        for (size_t i = 0; jpeg->out && i < count; i++)
            memcpy(jpeg->out + (row + i) * jpeg->out_step,
                   line_at(jpeg, i) + jpeg->first * channels, region->width * channels);
        row += count;
    }
}

/* Decodes the remaining rows, because skipping to the end would not detect damage in them. */
static void read_rest(fr_jpeg *jpeg) {
    JSAMPROW line = line_at(jpeg, jpeg->line_count);
    while (jpeg->cut_off && jpeg->cinfo.output_scanline < jpeg->cinfo.output_height)
        (void)jpeg_read_scanlines(&jpeg->cinfo, &line, 1);
}

static void read_all(fr_jpeg *jpeg) {
    read_region(jpeg);
    read_rest(jpeg);
}

/* --- public functions
   --------------------------------------------------------------------------- */

static int guarded(fr_jpeg *jpeg, void (*step)(fr_jpeg *), fr_error *err) {
    if (setjmp(jpeg->escape) == 0) {
        step(jpeg);
        return FR_OK;
    }
    jpeg->open = false;
    if (jpeg->too_many_scans)
        return fr_fail(err, FR_ERR_LIMIT, "JPEG has more than %u scans", jpeg->limits.scans);
    if (jpeg->errors.msg_code == JERR_OUT_OF_MEMORY)
        return fr_fail(err, FR_ERR_NOMEM, "no memory for a JPEG of %u x %u pixels",
                       jpeg->cinfo.image_width, jpeg->cinfo.image_height);
    for (char *p = jpeg->reason; *p; p++)
        if (*p < ' ' || *p > '~') *p = '?';
    return fr_fail(err, FR_ERR_MALFORMED, "not a valid JPEG: %s", jpeg->reason);
}

#define STRING_OF(x) #x
#define VERSION_OF(x) STRING_OF(x)

const char *fr_jpeg_version(void) {
    return "libjpeg-turbo " VERSION_OF(LIBJPEG_TURBO_VERSION);
}

int fr_jpeg_new(const fr_jpeg_limits *limits, fr_jpeg **jpeg, fr_error *err) {
    fr_jpeg *j = calloc(1, sizeof *j);
    *jpeg = NULL;
    if (!j) return fr_fail_nomem(err, sizeof *j);
    j->limits = *limits;
    j->cinfo.err = jpeg_std_error(&j->errors);
    j->cinfo.client_data =
        j; /* jpeg_create_decompress() preserves this field and the error handler */
    j->errors.error_exit = leave;
    j->errors.output_message = stay_silent;
    j->errors.emit_message = note_warning;
    j->source.init_source = begin_source;
    j->source.fill_input_buffer = fill_with_end;
    j->source.skip_input_data = skip_bytes;
    j->source.resync_to_restart = jpeg_resync_to_restart;
    j->source.term_source = begin_source;
    j->progress.progress_monitor = count_scans;
    *jpeg = j;
    return FR_OK;
}

/* Returns whether an end marker follows the header. Entropy-coded data cannot contain its bytes. */
static bool has_end(const fr_jpeg *jpeg) {
    const uint8_t *p = jpeg->data.data + jpeg->data.size;
    size_t left = jpeg->source.bytes_in_buffer;
    if (jpeg->cut_off) return false;
    for (; left >= 2; left--, p--)
        if (p[-1] == JPEG_EOI && p[-2] == 0xff) return true;
    return false;
}

bool fr_jpeg_is(fr_span data) {
    return data.size >= 3 && memcmp(data.data, "\xff\xd8\xff", 3) == 0;
}

static int check_size(const fr_jpeg *jpeg, fr_error *err) {
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    const uint64_t pixels = (uint64_t)cinfo->image_width * cinfo->image_height;
    const uint64_t most = PIXELS_PER_BYTE * (cinfo->arith_code ? ARITHMETIC_GAIN : 1);
    if (jpeg->limits.pixels && pixels > jpeg->limits.pixels)
        return fr_fail(err, FR_ERR_LIMIT, "%ux%u pixels exceed the limit of %llu",
                       cinfo->image_height, cinfo->image_width,
                       (unsigned long long)jpeg->limits.pixels);
    if (pixels / most > jpeg->data.size)
        return fr_fail(err, FR_ERR_MALFORMED, "%ux%u pixels cannot be in a JPEG of %zu bytes",
                       cinfo->image_height, cinfo->image_width, jpeg->data.size);
    return FR_OK;
}

int fr_jpeg_open(fr_jpeg *jpeg, fr_span data, fr_jpeg_header *header, fr_error *err) {
    jpeg->open = jpeg->cut_off = jpeg->starved = jpeg->too_many_scans = false;
    jpeg->errors.msg_code = 0;
    jpeg->data = data;
    jpeg->source.next_input_byte = data.data;
    jpeg->source.bytes_in_buffer = data.size;
    if (!fr_jpeg_is(data)) return fr_fail(err, FR_ERR_MALFORMED, "not a JPEG");
    FR_TRY(guarded(jpeg, make, err));
    FR_TRY(guarded(jpeg, read_header, err));
    FR_TRY(check_size(jpeg, err));
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    *header = (fr_jpeg_header){.height = cinfo->image_height,
                               .width = cinfo->image_width,
                               .channels = cinfo->num_components,
                               .orientation = jpeg->orientation,
                               .is_progressive = cinfo->progressive_mode};
    jpeg->cut_off = !has_end(jpeg);
    jpeg->open = true;
    return FR_OK;
}

static int check_region(const fr_jpeg *jpeg, const fr_jpeg_region *r, fr_error *err) {
    const int d = r->denominator;
    if (!jpeg->open) return fr_fail(err, FR_ERR_STATE, "no JPEG is open");
    if ((d != 1 && d != 2 && d != 4 && d != 8) || (r->channels != 1 && r->channels != 3))
        return fr_fail(err, FR_ERR_ARG, "unsupported JPEG scale 1/%d with %d channels", d,
                       r->channels);
    const size_t height = fr_jpeg_reduced(jpeg->cinfo.image_height, d);
    const size_t width = fr_jpeg_reduced(jpeg->cinfo.image_width, d);
    if (r->height < 1 || r->top > height || r->height > height - r->top || r->width < 1 ||
        r->left > width || r->width > width - r->left)
        return fr_fail(err, FR_ERR_ARG, "region of %zux%zu at (%zu, %zu) is out of range (%zux%zu)",
                       r->height, r->width, r->top, r->left, height, width);
    return FR_OK;
}

static int decode(fr_jpeg *jpeg, const fr_jpeg_region *region, size_t line_count, fr_error *err) {
    FR_TRY(check_region(jpeg, region, err));
    const bool lacks_end = jpeg->cut_off;
    size_t bytes;
    jpeg->open = false;
    jpeg->region = region;
    choose(jpeg);
    FR_TRY(guarded(jpeg, start, err));
    const size_t size = jpeg->cinfo.output_width * (size_t)jpeg->cinfo.output_components;
    jpeg->line_step = (size + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    jpeg->line_count = line_count;
    jpeg->lines.size = 0;
    if (fr_mul_overflows(line_count + 2, jpeg->line_step, &bytes))
        return fr_fail_nomem(err, SIZE_MAX);
    FR_TRY(fr_buffer_reserve(&jpeg->lines, bytes, err));
    FR_TRY(guarded(jpeg, read_all, err));
    const bool sequential = !jpeg->cinfo.progressive_mode && !jpeg->cinfo.arith_code;
    if (jpeg->cut_off && (jpeg->starved || !sequential || !lacks_end))
        return fr_fail(err, FR_ERR_MALFORMED, "JPEG is truncated after %zu bytes", jpeg->data.size);
    return FR_OK;
}

int fr_jpeg_decode(fr_jpeg *jpeg, const fr_jpeg_region *region, uint8_t *out, size_t row_step,
                   fr_error *err) {
    jpeg->out = out;
    jpeg->out_step = row_step;
    return decode(jpeg, region, ROWS_AT_ONCE, err);
}

int fr_jpeg_view(fr_jpeg *jpeg, const fr_jpeg_region *region, const uint8_t **pixels,
                 size_t *row_step, fr_error *err) {
    jpeg->out = NULL;
    FR_TRY(decode(jpeg, region, region->height, err));
    *pixels = line_at(jpeg, 0) + jpeg->first * (size_t)region->channels;
    *row_step = jpeg->line_step;
    return FR_OK;
}

void fr_jpeg_free(fr_jpeg *jpeg) {
    if (!jpeg) return;
    if (jpeg->made) jpeg_destroy_decompress(&jpeg->cinfo);
    fr_buffer_free(&jpeg->lines);
    free(jpeg);
}

#else

static int without(fr_error *err) {
    return fr_fail(err, FR_ERR_STATE, "built without libjpeg-turbo");
}

const char *fr_jpeg_version(void) {
    return NULL;
}

bool fr_jpeg_is(fr_span data) {
    return data.size >= 3 && memcmp(data.data, "\xff\xd8\xff", 3) == 0;
}

int fr_jpeg_new(const fr_jpeg_limits *limits, fr_jpeg **jpeg, fr_error *err) {
    (void)limits;
    *jpeg = NULL;
    return without(err);
}

int fr_jpeg_open(fr_jpeg *jpeg, fr_span data, fr_jpeg_header *header, fr_error *err) {
    (void)jpeg, (void)data, (void)header;
    return without(err);
}

int fr_jpeg_decode(fr_jpeg *jpeg, const fr_jpeg_region *region, uint8_t *out, size_t row_step,
                   fr_error *err) {
    (void)jpeg, (void)region, (void)out, (void)row_step;
    return without(err);
}

int fr_jpeg_view(fr_jpeg *jpeg, const fr_jpeg_region *region, const uint8_t **pixels,
                 size_t *row_step, fr_error *err) {
    (void)jpeg, (void)region, (void)pixels, (void)row_step;
    return without(err);
}

void fr_jpeg_free(fr_jpeg *jpeg) {
    (void)jpeg;
}

#endif
