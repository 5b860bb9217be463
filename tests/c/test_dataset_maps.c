/* SPDX-License-Identifier: Apache-2.0 */
/* More files than may be mapped: they come and go, and must be what they were. */
#include <errno.h>
#include <pthread.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "files/dataset.h"
#include "test.h"

#define FILES 60
#define MOST 4       /* maps that are kept open, beyond those of files that are held */
#define RECORDS 5000 /* so many that their index is mapped, of all files but the last ones */
#define SHORT_FROM 40

static uint64_t count_of(int file) {
    return file < SHORT_FROM ? RECORDS : 70;
}

static uint64_t first_of(int file) {
    return file < SHORT_FROM ? (uint64_t)file * RECORDS
                             : SHORT_FROM * RECORDS + (uint64_t)(file - SHORT_FROM) * 70;
}

static char paths[FILES][64];
static const char *names[FILES];

static void name_beside(int file, char *name) {
    snprintf(name, 80, "%.63s" FR_INDEX_SUFFIX, paths[file]);
}

static void write_bytes(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

/* Record i of a file is its number among all, 8 bytes and some zeros. */
static void write_file(int file) {
    fr_buffer frames = {0};
    for (uint64_t i = 0; i < count_of(file); i++) {
        uint8_t data[100] = {0};
        const fr_span record = {data, 8 + (i * 7) % 90};
        fr_store_u64(data, first_of(file) + i);
        CHECK(fr_buffer_reserve(&frames, record.size + FR_FRAME_OVERHEAD, NULL) == FR_OK);
        fr_frame_put(frames.data + frames.size, record);
        frames.size += record.size + FR_FRAME_OVERHEAD;
    }
    snprintf(paths[file], sizeof paths[file], TEST_FOLDER "/test_maps.%ld.%d", (long)getpid(),
             file);
    names[file] = paths[file];
    write_bytes(paths[file], frames.data, frames.size);
    fr_buffer_free(&frames);
}

static void write_beside(int file) {
    fr_file_map map;
    fr_index index = {0};
    fr_buffer out = {0};
    char name[80];
    const fr_frame_options options = {.verify = true};
    CHECK(fr_file_map_open(&map, paths[file], NULL) == FR_OK);
    CHECK(fr_index_scan(&index, &(fr_index_file){map.bytes, -1}, &options, UINT64_MAX, NULL) ==
          FR_OK);
    CHECK(fr_index_save(&index, &map.stamp, &out, NULL) == FR_OK);
    name_beside(file, name);
    write_bytes(name, out.data, out.size);
    fr_buffer_free(&out);
    fr_index_free(&index);
    fr_file_map_close(&map);
}

static void begin(fr_dataset *dataset, size_t limit) {
    const fr_frame_options options = {.verify = true};
    *dataset = (fr_dataset){.limit = limit};
    CHECK(fr_dataset_open(dataset, names, FILES, &options, NULL) == FR_OK);
    CHECK((dataset->maps != NULL) == (limit != 0));
}

static void open_all(fr_dataset *dataset, size_t limit, bool beside) {
    begin(dataset, limit);
    for (size_t i = 0; beside && i < FILES; i++)
        CHECK(fr_dataset_use_beside(dataset, i, NULL) == FR_OK);
    int status;
    while ((status = fr_dataset_scan(dataset, 500, NULL)) == FR_AGAIN) {
    }
    CHECK(status == FR_OK && dataset->count == first_of(FILES));
}

static size_t maps(const fr_dataset *dataset) {
    size_t count = 0;
    for (size_t i = 0; i < FILES; i++)
        count += (dataset->files[i].map.entry != NULL) + (dataset->files[i].beside.entry != NULL);
    return count;
}

/* A file is dropped with its index. */
static bool full(const fr_dataset *dataset) {
    return maps(dataset) <= MOST && maps(dataset) >= MOST - 1;
}

static void read_some(const fr_dataset *dataset, uint64_t seed) {
    fr_dataset_hold hold = {.count = 0};
    for (int round = 0; round < 50; round++) {
        uint64_t numbers[FR_DATASET_AT_ONCE];
        fr_record records[FR_DATASET_AT_ONCE];
        const size_t count = 1 + test_random(&seed) % FR_DATASET_AT_ONCE;
        for (size_t i = 0; i < count; i++)
            numbers[i] = test_random(&seed) % dataset->count;
        CHECK(fr_dataset_records(dataset, numbers, count, records, &hold, NULL) == FR_OK);
        for (size_t i = 0; i < count; i++) {
            CHECK(fr_load_u64(records[i].data.data) == numbers[i]);
            CHECK(fr_dataset_check(dataset, numbers[i], NULL) == FR_OK);
        }
        if (round % 10 == 9) (void)fr_dataset_resident(dataset, numbers[0]);
        if (round == 20) fr_dataset_scatter(dataset);
        if (round % 10 == 5)
            fr_dataset_announce(dataset, numbers[0] / 2, dataset->count / 2,
                                round % 20 == 5 ? FR_ANNOUNCE_SCATTERED : FR_ANNOUNCE_AROUND);
    }
    fr_dataset_let_go(dataset, &hold);
}

static void *reader(void *dataset) {
    static _Atomic uint64_t seed;
    read_some(dataset, atomic_fetch_add(&seed, 1) + 100);
    return NULL;
}

static void records_are_the_same(bool beside) {
    fr_dataset dataset;
    pthread_t threads[4];
    open_all(&dataset, MOST, beside);
    CHECK(maps(&dataset) <= MOST);
    read_some(&dataset, 1);
    CHECK(full(&dataset));
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, reader, &dataset) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(full(&dataset));
    fr_dataset_close(&dataset);
    open_all(&dataset, 0, beside);
    read_some(&dataset, 2);
    CHECK(maps(&dataset) == (beside ? 2 * FILES : FILES));
    fr_dataset_close(&dataset);
}

static void what_is_held_stays(void) {
    fr_dataset dataset;
    fr_dataset_hold hold = {.count = 0};
    fr_record record;
    open_all(&dataset, MOST, false);
    CHECK(fr_dataset_records(&dataset, (uint64_t[]){first_of(5) + 3}, 1, &record, &hold, NULL) ==
          FR_OK);
    read_some(&dataset, 3);
    CHECK(dataset.files[5].map.entry && fr_load_u64(record.data.data) == first_of(5) + 3);
    fr_dataset_let_go(&dataset, &hold);
    fr_dataset_let_go(&dataset, &hold);
    read_some(&dataset, 4);
    CHECK(full(&dataset));
    fr_dataset_close(&dataset);
}

/* Files are scanned, and others read, so that file 7 is not mapped. */
static void drop(const fr_dataset *dataset) {
    fr_dataset_hold hold = {.count = 0};
    fr_record record;
    for (int file = 20; file < 20 + 2 * MOST; file++)
        CHECK(fr_dataset_records(dataset, (uint64_t[]){first_of(file)}, 1, &record, &hold, NULL) ==
              FR_OK);
    fr_dataset_let_go(dataset, &hold);
    CHECK(!dataset->files[7].map.entry);
}

static int read_seven(const fr_dataset *dataset, fr_error *err) {
    fr_dataset_hold hold = {.count = 0};
    fr_record record;
    int status = fr_dataset_records(dataset, (uint64_t[]){first_of(7) + 2}, 1, &record, &hold, err);
    fr_dataset_let_go(dataset, &hold);
    if (status != FR_OK) CHECK(err->file == 7 && err->record == 2);
    return status;
}

static void a_file_must_be_what_it_was(bool beside) {
    fr_dataset dataset;
    fr_error err = {0};
    char moved[80], name[80];
    open_all(&dataset, MOST, beside);
    drop(&dataset);
    snprintf(moved, sizeof moved, "%s.moved", paths[7]);
    CHECK(rename(paths[7], moved) == 0);
    CHECK(read_seven(&dataset, &err) == FR_ERR_IO && err.sys_errno == ENOENT);
    CHECK(rename(moved, paths[7]) == 0 && read_seven(&dataset, &err) == FR_OK);
    drop(&dataset);
    test_cut_off(paths[7], 100);
    CHECK(read_seven(&dataset, &err) == FR_ERR_TRUNCATED && err.fault == FR_FAULT_SHRUNK);
    write_file(7);
    CHECK(read_seven(&dataset, &err) == FR_ERR_CORRUPT && err.fault == FR_FAULT_CHANGED);
    fr_dataset_close(&dataset);
    write_beside(7);
    if (!beside) return;
    open_all(&dataset, MOST, beside);
    drop(&dataset);
    name_beside(7, name);
    test_cut_off(name, 60);
    CHECK(read_seven(&dataset, &err) == FR_ERR_INDEX);
    CHECK(unlink(name) == 0);
    CHECK(read_seven(&dataset, &err) == FR_ERR_IO && err.sys_errno == ENOENT);
    fr_dataset_close(&dataset);
    write_beside(7);
}

static void put_byte(FILE *f, long offset, uint8_t byte) {
    CHECK(fseek(f, offset, SEEK_SET) == 0 && fputc(byte, f) == byte && fflush(f) == 0);
}

/* Damage that only the body of an index has is found when the file is read first. */
static void an_index_is_looked_at_before_it_is_believed(size_t limit) {
    fr_dataset dataset;
    fr_error err = {0};
    char name[80];
    name_beside(7, name);
    FILE *f = fopen(name, "r+b");
    CHECK(f && fseek(f, -20, SEEK_END) == 0);
    const long at = ftell(f);
    const uint8_t byte = (uint8_t)fgetc(f);
    put_byte(f, at, byte ^ 1);
    begin(&dataset, limit);
    int status = fr_dataset_use_beside(&dataset, 7, &err);
    if (limit) {
        CHECK(status == FR_OK && dataset.files[7].index.count == RECORDS);
        while ((status = fr_dataset_scan(&dataset, 100000, &err)) == FR_AGAIN) {
        }
        CHECK(status == FR_OK);
        status = read_seven(&dataset, &err);
    }
    CHECK(status == FR_ERR_INDEX && err.file == 7);
    fr_dataset_close(&dataset);
    put_byte(f, at, byte);
    CHECK(fclose(f) == 0);
}

/* Whoever writes over an index while it is mapped may get an error, or what was asked for. */
static void an_index_that_changes_under_us_is_harmless(size_t limit) {
    fr_dataset dataset;
    fr_error err = {0};
    char name[80];
    name_beside(7, name);
    open_all(&dataset, limit, true);
    CHECK(read_seven(&dataset, &err) == FR_OK);
    FILE *f = fopen(name, "r+b");
    uint64_t seed = 1;
    CHECK(f);
    for (int round = 0; round < 3000; round++) {
        uint8_t byte = (uint8_t)test_random(&seed);
        put_byte(f, FR_INDEX_HEAD + (long)(test_random(&seed) % 4000), byte);
        int status = read_seven(&dataset, &err);
        CHECK(status == FR_OK || status == FR_ERR_INDEX || status == FR_ERR_CORRUPT ||
              status == FR_ERR_TRUNCATED);
    }
    CHECK(fclose(f) == 0);
    test_cut_off(name, 0);
    CHECK(read_seven(&dataset, &err) < 0);
    fr_dataset_close(&dataset);
    write_beside(7);
}

#if defined(_WIN32)

static void a_child_maps_files_whatever_threads_were_at(void) {
    TEST_SKIPPED("a child that maps files");
}

#else

static atomic_bool reading;

static void *read_in_turn(void *dataset) {
    fr_error err;
    for (uint64_t i = 0; atomic_load(&reading); i++) {
        fr_dataset_hold hold = {.count = 0};
        fr_record record;
        CHECK(fr_dataset_records(dataset, (uint64_t[]){first_of((int)(i % 8))}, 1, &record, &hold,
                                 &err) == FR_OK);
        fr_dataset_let_go(dataset, &hold);
    }
    return NULL;
}

/* A child that got the lock locked would wait for it until the alarm. */
static int read_in_child(const fr_dataset *dataset) {
    fr_error err;
    alarm(20);
    return read_seven(dataset, &err) == FR_OK ? 0 : 1;
}

static void a_child_maps_files_whatever_threads_were_at(void) {
    fr_dataset dataset;
    pthread_t threads[2];
    open_all(&dataset, MOST, false);
    atomic_store(&reading, true);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, read_in_turn, &dataset) == 0);
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(read_in_child(&dataset));
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&reading, false);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    fr_dataset_close(&dataset);
}

#endif

/* What a manifest says of all files. */
static fr_dataset_listed listed[FILES];

static int open_listed(fr_dataset *dataset, size_t limit, bool beside, fr_error *err) {
    const fr_frame_options options = {.verify = true};
    *dataset = (fr_dataset){.limit = limit, .listed = listed, .looks_beside = beside};
    FR_TRY(fr_dataset_open(dataset, names, FILES, &options, err));
    CHECK(dataset->maps && maps(dataset) == 0);
    FR_TRY(fr_dataset_scan(dataset, 1, err));
    CHECK(dataset->count == first_of(FILES) && maps(dataset) == 0);
    return FR_OK;
}

static void list_files(void) {
    fr_file_stamp stamp;
    for (int file = 0; file < FILES; file++) {
        CHECK(fr_file_map_stat(paths[file], &stamp, NULL) == FR_OK);
        listed[file] = (fr_dataset_listed){stamp.size, count_of(file)};
    }
}

static void listed_files_are_opened_when_they_are_read(size_t limit, bool beside) {
    fr_dataset dataset;
    fr_dataset_hold hold = {.count = 0};
    fr_record record;
    pthread_t threads[4];
    CHECK(open_listed(&dataset, limit, beside, NULL) == FR_OK);
    CHECK(fr_dataset_records(&dataset, (uint64_t[]){first_of(5) + 3}, 1, &record, &hold, NULL) ==
          FR_OK);
    CHECK(fr_load_u64(record.data.data) == first_of(5) + 3);
    CHECK(maps(&dataset) == (beside ? 2 : 1));
    fr_dataset_let_go(&dataset, &hold);
    fr_dataset_close(&dataset);
    CHECK(open_listed(&dataset, limit, beside, NULL) == FR_OK);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, reader, &dataset) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(limit == 0 || full(&dataset));
    for (int file = 0; file < FILES; file++)
        CHECK(fr_dataset_records(&dataset, (uint64_t[]){first_of(file)}, 1, &record, &hold, NULL) ==
              FR_OK);
    fr_dataset_let_go(&dataset, &hold);
    CHECK(limit || maps(&dataset) == (beside ? 2 * FILES : FILES));
    fr_index copy = {0};
    CHECK(fr_dataset_copy_index(&dataset, 7, &copy, NULL) == FR_OK && copy.count == RECORDS);
    fr_index_free(&copy);
    fr_dataset_close(&dataset);
}

/* All threads begin with the same files, which one of them opens first. */
static void *same_reader(void *dataset) {
    read_some(dataset, 1);
    return NULL;
}

static void threads_open_the_same_files(bool beside) {
    for (int round = 0; round < 5; round++) {
        fr_dataset dataset;
        pthread_t threads[4];
        CHECK(open_listed(&dataset, MOST, beside, NULL) == FR_OK);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, same_reader, &dataset) == 0);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        fr_dataset_close(&dataset);
    }
}

static void listed_files_must_be_as_listed(bool beside) {
    fr_dataset dataset;
    fr_error err = {0};
    const fr_dataset_listed was = listed[7];
    listed[7].size -= 1;
    CHECK(open_listed(&dataset, 0, beside, NULL) == FR_OK);
    for (int round = 0; round < 2; round++)
        CHECK(read_seven(&dataset, &err) == FR_ERR_MANIFEST && maps(&dataset) == 0);
    fr_dataset_close(&dataset);
    listed[7] = (fr_dataset_listed){was.size, was.count - 1};
    listed[8].count += 1;
    CHECK(open_listed(&dataset, 0, beside, NULL) == FR_OK);
    for (int round = 0; round < 2; round++)
        CHECK(read_seven(&dataset, &err) == FR_ERR_MANIFEST && maps(&dataset) == 0);
    fr_dataset_close(&dataset);
    list_files();
    /* One that is opened again has to be what it was when it was opened first. */
    CHECK(open_listed(&dataset, MOST, beside, NULL) == FR_OK);
    CHECK(read_seven(&dataset, &err) == FR_OK);
    drop(&dataset);
    CHECK(dataset.files[3].listed && !dataset.files[7].listed);
    write_file(7);
    CHECK(read_seven(&dataset, &err) == FR_ERR_CORRUPT && err.fault == FR_FAULT_CHANGED);
    fr_dataset_close(&dataset);
    /* The index of a file that was written again as it was is still used. */
    CHECK(open_listed(&dataset, MOST, beside, NULL) == FR_OK);
    CHECK(read_seven(&dataset, &err) == FR_OK && dataset.files[7].told == beside);
    fr_dataset_close(&dataset);
    if (beside) write_beside(7);
}

static void what_no_file_can_have_is_refused(void) {
    fr_dataset dataset;
    fr_error err = {0};
    listed[9].count = listed[9].size / FR_FRAME_OVERHEAD + 1;
    CHECK(open_listed(&dataset, 0, false, &err) == FR_ERR_MANIFEST && err.file == 9);
    listed[9] = (fr_dataset_listed){UINT64_MAX, UINT64_MAX};
    CHECK(open_listed(&dataset, 0, false, &err) == FR_ERR_MANIFEST && err.file == 9);
    list_files();
    /* The damage is found where it is, although another record was asked for. */
    FILE *f = fopen(paths[9], "r+b");
    CHECK(f && fseek(f, 9, SEEK_SET) == 0);
    const uint8_t byte = (uint8_t)fgetc(f);
    put_byte(f, 9, byte ^ 1);
    CHECK(open_listed(&dataset, 0, false, NULL) == FR_OK);
    fr_record record;
    fr_dataset_hold hold = {.count = 0};
    CHECK(fr_dataset_records(&dataset, (uint64_t[]){first_of(9) + 2}, 1, &record, &hold, &err) ==
          FR_ERR_CORRUPT);
    CHECK(err.file == 9 && err.record == 0 && err.offset == 0);
    fr_dataset_let_go(&dataset, &hold);
    fr_dataset_close(&dataset);
    put_byte(f, 9, byte);
    CHECK(fclose(f) == 0);
    list_files();
}

/* Without its index a file is not opened for those who look ahead, nor for those who stop. */
static void indexing_is_given_up(bool beside) {
    fr_dataset dataset;
    fr_record record;
    const atomic_bool stop = true;
    fr_dataset_hold hold = {.stop = &stop};
    CHECK(open_listed(&dataset, 0, beside, NULL) == FR_OK);
    fr_dataset_announce(&dataset, first_of(7), RECORDS, FR_ANNOUNCE_EXACT);
    const bool resident = fr_dataset_resident(&dataset, first_of(7));
#if defined(_WIN32)
    CHECK(!resident); /* it does not say */
#else
    CHECK(resident == beside);
#endif
    CHECK(maps(&dataset) == (beside ? 2 : 0));
    const int status =
        fr_dataset_records(&dataset, (uint64_t[]){first_of(8)}, 1, &record, &hold, NULL);
    CHECK(status == (beside ? FR_OK : FR_AGAIN) && maps(&dataset) == (beside ? 4 : 0));
    fr_dataset_let_go(&dataset, &hold);
    fr_error err;
    CHECK(read_seven(&dataset, &err) == FR_OK);
    fr_dataset_close(&dataset);
}

static void listed_files(bool beside) {
    list_files();
    listed_files_are_opened_when_they_are_read(0, beside);
    listed_files_are_opened_when_they_are_read(MOST, beside);
    threads_open_the_same_files(beside);
    indexing_is_given_up(beside);
    listed_files_must_be_as_listed(beside);
}

int main(void) {
    for (int file = 0; file < FILES; file++)
        write_file(file);
    listed_files(false);
    what_no_file_can_have_is_refused();
    records_are_the_same(false);
    what_is_held_stays();
    a_child_maps_files_whatever_threads_were_at();
    a_file_must_be_what_it_was(false);
    for (int file = 0; file < FILES; file++)
        write_beside(file);
    records_are_the_same(true);
    a_file_must_be_what_it_was(true);
    listed_files(true);
    for (size_t limit = 0; limit <= MOST; limit += MOST) {
        an_index_is_looked_at_before_it_is_believed(limit);
        an_index_that_changes_under_us_is_harmless(limit);
    }
    for (int file = 0; file < FILES; file++) {
        char name[80];
        name_beside(file, name);
        CHECK(unlink(paths[file]) == 0 && unlink(name) == 0);
    }
    printf("dataset maps: ok\n");
    return 0;
}
