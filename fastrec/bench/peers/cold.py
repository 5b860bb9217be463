# SPDX-License-Identifier: Apache-2.0
"""Trials on a file that is not in the page cache."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..warm import drop, reread
from ..worker import Gap, Task, Trial

__all__ = ["timed_cold"]


def timed_cold(task: Task, work: Callable[[], object]) -> Trial:
    """Time `work` alone, after dropping the task's file from the page cache."""
    if not drop(task.path):
        raise Gap("this system cannot drop files from the page cache")

    def once() -> float:
        drop(task.path)
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return Trial(once, close=lambda: reread(task.path), measures_itself=True)
