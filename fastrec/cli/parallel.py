# SPDX-License-Identifier: Apache-2.0
"""Work on files or blocks by several threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fastrec.errors import FastrecError

__all__ = ["in_order", "mapped"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped(
    work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int
) -> Iterator[tuple[_Item, _Result]]:
    """Yield each item with its result; no more items are taken than twice the threads ahead."""
    pool = ThreadPoolExecutor(threads)
    waiting: deque[tuple[_Item, Future[_Result]]] = deque()
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > 2 * threads:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(
    work: Callable[[str], _Result], paths: Iterable[str], threads: int
) -> Iterator[tuple[str, _Result | Exception]]:
    """Yield each file with the result for it, or with the error that ended it."""

    def attempt(path: str) -> _Result | Exception:
        try:
            return work(path)
        except (FastrecError, OSError) as error:
            return error

    return mapped(attempt, paths, threads)
