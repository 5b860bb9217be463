# SPDX-License-Identifier: Apache-2.0
"""Ordered parallel calls of a function of elements."""

from __future__ import annotations

import collections
import contextvars
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from fastrec.threads import usable_cpus

if TYPE_CHECKING:
    import concurrent.futures

__all__ = ["in_order", "workers"]

S = TypeVar("S")
T = TypeVar("T")

_LONG_S = 2e-4  # seconds per call from which threads save time in spite of locks
_TIMES = 2  # long calls in a row before threads start; the first call may include a setup


def workers(parallel: int | None, waiting: bool = True) -> int:
    """Return the number of threads for a program's ``num_parallel_calls``.

    The number exceeds that of the processors only if the threads may be `waiting` for something.
    """
    if parallel is None:
        return 0
    cpus = usable_cpus()
    return cpus if parallel < 1 else min(parallel, 4 * cpus if waiting else max(2, cpus))


def in_order(function: Callable[[S], T], values: Iterator[S], workers: int) -> Iterator[T]:
    """Map `function` over values in order; start threads if calls take long."""
    return map(function, values) if workers < 2 else _InOrder(function, values, workers)


class _InOrder(Generic[S, T]):
    def __init__(self, function: Callable[[S], T], values: Iterator[S], workers: int) -> None:
        self._function, self._values, self._workers = function, values, workers
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._pending: collections.deque[concurrent.futures.Future[T]] = collections.deque()
        self._long = 0  # number of consecutive long calls
        self._ended = False

    def __iter__(self) -> _InOrder[S, T]:
        return self

    def __next__(self) -> T:
        if self._pool is None:
            return self._called(next(self._values))
        while not self._ended and len(self._pending) <= self._workers:
            self._submit(self._pool)
        if self._pending:
            return self._pending.popleft().result()
        raise StopIteration

    def _called(self, value: S) -> T:
        begin = time.perf_counter()
        try:
            return self._function(value)
        finally:
            self._long = self._long + 1 if time.perf_counter() - begin > _LONG_S else 0
            if self._long == _TIMES:
                import concurrent.futures  # slow to import

                self._pool = concurrent.futures.ThreadPoolExecutor(self._workers, "fastrec-map")
                weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def _submit(self, pool: concurrent.futures.ThreadPoolExecutor) -> None:
        try:
            value = next(self._values)  # iterated in this thread only
            call = contextvars.copy_context().run
            self._pending.append(pool.submit(call, self._function, value))
        except StopIteration:
            self._ended = True
            pool.shutdown(wait=False)
        except Exception as error:  # raised after the results that precede it
            import concurrent.futures

            failed: concurrent.futures.Future[T] = concurrent.futures.Future()
            failed.set_exception(error)
            self._pending.append(failed)
