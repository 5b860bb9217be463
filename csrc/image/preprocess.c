/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Along each side, a crop determines a sampling (fr_sampling): the number of samples and the pixels
 * that they cover. The weights of the sampling determine the source pixels that must be decoded.
 */
#include "image/preprocess.h"

#include <math.h>
#include <stdlib.h>

#include "image/bmp.h"
#include "image/tiff.h"

struct fr_preprocessor {
    const fr_preprocess_options *options;
    fr_jpeg *jpeg;
    fr_buffer turned; /* decoded pixels; those of a JPEG are upright */
    fr_buffer floats; /* one row of the result, or the whole result if colours change */
};

/* The geometry of the result for an image of known size. */
typedef struct {
    fr_rect box; /* in pixels of the source */
    fr_sampling rows, columns;
    bool is_cut; /* whether the image is cropped without resizing */
} geometry;

/* --- geometry
   ----------------------------------------------------------------------------------- */

void fr_preprocess_stream(uint64_t seed, uint64_t key, fr_draw_part part, fr_philox *philox) {
    fr_philox_init(philox, seed, key);
    fr_philox_seek(philox, (uint64_t)part << 20);
}

static fr_philox stream(const fr_preprocess_options *o, uint64_t key, fr_draw_part part) {
    fr_philox philox;
    fr_preprocess_stream(o->seed, key, part, &philox);
    return philox;
}

/* Returns a sampling of `count` central samples of `total`. Missing samples lie outside and
   become zero. */
static fr_sampling middle_of(size_t size, size_t total, size_t count, bool down) {
    fr_sampling side = {size, 0, (float)size, total, 0, count};
    if (count <= total)
        side.first = down ? (total - count) / 2 : (size_t)rint((double)(total - count) / 2);
    else
        side.begin = -(float)((count - total) / 2) * ((float)size / (float)total);
    return side;
}

static geometry center(const fr_preprocess_options *o, size_t height, size_t width) {
    const fr_crop_options *c = &o->crop;
    const size_t shorter = height < width ? height : width;
    const bool down = c->kind == FR_CROP_PAD;
    size_t tall = height, wide = width;
    if (c->shorter && !down) {
        tall = height == shorter ? c->shorter : c->shorter * height / shorter;
        wide = width == shorter ? c->shorter : c->shorter * width / shorter;
    }
    return (geometry){.box = {0, 0, height, width},
                      .rows = middle_of(height, tall, c->out_height, down),
                      .columns = middle_of(width, wide, c->out_width, down),
                      .is_cut = tall == height && wide == width};
}

static int choose(const fr_preprocess_options *o, size_t height, size_t width, uint64_t key,
                  geometry *g, fr_error *err) {
    const fr_crop_options *c = &o->crop;
    fr_philox philox = stream(o, key, FR_DRAW_CROP);
    if (c->kind == FR_CROP_CENTER || c->kind == FR_CROP_PAD) {
        *g = center(o, height, width);
        return FR_OK;
    }
    fr_rect box = {0, 0, height, width};
    if (c->kind == FR_CROP_EXACT && (height != c->out_height || width != c->out_width))
        return fr_fail(err, FR_ERR_SCHEMA,
                       "image must be %zux%zu, got %zux%zu; "
                       "fit=\"resize\" scales images to one size",
                       c->out_height, c->out_width, height, width);
    if (c->kind == FR_CROP_RANDOM) {
        if (height < c->out_height || width < c->out_width)
            return fr_fail(err, FR_ERR_SCHEMA,
                           "image of %zux%zu is smaller than the crop of %zux%zu", height, width,
                           c->out_height, c->out_width);
        box = (fr_rect){.height = c->out_height, .width = c->out_width};
        box.top = fr_draw_below(&philox, height - box.height + 1);
        box.left = fr_draw_below(&philox, width - box.width + 1);
    } else if (c->kind >= FR_CROP_RESIZED) {
        box = fr_crop_draw(c, &philox, height, width);
    }
    *g = (geometry){box, fr_sampling_whole(box.height, c->out_height),
                    fr_sampling_whole(box.width, c->out_width), false};
    g->is_cut = box.height == c->out_height && box.width == c->out_width;
    return FR_OK;
}

/* --- from pixels to the batch ----------------------------------------------------------------- */

static bool is_mirrored(const fr_preprocess_options *o, uint64_t key) {
    fr_philox philox = stream(o, key, FR_DRAW_MIRROR);
    return fr_draw_between(&philox, 0, 1) < o->mirror;
}

/* Returns whether the pixels of the box are the result, unchanged. */
static bool is_verbatim(const fr_preprocess_options *o, const geometry *g, uint64_t key) {
    const bool is_whole = g->rows.count <= g->rows.total && g->columns.count <= g->columns.total;
    return g->is_cut && is_whole && o->format.type == FR_PIXEL_UINT8 && !o->has_jitter &&
           (!o->format.channels_first || o->format.channels == 1) && !is_mirrored(o, key);
}

static int resampler_of(const fr_preprocess_options *o, const geometry *g, uint64_t key,
                        fr_resampler *resampler, fr_error *err) {
    /* Each sample is exactly one pixel, which stays unchanged, or zero outside the image. */
    const fr_interpolation cut = {.filter = FR_FILTER_BILINEAR, .antialias = true};
    return fr_resampler_init(resampler, g->is_cut ? &cut : &o->interpolation, &g->rows, &g->columns,
                             o->format.channels, is_mirrored(o, key), err);
}

static void clamp_row(float *restrict row, size_t count) {
    for (size_t i = 0; i < count; i++)
        row[i] = row[i] < 0 ? 0 : row[i] > 255 ? 255 : row[i];
}

static int produce(fr_preprocessor *p, fr_resampler *r, const fr_pixels *source, uint64_t key,
                   uint8_t *out, fr_error *err) {
    const fr_preprocess_options *o = p->options;
    const size_t pitch = o->format.width * o->format.channels;
    const size_t rows = o->has_jitter ? o->format.height : 1;
    const fr_filter filter = o->interpolation.filter;
    const bool overshoots = filter != FR_FILTER_NEAREST && filter != FR_FILTER_BILINEAR;
    p->floats.size = 0;
    FR_TRY(fr_buffer_reserve(&p->floats, (rows * pitch + FR_ROW_SLACK) * sizeof(float), err));
    float *floats = (float *)(void *)p->floats.data;
    for (size_t y = 0; y < o->format.height; y++) {
        float *row = floats + (o->has_jitter ? y * pitch : 0);
        fr_resampler_row(r, source, y, row);
        if (overshoots) clamp_row(row, pitch);
        if (!o->has_jitter) fr_pixel_format_row(&o->format, row, y, out);
    }
    if (!o->has_jitter) return FR_OK;
    fr_philox philox = stream(o, key, FR_DRAW_COLOR);
    const fr_color_change change = fr_color_jitter_draw(&o->jitter, &philox);
    fr_color_change_apply(&change, floats, o->format.height * o->format.width);
    for (size_t y = 0; y < o->format.height; y++)
        fr_pixel_format_row(&o->format, floats + y * pitch, y, out);
    return FR_OK;
}

int fr_preprocessor_pixels(fr_preprocessor *preprocessor, const uint8_t *pixels, size_t height,
                           size_t width, uint64_t key, uint8_t *out, fr_error *err) {
    const fr_preprocess_options *o = preprocessor->options;
    geometry g;
    fr_resampler r = {0};
    FR_TRY(choose(o, height, width, key, &g, err));
    const size_t channels = o->format.channels;
    if (is_verbatim(o, &g, key)) {
        const size_t size = g.columns.count * channels;
        pixels += ((g.box.top + g.rows.first) * width + g.box.left + g.columns.first) * channels;
        for (size_t row = 0; row < g.rows.count; row++)
            memcpy(out + row * size, pixels + row * width * channels, size);
        return FR_OK;
    }
    int status = resampler_of(o, &g, key, &r, err);
    if (status == FR_OK) {
        const size_t top = g.box.top + r.first_row, left = g.box.left + r.first_column;
        const fr_pixels source = {pixels + (top * width + left) * channels, width * channels,
                                  false};
        status = produce(preprocessor, &r, &source, key, out, err);
    }
    fr_resampler_free(&r);
    return status;
}

/* --- JPEG
   --------------------------------------------------------------------------------------- */

/* Adapts the sampling of a side to an image that was decoded at a reduced size. The box no longer
   begins at a whole pixel. */
static void reduce(fr_sampling *side, size_t *begin, size_t full, int denominator) {
    const size_t d = (size_t)denominator, end = *begin + side->size;
    const size_t low = *begin / d, high = end == full ? (full + d - 1) / d : (end + d - 1) / d;
    side->begin = side->begin / (float)d + (float)*begin / (float)d - (float)low;
    side->length /= (float)d;
    side->size = high - low;
    *begin = low;
}

static int denominator_of(const fr_preprocess_options *o, const geometry *g) {
    if (o->reducing_gap <= 0 || g->is_cut) return 1;
    const double tall = (double)g->rows.length / (double)g->rows.total;
    const double wide = (double)g->columns.length / (double)g->columns.total;
    const double spare = (tall < wide ? tall : wide) / o->reducing_gap;
    return spare >= 8 ? 8 : spare >= 4 ? 4 : spare >= 2 ? 2 : 1;
}

static fr_jpeg_region region_of(const fr_preprocess_options *o) {
    return (fr_jpeg_region){.fast_dct = o->fast_dct,
                            .no_fancy = o->no_fancy,
                            .denominator = 1,
                            .channels = (int)o->format.channels};
}

/* Finds the stored position of pixel (y, x) of the upright image. EXIF orientations 5 to 8 swap the
   sides. */
static void turn(const fr_pixels *from, const fr_jpeg_header *h, size_t channels,
                 uint8_t *restrict to) {
    const int o = h->orientation;
    const bool swap = o >= 5;
    const bool down =
        o == 3 || o == 4 || o == 7 || o == 8; /* along the stored side of upright rows */
    const bool back = o == 2 || o == 3 || o == 6 || o == 7;
    const size_t height = swap ? h->width : h->height, width = swap ? h->height : h->width;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++, to += channels) {
            const size_t v = down ? height - 1 - y : y, u = back ? width - 1 - x : x;
            const size_t row = swap ? u : v, column = swap ? v : u;
            memcpy(to, from->data + row * from->row_step + column * channels, channels);
        }
}

static int turned(fr_preprocessor *p, const fr_jpeg_header *h, uint64_t key, uint8_t *out,
                  fr_error *err) {
    fr_jpeg_region all = region_of(p->options);
    all.height = h->height, all.width = h->width;
    const bool swap = h->orientation >= 5;
    const size_t channels = p->options->format.channels;
    fr_pixels source = {0};
    FR_TRY(fr_jpeg_view(p->jpeg, &all, &source.data, &source.row_step, err));
    p->turned.size = 0;
    FR_TRY(fr_buffer_reserve(&p->turned, h->height * h->width * channels, err));
    turn(&source, h, channels, p->turned.data);
    return fr_preprocessor_pixels(p, p->turned.data, swap ? h->width : h->height,
                                  swap ? h->height : h->width, key, out, err);
}

int fr_preprocessor_jpeg(fr_preprocessor *preprocessor, fr_span data, uint64_t key, uint8_t *out,
                         fr_error *err) {
    fr_preprocessor *p = preprocessor;
    const fr_preprocess_options *o = p->options;
    fr_jpeg_header h;
    geometry g;
    if (!p->jpeg) FR_TRY(fr_jpeg_new(&o->limits, &p->jpeg, err));
    FR_TRY(fr_jpeg_open(p->jpeg, data, &h, err));
    if (o->upright && h.orientation != 1) return turned(p, &h, key, out, err);
    FR_TRY(choose(o, h.height, h.width, key, &g, err));
    fr_jpeg_region region = region_of(o);
    region.top = g.box.top, region.left = g.box.left;
    if (is_verbatim(o, &g, key)) {
        region.top += g.rows.first, region.left += g.columns.first;
        region.height = g.rows.count, region.width = g.columns.count;
        return fr_jpeg_decode(p->jpeg, &region, out, region.width * o->format.channels, err);
    }
    region.denominator = denominator_of(o, &g);
    if (region.denominator > 1) {
        reduce(&g.rows, &region.top, h.height, region.denominator);
        reduce(&g.columns, &region.left, h.width, region.denominator);
    }
    fr_resampler r = {0};
    fr_pixels source = {0};
    int status = resampler_of(o, &g, key, &r, err);
    if (status == FR_OK) {
        region.top += r.first_row, region.left += r.first_column;
        region.height = r.height, region.width = r.width;
        status = fr_jpeg_view(p->jpeg, &region, &source.data, &source.row_step, err);
    }
    if (status == FR_OK) status = produce(p, &r, &source, key, out, err);
    fr_resampler_free(&r);
    return status;
}

/* --- PNG
   ---------------------------------------------------------------------------------------- */

int fr_preprocessor_png(fr_preprocessor *preprocessor, fr_span data, uint64_t key, uint8_t *out,
                        fr_error *err) {
    fr_preprocessor *p = preprocessor;
    const fr_preprocess_options *o = p->options;
    const fr_png_format format = {.channels = (int)o->format.channels, .bits = 8};
    fr_png_header h;
    geometry g;
    if (o->upright) return FR_AGAIN;
    FR_TRY(fr_png_read_header(data, o->limits.pixels, &h, err));
    FR_TRY(choose(o, h.height, h.width, key, &g, err));
    const size_t row_size = h.width * o->format.channels;
    if (h.height == o->format.height && h.width == o->format.width && is_verbatim(o, &g, key))
        return fr_png_decode(data, &h, &format, out, row_size, err);
    p->turned.size = 0;
    FR_TRY(fr_buffer_reserve(&p->turned, h.height * row_size, err));
    FR_TRY(fr_png_decode(data, &h, &format, p->turned.data, row_size, err));
    return fr_preprocessor_pixels(p, p->turned.data, h.height, h.width, key, out, err);
}

/* --- images whose pixels are stored as they are
   ---------------------------------------------------------------------------------------- */

static bool is_too_large(const fr_preprocess_options *o, size_t height, size_t width) {
    return o->limits.pixels && width > o->limits.pixels / height;
}

static int convert_bmp(fr_preprocessor *p, const fr_bmp_header *h, uint64_t key, uint8_t *out,
                       fr_error *err) {
    const fr_preprocess_options *o = p->options;
    geometry g;
    FR_TRY(choose(o, h->height, h->width, key, &g, err));
    if (h->height == o->format.height && h->width == o->format.width && is_verbatim(o, &g, key)) {
        fr_bmp_decode(h, out);
        return FR_OK;
    }
    p->turned.size = 0;
    FR_TRY(fr_buffer_reserve(&p->turned, h->height * h->width * 3, err));
    fr_bmp_decode(h, p->turned.data);
    return fr_preprocessor_pixels(p, p->turned.data, h->height, h->width, key, out, err);
}

int fr_preprocessor_stored(fr_preprocessor *preprocessor, fr_span data, uint64_t key, uint8_t *out,
                           fr_error *err) {
    fr_preprocessor *p = preprocessor;
    const fr_preprocess_options *o = p->options;
    fr_bmp_header bmp;
    fr_tiff tiff;
    if (o->format.channels == 3 && fr_bmp_read_header(data, &bmp) &&
        !is_too_large(o, bmp.height, bmp.width))
        return convert_bmp(p, &bmp, key, out, err);
    if (fr_tiff_read(data, &tiff) && tiff.channels == o->format.channels &&
        !is_too_large(o, tiff.height, tiff.width))
        return fr_preprocessor_pixels(p, tiff.pixels, tiff.height, tiff.width, key, out, err);
    return FR_AGAIN;
}

/* ---------------------------------------------------------------------------------------------- */

static int check(const fr_preprocess_options *o, fr_error *err) {
    const fr_crop_options *c = &o->crop;
    if (c->out_height != o->format.height || c->out_width != o->format.width ||
        (o->format.channels != 1 && o->format.channels != 3) || c->kind >= FR_CROP_COUNT ||
        o->format.type >= FR_PIXEL_COUNT || o->interpolation.filter >= FR_FILTER_COUNT)
        return fr_fail(err, FR_ERR_ARG, "the options of the image are mutually exclusive");
    if (c->kind >= FR_CROP_RESIZED &&
        !(c->area_low > 0 && c->area_high >= c->area_low && c->area_high <= 1 &&
          c->ratio_low >= 1e-6 && c->ratio_high >= c->ratio_low && c->ratio_high <= 1e6))
        return fr_fail(err, FR_ERR_ARG, "scale and ratio must be ascending and positive");
    if (o->has_jitter && o->format.channels != 3)
        return fr_fail(err, FR_ERR_ARG, "color jitter requires 3 channels");
    return FR_OK;
}

int fr_preprocessor_new(const fr_preprocess_options *options, fr_preprocessor **preprocessor,
                        fr_error *err) {
    *preprocessor = NULL;
    FR_TRY(check(options, err));
    fr_preprocessor *p = calloc(1, sizeof *p);
    if (!p) return fr_fail_nomem(err, sizeof *p);
    p->options = options;
    *preprocessor = p;
    return FR_OK;
}

void fr_preprocessor_free(fr_preprocessor *preprocessor) {
    if (!preprocessor) return;
    fr_jpeg_free(preprocessor->jpeg);
    fr_buffer_free(&preprocessor->turned);
    fr_buffer_free(&preprocessor->floats);
    free(preprocessor);
}
