/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, locks and conditions: POSIX's, or Windows's own (thread_posix.c, thread_windows.c).
 *
 * A function that returns an int is 0, or an errno.
 */
#ifndef FASTREC_THREAD_H
#define FASTREC_THREAD_H

#include <stdint.h>

#if defined(_WIN32)
typedef struct {
    void *lock; /* an SRWLOCK */
} fr_mutex;
typedef struct {
    void *variable; /* a CONDITION_VARIABLE */
} fr_cond;
typedef void *fr_thread;
typedef struct {
    void *once; /* an INIT_ONCE */
} fr_once;
#define FR_MUTEX_INIT {0}
#define FR_ONCE_INIT {0}
#else
#include <pthread.h>
typedef pthread_mutex_t fr_mutex;
typedef pthread_cond_t fr_cond;
typedef pthread_t fr_thread;
typedef pthread_once_t fr_once;
#define FR_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define FR_ONCE_INIT PTHREAD_ONCE_INIT
#endif

/*
 * A thread gets no signals: they go to threads that expect them. Faults stay open, for a fault is
 * of the thread whose it is, and a map's handler (platform.h) has to get it.
 */
int fr_thread_start(fr_thread *thread, void *(*run)(void *argument), void *argument);
void fr_thread_join(fr_thread thread);

int fr_mutex_init(fr_mutex *mutex);
void fr_mutex_lock(fr_mutex *mutex);
void fr_mutex_unlock(fr_mutex *mutex);
void fr_mutex_destroy(fr_mutex *mutex);

int fr_cond_init(fr_cond *cond);
void fr_cond_wait(fr_cond *cond, fr_mutex *mutex);
/* Until fr_clock_ns() is `deadline`, or somebody signals, or for no reason. */
void fr_cond_wait_until(fr_cond *cond, fr_mutex *mutex, uint64_t deadline);
void fr_cond_signal(fr_cond *cond);
void fr_cond_broadcast(fr_cond *cond);
void fr_cond_destroy(fr_cond *cond);

void fr_once_run(fr_once *once, void (*run)(void));

/* Calls `before` in a process that forks, then `after` in it and in its child. */
int fr_thread_at_fork(void (*before)(void), void (*after)(void));

#endif
