/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes -> options and a JPEG -> an image of a batch: every way through the decoder and what
 * follows it, and a region that has to be that of the whole.
 *
 * The first eight bytes choose options; the rest is the file.
 */
#include "fuzz.h"
#include "image/preprocess.h"

#define PIXELS_MAX (1 << 20)

static const fr_jpeg_limits limits = {.pixels = PIXELS_MAX, .scans = 20};

static fr_preprocess_options options_of(const uint8_t *p) {
    fr_preprocess_options o = {.limits = limits, .seed = p[7]};
    o.crop = (fr_crop_options){.kind = (fr_crop_kind)(p[0] % FR_CROP_COUNT),
                               .out_height = 1 + p[1] % 32,
                               .out_width = 1 + p[2] % 32,
                               .area_low = 0.1,
                               .area_high = 1,
                               .ratio_low = 0.5,
                               .ratio_high = 2};
    if (p[3] & 1) o.crop.shorter = 32;
    o.interpolation.filter = (fr_filter)(p[3] / 2 % FR_FILTER_COUNT);
    o.interpolation.antialias = p[4] & 1;
    o.fast_dct = p[4] & 2;
    o.no_fancy = p[4] & 4;
    o.upright = p[4] & 8;
    o.reducing_gap = p[4] >> 6;
    o.mirror = p[4] & 16 ? 0.5 : 0;
    o.format = (fr_pixel_format){.type = (fr_pixel_type)(p[5] % FR_PIXEL_COUNT),
                                 .channels_first = p[5] & 64,
                                 .height = o.crop.out_height,
                                 .width = o.crop.out_width,
                                 .channels = p[5] & 128 ? 1 : 3,
                                 .scale = {1, 1, 1},
                                 .shift = {0}};
    o.has_jitter = o.format.channels == 3 && p[6] & 1;
    o.jitter = (fr_color_jitter){{0.5, 1.5}, {0.5, 1.5}, {0.5, 1.5}, {-0.5, 0.5}};
    return o;
}

static void run(const fr_preprocess_options *o, fr_span jpeg) {
    fr_preprocessor *p;
    fr_error err;
    if (fr_preprocessor_new(o, &p, &err) != FR_OK) return;
    uint8_t *first = malloc(fr_pixel_format_size(&o->format));
    uint8_t *second = malloc(fr_pixel_format_size(&o->format));
    CHECK(first && second);
    const int status = fr_preprocessor_jpeg(p, jpeg, 7, first, &err);
    CHECK(fr_preprocessor_jpeg(p, jpeg, 7, second, &err) == status);
    if (status == FR_OK)
        CHECK(memcmp(first, second, fr_pixel_format_size(&o->format)) == 0);
    else
        CHECK(err.cause[0] && err.status == status);
    free(first);
    free(second);
    fr_preprocessor_free(p);
}

static int decode(fr_jpeg *jpeg, fr_span data, const fr_jpeg_region *region, uint8_t *out) {
    fr_jpeg_header header;
    fr_error err;
    FR_TRY(fr_jpeg_open(jpeg, data, &header, &err));
    return fr_jpeg_decode(jpeg, region, out, region->width * (size_t)region->channels, &err);
}

/* A region fails with the whole, or is part of it. Damage may fail further down only. */
static void compare(const uint8_t *p, fr_span data) {
    fr_jpeg *jpeg;
    fr_jpeg_header h;
    fr_error err;
    CHECK(fr_jpeg_new(&limits, &jpeg, &err) == FR_OK);
    if (fr_jpeg_open(jpeg, data, &h, &err) == FR_OK) {
        const int d = 1 << p[6] / 2 % 4;
        fr_jpeg_region all = {p[4] & 2, p[4] & 4, d, p[5] & 128 ? 1 : 3, 0, 0, 0, 0}, part = all;
        all.height = fr_jpeg_reduced(h.height, d), all.width = fr_jpeg_reduced(h.width, d);
        part.top = p[1] % all.height, part.left = p[2] % all.width;
        part.height = 1 + p[3] % (all.height - part.top);
        part.width = 1 + p[7] % (all.width - part.left);
        uint8_t *whole = malloc(all.height * all.width * 3);
        uint8_t *piece = malloc(part.height * part.width * 3);
        CHECK(whole && piece);
        const int status = decode(jpeg, data, &all, whole);
        if (status == FR_OK) CHECK(decode(jpeg, data, &part, piece) == FR_OK);
        free(whole);
        free(piece);
    }
    fr_jpeg_free(jpeg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 8) return 0;
    const fr_preprocess_options options = options_of(data);
    const fr_span jpeg = {data + 8, size - 8};
    if (fr_jpeg_version() == NULL) return 0;
    run(&options, jpeg);
    compare(data, jpeg);
    return 0;
}
