# SPDX-License-Identifier: Apache-2.0
"""Functions of elements that are called in several threads."""

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

_LONG_S = 2e-4  # threads that share a lock gain nothing by shorter calls, and lose some
_TIMES = 2  # the first call is long where something is made for all of them


def workers(parallel: int | None, waiting: bool = True) -> int:
    """Return the number of threads for a program's ``num_parallel_calls``.

    The number exceeds that of the processors only if the threads may be `waiting` for something.
    """
    if parallel is None:
        return 0
    cpus = usable_cpus()
    return cpus if parallel < 1 else min(parallel, 4 * cpus if waiting else max(2, cpus))


def in_order(function: Callable[[S], T], values: Iterator[S], workers: int) -> Iterator[T]:
    """`function` of each of the values, in order; in threads of their own, if it takes long."""
    return map(function, values) if workers < 2 else _InOrder(function, values, workers)


class _InOrder(Generic[S, T]):
    def __init__(self, function: Callable[[S], T], values: Iterator[S], workers: int) -> None:
        self._function, self._values, self._workers = function, values, workers
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._pending: collections.deque[concurrent.futures.Future[T]] = collections.deque()
        self._long = 0  # calls, one after the other
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
                import concurrent.futures  # which takes as long as all of this package

                self._pool = concurrent.futures.ThreadPoolExecutor(self._workers, "fastrec-map")
                weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def _submit(self, pool: concurrent.futures.ThreadPoolExecutor) -> None:
        try:
            value = next(self._values)  # whose iteration is also that of the thread
            call = contextvars.copy_context().run
            self._pending.append(pool.submit(call, self._function, value))
        except StopIteration:
            self._ended = True
            pool.shutdown(wait=False)
        except Exception as error:  # which comes after what is being made
            import concurrent.futures

            failed: concurrent.futures.Future[T] = concurrent.futures.Future()
            failed.set_exception(error)
            self._pending.append(failed)
