/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of the threads that the library starts.
 */
#ifndef FASTREC_THREAD_H
#define FASTREC_THREAD_H

#include <pthread.h>
#include <signal.h>

/*
 * Blocks signals on the calling thread, for threads that it starts until it sets `before` again:
 * signals go to threads that expect them. Faults stay open, for a fault is of the thread whose it
 * is, and a map's handler (map.h) has to get it.
 */
void fr_block_signals(sigset_t *before);

#endif
