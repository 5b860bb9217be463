/* SPDX-License-Identifier: Apache-2.0 */
/* Which file and which bytes a record number leads to, in files of very different sizes. */
#include "example/encode.h"
#include "files/dataset.h"
#include "test.h"

#define SCANNED 999 /* records that one call indexes */
#define FILES 300

static char paths[FILES][64];
static size_t counts[FILES];

/* Most files are empty or short; one has more records than all others. */
static size_t count_of(uint64_t *seed, int file) {
    if (file == FILES / 2) return 20000;
    return test_random(seed) % 3 ? test_random(seed) % 40 : 0;
}

static void write_file(int file, uint64_t first) {
    fr_buffer frames = {0}, ids = {0};
    for (uint64_t i = 0; i < counts[file]; i++) {
        const uint64_t id = first + i;
        CHECK(fr_buffer_append(&ids, &id, sizeof id, NULL) == FR_OK);
    }
    const fr_value value = {.key = {(const uint8_t *)"id", 2},
                            .kind = FR_KIND_INT64,
                            .dtype = FR_INT64,
                            .values = ids.data,
                            .count = 1,
                            .size = ids.size,
                            .elements = counts[file]};
    if (counts[file])
        CHECK(fr_encode_rows(&value, 1, (fr_rows){0, counts[file], 1}, true, &frames, NULL, NULL) ==
              FR_OK);
    snprintf(paths[file], sizeof paths[file], TEST_FOLDER "/test_dataset.%ld.%d", (long)getpid(),
             file);
    FILE *f = fopen(paths[file], "wb");
    CHECK(f && (!frames.size || fwrite(frames.data, 1, frames.size, f) == frames.size));
    CHECK(fclose(f) == 0);
    fr_buffer_free(&frames);
    fr_buffer_free(&ids);
}

static uint64_t make_files(void) {
    uint64_t seed = 5, first = 0;
    for (int file = 0; file < FILES; file++) {
        counts[file] = count_of(&seed, file);
        write_file(file, first);
        first += counts[file];
    }
    return first;
}

/* Returns the number of records whose offsets are known. */
static uint64_t indexed(const fr_dataset *dataset) {
    uint64_t count = 0;
    for (size_t file = 0; file < dataset->file_count; file++)
        count += dataset->files[file].index.count;
    return count;
}

static void open_all(fr_dataset *dataset) {
    const char *names[FILES];
    const fr_frame_options options = {.verify = true};
    int status;
    for (int file = 0; file < FILES; file++)
        names[file] = paths[file];
    while ((status = fr_dataset_open(dataset, names, FILES, &options, NULL)) == FR_AGAIN) {
    }
    CHECK(status == FR_OK);
    uint64_t before = 0, after;
    do {
        status = fr_dataset_scan(dataset, SCANNED, NULL);
        after = indexed(dataset);
        CHECK(after - before <= SCANNED);
        before = after;
    } while (status == FR_AGAIN);
    CHECK(status == FR_OK);
}

static void each_number_leads_to_its_file(const fr_dataset *dataset) {
    uint64_t number = 0;
    for (size_t file = 0; file < FILES; file++)
        for (uint64_t i = 0; i < counts[file]; i++, number++)
            CHECK_CASE(fr_dataset_find(dataset, number) == file, "record %d", (int)number);
    CHECK(number == dataset->count);
}

#define SOME FR_DATASET_AT_ONCE

/* The last bytes of a record are the packed id. */
static uint64_t id_of(const fr_record *record) {
    uint64_t id = 0;
    for (size_t i = record->data.size; i > 0; i--) {
        const uint8_t byte = record->data.data[i - 1];
        if (i < record->data.size && !(byte & 0x80)) break;
        id = id << 7 | (byte & 0x7f);
    }
    return id;
}

static void numbers_are_resolved_in_any_order(const fr_dataset *dataset, uint64_t seed) {
    uint64_t numbers[SOME];
    fr_dataset_place places[FR_DATASET_AT_ONCE];
    fr_record records[FR_DATASET_AT_ONCE];
    fr_dataset_hold hold = {.count = 0}, other = {.count = 0};
    for (size_t i = 0; i < SOME; i++)
        numbers[i] = test_random(&seed) % dataset->count;
    CHECK(fr_dataset_resolve(dataset, numbers, SOME, places, &hold, NULL) == FR_OK);
    fr_dataset_touch(places, SOME);
    CHECK(fr_dataset_records(dataset, numbers, SOME, records, &other, NULL) == FR_OK);
    for (size_t i = 0; i < SOME; i++) {
        const fr_dataset_place *place = &places[i];
        const fr_dataset_file *file = &dataset->files[place->file];
        const uint64_t within = numbers[i] - file->first;
        fr_record record;
        CHECK(place->number == numbers[i] && within < file->index.count);
        CHECK(place->frame.data == file->map.bytes.data + fr_index_offset(&file->index, within));
        CHECK(fr_dataset_read(dataset, place, &record, NULL) == FR_OK);
        CHECK(record.data.data == records[i].data.data && record.offset == records[i].offset);
        CHECK(record.offset == fr_index_offset(&file->index, within));
        CHECK(id_of(&record) == numbers[i]);
    }
    fr_dataset_let_go(dataset, &hold);
    fr_dataset_let_go(dataset, &other);
}

/* Another file that was lost, also of another dataset, says nothing about this one. */
static void only_the_file_that_shrank_is_blamed(const fr_dataset *dataset) {
    const size_t file = FILES / 2;
    const uint64_t here = dataset->files[file].first;
    fr_error err = {0};
    CHECK(here > 0 && fr_dataset_check(dataset, here, &err) == FR_OK);
    fr_file_map_lose(&dataset->files[file].map);
    CHECK(fr_dataset_check(dataset, here - 1, &err) == FR_OK);
    CHECK(fr_dataset_check(dataset, here + 7, &err) == FR_ERR_TRUNCATED);
    CHECK(err.fault == FR_FAULT_SHRUNK && err.file == (int64_t)file && err.record == 7);
}

int main(void) {
    const uint64_t count = make_files();
    fr_dataset dataset = {0}, later = {0};
    open_all(&dataset);
    CHECK(dataset.count == count);
    each_number_leads_to_its_file(&dataset);
    for (uint64_t seed = 1; seed < 30; seed++)
        numbers_are_resolved_in_any_order(&dataset, seed);
    only_the_file_that_shrank_is_blamed(&dataset);
    open_all(&later);
    CHECK(fr_dataset_check(&later, later.files[FILES / 2].first, NULL) == FR_OK);
    fr_dataset_close(&dataset);
    fr_dataset_close(&later);
    for (int file = 0; file < FILES; file++)
        CHECK(unlink(paths[file]) == 0);
    printf("dataset: ok\n");
    return 0;
}
