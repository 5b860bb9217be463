# SPDX-License-Identifier: Apache-2.0
"""Run jobs on threads ahead of the consumer, in order and within a memory budget."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from ..threads.locks import Waker, check_process

__all__ = ["Ahead", "Job", "Stopped", "run_all"]

T = TypeVar("T")

_MOST_THREADS = 16  # requests that run in parallel
_FIRST_THREADS = 4  # requests in parallel at first; more threads start if they help
_LOOK_S = 0.25  # seconds between checks whether the consumer still exists


class Stopped(Exception):
    """Raised in a job when the consumer no longer waits for its result."""


class Job(NamedTuple):
    """A function ``run(pause)`` for a thread; `cost` bytes are held until the result is taken.

    ``pause(seconds)`` waits, or raises :class:`Stopped` if the consumer no longer waits. After the
    job, ``then()`` returns the jobs whose results follow its result.
    """

    run: Callable[[Callable[[float], None]], Any]
    cost: int
    then: Callable[[], Iterable[Job]] | None = None


class _Slot:
    __slots__ = ("done", "error", "job", "result", "started", "thread")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.started = self.done = False
        self.thread = 0  # that runs the job
        self.result: Any = None
        self.error: BaseException | None = None


class _State:
    """State shared by the threads and the consumer; it holds no reference to either."""

    def __init__(self, jobs: Iterator[Job], budget: int, limit: int, most: int) -> None:
        self.lock = threading.RLock()  # guards what follows
        self.changed = threading.Condition(self.lock)  # only the threads wait for it
        self.taker = Waker()
        self.jobs = jobs
        self.budget = budget
        self.limit = limit  # concurrent jobs; increases up to `most` while the consumer waits
        self.most = most
        self.held = 0
        self.running = self.threads = 0
        self.slots: deque[_Slot] = deque()  # not yet taken, in order
        self.waiting = 0  # number of slots that have not started: they follow other jobs
        self.is_helped = False
        self.ended = self.stopped = False
        self.failure: BaseException | None = None  # raised by `jobs`; no job follows
        self.consumer: weakref.ref[Any] | None = None

    def is_over(self) -> bool:
        """Return whether the consumer has stopped or no longer exists."""
        return self.stopped or (self.consumer is not None and self.consumer() is None)

    def tell(self) -> None:
        """Make the threads and the consumer look again; the caller holds the lock."""
        self.taker.wake()
        self.changed.notify_all()

    def start_job(self) -> _Slot | None:
        """Return the next job if it may run now; the caller holds the lock."""
        slot = self._next_slot() if self.running < self.limit else None
        if slot is not None:
            slot.thread = threading.get_ident()
            slot.started = True
            self.held += slot.job.cost
            self.running += 1
        return slot

    def take_job(self) -> _Slot | None:
        """Return the next job once the budget allows it; None if the thread must end."""
        with self.changed:
            while not self.is_over():
                if (slot := self.start_job()) is not None:
                    if self.is_helped and not self.waiting:  # the consumer prepares none
                        self._prepare()
                        self.taker.wake()
                    return slot
                unfinished = self.waiting or any(s.job.then and not s.done for s in self.slots)
                if self.ended and not unfinished:
                    break
                self.changed.wait(_LOOK_S)
            self.ended = True
            self.threads -= 1
            self.tell()
            return None

    def _next_slot(self) -> _Slot | None:
        """Return the first job that may start, or None."""
        if not self.waiting and not (self.slots and self.held >= self.budget):
            self._prepare()
        if not self.waiting:
            return None
        slot = next(slot for slot in self.slots if not slot.started)
        # The consumer waits for the first result, and gives nothing back before it has it.
        if slot is not self.slots[0] and self.held >= self.budget:
            return None
        self.waiting -= 1
        return slot

    def _prepare(self) -> None:
        """Add the next job, if there is one."""
        if self.ended:
            return
        try:
            slot = _Slot(next(self.jobs))
        except BaseException as error:
            self.failure = None if isinstance(error, StopIteration) else error
            self.ended = True
            return
        self.slots.append(slot)
        self.waiting += 1

    def give_back(self) -> None:
        """Let the unfinished job of this thread run again, wherever Ctrl-C interrupted it."""
        with self.lock:
            for slot in self.slots:
                if slot.thread == threading.get_ident() and not slot.done:
                    slot.started = False
            self.waiting = sum(not slot.started for slot in self.slots)
            self.running = sum(slot.started and not slot.done for slot in self.slots)
            self.held = sum(slot.job.cost for slot in self.slots if slot.started)
            self.tell()

    def pause(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        with self.changed:
            while not self.is_over() and (left := ends - time.monotonic()) > 0:
                self.changed.wait(min(left, _LOOK_S))
            if self.is_over():
                raise Stopped

    def finish(self, slot: _Slot, following: list[_Slot]) -> None:
        with self.changed:
            if following and slot in self.slots:
                at = self.slots.index(slot) + 1
                for each in reversed(following):
                    self.slots.insert(at, each)
                self.waiting += len(following)
            slot.done = True
            self.running -= 1
            self.tell()


def _work(state: _State) -> None:
    while (slot := state.take_job()) is not None:
        _run(state, slot, BaseException)
        del slot


def _run(state: _State, slot: _Slot, caught: type[BaseException]) -> None:
    following: list[_Slot] = []
    try:
        slot.result = slot.job.run(state.pause)
        following = [] if slot.job.then is None else [*map(_Slot, slot.job.then())]
    except StopIteration as error:  # it would end the iteration over results
        slot.error = RuntimeError("a job raised StopIteration")
        slot.error.__cause__ = error
    except caught as error:
        slot.error = error
    state.finish(slot, following)


class Ahead(Iterator[T], Generic[T]):
    """An iterator over the results of jobs, in order; threads run jobs ahead within a budget.

    A few jobs run concurrently at first. The number increases, up to a limit, as long as the
    consumer has to wait. The threads are daemons and are never joined, so Ctrl-C ends a wait
    immediately. An error is raised in place of the result, and ends the iteration.

    When the object is dropped, its threads end within a moment: they check a weak reference to it.
    There is no ``__del__``, because a Ctrl-C inside one is lost, and because the garbage collector
    may call it anywhere, where it must not wait for a lock.

    Parameters
    ----------
    jobs : iterable of Job
        Iterated under a lock, one job at a time.
    budget : int
        Maximum total cost of results and running jobs, in bytes. One job may always run.
    threads, most : int
        Initial and maximum number of concurrent jobs.
    helps : bool
        Whether the consumer runs jobs instead of waiting, and is one of at least two `threads`.
        This is for jobs that use a processor, and can run again after Ctrl-C.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        budget: int,
        threads: int = _FIRST_THREADS,
        most: int = _MOST_THREADS,
        helps: bool = False,
    ) -> None:
        self._state = _State(iter(jobs), budget, threads, most)
        self._state.is_helped = helps
        self._state.consumer = weakref.ref(self)
        self._pid = os.getpid()

    def __next__(self) -> T:
        state = self._state
        check_process(self._pid, "the iterator")
        waited = False
        while True:
            with state.lock:
                self._start_threads()
                if state.slots and state.slots[0].done:
                    slot = state.slots.popleft()
                    break
                if state.stopped:
                    raise Stopped
                if not state.slots and state.ended:
                    if state.failure is not None:
                        raise state.failure
                    raise StopIteration
                if not waited and state.limit < state.most and state.held < state.budget:
                    state.limit += 1
                    self._start_threads()
                    state.changed.notify_all()
            waited = True
            if not self._help():
                state.taker.wait(_LOOK_S)
        with state.lock:
            state.held -= slot.job.cost
            state.changed.notify_all()
            if slot.error is not None:
                state.stopped = state.ended = True
                state.slots.clear()
                raise slot.error
        return slot.result  # type: ignore[no-any-return]

    def _help(self) -> bool:
        """Run a job on this thread; return whether there was one."""
        state = self._state
        if not state.is_helped:
            return False
        try:
            with state.lock:
                slot = state.start_job() if state.waiting else None
            if slot is not None:
                _run(state, slot, Exception)
        except BaseException:
            state.give_back()
            raise
        return slot is not None

    def _start_threads(self) -> None:
        state = self._state
        while state.threads < state.limit - state.is_helped and not (state.ended or state.stopped):
            thread = threading.Thread(
                target=_work, args=(state,), name="fastrec-fetch", daemon=True
            )
            state.threads += 1
            try:
                thread.start()
            except BaseException as error:
                state.threads -= 1
                if not state.threads or not isinstance(error, RuntimeError):
                    raise
                return

    def start(self) -> None:
        """Start the first jobs before a result is requested."""
        with self._state.lock:
            self._start_threads()

    def close(self) -> None:
        """End the threads. Results that are already available can still be taken."""
        if self._pid == os.getpid():
            with self._state.lock:
                self._state.stopped = self._state.ended = True
                self._state.tell()


def run_all(runs: Iterable[Callable[[Callable[[float], None]], T]], cost: int = 0) -> list[T]:
    """Return the results of all functions, which run on up to 16 threads."""
    jobs = [Job(run, cost) for run in runs]
    return list(Ahead(jobs, budget=1, threads=min(_MOST_THREADS, len(jobs)))) if jobs else []
