/* SPDX-License-Identifier: Apache-2.0 */
#include "base/platform.h"
#include "files/writer.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#if !defined(_WIN32)
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#endif

static char folder[64];
static const fr_writer_options plain = {.no_sync = true},
                               exclusive = {.exclusive = true, .no_sync = true},
                               synced = {.no_sync = false};

/* A path in the folder; good until the fourth call after. */
static const char *at(const char *name) {
    static char paths[4][FR_PATH_MAX];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, FR_PATH_MAX, "%s/%s", folder, name);
    return path;
}

static fr_span text(const char *s) {
    return (fr_span){(const uint8_t *)s, strlen(s)};
}

static void put(const char *name, const char *content) {
    FILE *f = fopen(at(name), "wb");
    CHECK(f && fputs(content, f) >= 0 && fclose(f) == 0);
}

static void read_file(const char *name, fr_buffer *out) {
    int fd = fr_file_open(at(name), true);
    CHECK_CASE(fd >= 0, "%s", name);
    out->size = 0;
    int64_t got;
    do {
        CHECK(fr_buffer_reserve(out, 65536, NULL) == FR_OK);
        got = fr_fd_read(fd, out->data + out->size, 65536);
        CHECK(got >= 0);
        out->size += (size_t)got;
    } while (got);
    fr_fd_close(fd);
}

static bool holds(const char *name, fr_span content) {
    fr_buffer file = {0};
    read_file(name, &file);
    bool same = fr_span_equal((fr_span){file.data, file.size}, content);
    fr_buffer_free(&file);
    return same;
}

static int files_there(void) {
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *e; (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return count;
}

static int open_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += test_is_open(fd);
    return count;
}

static void clean(void) {
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) unlink(at(e->d_name));
    closedir(d);
}

static void begin(fr_writer *writer, const char *name, const fr_writer_options *options) {
    fr_error err;
    int status = fr_writer_open(writer, at(name), options, &err);
    CHECK_CASE(status == FR_OK, "%s: %s", name, err.cause);
}

static void write_one(fr_writer *writer, const char *record) {
    CHECK(fr_writer_record(writer, text(record), NULL) == FR_OK);
}

/* The frames that records of `size` bytes each should give, by frame.c. */
static void frame_records(fr_buffer *out, const uint8_t *data, size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        CHECK(fr_buffer_reserve(out, size + FR_FRAME_OVERHEAD, NULL) == FR_OK);
        fr_frame_put(out->data + out->size, (fr_span){data + i, size});
        out->size += size + FR_FRAME_OVERHEAD;
    }
}

static void records_of_any_size_are_framed(size_t size, size_t count) {
    fr_writer w = {0};
    fr_buffer expected = {0};
    uint8_t *data = malloc(size + count);
    test_fill(data, size + count, size);
    frame_records(&expected, data, size, count);
    begin(&w, "sizes", &plain);
    for (size_t i = 0; i < count; i++)
        CHECK(fr_writer_record(&w, (fr_span){data + i, size}, NULL) == FR_OK);
    CHECK(w.count == count && w.size == expected.size);
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK_CASE(holds("sizes", (fr_span){expected.data, expected.size}), "%zu of %zu", count, size);
    fr_buffer_free(&expected);
    free(data);
    clean();
}

static void frames_mix_with_records(size_t size) {
    fr_writer w = {0};
    fr_buffer frames = {0}, expected = {0};
    uint8_t *data = malloc(size + 3);
    test_fill(data, size + 3, size);
    frame_records(&frames, data, size, 3);
    frame_records(&expected, (const uint8_t *)"abc", 3, 1);
    CHECK(fr_buffer_append(&expected, frames.data, frames.size, NULL) == FR_OK);
    begin(&w, "mix", &plain);
    write_one(&w, "abc");
    CHECK(fr_writer_frames(&w, (fr_span){frames.data, frames.size}, 3, NULL) == FR_OK);
    CHECK(fr_writer_frames(&w, (fr_span){NULL, 0}, 0, NULL) == FR_OK);
    CHECK(fr_writer_flush(&w, NULL) == FR_OK);
    CHECK(w.count == 4 && w.size == expected.size);
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(holds("mix", (fr_span){expected.data, expected.size}));
    fr_buffer_free(&frames);
    fr_buffer_free(&expected);
    free(data);
    clean();
}

static void nothing_appears_before_close(void) {
    fr_writer w = {0};
    put("old", "old");
    for (int round = 0; round < 2; round++) {
        begin(&w, "old", &synced);
        write_one(&w, "new");
        CHECK(fr_writer_flush(&w, NULL) == FR_OK);
        CHECK(files_there() == 2 && holds("old", text("old")));
        if (round == 1) break;
        fr_writer_abort(&w);
        fr_writer_abort(&w);
        CHECK(files_there() == 1 && holds("old", text("old")));
        CHECK(fr_writer_record(&w, text("x"), NULL) == FR_ERR_STATE);
        CHECK(fr_writer_close(&w, NULL) == FR_ERR_STATE);
    }
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(files_there() == 1 && !holds("old", text("old")));
    CHECK(fr_writer_close(&w, NULL) == FR_ERR_STATE);
    fr_writer_abort(&w);
    CHECK(files_there() == 1);
    clean();
}

static void the_last_of_two_writers_wins_whole(void) {
    fr_writer a = {0}, b = {0};
    fr_buffer expected = {0};
    frame_records(&expected, (const uint8_t *)"bbb", 3, 1);
    begin(&a, "same", &plain);
    begin(&b, "same", &plain);
    write_one(&a, "aaa");
    write_one(&b, "bbb");
    CHECK(fr_writer_close(&a, NULL) == FR_OK);
    CHECK(fr_writer_close(&b, NULL) == FR_OK);
    CHECK(files_there() == 1 && holds("same", (fr_span){expected.data, expected.size}));
    fr_buffer_free(&expected);
    clean();
}

static void exclusive_replaces_nothing(void) {
    fr_writer w = {0};
    fr_error err;
    put("there", "old");
    CHECK(fr_writer_open(&w, at("there"), &exclusive, &err) == FR_ERR_IO);
    CHECK(err.sys_errno == EEXIST && files_there() == 1);
    begin(&w, "late", &exclusive);
    put("late", "somebody else's");
    CHECK(fr_writer_close(&w, &err) == FR_ERR_IO && err.sys_errno == EEXIST);
    CHECK(files_there() == 2 && holds("late", text("somebody else's")));
    begin(&w, "fresh", &exclusive);
    CHECK(fr_writer_close(&w, &err) == FR_OK && files_there() == 3);
    clean();
}

#if !defined(_WIN32)

static mode_t mode_of(const char *name) {
    struct stat st;
    CHECK(lstat(at(name), &st) == 0);
    return st.st_mode;
}

static void modes_are_kept_or_follow_the_umask(void) {
    fr_writer w = {0};
    mode_t before = umask(027);
    begin(&w, "new", &plain);
    CHECK(fr_writer_close(&w, NULL) == FR_OK && (mode_of("new") & 07777) == 0640);
    static const mode_t modes[] = {0600, 0666, 0444, 0};
    for (int i = 0; i < 4; i++) {
        CHECK(chmod(at("new"), modes[i]) == 0);
        begin(&w, "new", &plain);
        CHECK(fr_writer_close(&w, NULL) == FR_OK && (mode_of("new") & 07777) == modes[i]);
    }
    umask(before);
    clean();
}

static void links_are_followed_and_stay(void) {
    fr_writer w = {0};
    fr_error err;
    put("target", "old");
    CHECK(symlink("target", at("link")) == 0 && symlink(at("link"), at("link2")) == 0);
    CHECK(symlink("nowhere", at("dangling")) == 0 && symlink("loop", at("loop")) == 0);
    begin(&w, "link2", &plain);
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("link2")) && S_ISREG(mode_of("target")));
    CHECK(holds("target", text("")));
    begin(&w, "dangling", &plain);
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(S_ISLNK(mode_of("dangling")) && holds("nowhere", text("")));
    CHECK(fr_writer_open(&w, at("loop"), &plain, &err) == FR_ERR_IO && err.sys_errno == ELOOP);
    clean();
}

#endif

static void the_target_does_not_move_with_the_process(void) {
    fr_writer w = {0};
    char before[FR_PATH_MAX];
    CHECK(getcwd(before, sizeof before) && chdir(folder) == 0);
    CHECK(fr_writer_open(&w, "here", &plain, NULL) == FR_OK);
    CHECK(chdir("..") == 0);
    CHECK(fr_writer_close(&w, NULL) == FR_OK && chdir(before) == 0);
    CHECK(holds("here", text("")));
    clean();
}

static void long_names_get_shorter_temporary_ones(void) {
    fr_writer w = {0};
    fr_error err;
    char name[300];
    memset(name, 'x', sizeof name);
    memcpy(name + 94, "\xe2\x82\xac", 3); /* a character across the cut */
    name[255] = 0;
    begin(&w, name, &plain);
    CHECK(fr_writer_close(&w, NULL) == FR_OK && holds(name, text("")));
    CHECK(fr_file_remove(at(name)) == 0);
    name[255] = 'x', name[299] = 0;
    CHECK(fr_writer_open(&w, at(name), &plain, &err) == FR_ERR_IO && err.sys_errno == ENAMETOOLONG);
    clean();
}

static void check_cannot_open(const char *path, int status, int sys_errno) {
    fr_writer w = {0};
    fr_error err;
    CHECK_CASE(fr_writer_open(&w, path, &plain, &err) == status, "%s", path);
    CHECK_CASE(err.sys_errno == sys_errno && err.cause[0], "%s: %s", path, err.cause);
    CHECK(!w.open && !w.path && !w.temporary && !w.buffer.data);
    CHECK(fr_writer_record(&w, text("x"), NULL) == status);
    fr_writer_abort(&w);
}

static void impossible_places_are_refused(void) {
    char endless[FR_PATH_MAX + 100];
    memset(endless, 'a', sizeof endless);
    endless[sizeof endless - 1] = 0;
    put("file", "");
    check_cannot_open("", FR_ERR_IO, ENOENT);
    check_cannot_open(at("missing/file"), FR_ERR_IO, ENOENT);
    check_cannot_open(at("file/file"), FR_ERR_IO, ENOTDIR);
    check_cannot_open(at(""), FR_ERR_IO, EISDIR);
    check_cannot_open(at("."), FR_ERR_IO, EISDIR);
    check_cannot_open("/", FR_ERR_IO, EISDIR);
    check_cannot_open(endless, FR_ERR_IO, ENAMETOOLONG);
#if defined(_WIN32)
    check_cannot_open("NUL", FR_ERR_ARG, 0);
#else
    CHECK(mkfifo(at("pipe"), 0600) == 0);
    check_cannot_open(at("pipe"), FR_ERR_ARG, 0);
    check_cannot_open("/dev/null", FR_ERR_ARG, 0);
    CHECK(unlink(at("pipe")) == 0);
#endif
    CHECK(files_there() == 1);
    clean();
}

#if !defined(_WIN32)

/* The limit stands for a full disk: the first write past it is short, the next fails. */
static void a_full_disk_leaves_the_old_file(size_t limit) {
    fr_writer w = {0};
    fr_error err = {0}, again;
    struct rlimit before, small;
    put("full", "old");
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before, small.rlim_cur = limit;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    begin(&w, "full", &plain);
    static uint8_t record[300000];
    int status = FR_OK;
    for (int i = 0; i < 20 && status == FR_OK; i++)
        status = fr_writer_record(&w, (fr_span){record, sizeof record}, &err);
    if (status == FR_OK) status = fr_writer_close(&w, &err);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(status == FR_ERR_IO && err.sys_errno == EFBIG);
    CHECK(files_there() == 1 && holds("full", text("old")));
    CHECK(fr_writer_close(&w, &again) == FR_ERR_IO && strcmp(again.cause, err.cause) == 0);
    CHECK(fr_writer_flush(&w, &again) == FR_ERR_IO && again.sys_errno == EFBIG);
    fr_writer_abort(&w);
    clean();
}

#endif

static void a_lost_temporary_file_is_an_error(void) {
    fr_writer w = {0};
    fr_error err;
    put("lost", "old");
    begin(&w, "lost", &plain);
    CHECK(unlink(w.temporary) == 0);
    CHECK(fr_writer_close(&w, &err) == FR_ERR_IO && err.sys_errno == ENOENT);
    CHECK(files_there() == 1 && holds("lost", text("old")));
    clean();
}

/* A file is written to behind its end, by one writer at a time, and is what it was if that one
   gives up. Another thread or process may read meanwhile. */
static void appending_is_for_one_and_can_be_undone(void) {
    static const fr_writer_options append = {.append = true, .no_sync = true};
    fr_writer w = {0}, second = {0};
    fr_error err;
    fr_buffer expected = {0};
    frame_records(&expected, (const uint8_t *)"abcdef", 3, 2);
    begin(&w, "log", &append);
    write_one(&w, "abc");
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    begin(&w, "log", &append);
    CHECK(fr_writer_open(&second, at("log"), &append, &err) == FR_ERR_IO);
    CHECK_CASE(err.sys_errno == EWOULDBLOCK, "%s", err.cause);
    write_one(&w, "zzz");
    CHECK(fr_writer_flush(&w, NULL) == FR_OK);
    CHECK(!holds("log", (fr_span){expected.data, expected.size / 2}));
    fr_writer_abort(&w);
    CHECK(holds("log", (fr_span){expected.data, expected.size / 2}));
    begin(&w, "log", &append);
    write_one(&w, "bcd");
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(holds("log", (fr_span){expected.data, expected.size}));
    fr_buffer_free(&expected);
    clean();
}

/* A writer that empties the file first holds the lock, too: a second one changes nothing. */
static void a_file_is_emptied_by_the_one_that_has_its_lock(void) {
    static const fr_writer_options empty = {.append = true, .empty = true, .no_sync = true};
    fr_writer w = {0}, second = {0};
    fr_buffer expected = {0};
    frame_records(&expected, (const uint8_t *)"abc", 3, 1);
    put("log", "what was in it before");
    begin(&w, "log", &empty);
    CHECK(holds("log", text("")));
    write_one(&w, "abc");
    CHECK(fr_writer_flush(&w, NULL) == FR_OK);
    CHECK(fr_writer_open(&second, at("log"), &empty, NULL) == FR_ERR_IO);
    CHECK(holds("log", (fr_span){expected.data, expected.size}));
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    CHECK(holds("log", (fr_span){expected.data, expected.size}));
    fr_buffer_free(&expected);
    clean();
}

/* A file that is open is replaced, and who has it keeps it, as it was. Wine, and file systems other
   than NTFS, refuse that: then it stays. */
static void a_file_that_is_open_is_replaced_or_stays(void) {
    fr_writer w = {0};
    fr_error err = {0};
    char got[4];
    put("open", "old");
    int fd = fr_file_open(at("open"), false);
    CHECK(fd >= 0);
    begin(&w, "open", &plain);
    const int status = fr_writer_close(&w, &err);
    if (status == FR_OK) {
        CHECK(holds("open", text("")));
    } else {
        CHECK(TEST_WINDOWS && err.sys_errno == EACCES && holds("open", text("old")));
        TEST_SKIPPED("replacing a file that is open");
    }
    CHECK(fr_fd_read(fd, got, 4) == 3 && memcmp(got, "old", 3) == 0 && fr_fd_close(fd) == 0);
    CHECK(files_there() == 1);
    clean();
}

/* Put in place together, or taken back. */
static void what_was_put_in_place_can_be_taken_back(void) {
    fr_writer w = {0};
    for (int there = 0; there < 2; there++) {
        if (there) put("kept", "old");
        begin(&w, "kept", &plain);
        CHECK(fr_writer_put_in_place(&w, NULL) == FR_OK && holds("kept", text("")));
        CHECK(fr_writer_take_back(&w));
        CHECK(files_there() == there && (!there || holds("kept", text("old"))));
        fr_writer_abort(&w);
        CHECK(files_there() == there);
    }
    clean();
}

#if !defined(_WIN32)

static void a_child_leaves_the_parents_file_alone(void) {
    fr_writer w = {0};
    begin(&w, "parent", &plain);
    write_one(&w, "abc");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fr_error err;
        bool ok = fr_writer_flush(&w, &err) == FR_ERR_STATE && strstr(err.cause, "process");
        ok = ok && fr_writer_close(&w, &err) == FR_ERR_STATE;
        fr_writer_abort(&w);
        _exit(ok ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(files_there() == 1);
    CHECK(fr_writer_close(&w, NULL) == FR_OK);
    fr_buffer expected = {0};
    frame_records(&expected, (const uint8_t *)"abc", 3, 1);
    CHECK(holds("parent", (fr_span){expected.data, expected.size}));
    fr_buffer_free(&expected);
    clean();
}

/* Killed at any time, a writer leaves the old file or the new one. */
static void a_killed_writer_leaves_old_or_new(void) {
    fr_buffer expected = {0};
    uint8_t data[64] = {0};
    uint64_t seed = 1;
    frame_records(&expected, data, 40, 20);
    for (int trial = 0; trial < 60; trial++) {
        put("killed", "old");
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            fr_writer w = {0};
            begin(&w, "killed", &synced);
            for (size_t i = 0; i < 20; i++)
                if (fr_writer_record(&w, (fr_span){data + i, 40}, NULL) ||
                    fr_writer_flush(&w, NULL))
                    _exit(1);
            _exit(fr_writer_close(&w, NULL) == FR_OK ? 0 : 1);
        }
        usleep((useconds_t)(test_random(&seed) % 4000));
        kill(child, SIGKILL);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        bool is_new = holds("killed", (fr_span){expected.data, expected.size});
        CHECK(is_new || (WIFSIGNALED(status) && holds("killed", text("old"))));
        clean();
    }
    fr_buffer_free(&expected);
}

static void what_only_posix_has(void) {
    signal(SIGXFSZ, SIG_IGN);
    modes_are_kept_or_follow_the_umask();
    links_are_followed_and_stay();
    for (size_t limit = 1; limit < 4000000; limit = limit * 3 + 7)
        a_full_disk_leaves_the_old_file(limit);
    a_child_leaves_the_parents_file_alone();
    a_killed_writer_leaves_old_or_new();
}

#else

static void what_only_posix_has(void) {
    TEST_SKIPPED("modes, links, file size limits, children, a writer that is killed");
}

#endif

int main(void) {
    snprintf(folder, sizeof folder, TEST_FOLDER "/test_writer.%ld", (long)getpid());
    CHECK(test_mkdir(folder) == 0);
    int before = open_descriptors();
    static const size_t sizes[] = {0,       1,       3,       1000,    65536,
                                   2097135, 2097136, 2097137, 2097152, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        records_of_any_size_are_framed(sizes[i], sizes[i] < 10 ? 100000 : 5);
    frames_mix_with_records(10);
    frames_mix_with_records(500000);
    nothing_appears_before_close();
    the_last_of_two_writers_wins_whole();
    exclusive_replaces_nothing();
    the_target_does_not_move_with_the_process();
    long_names_get_shorter_temporary_ones();
    impossible_places_are_refused();
    a_lost_temporary_file_is_an_error();
    appending_is_for_one_and_can_be_undone();
    a_file_is_emptied_by_the_one_that_has_its_lock();
    a_file_that_is_open_is_replaced_or_stays();
    what_was_put_in_place_can_be_taken_back();
    what_only_posix_has();
    CHECK(open_descriptors() == before);
    CHECK(rmdir(folder) == 0);
    printf("writer: ok\n");
    return 0;
}
