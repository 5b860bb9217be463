# SPDX-License-Identifier: Apache-2.0
"""Operations that may wait for a queue.

Every operation that could wait becomes an *attempt*, in one of two lines: one for enqueues (and
closes), one for dequeues. Only the first attempt of a line is tried. Whenever something changes,
both lines are tried, enqueues first, until neither makes progress. The thread that changes
something does this for all threads; each waiting thread sleeps on a separate lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from .._tf.errors import CancelledError
from ._rows import Row

if TYPE_CHECKING:
    from ._queueing import Queue

_SLICE_SECONDS = 0.2


class Cancellation(Protocol):
    """The cancellation of the step that an operation belongs to."""

    @property
    def cancelled(self) -> bool: ...
    def register(self, callback: Callable[[], None]) -> Any: ...
    def deregister(self, handle: Any) -> None: ...


BLOCKED, MOVED, DONE = range(3)


class Attempt:
    """An operation that may have to wait, with its outcome."""

    action = "Enqueue"
    __slots__ = ("done", "error", "gate")

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()
        self.done = False
        self.error: Exception | None = None

    def run(self, queue: Queue) -> int:
        """Make progress. The caller holds the queue's lock."""
        raise NotImplementedError

    def give_up(self, queue: Queue) -> None:
        """Undo partial progress. The caller holds the queue's lock."""

    def finish(self, error: Exception | None = None) -> None:
        self.done, self.error = True, error
        self.gate.release()


class Enqueue(Attempt):
    __slots__ = ("columns", "count", "given", "position", "row")

    def __init__(
        self, columns: Row, count: int, row: Row | None = None, given: bool = False
    ) -> None:
        super().__init__()
        self.columns, self.count, self.row, self.position = columns, count, row, 0
        self.given = given

    def run(self, queue: Queue) -> int:
        if queue.closed:
            self.error = CancelledError(None, None, f"{queue.label} is closed.")
            return DONE
        room = queue.capacity - len(queue.order)
        if room <= 0:
            return BLOCKED
        if self.row is not None:
            queue.insert(self.row, self.given)
            return DONE
        count = min(room, self.count - self.position)
        queue.insert_many(self.columns, self.position, self.position + count, self.given)
        self.position += count
        return DONE if self.position == self.count else MOVED


class Close(Attempt):
    __slots__ = ()

    def run(self, queue: Queue) -> int:
        if queue.closed:
            self.error = CancelledError(None, None, f"Queue '{queue.name}' is already closed.")
        queue.closed = True
        return DONE


class Dequeue(Attempt):
    """A dequeue; `missing` elements are not in `tokens` yet."""

    action = "Dequeue"
    __slots__ = ("missing", "single", "tokens", "up_to")

    def __init__(self, count: int, *, single: bool = False, up_to: bool = False) -> None:
        super().__init__()
        self.missing, self.single, self.up_to = count, single, up_to
        self.tokens: list[Any] = []

    def give_up(self, queue: Queue) -> None:
        if self.tokens:
            queue.order.restore(self.tokens)
            self.tokens = []

    def run(self, queue: Queue) -> int:
        size = len(queue.order)
        if queue.closed and size < self.missing:
            self.give_up(queue)
            if not self.up_to or not len(queue.order):
                if self.up_to and queue.enqueues:
                    return MOVED  # another queue may have elements now
                self.error = queue.exhausted(self.missing, size, self.single)
                return DONE
            self.missing = size = len(queue.order)
        ready = size if queue.closed else size - queue.min_after_dequeue
        if ready <= 0 or (queue.all_at_once and ready < self.missing):
            return BLOCKED
        count = min(ready, self.missing)
        self.tokens += queue.order.take(count)
        self.missing -= count
        return MOVED if self.missing else DONE


class TakeReady(Dequeue):
    """A dequeue of at least one and at most the requested number of elements."""

    __slots__ = ()

    def run(self, queue: Queue) -> int:
        size = len(queue.order)
        if queue.closed and not size:
            self.error = queue.exhausted(1, 0, True)
            return DONE
        ready = size if queue.closed else size - queue.min_after_dequeue
        if ready <= 0:
            return BLOCKED
        self.tokens = queue.order.take(min(ready, self.missing))
        return DONE


def called_off(attempt: Attempt) -> CancelledError:
    return CancelledError(None, None, f"{attempt.action} operation was cancelled")


@contextmanager
def held(lock: threading.Lock, step: Cancellation, text: str) -> Iterator[None]:
    """Hold a lock that a thread may hold while it waits for a queue.

    Raises
    ------
    CancelledError
        If the step is cancelled, with `text` as the message.
    """
    while not lock.acquire(timeout=_SLICE_SECONDS):
        if step.cancelled:
            raise CancelledError(None, None, text)
    try:
        yield
    finally:
        lock.release()
