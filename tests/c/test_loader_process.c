/* SPDX-License-Identifier: Apache-2.0 */
/* A loader among clocks, signals and child processes, and its pool. */
#include <pthread.h>
#include <stdatomic.h>
#if !defined(_WIN32)
#include <signal.h>
#include <sys/wait.h>
#endif

#include "loader_data.h"

/* One record of 64 MiB of zeros, which takes a while to check and no room on the disk. */
static void write_long_file(const char *path) {
    const size_t size = (size_t)64 << 20;
    uint8_t header[FR_HEADER_SIZE], footer[FR_FOOTER_SIZE], *zeros = calloc(1, size);
    fr_frame_put_header(header, size);
    fr_store_u32(footer, fr_crc_mask(fr_crc32c(zeros, size)));
    free(zeros);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(header, 1, sizeof header, f) == sizeof header);
    CHECK(fseek(f, (long)(size + sizeof header), SEEK_SET) == 0);
    CHECK(fwrite(footer, 1, sizeof footer, f) == sizeof footer && fclose(f) == 0);
}

static void a_wait_ends_when_it_was_asked_to(void) {
    setup s;
    set_up(&s, 1);
    fr_dataset_close(&s.dataset);
    fr_pool_release(s.pool);
    char path[80];
    snprintf(path, sizeof path, "%.64s.long", paths[0]);
    write_long_file(path);
    const char *const one[] = {path};
    CHECK(fr_dataset_open(&s.dataset, one, 1, &verified, NULL) == FR_OK);
    CHECK(fr_dataset_scan(&s.dataset, UINT64_MAX, NULL) == FR_OK);
    const fr_feature whole = {.kind = FR_KIND_NONE, .dtype = FR_BYTES, .count = 1};
    s.options.pool = s.pool = new_pool(&whole, 1, 2);
    s.options.order.count = 1;

    fr_loader *loader = start(&s);
    fr_columns *batch;
    CHECK(fr_loader_next(loader, -1, &batch, NULL) == FR_AGAIN);
    CHECK(fr_loader_next(loader, 1, &batch, NULL) == FR_AGAIN);
    CHECK(next(loader, &batch, NULL) == FR_OK);
    CHECK(batch->columns[0].values.size == (size_t)64 << 20);
    fr_pool_give(s.pool, batch);
    fr_loader_stats stats;
    fr_loader_get_stats(loader, &stats);
    CHECK(stats.times.consumer_ns >= 1000000 && stats.batches == 1);
    fr_loader_free(loader);
    tear_down(&s);
    unlink(path);
}

#if !defined(_WIN32)

static bool child_is_told(const setup *s, fr_loader *loader, fr_columns *held) {
    fr_columns *batch;
    fr_error err;
    fr_loader_stats stats;
    alarm(20);
    if (fr_loader_next(loader, 1000, &batch, &err) != FR_ERR_STATE) return false;
    if (!strstr(err.cause, "create another in the child")) return false;
    fr_loader_get_stats(loader, &stats);
    fr_loader_free(loader);
    fr_pool_give(s->pool, held);
    if (fr_pool_take(s->pool, 3, &batch, &err) != FR_OK) return false;
    fr_pool_give(s->pool, batch);
    fr_pool_release(s->pool);
    return stats.batches == 0;
}

static void a_child_neither_waits_nor_breaks(void) {
    setup s;
    set_up(&s, 2);
    s.options.order.epochs = 0;
    fr_loader *loader = start(&s);
    for (uint64_t serial = 0; serial < 50; serial++) {
        fr_columns *batch;
        CHECK(next(loader, &batch, NULL) == FR_OK);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(child_is_told(&s, loader, batch) ? 0 : 1);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_batch(&s, batch, serial);
        fr_pool_give(s.pool, batch);
    }
    fr_loader_free(loader);
    tear_down(&s);
}

static atomic_bool opening;

static void *open_and_close(void *unused) {
    fr_file_map map;
    while (atomic_load(&opening)) {
        CHECK(fr_file_map_open(&map, paths[0], NULL) == FR_OK);
        fr_file_map_close(&map);
    }
    return unused;
}

/* Else it waits for a lock, and the alarm ends it. */
static bool child_can_open(void) {
    fr_file_map map;
    alarm(20);
    if (fr_file_map_open(&map, paths[0], NULL) != FR_OK) return false;
    fr_file_map_close(&map);
    return true;
}

static void a_child_opens_files_whatever_threads_were_at(void) {
    pthread_t threads[2];
    atomic_store(&opening, true);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(child_can_open() ? 0 : 1);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&opening, false);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Were one of the workers open to it, the signal would end the process. */
static void workers_take_no_signals(void) {
    setup s;
    set_up(&s, 4);
    fr_loader *loader = start(&s);
    sigset_t mask, pending;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &mask, NULL) == 0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    usleep(20000);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
    int taken;
    CHECK(sigwait(&mask, &taken) == 0 && taken == SIGUSR1);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &mask, NULL) == 0);
    fr_loader_free(loader);
    tear_down(&s);
}

#endif

static void check_start_fails(const setup *s, const char *why) {
    fr_loader *loader;
    fr_error err;
    CHECK(fr_loader_start(&s->options, &loader, &err) == FR_ERR_ARG);
    CHECK_CASE(strstr(err.cause, why), "%s", err.cause);
}

static void impossible_options_are_refused(void) {
    setup s;
    set_up(&s, 0);
    check_start_fails(&s, "threads must be 1 to 256");
    s.options.threads = 257;
    check_start_fails(&s, "threads must be 1 to 256");
    s.options.threads = 1, s.options.prefetch = SIZE_MAX;
    check_start_fails(&s, "prefetch");
    s.options.prefetch = 1, s.options.order.count++;
    check_start_fails(&s, "not fully indexed");
    s.options.order.count--, s.options.order.batch_size = 0;
    check_start_fails(&s, "batch size");
    tear_down(&s);
}

static void a_pool_outlives_its_owner_and_keeps_blocks(void) {
    fr_pool *pool = pool_of_both(1);
    fr_columns *a, *b;
    CHECK(fr_pool_take(pool, 10, &a, NULL) == FR_OK && fr_pool_take(pool, 10, &b, NULL) == FR_OK);
    CHECK(fr_pool_taken(pool) == 2);
    const uint8_t *block = a->dense.data;
    fr_pool_give(pool, a);
    fr_pool_give(pool, b); /* one more than is kept */
    CHECK(fr_pool_take(pool, 10, &a, NULL) == FR_OK && a->dense.data == block);
    CHECK(fr_pool_take(pool, 10, &b, NULL) == FR_OK && b->dense.data != block);
    fr_pool_release(pool);
    fr_pool_give(pool, a);
    memset(b->dense.data, 1, 80);
    fr_pool_give(pool, b);
    fr_pool_release(NULL);
}

int main(void) {
    make_files();
    a_wait_ends_when_it_was_asked_to();
#if defined(_WIN32)
    TEST_SKIPPED("children that have loaders, signals that come to workers");
#else
    a_child_neither_waits_nor_breaks();
    a_child_opens_files_whatever_threads_were_at();
    workers_take_no_signals();
#endif
    impossible_options_are_refused();
    a_pool_outlives_its_owner_and_keeps_blocks();
    remove_files();
    printf("loader and process: ok\n");
    return 0;
}
