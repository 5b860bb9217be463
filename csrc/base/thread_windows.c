/* SPDX-License-Identifier: Apache-2.0 */
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0A00
#include "base/thread.h"

#include <errno.h>
#include <process.h>
#include <stdlib.h>
#include <windows.h>

#include "base/platform.h"

_Static_assert(sizeof(fr_mutex) == sizeof(SRWLOCK), "thread.h has no windows.h");
_Static_assert(sizeof(fr_cond) == sizeof(CONDITION_VARIABLE), "thread.h has no windows.h");

typedef struct {
    void *(*run)(void *argument);
    void *argument;
} task;

static unsigned __stdcall begin(void *argument) {
    const task given = *(task *)argument;
    free(argument);
    given.run(given.argument);
    return 0;
}

int fr_thread_start(fr_thread *thread, void *(*run)(void *argument), void *argument) {
    task *given = malloc(sizeof *given);
    if (!given) return ENOMEM;
    *given = (task){run, argument};
    *thread = (void *)_beginthreadex(NULL, 0, begin, given, 0, NULL);
    if (*thread) return 0;
    int failed = errno;
    free(given);
    return failed;
}

void fr_thread_join(fr_thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

int fr_mutex_init(fr_mutex *mutex) {
    InitializeSRWLock((SRWLOCK *)mutex);
    return 0;
}

void fr_mutex_lock(fr_mutex *mutex) {
    AcquireSRWLockExclusive((SRWLOCK *)mutex);
}

void fr_mutex_unlock(fr_mutex *mutex) {
    ReleaseSRWLockExclusive((SRWLOCK *)mutex);
}

void fr_mutex_destroy(fr_mutex *mutex) {
    (void)mutex;
}

int fr_cond_init(fr_cond *cond) {
    InitializeConditionVariable((CONDITION_VARIABLE *)cond);
    return 0;
}

void fr_cond_wait(fr_cond *cond, fr_mutex *mutex) {
    SleepConditionVariableSRW((CONDITION_VARIABLE *)cond, (SRWLOCK *)mutex, INFINITE, 0);
}

/* Rounds up to whole milliseconds; otherwise callers would poll during the last one. */
void fr_cond_wait_until(fr_cond *cond, fr_mutex *mutex, uint64_t deadline) {
    const uint64_t now = fr_clock_ns(), left = deadline > now ? deadline - now : 0;
    const uint64_t ms = left / 1000000u < INT32_MAX ? left / 1000000u + 1 : INT32_MAX;
    SleepConditionVariableSRW((CONDITION_VARIABLE *)cond, (SRWLOCK *)mutex, (DWORD)ms, 0);
}

void fr_cond_signal(fr_cond *cond) {
    WakeConditionVariable((CONDITION_VARIABLE *)cond);
}

void fr_cond_broadcast(fr_cond *cond) {
    WakeAllConditionVariable((CONDITION_VARIABLE *)cond);
}

void fr_cond_destroy(fr_cond *cond) {
    (void)cond;
}

/* Does nothing, because Windows does not have fork(). */
int fr_mutex_keep_at_fork(fr_mutex *mutex) {
    (void)mutex;
    return 0;
}

#endif
