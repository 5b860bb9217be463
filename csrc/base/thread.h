/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, mutexes and condition variables, implemented by thread_posix.c and thread_windows.c.
 *
 * A function that returns an int returns 0 or an errno value.
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
#define FR_MUTEX_INIT {0}
#else
#include <pthread.h>
typedef pthread_mutex_t fr_mutex;
typedef pthread_cond_t fr_cond;
typedef pthread_t fr_thread;
#define FR_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#endif

/*
 * Starts a thread that blocks signals, so that the program's own threads receive them. Fault
 * signals such as SIGBUS stay unblocked: they go to the thread that caused them, and the handler of
 * file maps (platform.h) must run there.
 */
int fr_thread_start(fr_thread *thread, void *(*run)(void *argument), void *argument);
void fr_thread_join(fr_thread thread);

int fr_mutex_init(fr_mutex *mutex);
void fr_mutex_lock(fr_mutex *mutex);
void fr_mutex_unlock(fr_mutex *mutex);
void fr_mutex_destroy(fr_mutex *mutex);

int fr_cond_init(fr_cond *cond);
void fr_cond_wait(fr_cond *cond, fr_mutex *mutex);
/* Waits until fr_clock_ns() reaches `deadline` or the condition is signaled; may wake early. */
void fr_cond_wait_until(fr_cond *cond, fr_mutex *mutex, uint64_t deadline);
void fr_cond_signal(fr_cond *cond);
void fr_cond_broadcast(fr_cond *cond);
void fr_cond_destroy(fr_cond *cond);

/*
 * Makes fork() wait for a static mutex, so that the child gets an unlocked mutex and consistent
 * data. Call this before each first use of the mutex; calls after the first do nothing. fork()
 * takes the mutexes in the order of their first calls, so a thread never holds two of them.
 */
#define FR_FORK_MUTEXES_MAX 8
int fr_mutex_keep_at_fork(fr_mutex *mutex);

#endif
