# SPDX-License-Identifier: Apache-2.0
"""Threads that compute elements: ordered parallel calls, and prefetching."""

from __future__ import annotations

import collections
import contextvars
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from fastrec.threads.cpus import usable_cpus

if TYPE_CHECKING:
    import concurrent.futures
    import queue
import threading
from typing import Any

from ..seeds import is_looking_ahead
from .pipeline import Portion, Stage
from .streams import Each, Pull

S = TypeVar("S")
T = TypeVar("T")

_LONG_S = 2e-4  # seconds per call from which threads save time in spite of locks
_TIMES = 4  # long calls in a row before threads start; the first ones may include a setup
_JUDGED = 16  # calls in threads whose median time shows whether the threads help
_MOST_SHARE = 0.9  # of the time of calls one after the other; threads that need more are ended


def workers(parallel: int | None, waiting: bool = True) -> int:
    """Return the number of threads for a program's ``num_parallel_calls``.

    The number exceeds that of the processors only if the threads may be `waiting` for something.
    It is 0 while looking ahead.
    """
    if parallel is None or is_looking_ahead():
        return 0
    cpus = usable_cpus()
    return cpus if parallel < 1 else min(parallel, 4 * cpus if waiting else max(2, cpus))


def in_order(function: Callable[[S], T], values: Iterator[S], workers: int) -> Iterator[T]:
    """Map `function` over values in order; use threads if calls take long and threads help."""
    return map(function, values) if workers < 2 else _InOrder(function, values, workers)


def _timed(function: Callable[[S], T], times: collections.deque[float], value: S) -> T:
    """Return the result of a call, and add its seconds to `times`."""
    begin = time.perf_counter()
    try:
        return function(value)
    finally:
        times.append(time.perf_counter() - begin)


class _InOrder(Generic[S, T]):
    def __init__(self, function: Callable[[S], T], values: Iterator[S], workers: int) -> None:
        self._function, self._values, self._workers = function, values, workers
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        self._pending: collections.deque[concurrent.futures.Future[T]] = collections.deque()
        self._times: collections.deque[float] = collections.deque(maxlen=_TIMES)  # of last calls
        self._alone: float | None = None  # seconds of a call before threads started
        self._is_judged = False
        self._ended = False

    def __iter__(self) -> _InOrder[S, T]:
        return self

    def __next__(self) -> T:
        if self._pool is not None and not self._do_threads_help():
            self._pool.shutdown(wait=False)
            self._pool = None
        while self._pool and not self._ended and len(self._pending) <= self._workers:
            self._submit(self._pool)
        if self._pending:
            return self._pending.popleft().result()
        if self._ended:
            raise StopIteration
        try:
            return _timed(self._function, self._times, next(self._values))
        finally:
            if self._alone is None and len(self._times) == _TIMES:
                self._start_if_long(min(self._times))

    def _start_if_long(self, seconds: float) -> None:
        if seconds > _LONG_S:
            import concurrent.futures  # slow to import

            self._alone, self._times = seconds, collections.deque(maxlen=_JUDGED)
            self._pool = concurrent.futures.ThreadPoolExecutor(self._workers, "fastrec-map")
            weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def _do_threads_help(self) -> bool:
        """Return whether threads save time; they may wait for each other, as for Python's lock."""
        if self._is_judged or len(self._times) < _JUDGED:
            return True
        self._is_judged = True
        assert self._alone is not None
        return sorted(self._times)[_JUDGED // 2] <= _MOST_SHARE * self._workers * self._alone

    def _submit(self, pool: concurrent.futures.ThreadPoolExecutor) -> None:
        try:
            value = next(self._values)  # iterated in this thread only
            call = contextvars.copy_context().run
            self._pending.append(pool.submit(call, _timed, self._function, self._times, value))
        except StopIteration:
            self._ended = True
            pool.shutdown(wait=False)
        except Exception as error:  # raised after the results that precede it
            import concurrent.futures

            failed: concurrent.futures.Future[T] = concurrent.futures.Future()
            failed.set_exception(error)
            self._pending.append(failed)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


_END = object()
_POLL_S = 0.1


def _fill(
    stream: Iterator[Any],
    ready: queue.SimpleQueue[Any],
    slots: threading.Semaphore,
    stop: threading.Event,
) -> None:
    """Make elements into free slots until the stream ends."""
    while not stop.is_set():
        if not slots.acquire(timeout=_POLL_S):
            continue
        try:
            ready.put(next(stream))
        except StopIteration:
            ready.put(_END)
            return
        except Exception as error:
            ready.put(_Failure(error))
        except BaseException as error:
            ready.put(_Failure(error))
            ready.put(_END)
            return


class _Ahead:
    """Buffer that a thread fills with the next elements of a stream."""

    def __init__(self, stream: Iterator[Any], size: int) -> None:
        import queue  # slow to import

        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._empty = queue.Empty
        self._slots = threading.Semaphore(size)
        self._stop = threading.Event()
        self._ended = False
        arguments = (_fill, stream, self._ready, self._slots, self._stop)
        thread = threading.Thread(  # of the same iteration
            target=contextvars.copy_context().run,
            args=arguments,
            name="fastrec-prefetch",
            daemon=True,
        )
        weakref.finalize(self, self._stop.set)
        thread.start()

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Any:
        item = _END if self._ended else self._get()
        if item is _END:
            self._ended = True
            raise StopIteration
        if isinstance(item, _Failure):
            try:
                raise item.error
            finally:
                del item  # otherwise the error and this frame would keep each other alive
        return item

    def _get(self) -> Any:
        while True:  # wait in slices, so that Ctrl-C is noticed
            try:
                item = self._ready.get(timeout=_POLL_S)
            except self._empty:
                continue
            self._slots.release()
            return item


class Prefetch(Portion):
    """Stage whose elements a thread makes ahead of time, unless rows are made ahead anyway."""

    def __init__(self, stage: Stage, size: int | None) -> None:
        super().__init__(stage)
        self._size = 2 if size is None or size < 0 else size

    def start(self, ask: int) -> Pull:
        stage = self.inputs[0]
        if not self._size or is_looking_ahead() or (stage.pure and stage.runs_ahead):
            return super().start(ask)
        return Each(_Ahead(stage.elements(), self._size))
