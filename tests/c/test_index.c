/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets packed and found again, indexes kept and read back, and tables that lie. */
#include "files/index.h"
#include "test.h"

typedef uint64_t (*size_fn)(uint64_t *seed, uint64_t i);

static uint64_t fixed(uint64_t *seed, uint64_t i) {
    (void)seed;
    return 59 + (i & 0);
}

static uint64_t short_ones(uint64_t *seed, uint64_t i) {
    (void)i;
    return 20 + test_random(seed) % 70;
}

static uint64_t by_turns(uint64_t *seed, uint64_t i) {
    (void)seed;
    return 60 + i % 2;
}

/* About as the sizes of photos are. */
static uint64_t images(uint64_t *seed, uint64_t i) {
    uint64_t sum = 20000;
    (void)i;
    for (int k = 0; k < 4; k++)
        sum += test_random(seed) % 45000;
    return sum;
}

static uint64_t one_huge(uint64_t *seed, uint64_t i) {
    return i % 500 == 77 ? UINT64_C(1) << 40 : 16 + test_random(seed) % 3;
}

static const struct {
    const char *name;
    size_fn size;
    double most; /* bytes a record */
} KINDS[] = {{"fixed", fixed, 0.3},
             {"short", short_ones, 1.5},
             {"by turns", by_turns, 0.5},
             {"images", images, 2.5},
             {"one huge", one_huge, 9}};

static uint64_t *make_offsets(size_fn size, uint64_t count) {
    uint64_t seed = count + 1, *offsets = malloc((count + 1) * sizeof *offsets);
    CHECK(offsets);
    offsets[0] = 0;
    for (uint64_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + size(&seed, i);
    return offsets;
}

/* The file as an exact block, so that reading past its end is noticed. */
static fr_span exact(const fr_buffer *file) {
    uint8_t *copy = malloc(file->size);
    CHECK(copy);
    memcpy(copy, file->data, file->size);
    return (fr_span){copy, file->size};
}

static fr_span saved(const fr_index *index, uint64_t size) {
    fr_buffer out = {0};
    const fr_file_stamp stamp = {size, 7};
    CHECK(fr_index_save(index, &stamp, &out, NULL) == FR_OK);
    const fr_span file = exact(&out);
    fr_buffer_free(&out);
    return file;
}

static void same(const fr_index *index, const uint64_t *offsets, uint64_t count) {
    fr_buffer all = {0};
    CHECK(index->done && index->count == count);
    for (uint64_t i = 0; i <= count; i++)
        CHECK_CASE(fr_index_offset(index, i) == offsets[i], "offset %d", (int)i);
    CHECK(fr_index_offsets(index, &all, NULL) == FR_OK && all.size == 8 * (count + 1));
    CHECK(memcmp(all.data, offsets, all.size) == 0);
    fr_buffer_free(&all);
    for (uint64_t i = 0; i < count; i += 1 + count / 100) {
        uint64_t begin, end;
        fr_index_bounds(index, &i, 1, &begin, &end);
        CHECK(begin == offsets[i] && end == offsets[i + 1]);
        CHECK(fr_index_find(index, begin) == i && fr_index_find(index, end - 1) == i);
        CHECK(fr_index_find(index, end) == i + 1);
    }
    CHECK(fr_index_find(index, UINT64_MAX) == count);
}

static void offsets_are_found_again(size_fn size, uint64_t count) {
    uint64_t *offsets = make_offsets(size, count);
    fr_index index = {0}, copy = {0}, loaded = {0};
    fr_file_stamp stamp;
    CHECK(fr_index_set(&index, offsets, count, offsets[count], false, NULL) == FR_OK);
    same(&index, offsets, count);
    CHECK(fr_index_copy(&index, &copy, NULL) == FR_OK);
    same(&copy, offsets, count);
    const fr_span file = saved(&index, offsets[count]);
    CHECK(fr_index_load(&loaded, file, &stamp, NULL) == FR_OK);
    CHECK(stamp.size == offsets[count] && stamp.mtime_ns == 7);
    CHECK(loaded.table.data == file.data + FR_INDEX_HEAD && !loaded.memory.data);
    same(&loaded, offsets, count);
    fr_index_free(&loaded);
    free((void *)(uintptr_t)file.data);
    fr_index_free(&copy);
    fr_index_free(&index);
    fr_index_free(&index);
    free(offsets);
}

static void an_index_is_small(size_t kind) {
    enum { COUNT = 100000 };
    uint64_t *offsets = make_offsets(KINDS[kind].size, COUNT);
    fr_index index = {0};
    CHECK(fr_index_set(&index, offsets, COUNT, offsets[COUNT], false, NULL) == FR_OK);
    const double size = (double)index.memory.capacity / COUNT;
    printf("%s: %.2f bytes a record\n", KINDS[kind].name, size);
    CHECK_CASE(size <= KINDS[kind].most, "%s", KINDS[kind].name);
    fr_index_free(&index);
    free(offsets);
}

/* As the first version of the format has it: all offsets as they are. */
static fr_span first_version(const uint64_t *offsets, uint64_t count) {
    fr_buffer file = {0};
    uint8_t head[FR_INDEX_HEAD] = {0x89, 'F', 'R', 'I', '\r', '\n', 0x1a, '\n', 1};
    fr_store_u64(head + 16, offsets[count]);
    fr_store_u64(head + 32, count);
    fr_store_u32(head + 40, fr_crc32c((const uint8_t *)offsets, (count + 1) * 8));
    fr_store_u32(head + 44, fr_crc32c(head, 44));
    CHECK(fr_buffer_append(&file, head, sizeof head, NULL) == FR_OK);
    CHECK(fr_buffer_append(&file, offsets, (count + 1) * 8, NULL) == FR_OK);
    const fr_span bytes = exact(&file);
    fr_buffer_free(&file);
    return bytes;
}

static void the_first_version_is_read(uint64_t count) {
    uint64_t *offsets = make_offsets(short_ones, count);
    const fr_span file = first_version(offsets, count);
    fr_index index = {0};
    fr_file_stamp stamp;
    CHECK(fr_index_load(&index, file, &stamp, NULL) == FR_OK);
    CHECK(stamp.size == offsets[count] && index.memory.data);
    free((void *)(uintptr_t)file.data);
    same(&index, offsets, count);
    fr_index_free(&index);
    free(offsets);
}

/* Checksums that are right over whatever the table says. */
static void sign(uint8_t *file, size_t size) {
    fr_store_u32(file + 40, fr_crc32c(file + FR_INDEX_HEAD, size - FR_INDEX_HEAD));
    fr_store_u32(file + 44, fr_crc32c(file, 44));
}

/* A table that lies is refused, or says what could be so; reading it is safe either way. */
static void a_table_that_lies_is_harmless(void) {
    enum { COUNT = 300 };
    uint64_t *offsets = make_offsets(short_ones, COUNT), seed = 3;
    fr_index index = {0};
    CHECK(fr_index_set(&index, offsets, COUNT, offsets[COUNT], false, NULL) == FR_OK);
    const fr_span file = saved(&index, offsets[COUNT]);
    uint8_t *bytes = (uint8_t *)(uintptr_t)file.data;
    size_t accepted = 0;
    for (int round = 0; round < 20000; round++) {
        const size_t at = FR_INDEX_HEAD + test_random(&seed) % (file.size - FR_INDEX_HEAD);
        const uint8_t before = bytes[at];
        bytes[at] = (uint8_t)test_random(&seed);
        sign(bytes, file.size);
        fr_index lies = {0};
        fr_file_stamp stamp;
        for (uint64_t i = 0; i <= COUNT; i += 7)
            (void)fr_offsets_at(fr_span_after(file, FR_INDEX_HEAD), i);
        if (fr_index_load(&lies, file, &stamp, NULL) == FR_OK) {
            accepted++;
            for (uint64_t i = 0; i < COUNT; i++)
                CHECK(fr_index_offset(&lies, i + 1) - fr_index_offset(&lies, i) >= 16);
            CHECK(fr_index_offset(&lies, COUNT) == stamp.size);
        }
        fr_index_free(&lies);
        bytes[at] = before;
    }
    CHECK(accepted < 20000);
    fr_index_free(&index);
    free(bytes);
    free(offsets);
}

static void what_cannot_be_is_refused(void) {
    const uint64_t cases[][3] = {{0, 15, 40}, {1, 20, 40},         {0, 50, 40}, {0, 20, 41},
                                 {0, 20, 39}, {0, UINT64_MAX, 40}, {0, 20, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_index index = {0};
        CHECK_CASE(fr_index_set(&index, cases[i], 2, 40, false, NULL) == FR_ERR_INDEX, "%d",
                   (int)i);
        fr_index_free(&index);
    }
    const uint64_t gaps[] = {3, 20, 39};
    fr_index index = {0};
    CHECK(fr_index_set(&index, gaps, 2, 40, true, NULL) == FR_OK && index.end == 39);
    fr_index_free(&index);
}

static void offsets_are_added_one_by_one(uint64_t count) {
    uint64_t *offsets = make_offsets(short_ones, count);
    fr_index whole = {0}, added = {0};
    CHECK(fr_index_set(&whole, offsets, count, offsets[count], false, NULL) == FR_OK);
    for (uint64_t i = 0; i < count; i++) {
        CHECK(fr_index_add(&added, offsets[i], NULL) == FR_OK);
        if (i) CHECK(fr_index_add(&added, offsets[i] - 1, NULL) == FR_ERR_INDEX);
    }
    CHECK(fr_index_add(&added, FR_OFFSETS_LIMIT, NULL) == FR_ERR_INDEX);
    CHECK(fr_index_end(&added, FR_OFFSETS_LIMIT, false, NULL) == FR_ERR_INDEX);
    CHECK(fr_index_end(&added, offsets[count], false, NULL) == FR_OK);
    CHECK(added.count == count && added.done && added.end == whole.end && !added.gaps);
    CHECK(added.table.size == whole.table.size);
    CHECK(memcmp(added.table.data, whole.table.data, whole.table.size) == 0);
    fr_index_free(&added);
    fr_index_free(&whole);
    free(offsets);
}

int main(void) {
    const uint64_t counts[] = {0, 1, 2, 63, 64, 126, 127, 128, 129, 255, 256, 257, 5000};
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            offsets_are_found_again(KINDS[kind].size, counts[i]);
        an_index_is_small(kind);
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        the_first_version_is_read(counts[i]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        offsets_are_added_one_by_one(counts[i]);
    a_table_that_lies_is_harmless();
    what_cannot_be_is_refused();
    printf("index: ok\n");
    return 0;
}
