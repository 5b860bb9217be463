/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least work of a first pass over a record file in the page cache, in milliseconds of processor
 * time. Nothing is parsed.
 *
 *     make -f tests/c/drivers.mk bench VARIANT=release
 *     build/release/first_pass.exe FILE [rounds]
 *
 *   read      read(2) in pieces of 256 KiB, with the checksum of each piece
 *   headers   finds each record by its header, in a new map that is unmapped afterwards
 *   headers2  the same by read(2)
 *   once      read(2), and the checksum of each record while it is copied to a batch
 *   twice     `headers`, then the checksum of each record while it is copied from that map
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/crc32c.h"

#define PIECE ((size_t)256 << 10)
#define BATCH ((size_t)384 << 10)
#define OVERHEAD 16
#define HEADER 12
#define AHEAD 12 /* records */

static uint8_t *piece, *batch;
static size_t batch_used, file_size;
static volatile uint32_t sink; /* keeps the compiler from removing work */

static void copy_record(const uint8_t *data, size_t size) {
    if (batch_used + size > BATCH) batch_used = 0;
    sink ^= fr_crc32c_extend_copy(0, batch + batch_used, data, size);
    batch_used += size;
}

static void read_pieces(int fd) {
    ssize_t size;
    while ((size = read(fd, piece, PIECE)) > 0)
        sink ^= fr_crc32c(piece, (size_t)size);
}

static const uint8_t *map_file(int fd) {
    const uint8_t *map = mmap(NULL, file_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) exit(1);
    return map;
}

static void find_records(const uint8_t *map) {
    for (size_t at = 0; at < file_size;) {
        const size_t size = (size_t)fr_load_u64(map + at) + OVERHEAD;
        if (at + AHEAD * size < file_size) __builtin_prefetch(map + at + AHEAD * size);
        at += size;
    }
}

static void find_in_map(int fd) {
    const uint8_t *map = map_file(fd);
    find_records(map);
    munmap((void *)(uintptr_t)map, file_size);
}

static void find_by_reading(int fd) {
    size_t begin = 0, at = 0;
    ssize_t size;
    while ((size = pread(fd, piece, PIECE, (off_t)begin)) > 0) {
        const size_t end = begin + (size_t)size;
        while (at + HEADER <= end)
            at += (size_t)fr_load_u64(piece + (at - begin)) + OVERHEAD;
        begin = at;
    }
}

static void read_once(int fd) {
    size_t kept = 0;
    ssize_t size;
    while ((size = read(fd, piece + kept, PIECE - kept)) > 0) {
        const size_t end = kept + (size_t)size;
        size_t at = 0;
        while (end - at >= HEADER) {
            const size_t length = (size_t)fr_load_u64(piece + at);
            if (end - at < length + OVERHEAD) break;
            copy_record(piece + at + HEADER, length);
            at += length + OVERHEAD;
        }
        kept = end - at;
        memmove(piece, piece + at, kept);
    }
}

static void read_twice(int fd) {
    const uint8_t *map = map_file(fd);
    find_records(map);
    for (size_t at = 0; at < file_size;) {
        const size_t length = (size_t)fr_load_u64(map + at);
        copy_record(map + at + HEADER, length);
        at += length + OVERHEAD;
    }
    munmap((void *)(uintptr_t)map, file_size);
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int count, char **arguments) {
    static void (*const jobs[])(int fd) = {read_pieces, find_in_map, find_by_reading, read_once,
                                           read_twice};
    static const char *const names[] = {"read", "headers", "headers2", "once", "twice"};
    const int rounds = count > 2 ? atoi(arguments[2]) : 9;
    const int fd = count > 1 ? open(arguments[1], O_RDONLY) : -1;
    struct stat status;
    piece = malloc(PIECE);
    batch = malloc(BATCH);
    if (fd < 0 || fstat(fd, &status) != 0 || !piece || !batch) return 1;
    file_size = (size_t)status.st_size;
    memset(piece, 1, PIECE);
    memset(batch, 1, BATCH);
    for (size_t job = 0; job < sizeof jobs / sizeof *jobs; job++) {
        double best = 0;
        for (int round = 0; round < rounds; round++) {
            lseek(fd, 0, SEEK_SET);
            const double before = cpu_ms();
            jobs[job](fd);
            const double used = cpu_ms() - before;
            best = round == 0 || used < best ? used : best;
        }
        printf("%s %.2f\n", names[job], best);
    }
    return 0;
}
