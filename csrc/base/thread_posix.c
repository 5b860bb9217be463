/* SPDX-License-Identifier: Apache-2.0 */
#if !defined(_WIN32)

#include "base/thread.h"

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

void fr_once_run(fr_once *once, void (*run)(void)) {
    pthread_once(once, run);
}

int fr_thread_at_fork(void (*before)(void), void (*after)(void)) {
    return pthread_atfork(before, after, after);
}

#endif
