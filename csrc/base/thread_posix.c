/* SPDX-License-Identifier: Apache-2.0 */
#if !defined(_WIN32)

#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/platform.h"

static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, before);
}

int fr_thread_start(fr_thread *thread, void *(*run)(void *argument), void *argument) {
    sigset_t before;
    block_signals(&before);
    int failed = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

void fr_thread_join(fr_thread thread) {
    pthread_join(thread, NULL);
}

int fr_mutex_init(fr_mutex *mutex) {
    return pthread_mutex_init(mutex, NULL);
}

void fr_mutex_lock(fr_mutex *mutex) {
    pthread_mutex_lock(mutex);
}

void fr_mutex_unlock(fr_mutex *mutex) {
    pthread_mutex_unlock(mutex);
}

void fr_mutex_destroy(fr_mutex *mutex) {
    pthread_mutex_destroy(mutex);
}

/* Uses the monotonic clock for timeouts, because the date may be changed during a wait. */
int fr_cond_init(fr_cond *cond) {
#if defined(__APPLE__)
    return pthread_cond_init(cond, NULL);
#else
    pthread_condattr_t attributes;
    int failed = pthread_condattr_init(&attributes);
    if (failed) return failed;
    failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!failed) failed = pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed;
#endif
}

void fr_cond_wait(fr_cond *cond, fr_mutex *mutex) {
    pthread_cond_wait(cond, mutex);
}

void fr_cond_wait_until(fr_cond *cond, fr_mutex *mutex, uint64_t deadline) {
#if defined(__APPLE__)
    const uint64_t now = fr_clock_ns(), left = deadline > now ? deadline - now : 0;
    struct timespec span = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    pthread_cond_timedwait_relative_np(cond, mutex, &span);
#else
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    pthread_cond_timedwait(cond, mutex, &until);
#endif
}

void fr_cond_signal(fr_cond *cond) {
    pthread_cond_signal(cond);
}

void fr_cond_broadcast(fr_cond *cond) {
    pthread_cond_broadcast(cond);
}

void fr_cond_destroy(fr_cond *cond) {
    pthread_cond_destroy(cond);
}

/* fork() holds `kept_lock`, too, because it reads the list. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static fr_mutex *kept[FR_FORK_MUTEXES_MAX];
static size_t kept_count;

static void before_fork(void) {
    pthread_mutex_lock(&kept_lock);
    for (size_t i = 0; i < kept_count; i++)
        pthread_mutex_lock(kept[i]);
}

static void after_fork(void) {
    for (size_t i = kept_count; i-- > 0;)
        pthread_mutex_unlock(kept[i]);
    pthread_mutex_unlock(&kept_lock);
}

int fr_mutex_keep_at_fork(fr_mutex *mutex) {
    int failed = 0;
    size_t i = 0;
    pthread_mutex_lock(&kept_lock);
    while (i < kept_count && kept[i] != mutex)
        i++;
    if (i == FR_FORK_MUTEXES_MAX)
        failed = ENOMEM;
    else if (kept_count == 0)
        failed = pthread_atfork(before_fork, after_fork, after_fork);
    if (!failed && i == kept_count) kept[kept_count++] = mutex;
    pthread_mutex_unlock(&kept_lock);
    return failed;
}

#endif
