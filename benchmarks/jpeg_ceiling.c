/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of training batches from JPEGs: what a C program over libjpeg-turbo's API does that
 * decodes only the crop and resizes it straight into the output. Nothing of fastrec is in it.
 *
 *     cc -std=gnu11 -O3 -pthread -o jpeg_ceiling benchmarks/jpeg_ceiling.c -ljpeg
 *     ./jpeg_ceiling IMAGES THREADS [OUTPUT]
 *
 * IMAGES holds, for each image, six uint32 in the machine's order (size, top, left, height and
 * width of the crop, whether it is mirrored) and the file. Each line on standard input is a pass
 * over all images, answered by the processor seconds used so far. Pixels are uint8, 224x224x3,
 * bilinear between two neighbours, in 7 bits; OUTPUT receives those of every image, in order.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jpeglib.h>

#define SIDE 224
#define HEADER (6 * sizeof(uint32_t))
#define SLOTS 64 /* images that a thread writes before it begins again, as in a batch */
#define ONE 128  /* of a weight */
#define SLACK 64 /* read or written beyond a row */
/* Rows are not aligned: libjpeg-turbo writes those that are past the caches. */
#define MISALIGNED 8

typedef struct {
    uint32_t size, top, left, height, width, mirrored;
    const uint8_t *data;
} image;

typedef uint8_t bytes __attribute__((vector_size(8)));
typedef uint16_t shorts __attribute__((vector_size(16)));

/* Two neighbours of one sample, and how much of the second. */
typedef struct {
    uint32_t first, second;
    uint16_t weight;
} tap;

typedef struct {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors; /* the default one leaves the program */
    uint8_t *pixels, *row, *out;
    size_t capacity;
    tap rows[SIDE], columns[SIDE];
    shorts weights[SIDE / 2]; /* of columns: two samples of four numbers */
} worker;

static image *images;
static size_t count;
static int output = -1;
static atomic_size_t next;

static void *checked(void *memory) {
    if (memory) return memory;
    fputs("no memory\n", stderr);
    exit(1);
}

/* `begin` and `length` are those of the crop, in decoded pixels, of which there are `size`. */
static void find_taps(tap *taps, float begin, float length, uint32_t size) {
    const float last = begin + length - 1 < begin ? begin : begin + length - 1;
    for (int i = 0; i < SIDE; i++) {
        float at = begin + ((float)i + 0.5f) * length / SIDE - 0.5f;
        at = at < begin ? begin : at > last ? last : at;
        const uint32_t first = (uint32_t)at < size ? (uint32_t)at : size - 1;
        taps[i].first = first;
        taps[i].second = first + 1 < size ? first + 1 : first;
        taps[i].weight = (uint16_t)((at - (float)first) * ONE + 0.5f);
    }
}

static void mix_rows(const uint8_t *restrict a, const uint8_t *restrict b, uint16_t weight,
                     size_t size, uint8_t *restrict out) {
    const uint16_t rest = (uint16_t)(ONE - weight);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)((uint16_t)(a[i] * rest + b[i] * weight + ONE / 2) >> 7);
}

static shorts pixels_at(const uint8_t *first, const uint8_t *second) {
    bytes pixels;
    memcpy(&pixels, first, 4);
    memcpy((uint8_t *)&pixels + 4, second, 4);
    return __builtin_convertvector(pixels, shorts);
}

/* Two samples at a time. Writes a byte beyond each, and the next sample over it. */
static void mix_columns(const worker *w, uint8_t *out) {
    const uint8_t *row = w->row;
    for (int i = 0; i < SIDE; i += 2, out += 6) {
        const tap *t = &w->columns[i];
        const shorts weights = w->weights[i / 2];
        const shorts a = pixels_at(row + 3 * t[0].first, row + 3 * t[1].first);
        const shorts b = pixels_at(row + 3 * t[0].second, row + 3 * t[1].second);
        const bytes mixed =
            __builtin_convertvector((a * (ONE - weights) + b * weights + ONE / 2) >> 7, bytes);
        memcpy(out, &mixed, 4);
        memcpy(out + 3, (const uint8_t *)&mixed + 4, 4);
    }
}

/* Left to right, or right to left; and weights as mix_columns() takes them. */
static void arrange_columns(worker *w, bool mirrored) {
    for (int i = 0; mirrored && i < SIDE / 2; i++) {
        const tap other = w->columns[i];
        w->columns[i] = w->columns[SIDE - 1 - i];
        w->columns[SIDE - 1 - i] = other;
    }
    for (int i = 0; i < SIDE; i++)
        for (int lane = 0; lane < 4; lane++)
            w->weights[i / 2][i % 2 * 4 + lane] = w->columns[i].weight;
}

/* Rows are so many bytes apart, and may begin before `*left`, which then says where. */
static size_t decode(worker *w, uint32_t top, uint32_t height, JDIMENSION *left,
                     JDIMENSION *width) {
    j_decompress_ptr cinfo = &w->cinfo;
    jpeg_start_decompress(cinfo);
    jpeg_crop_scanline(cinfo, left, width);
    const size_t step = ((size_t)cinfo->output_width * 3 + 31) / 32 * 32;
    const size_t needed = step * height + MISALIGNED + SLACK;
    if (needed > w->capacity) {
        free(w->pixels);
        w->pixels = checked(aligned_alloc(64, (needed + 63) / 64 * 64));
        w->capacity = needed;
    }
    if (top) jpeg_skip_scanlines(cinfo, top);
    for (uint32_t y = 0; y < height;) {
        JSAMPROW lines[8];
        const uint32_t most = height - y < 8 ? height - y : 8;
        for (uint32_t i = 0; i < most; i++)
            lines[i] = w->pixels + MISALIGNED + (y + i) * step;
        y += jpeg_read_scanlines(cinfo, lines, most);
    }
    jpeg_abort_decompress(cinfo);
    return step;
}

static void make(worker *w, const image *image, uint8_t *out) {
    j_decompress_ptr cinfo = &w->cinfo;
    jpeg_mem_src(cinfo, image->data, image->size);
    jpeg_read_header(cinfo, TRUE);
    uint32_t d = 8;
    while (d > 1 && (image->height / d < SIDE || image->width / d < SIDE))
        d /= 2;
    cinfo->scale_num = 1;
    cinfo->scale_denom = d;
    cinfo->out_color_space = JCS_RGB;
    const uint32_t top = image->top / d, height = (image->top + image->height + d - 1) / d - top;
    JDIMENSION left = image->left / d;
    JDIMENSION width = (image->left + image->width + d - 1) / d - left;
    const size_t step = decode(w, top, height, &left, &width);
    const float by = (float)d;
    find_taps(w->rows, (float)image->top / by - (float)top, (float)image->height / by, height);
    find_taps(w->columns, (float)image->left / by - (float)left, (float)image->width / by, width);
    arrange_columns(w, image->mirrored);
    const uint8_t *pixels = w->pixels + MISALIGNED;
    for (int y = 0; y < SIDE; y++, out += 3 * SIDE) {
        const tap *t = &w->rows[y];
        mix_rows(pixels + t->first * step, pixels + t->second * step, t->weight, (size_t)width * 3,
                 w->row);
        mix_columns(w, out);
    }
}

static void *work(void *argument) {
    worker *w = argument;
    const size_t size = (size_t)SIDE * SIDE * 3;
    size_t at, slot = 0;
    while ((at = atomic_fetch_add(&next, 1)) < count) {
        uint8_t *out = w->out + slot++ % SLOTS * size;
        make(w, &images[at], out);
        if (output >= 0 && pwrite(output, out, size, (off_t)(at * size)) != (ssize_t)size) {
            perror("output");
            exit(1);
        }
    }
    return NULL;
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    size_t got = 0;
    image read;
    while (file && (got = fread(&read, 1, HEADER, file)) == HEADER) {
        uint8_t *data = checked(malloc(read.size));
        if (fread(data, 1, read.size, file) != read.size) break;
        read.data = data;
        if (count % 1024 == 0) images = checked(realloc(images, (count + 1024) * sizeof *images));
        images[count++] = read;
    }
    if (!file || got || ferror(file)) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
}

int main(int argc, char **argv) {
    const int threads = argc > 2 ? atoi(argv[2]) : 0;
    if (threads < 1) {
        fprintf(stderr, "usage: %s IMAGES THREADS [OUTPUT]\n", argv[0]);
        return 2;
    }
    load(argv[1]);
    if (argc > 3 && (output = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0666)) < 0) {
        perror(argv[3]);
        return 1;
    }
    worker *workers = checked(calloc((size_t)threads, sizeof *workers));
    pthread_t *running = checked(calloc((size_t)threads, sizeof *running));
    for (int i = 0; i < threads; i++) {
        workers[i].cinfo.err = jpeg_std_error(&workers[i].errors);
        jpeg_create_decompress(&workers[i].cinfo);
        workers[i].row = checked(malloc(JPEG_MAX_DIMENSION * 3 + SLACK));
        workers[i].out = checked(malloc((size_t)SLOTS * SIDE * SIDE * 3 + SLACK));
    }
    while (getchar() != EOF) {
        struct timespec used;
        atomic_store(&next, 0);
        for (int i = 0; i < threads; i++)
            if (pthread_create(&running[i], NULL, work, &workers[i])) return 1;
        for (int i = 0; i < threads; i++)
            pthread_join(running[i], NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        printf("%.6f\n", (double)used.tv_sec + (double)used.tv_nsec * 1e-9);
        fflush(stdout);
    }
    return 0;
}
