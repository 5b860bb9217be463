# SPDX-License-Identifier: Apache-2.0
"""Operations that wait, in threads: started, known to wait, and finished."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dis import opmap
from typing import Any, Generic, TypeVar

T = TypeVar("T")

DEADLINE = 120.0  # seconds; for what happens at once, unless something is broken


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition that other threads bring about."""
    give_up = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < give_up, "nothing came of it"
        time.sleep(0.0005)


def interrupted(call: Callable[[], T], after: int) -> tuple[list[T], bool]:
    """Call a function with a KeyboardInterrupt at the Python call `after` within it.

    Python looks for signals when it enters a function. Return a list with the result, empty after
    an interrupt, and whether there were as many calls.
    """
    left, was_raised, results = after, False, []

    def trace(frame: Any, event: str, argument: Any) -> None:
        nonlocal left, was_raised
        # A generator that is closed is entered at its yield, where Python looks for no signals.
        if frame.f_code.co_code[max(frame.f_lasti, 0)] == opmap["YIELD_VALUE"]:
            return
        left -= 1
        if left < 0 and not was_raised:
            was_raised = True
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        results.append(call())
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return results, was_raised


def is_free(lock: Any) -> bool:
    """Return whether another thread can take a lock, which threads hold for moments."""

    def take() -> bool:
        taken: bool = lock.acquire(timeout=DEADLINE)
        if taken:
            lock.release()
        return taken

    return bool(Started(take).result())


class Started(Generic[T]):
    """A call in a thread of its own, and what became of it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._value: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def result(self) -> Any:
        """Return the result of the call; an error of the call is raised."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "it still waits"
        if self._error is not None:
            raise self._error
        return self._value
