# SPDX-License-Identifier: Apache-2.0
"""Locks and checks for children made by fork()."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar

__all__ = ["ProcessLock", "Waker", "check_process"]


def check_process(pid: int, what: str) -> None:
    """Raise ValueError in a child of process `pid`, which made `what`; its threads do not exist."""
    if pid != os.getpid():
        raise ValueError(f"create another in the child: only process {pid} can use {what}")


class Waker:
    """Wakes a thread whose wait Ctrl-C may end at any instruction.

    The methods of ``threading.Condition`` are Python code, and a Ctrl-C within one leaves its lock
    locked. A thread that handles signals therefore enters the lock of the shared state itself,
    leaves it, and waits here.

    Examples
    --------
    >>> waker = Waker()
    >>> waker.wake()
    >>> waker.wait(10), waker.wait(0)
    (True, False)
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()

    def wake(self) -> None:
        """End the wait, or the next one; the caller holds the lock of the shared state."""
        if self._gate.locked():
            self._gate.release()

    def wait(self, seconds: float) -> bool:
        """Wait for `wake`; return whether it was called in time."""
        return self._gate.acquire(timeout=seconds)


class ProcessLock:
    """A lock that is free in a child made by fork(), where the thread that held it does not exist.

    A pickled lock is a new one.

    Examples
    --------
    >>> lock = ProcessLock()
    >>> with lock.current():
    ...     pass
    """

    # A registry of weak references would run Python code when a lock is freed, and Python ignores
    # a KeyboardInterrupt that such code raises. Each lock therefore compares a number.
    _forks: ClassVar[int] = 0  # between the first process and this one
    _renewal: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._made = ProcessLock._forks

    def current(self) -> threading.Lock:
        """Return the lock of this process, for a ``with`` statement.

        A lock with methods of Python would stay locked if Ctrl-C arrived within them.
        """
        if self._made != ProcessLock._forks:
            with ProcessLock._renewal:
                if self._made != ProcessLock._forks:
                    self._renew()
        return self._lock

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessLock, ()

    @classmethod
    def _count_fork(cls) -> None:
        ProcessLock._forks += 1
        ProcessLock._renewal = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows lacks fork()
    os.register_at_fork(after_in_child=ProcessLock._count_fork)
