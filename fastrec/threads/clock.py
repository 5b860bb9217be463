# SPDX-License-Identifier: Apache-2.0
"""Count how the threads of a pipeline spend their time, by stages."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

__all__ = ["Clock", "Span", "Work", "lap", "use_clock", "work_of"]

_USAGE_EVERY_NS = 1_000_000  # the system's counts of a thread are not read for a shorter stage
_LOCK_EVERY_NS = 50_000_000  # time between two measurements of the wait for the lock
_SPANS = 1024  # spans that each thread keeps
_IDLE = ("input", "room")  # stages of waiting, not of work

_here = threading.local()  # the clock of this thread


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


class Clock:
    """Counts the time of one thread by stages: each moment belongs to the stage of the next lap.

    It is written by one thread at a time, and read by any.
    """

    def __init__(self, thread: str) -> None:
        from .._core import lock_wait_ns, thread_usage  # the extension imports this module

        self._measure, self._wait_for_lock = thread_usage, lock_wait_ns
        self._usage = (0, 0)
        self._lock_at = 0  # when the wait for the lock is measured next
        self._at = 0
        self.thread = thread
        self.ns: dict[str, int] = {}
        self.blocked_ns: dict[str, int] = {}
        self.starved_ns: dict[str, int] = {}
        self.lock_ns: int = 0
        self.lock_count: int = 0
        self.bytes: int = 0
        self.laps: deque[tuple[str, int, int]] = deque(maxlen=_SPANS)

    def start(self, clock: Clock | None = None) -> None:
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


def work_of(clocks: list[Clock]) -> Work:
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


def use_clock(clock: Clock) -> None:
    """Count the next laps of the calling thread by `clock`."""
    _here.clock = clock


def lap(stage: str, size: int = 0) -> None:
    """Count the time since the last lap for a stage, and `size` bytes, if a pipeline calls."""
    clock = getattr(_here, "clock", None)
    if clock is not None:
        clock.lap(stage)
        clock.bytes += size
