/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped: open write fsync close rename fchmod unlink fstatfs fallocate ftruncate */
/*
 * The writer on a system whose calls fail, do half of what was asked, or are interrupted. The
 * Makefile hands the names above to the linker's --wrap.
 */
#include "files/writer.h"
#include "test.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static char path[64], folder[64];
static char calls[1 << 16]; /* a letter a call that the writer made */
static size_t call_count;
static char failing;      /* the letter that fails, ... */
static long failing_turn; /* ... when it comes for the n-th time, from 0, ... */
static int failing_errno; /* ... and what it says */
static size_t write_limit = SIZE_MAX;
static off_t reserved; /* up to there the file has blocks */

/* Whether the call fails. A directory's descriptor has its own letters. */
static bool fails(char letter) {
    CHECK(call_count < sizeof calls - 1);
    calls[call_count++] = letter;
    if (letter != failing || failing_turn-- != 0) return false;
    errno = failing_errno;
    return true;
}

static bool is_directory(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A file that is only read is the target. */
static char closing(int fd) {
    if (is_directory(fd)) return 'C';
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? 'x' : 'c';
}

int __real_open(const char *name, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_rename(const char *from, const char *to);
int __real_fchmod(int fd, mode_t mode);
int __real_unlink(const char *name);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __real_ftruncate(int fd, off_t size);

int __wrap_open(const char *name, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    struct stat st;
    const bool directory = stat(name, &st) == 0 && S_ISDIR(st.st_mode);
    if (fails(flags & O_CREAT ? 'o' : directory ? 'O' : 'l')) return -1;
    return __real_open(name, flags, mode);
}

ssize_t __wrap_write(int fd, const void *data, size_t size) {
    if (fails('w')) return -1;
    return __real_write(fd, data, size < write_limit ? size : write_limit);
}

int __wrap_fsync(int fd) {
    return fails(is_directory(fd) ? 'S' : 's') ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd) {
    bool failed = fails(closing(fd));
    int kept = errno;
    int status = __real_close(fd);
    errno = kept;
    return failed ? -1 : status;
}

int __wrap_rename(const char *from, const char *to) {
    return fails('r') ? -1 : __real_rename(from, to);
}

/* Everywhere looks like ext4, which has blocks reserved. */
int __wrap_fstatfs(int fd, struct statfs *there) {
    *there = (struct statfs){.f_type = 0xef53};
    return fd < 0 ? -1 : 0;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size) {
    if (fails('f')) return -1;
    reserved = offset + size;
    return __real_fallocate(fd, mode, offset, size) == 0 || errno == EOPNOTSUPP ? 0 : -1;
}

int __wrap_ftruncate(int fd, off_t size) {
    if (fails('t')) return -1;
    reserved = size;
    return __real_ftruncate(fd, size);
}

int __wrap_fchmod(int fd, mode_t mode) {
    return fails('m') ? -1 : __real_fchmod(fd, mode);
}

int __wrap_unlink(const char *name) {
    return fails('u') ? -1 : __real_unlink(name);
}

static void fail(char letter, long turn, int sys_errno) {
    failing = letter;
    failing_turn = turn;
    failing_errno = sys_errno;
    call_count = 0;
}

static size_t read_target(uint8_t *out, size_t size) {
    FILE *f = fopen(path, "rb");
    CHECK(f);
    size = fread(out, 1, size, f);
    fclose(f);
    return size;
}

static void put_old(void) {
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs("old", f) >= 0 && fclose(f) == 0);
}

static bool holds_old(void) {
    uint8_t got[4];
    return read_target(got, 4) == 3 && memcmp(got, "old", 3) == 0;
}

enum { RECORDS = 7, RECORD_SIZE = 700000, TOTAL = RECORDS * (RECORD_SIZE + FR_FRAME_OVERHEAD) };

static uint8_t data[RECORD_SIZE + RECORDS], expected[TOTAL], got[TOTAL + 1];

static bool holds_new(void) {
    return read_target(got, TOTAL + 1) == TOTAL && memcmp(got, expected, TOTAL) == 0;
}

static int write_all(fr_writer *w, fr_error *err) {
    const fr_writer_options options = {.no_sync = false};
    FR_TRY(fr_writer_open(w, path, &options, err));
    for (int i = 0; i < RECORDS; i++)
        FR_TRY(fr_writer_record(w, (fr_span){data + i, RECORD_SIZE}, err));
    return fr_writer_close(w, err);
}

static void it_all_goes_well(void) {
    fr_writer w = {0};
    put_old();
    fail(0, 0, 0);
    CHECK(write_all(&w, NULL) == FR_OK && holds_new());
    calls[call_count] = 0;
}

/* Power may fail between any two calls: the name changes only once the bytes are safe, and the
   writer says that all is done only once the name is. */
static void bytes_are_synced_before_the_name_and_the_name_before_the_end(void) {
    it_all_goes_well();
    CHECK_CASE(strcmp(calls, "lxomfwwfwtsclxrOSC") == 0, "%s", calls);
}

static void what_was_reserved_and_not_needed_is_given_back(void) {
    it_all_goes_well();
    CHECK(reserved == TOTAL);
}

static void room_that_cannot_be_reserved_is_not_missed(char letter) {
    fr_writer w = {0};
    put_old();
    fail(letter, 0, ENOSPC);
    CHECK_CASE(write_all(&w, NULL) == FR_OK && holds_new(), "%c", letter);
}

static void a_target_that_cannot_be_read_is_replaced(void) {
    for (long turn = 0; turn < 2; turn++) {
        fr_writer w = {0};
        put_old();
        fail('l', turn, EACCES);
        CHECK_CASE(write_all(&w, NULL) == FR_OK && holds_new(), "%ld", turn);
    }
}

static void a_mode_that_the_mount_fixes_is_no_failure(int sys_errno) {
    fr_writer w = {0};
    put_old();
    fail('m', 0, sys_errno);
    CHECK_CASE(write_all(&w, NULL) == FR_OK && holds_new(), "%d", sys_errno);
}

static void short_writes_go_on(size_t limit) {
    write_limit = limit;
    it_all_goes_well();
    write_limit = SIZE_MAX;
}

static void an_interrupted_write_goes_on(void) {
    for (long turn = 0; turn < 3; turn++) {
        fr_writer w = {0};
        put_old();
        fail('w', turn, EINTR);
        CHECK(write_all(&w, NULL) == FR_OK && holds_new());
    }
}

static void a_failure_leaves_the_old_file(char letter, long turn, int sys_errno) {
    fr_writer w = {0};
    fr_error err, again;
    put_old();
    fail(letter, turn, sys_errno);
    CHECK_CASE(write_all(&w, &err) == FR_ERR_IO, "%c %ld", letter, turn);
    CHECK(err.sys_errno == sys_errno && err.cause[0]);
    CHECK_CASE(holds_old(), "%c %ld", letter, turn);
    fail(0, 0, 0);
    CHECK(fr_writer_close(&w, &again) == FR_ERR_IO && again.sys_errno == sys_errno);
    fr_writer_abort(&w);
    CHECK(call_count == 0);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0 && mkdir(folder, 0700) == 0);
}

static void a_directory_that_cannot_be_synced_is_told_of(void) {
    fr_writer w = {0};
    fr_error err;
    put_old();
    fail('S', 0, EIO);
    CHECK(write_all(&w, &err) == FR_ERR_IO && err.fault == FR_FAULT_UNSYNCED);
    CHECK(holds_new());
    put_old();
    fail('S', 0, EINVAL); /* a file system that has no such thing */
    CHECK(write_all(&w, &err) == FR_OK && holds_new());
    put_old();
    fail('O', 0, EACCES); /* a directory that may be written to and not read */
    CHECK(write_all(&w, &err) == FR_OK && holds_new());
}

static void an_interrupted_close_has_closed(void) {
    fr_writer w = {0};
    put_old();
    fail('c', 0, EINTR);
    CHECK(write_all(&w, NULL) == FR_OK && holds_new());
}

static void a_name_that_is_taken_is_not_used(void) {
    fr_writer w = {0};
    put_old();
    fail('o', 0, EEXIST);
    CHECK(write_all(&w, NULL) == FR_OK && holds_new());
    CHECK(calls[2] == 'o' && calls[3] == 'o');
}

int main(void) {
    snprintf(folder, sizeof folder, TEST_FOLDER "/test_writer_faults.%ld", (long)getpid());
    snprintf(path, sizeof path, "%.50s/file", folder);
    CHECK(mkdir(folder, 0700) == 0);
    test_fill(data, sizeof data, 1);
    for (size_t i = 0; i < RECORDS; i++)
        fr_frame_put(expected + i * (RECORD_SIZE + FR_FRAME_OVERHEAD),
                     (fr_span){data + i, RECORD_SIZE});
    bytes_are_synced_before_the_name_and_the_name_before_the_end();
    what_was_reserved_and_not_needed_is_given_back();
    room_that_cannot_be_reserved_is_not_missed('f');
    room_that_cannot_be_reserved_is_not_missed('t');
    a_target_that_cannot_be_read_is_replaced();
    short_writes_go_on(1000000);
    short_writes_go_on(1001);
    an_interrupted_write_goes_on();
    a_failure_leaves_the_old_file('o', 0, EACCES);
    a_failure_leaves_the_old_file('m', 0, EIO);
    a_mode_that_the_mount_fixes_is_no_failure(EPERM);
    a_mode_that_the_mount_fixes_is_no_failure(ENOSYS);
    for (long turn = 0; turn < 3; turn++)
        a_failure_leaves_the_old_file('w', turn, ENOSPC);
    a_failure_leaves_the_old_file('s', 0, EIO);
    a_failure_leaves_the_old_file('c', 0, EIO);
    a_failure_leaves_the_old_file('r', 0, EROFS);
    a_directory_that_cannot_be_synced_is_told_of();
    an_interrupted_close_has_closed();
    a_name_that_is_taken_is_not_used();
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    printf("writer faults: ok\n");
    return 0;
}

#else

int main(void) {
    printf("writer faults: skipped, the linker has no --wrap\n");
    return 0;
}

#endif
