# SPDX-License-Identifier: Apache-2.0
"""Process files or blocks on several threads, with the results in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fastrec.errors import FastrecError

__all__ = ["Check", "in_order", "mapped"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

Check = Callable[[], None]
"""Called by work now and then; raises when the command is ending."""


class _Ending(Exception):
    """Ends the work of a thread whose result is no longer needed."""


def mapped(
    work: Callable[[_Item], _Result],
    items: Iterable[_Item],
    threads: int,
    *,
    here: Callable[[_Item], bool] = lambda _: False,
    stopping: threading.Event | None = None,
) -> Iterator[tuple[_Item, _Result]]:
    """Yield each item with its result; at most twice the number of threads are taken ahead.

    Items for which `here` holds are processed by this thread, where Ctrl-C interrupts a system
    call. `stopping` is set when the results are no longer needed.
    """
    pool = ThreadPoolExecutor(threads)
    waiting: deque[tuple[_Item, Future[_Result] | None]] = deque()

    def first() -> tuple[_Item, _Result]:
        item, future = waiting.popleft()
        return item, work(item) if future is None else future.result()

    try:
        for item in items:
            waiting.append((item, None if here(item) else pool.submit(work, item)))
            if len(waiting) > 2 * threads:
                yield first()
        while waiting:
            yield first()
    finally:
        if stopping is not None:
            stopping.set()
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(
    work: Callable[[str, Check], _Result],
    paths: Iterable[str],
    threads: int,
    *,
    here: Callable[[str], bool] = lambda _: False,
) -> Iterator[tuple[str, _Result | Exception]]:
    """Yield each file with its result, or with the error that ended it."""
    stopping = threading.Event()

    def check() -> None:
        if stopping.is_set():
            raise _Ending

    def attempt(path: str) -> _Result | Exception:
        try:
            return work(path, check)
        except (FastrecError, OSError) as error:
            return error

    return mapped(attempt, paths, threads, here=here, stopping=stopping)
