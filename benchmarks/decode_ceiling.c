/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of batches of whole images: what libjpeg-turbo and libpng decode on so many threads,
 * of images in memory, each into the same few pixels. Nothing of fastrec is in it.
 *
 *     cc -std=gnu11 -O3 -pthread -o decode_ceiling benchmarks/decode_ceiling.c -ljpeg -lpng
 *     ./decode_ceiling IMAGES THREADS COUNT
 *
 * IMAGES holds the size of each image, uint32 in the machine's order, and the file: JPEGs, decoded
 * by the fast transform, or PNGs of 8 bits. COUNT images are decoded, over and over from the first,
 * for each line on standard input; the answer is how many seconds that took.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>
#include <png.h>

#define PIXELS_SIZE ((size_t)1 << 24)
#define LINES 8

typedef struct {
    uint8_t *data;
    uint32_t size;
} image;

typedef struct {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors; /* the default one leaves the program */
    uint8_t *pixels;
} worker;

typedef struct {
    const uint8_t *at;
    size_t left;
} bytes;

static image *images;
static size_t image_count, total;
static atomic_size_t next;

_Noreturn static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void decode_jpeg(worker *w, const image *image) {
    j_decompress_ptr cinfo = &w->cinfo;
    jpeg_mem_src(cinfo, image->data, image->size);
    jpeg_read_header(cinfo, TRUE);
    cinfo->dct_method = JDCT_IFAST;
    jpeg_start_decompress(cinfo);
    const size_t row = (size_t)cinfo->output_width * (size_t)cinfo->output_components;
    if (row * cinfo->output_height > PIXELS_SIZE) stop("an image is too large");
    while (cinfo->output_scanline < cinfo->output_height) {
        JSAMPROW lines[LINES];
        for (size_t i = 0; i < LINES; i++)
            lines[i] = w->pixels + (cinfo->output_scanline + i) * row;
        jpeg_read_scanlines(cinfo, lines, LINES);
    }
    jpeg_finish_decompress(cinfo);
}

static void give(png_structp png, png_bytep out, size_t size) {
    bytes *input = png_get_io_ptr(png);
    if (size > input->left) png_error(png, "truncated");
    memcpy(out, input->at, size);
    input->at += size, input->left -= size;
}

static void decode_png(worker *w, const image *image) {
    bytes input = {image->data, image->size};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) stop("a PNG cannot be decoded");
    png_set_read_fn(png, &input, give);
    png_read_info(png, info);
    const size_t row = png_get_rowbytes(png, info), height = png_get_image_height(png, info);
    if (row * height > PIXELS_SIZE) stop("an image is too large");
    for (size_t y = 0; y < height; y++)
        png_read_row(png, w->pixels + y * row, NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
}

static void *work(void *argument) {
    worker *w = argument;
    size_t at;
    while ((at = atomic_fetch_add(&next, 1)) < total) {
        const image *image = &images[at % image_count];
        if (image->data[0] == 0xff)
            decode_jpeg(w, image);
        else
            decode_png(w, image);
    }
    return NULL;
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    uint32_t size;
    while (file && fread(&size, sizeof size, 1, file) == 1) {
        images = realloc(images, (image_count + 1) * sizeof *images);
        if (!images || !size || !(images[image_count].data = malloc(size))) stop("no memory");
        if (fread(images[image_count].data, 1, size, file) != size) stop("the images are cut off");
        images[image_count++].size = size;
    }
    if (!image_count) stop("there are no images");
    fclose(file);
}

int main(int argc, char **argv) {
    const size_t threads = argc > 3 ? (size_t)atoi(argv[2]) : 0;
    if (!threads) stop("usage: decode_ceiling IMAGES THREADS COUNT");
    load(argv[1]);
    total = (size_t)atoll(argv[3]);
    worker *workers = calloc(threads, sizeof *workers);
    pthread_t *running = calloc(threads, sizeof *running);
    if (!workers || !running) stop("no memory");
    for (size_t i = 0; i < threads; i++) {
        workers[i].cinfo.err = jpeg_std_error(&workers[i].errors);
        jpeg_create_decompress(&workers[i].cinfo);
        if (!(workers[i].pixels = malloc(PIXELS_SIZE))) stop("no memory");
    }
    while (getchar() != EOF) {
        struct timespec begin, end;
        atomic_store(&next, 0);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (size_t i = 0; i < threads; i++)
            if (pthread_create(&running[i], NULL, work, &workers[i])) stop("no thread");
        for (size_t i = 0; i < threads; i++)
            pthread_join(running[i], NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.6f\n",
               (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
        fflush(stdout);
    }
    return 0;
}
