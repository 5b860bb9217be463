# SPDX-License-Identifier: Apache-2.0
"""Ordered parallel map over an iterator with Python threads.

:class:`Pipeline` saves time for functions that release the GIL: parsing, decompression, NumPy and
decoders. As in the native loader, at most `depth` results are computed ahead, and an error is
raised in place of its result.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from ..errors import call_out
from .clock import Clock, Span, Work, lap, use_clock, work_of
from .locks import Waker, check_process

__all__ = [
    "Pipeline",
    "close_together",
    "is_in_pipeline",
    "is_stopping",
]

_here = threading.local()  # the ring that this thread works for

_WAIT_S = 0.1  # seconds per wait, so that Ctrl-C works
_JOIN_S = 5.0  # seconds to wait for threads inside the caller's function, in total
_NEXT_JOIN_S = 0.1  # the same, soon after a wait that timed out


class _Ring:
    """State that the threads share. It holds no reference to the consumer."""

    def __init__(self, source: Iterator[Any], function: Callable[[Any], Any], depth: int) -> None:
        self.source = source
        self.function = function
        self.depth = depth
        self.pulling = threading.Lock()  # one thread at a time uses the source
        self.lock = threading.Lock()  # guards what follows
        self.has_space = threading.Condition(self.lock)  # only the threads wait for it
        self.consumer = Waker()
        self.results: dict[int, Any] = {}
        self.next = 0
        self.reserved = 0  # places in the ring, taken before an item is
        self.claimed = 0
        self.end: int | None = None  # number of results before the end or an error
        self.error: BaseException | None = None  # the error at `end`, if any
        self.stopping = False
        self.source_clock = Clock("source")
        self.clocks: list[Clock] = []  # clock of each thread

    def pull(self, own: Clock) -> tuple[int, Any] | None:
        """Return the next item with its serial number; None if nothing is left to do.

        `own` is the clock of the calling thread.
        """
        with self.has_space:
            while self._goes_on() and self.reserved - self.next >= self.depth:
                self.has_space.wait()
            if not self._goes_on():
                return None
            self.reserved += 1
        lap("room")
        with self.pulling:
            with self.has_space:
                if not self._goes_on():
                    return None
            serial = self.claimed
            use_clock(self.source_clock)
            self.source_clock.start(own)
            try:
                item = next(self.source)
            except StopIteration:
                self.end_at(serial, None)
                return None
            except BaseException as error:
                self.end_at(serial, error)
                return None
            finally:
                lap("source")
                use_clock(own)
            self.claimed += 1
        lap("input")
        return serial, item

    def _goes_on(self) -> bool:
        return not self.stopping and self.end is None

    def end_at(self, serial: int, error: BaseException | None) -> None:
        with self.lock:
            if self.end is None or serial < self.end:
                self.end, self.error = serial, error
            self.consumer.wake()
            self.has_space.notify_all()

    def work(self) -> None:
        clock = Clock(threading.current_thread().name)
        _here.ring = self
        use_clock(clock)
        self.clocks.append(clock)
        clock.start()
        while (task := self.pull(clock)) is not None:
            serial, item = task
            try:
                result = call_out(self.function, item)
            except BaseException as error:
                self.end_at(serial, error)
            else:
                with self.lock:
                    self.results[serial] = result
                    if serial == self.next:
                        self.consumer.wake()
                del result  # frees the memory of a batch before the next wait
            del task, item

    def take(self) -> Any:
        while True:
            with self.lock:
                if self.next in self.results:
                    result = self.results[self.next]
                    self.next += 1
                    del self.results[self.next - 1]
                    self.has_space.notify()
                    return result
                if self.end is not None and self.next >= self.end:
                    if self.error is not None and not self.stopping:
                        raise self.error
                    raise StopIteration
                if self.stopping:
                    raise StopIteration
                self.has_space.notify_all()  # in case Ctrl-C prevented an earlier call
            self.consumer.wait(_WAIT_S)

    def stop(self) -> None:
        with self.lock:
            self.stopping = True
            self.results.clear()
            self.consumer.wake()
            self.has_space.notify_all()


def is_in_pipeline() -> bool:
    """Return whether the calling thread is a worker of any :class:`Pipeline`."""
    return hasattr(_here, "ring")


def is_stopping() -> bool:
    """Return whether the pipeline that the calling thread works for is being closed."""
    ring = getattr(_here, "ring", None)
    return ring is not None and ring.stopping


class Pipeline(Iterator[Any]):
    """Map `function` over `source` in `threads` threads, at most `depth` results ahead.

    Parameters
    ----------
    source : iterator
        Used by one thread at a time. When the pipeline is closed, its methods ``interrupt()``,
        from another thread, and then ``close()`` are called if they exist.
    function : callable
        Called in any of the threads.
    """

    _live: ClassVar[weakref.WeakSet[Pipeline]] = weakref.WeakSet()

    def __init__(
        self,
        source: Iterator[Any],
        function: Callable[[Any], Any],
        *,
        threads: int,
        depth: int,
    ) -> None:
        self._pid = os.getpid()
        self._ring = _Ring(source, function, max(depth, threads))
        self._threads = [
            threading.Thread(target=self._ring.work, name=f"fastrec-{i}", daemon=True)
            for i in range(threads)
        ]
        self._live.add(self)
        for number, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError:  # too many threads in the system; the others do the work
                del self._threads[number:]
                if not number:
                    raise
                break

    def __next__(self) -> Any:
        check_process(self._pid, "the iterator")
        return self._ring.take()

    def is_worker(self) -> bool:
        """Return whether the calling thread is a worker of this pipeline."""
        return getattr(_here, "ring", None) is self._ring

    @property
    def source(self) -> Iterator[Any]:
        """The iterator that the threads take from."""
        return self._ring.source

    @property
    def depth(self) -> int:
        """Number of results that are ready."""
        return len(self._ring.results)

    def work(self) -> tuple[Work, Work]:
        """Return how the source, called by one thread at a time, and the threads spent time."""
        return work_of([self._ring.source_clock]), work_of(list(self._ring.clocks))

    def spans(self) -> list[Span]:
        """Return the last stages of each thread."""
        clocks = [self._ring.source_clock, *self._ring.clocks]
        return [Span(clock.thread, *each) for clock in clocks for each in list(clock.laps)]

    def close(self) -> None:
        """Stop the threads and wait for them. In a child made by fork(), do nothing."""
        close_together([self])

    def _stop(self) -> None:
        """Tell the threads to end."""
        self._ring.stop()
        source: Any = self._ring.source
        if hasattr(source, "interrupt"):
            source.interrupt()

    def _join(self, deadline: float) -> bool:
        """Wait for the threads; return whether all have ended."""
        # A thread whose start() was interrupted is not alive yet; it will stop when it runs.
        others = [each for each in self._threads if each is not threading.current_thread()]
        for thread in others:
            if thread.is_alive():
                thread.join(max(deadline - time.monotonic(), 0))
        source: Any = self._ring.source
        if hasattr(source, "close") and not self._ring.pulling.locked():
            source.close()
        return not any(thread.is_alive() for thread in others)

    def __del__(self) -> None:
        if hasattr(self, "_threads"):
            self.close()


_gave_up_at = -_JOIN_S  # time of the last wait for threads that timed out


def close_together(pipelines: Iterable[Pipeline]) -> None:
    """Stop the threads of all pipelines, and wait for them until one common deadline.

    The garbage collector closes pipelines one after the other. These share a deadline, too: after
    a wait that timed out, the next one is short.
    """
    global _gave_up_at
    own = [pipeline for pipeline in pipelines if pipeline._pid == os.getpid()]
    for pipeline in own:
        pipeline._stop()
    now = time.monotonic()
    deadline = now + (_NEXT_JOIN_S if now - _gave_up_at < _JOIN_S else _JOIN_S)
    hung = [pipeline for pipeline in own if not pipeline._join(deadline)]
    if hung:
        _gave_up_at = time.monotonic()


@atexit.register
def _close_all() -> None:
    close_together(list(Pipeline._live))
