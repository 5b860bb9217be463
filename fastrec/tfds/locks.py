# SPDX-License-Identifier: Apache-2.0
"""A lock that is free again in a forked process."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

__all__ = ["ProcessLock"]


class ProcessLock:
    """A lock that fork() renews in the child, where the thread that held it does not exist."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _alive.add(self)

    def renew(self) -> None:
        """Replace the lock by a free one."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessLock, ()


_alive: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_alive):
        lock.renew()


if hasattr(os, "register_at_fork"):  # Windows has no fork().
    os.register_at_fork(after_in_child=_renew_all)
