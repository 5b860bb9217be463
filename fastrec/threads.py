# SPDX-License-Identifier: Apache-2.0
"""Ordered parallel map over an iterator with Python threads, locks, and the usable processors.

:class:`Pipeline` saves time for functions that release the GIL: parsing, decompression, NumPy and
decoders. As in the native loader, at most `depth` results are computed ahead, and an error is
raised in place of its result.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from .errors import call_out

__all__ = [
    "Pipeline",
    "ProcessLock",
    "Span",
    "Work",
    "close_together",
    "is_in_pipeline",
    "is_stopping",
    "lap",
    "usable_cpus",
]

_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")

_here = threading.local()  # the ring that this thread works for, and its clock

_WAIT_S = 0.1  # seconds per wait, so that Ctrl-C works
_JOIN_S = 5.0  # seconds to wait for threads inside the caller's function, in total
_NEXT_JOIN_S = 0.1  # the same, soon after a wait that timed out
_USAGE_EVERY_NS = 1_000_000  # the system's counts of a thread are not read for a shorter stage
_LOCK_EVERY_NS = 50_000_000  # time between two measurements of the wait for the lock
_SPANS = 1024  # spans that each thread keeps


def usable_cpus() -> int:
    """Return the number of processors that this process may use, at least 1.

    It is the smaller of two numbers: processors in the affinity mask of the process, and the CPU
    quota of its control group (the limit of a container), rounded up. The quota is read once.
    """
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        count = os.cpu_count() or 1
    return max(1, math.ceil(min(count, _quota())))


@functools.cache
def _quota() -> float:
    """Return the smallest CPU quota of the process's control groups, in processors."""
    return min(_quotas(), default=math.inf)


def _quotas() -> Iterator[float]:
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":  # version 2
            for folder in _ancestors(_GROUPS, group):
                yield _ratio(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for root in dict.fromkeys((_GROUPS / controllers, _GROUPS / "cpu")):
                for folder in _ancestors(root, group):
                    yield _ratio(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")


def _ancestors(root: Path, group: str) -> Iterator[Path]:
    """Yield the folders of a control group and of those that contain it.

    In a container the group may be named by its path on the host, which does not exist here; the
    container's own group is `root` then.
    """
    folder = Path(os.path.normpath(f"{root}/{group}"))
    while folder.is_relative_to(root):
        yield folder
        folder = folder.parent


def _ratio(*paths: Path) -> float:
    """Return the quota divided by the period, which one file or two hold; infinite without one."""
    try:
        quota, period = " ".join(path.read_text() for path in paths).split()
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):  # "max" is not a number
        return math.inf


class ProcessLock:
    """A lock that is free in a child made by fork(), where the thread that held it does not exist.

    If the thread that forks holds the lock, its ``with`` block also ends without an error in the
    child. A pickled lock is a new one.
    """

    # A registry of weak references would run Python code when a lock is freed, and Python ignores
    # a KeyboardInterrupt that such code raises. Each lock therefore compares a number.
    _forks: ClassVar[int] = 0  # between the first process and this one
    _renewal: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None  # the thread that holds the lock
        self._made = ProcessLock._forks

    def __enter__(self) -> None:
        if self._made != ProcessLock._forks:
            with ProcessLock._renewal:
                if self._made != ProcessLock._forks:
                    self._renew()
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *exc_info: object) -> None:
        if self._made == ProcessLock._forks and self._holder == threading.get_ident():
            self._holder = None
            self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessLock, ()

    @classmethod
    def _count_fork(cls) -> None:
        ProcessLock._forks += 1
        ProcessLock._renewal = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=ProcessLock._count_fork)


class Span(NamedTuple):
    """A period that a thread spent in one stage, by ``time.perf_counter_ns()``."""

    thread: str
    stage: str
    began_ns: int
    ended_ns: int


class Work(NamedTuple):
    """How some threads have spent their time so far, in seconds of all of them together.

    A stage of that name takes `seconds`; for the parts `blocked_s` and `starved_s` of it, the
    threads waited inside of the stage, and for a processor.
    """

    threads: int
    seconds: dict[str, float]
    blocked_s: dict[str, float]
    starved_s: dict[str, float]
    idle_s: dict[str, float]
    """Waiting for ``"input"``, and for ``"room"`` in a full output queue."""
    bytes: int = 0
    """Bytes of the records that the threads have read."""
    lock_s: float = 0.0
    """Time that a thread waits for the interpreter's lock after it has released it, on average."""


class _Clock:
    """Counts the time of one thread by stages: each moment belongs to the stage of the next lap.

    It is written by one thread at a time, and read by any.
    """

    def __init__(self, thread: str) -> None:
        from ._core import lock_wait_ns, thread_usage  # the extension imports this module

        self._measure, self._wait_for_lock = thread_usage, lock_wait_ns
        self._usage = (0, 0)
        self._lock_at = 0  # when the wait for the lock is measured next
        self._at = 0
        self.thread = thread
        self.ns: dict[str, int] = {}
        self.blocked_ns: dict[str, int] = {}
        self.starved_ns: dict[str, int] = {}
        self.lock_ns = self.lock_count = self.bytes = 0
        self.laps: deque[tuple[str, int, int]] = deque(maxlen=_SPANS)

    def start(self, clock: _Clock | None = None) -> None:
        """Begin a stage now, on the thread that calls, which `clock` has measured before."""
        self._usage = self._measure() if clock is None else clock._usage
        self._at = time.perf_counter_ns()

    def lap(self, stage: str) -> None:
        """End a stage, and begin the next one."""
        now = time.perf_counter_ns()
        took = now - self._at
        self.ns[stage] = self.ns.get(stage, 0) + took
        self.laps.append((stage, self._at, now))
        if took >= _USAGE_EVERY_NS:
            usage = self._measure()
            off = max(took - (usage[0] - self._usage[0]), 0)
            starved = min(off, usage[1] - self._usage[1])
            self.starved_ns[stage] = self.starved_ns.get(stage, 0) + starved
            self.blocked_ns[stage] = self.blocked_ns.get(stage, 0) + off - starved
            now = time.perf_counter_ns()
            if stage not in _IDLE and now >= self._lock_at:
                self.lock_ns += self._wait_for_lock()
                self.lock_count += 1
                usage, now = self._measure(), time.perf_counter_ns()
                self._lock_at = now + _LOCK_EVERY_NS
            self._usage = usage
        self._at = now


_IDLE = ("input", "room")


def _work_of(clocks: list[_Clock]) -> Work:
    """Return the sum of the times of some threads."""

    def total(name: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for clock in clocks:
            for stage, ns in dict(getattr(clock, name)).items():
                sums[stage] = sums.get(stage, 0) + ns / 1e9
        return sums

    seconds, blocked, starved = total("ns"), total("blocked_ns"), total("starved_ns")
    idle = {stage: seconds.pop(stage, 0.0) for stage in _IDLE}
    lock_count = sum(clock.lock_count for clock in clocks)
    return Work(
        threads=len(clocks),
        seconds=seconds,
        blocked_s={stage: blocked.get(stage, 0.0) for stage in seconds},
        starved_s={stage: starved.get(stage, 0.0) for stage in seconds},
        idle_s=idle,
        bytes=sum(clock.bytes for clock in clocks),
        lock_s=sum(clock.lock_ns for clock in clocks) / 1e9 / max(lock_count, 1),
    )


def lap(stage: str, size: int = 0) -> None:
    """Count the time since the last lap for a stage, and `size` bytes, if a pipeline calls."""
    clock = getattr(_here, "clock", None)
    if clock is not None:
        clock.lap(stage)
        clock.bytes += size


class _Ring:
    """State that the threads share. It holds no reference to the consumer."""

    def __init__(self, source: Iterator[Any], function: Callable[[Any], Any], depth: int) -> None:
        self.source = source
        self.function = function
        self.depth = depth
        self.pulling = threading.Lock()  # one thread at a time uses the source
        lock = threading.Lock()  # guards what follows
        self.ready = threading.Condition(lock)
        self.has_space = threading.Condition(lock)
        self.results: dict[int, Any] = {}
        self.next = 0
        self.reserved = 0  # places in the ring, taken before an item is
        self.claimed = 0
        self.end: int | None = None  # number of results before the end or an error
        self.error: BaseException | None = None  # the error at `end`, if any
        self.stopping = False
        self.source_clock = _Clock("source")
        self.clocks: list[_Clock] = []  # clock of each thread

    def pull(self) -> tuple[int, Any] | None:
        """Return the next item with its serial number; None if nothing is left to do."""
        with self.has_space:
            while self._goes_on() and self.reserved - self.next >= self.depth:
                self.has_space.wait()
            if not self._goes_on():
                return None
            self.reserved += 1
        lap("room")
        own = _here.clock
        with self.pulling:
            with self.has_space:
                if not self._goes_on():
                    return None
            serial = self.claimed
            _here.clock = self.source_clock
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
                _here.clock = own
            self.claimed += 1
        lap("input")
        return serial, item

    def _goes_on(self) -> bool:
        return not self.stopping and self.end is None

    def end_at(self, serial: int, error: BaseException | None) -> None:
        with self.ready:
            if self.end is None or serial < self.end:
                self.end, self.error = serial, error
            self.ready.notify_all()
            self.has_space.notify_all()

    def work(self) -> None:
        clock = _Clock(threading.current_thread().name)
        _here.ring, _here.clock = self, clock
        self.clocks.append(clock)
        clock.start()
        while (task := self.pull()) is not None:
            serial, item = task
            try:
                result = call_out(self.function, item)
            except BaseException as error:
                self.end_at(serial, error)
            else:
                with self.ready:
                    self.results[serial] = result
                    if serial == self.next:
                        self.ready.notify()
                del result  # frees the memory of a batch before the next wait
            del task, item

    def take(self) -> Any:
        with self.ready:
            while self.next not in self.results and (self.end is None or self.next < self.end):
                if self.stopping:
                    raise StopIteration
                self.ready.wait(_WAIT_S)
            if self.next not in self.results:
                if self.error is not None and not self.stopping:
                    raise self.error
                raise StopIteration
            result = self.results.pop(self.next)
            self.next += 1
            self.has_space.notify()
            return result

    def stop(self) -> None:
        with self.ready:
            self.stopping = True
            self.results.clear()
            self.ready.notify_all()
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
        if self._pid != os.getpid():
            raise ValueError(f"created in process {self._pid}; create a new iterator in the child")
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
        return _work_of([self._ring.source_clock]), _work_of(list(self._ring.clocks))

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
