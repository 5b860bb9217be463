# SPDX-License-Identifier: Apache-2.0
"""The implementation of queues, independent of graphs: elements, waiting threads, and closing."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.errors import OutOfRangeError, invalid
from ._attempts import (
    DONE,
    MOVED,
    Attempt,
    Cancellation,
    Close,
    Dequeue,
    Enqueue,
    TakeReady,
    called_off,
)
from ._rows import (
    Apart,
    Fifo,
    Heap,
    Loose,
    Order,
    Padded,
    Row,
    Rows,
    Shape,
    Shuffled,
    Slabs,
    row_bytes,
)

# Seconds that a dequeue waits for a queue without feeders before it raises an error.
UNFED_SECONDS = 5.0
_LARGE = 1 << 16  # minimum bytes of a large element
_SLICE_SECONDS = 0.2  # seconds per wait, so that Ctrl-C works on every platform

_numbers = itertools.count()


class Queue:
    """A bounded queue of elements, each a tuple of arrays, for any number of threads.

    Parameters
    ----------
    capacity : int
        Largest number of elements; negative means unlimited.
    dtypes : sequence of numpy.dtype
        The dtypes of the components; ``object`` for strings.
    shapes : sequence of tuple of int, or None
        The shapes of an element's components; None if they vary.
    name : str, optional
        The name in messages; by default `op_name` with a number.
    op_name : str
        The operation that the queue belongs to.
    """

    kind = "FIFOQueue"
    label_kind = ""  # kind of queue in most messages, if it differs from `kind`
    min_after_dequeue = 0
    all_at_once = False  # whether a batch is taken only when it is complete

    def __init__(
        self,
        capacity: int,
        dtypes: Sequence[np.dtype[Any]],
        shapes: Sequence[Shape] | None = None,
        *,
        name: str | None = None,
        op_name: str = "queue",
    ) -> None:
        self.op_name = op_name
        self.name = name or f"_{next(_numbers)}_{op_name}"
        self.label = f"{self.label_kind or self.kind} '{self.name}'"
        self.capacity = sys.maxsize if capacity < 0 else capacity
        self.dtypes, self.shapes = list(dtypes), shapes
        self.rows = self._make_rows()
        self.order = self._make_order()
        self.settings: dict[str, Any] = {}  # the arguments, for comparison
        self.closed = False
        self.cause: BaseException | None = None  # the error that ended it early
        self._feeders = 0  # threads of queue runners that feed it
        self._had_feeders = False
        self.fed = 0  # number of elements ever enqueued
        self.lock = threading.Lock()
        self.enqueues: deque[Attempt] = deque()
        self.dequeues: deque[Attempt] = deque()

    def _make_rows(self) -> Rows:
        if self.shapes is None:
            return Loose(self.dtypes)
        shapes: Sequence[tuple[int, ...]] = self.shapes  # type: ignore[assignment]
        if row_bytes(self.dtypes, shapes) >= _LARGE:
            return Apart(self.dtypes, shapes)
        expected = 0 if self.capacity == sys.maxsize else self.capacity
        return Slabs(self.dtypes, shapes, expected)

    def _make_order(self) -> Order:
        return Fifo()

    # Checks of components.

    def check(self, values: Row, outer: Shape = ()) -> None:
        """Raise an error if a component of an element or a batch has the wrong shape."""
        if self.shapes is None:
            return
        for i, (value, inner) in enumerate(zip(values, self.shapes, strict=True)):
            shape = (*outer, *inner)
            if value.shape != shape and not _fits(value.shape, shape):
                wanted, got = shape_text(shape), shape_text(value.shape)
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {wanted}, got {got}"
                )

    def count_of(self, columns: Row) -> int:
        """Return the number of elements of a batch, after checking the batch."""
        if columns[0].ndim:
            self.check(columns, columns[0].shape[:1])
        sizes = [column.shape[0] if column.ndim else None for column in columns]
        for i, size in enumerate(sizes):
            if size is None:
                raise invalid(f"Component {i} of a batch needs at least one dimension.")
            if size != sizes[0]:
                raise invalid(
                    f"All input tensors must have the same size in the 0th dimension. "
                    f"Component {i} has {size}, and should have {sizes[0]}"
                )
        return sizes[0] or 0

    # Storage of elements; the caller holds the lock.

    def insert(self, row: Row, given: bool = False) -> None:
        self.order.put((self.rows.put(row, given),))
        self.fed += 1

    def insert_many(self, columns: Row, start: int, stop: int, given: bool = False) -> None:
        self.order.put(self.rows.put_many(columns, start, stop, given))
        self.fed += stop - start

    def tokens_of(self, taken: list[Any]) -> list[Any]:
        """Return the tokens of the rows among the items of the order."""
        return taken

    # Operations.

    def enqueue(self, row: Row, step: Cancellation, *, given: bool = False) -> None:
        """Enqueue one element, waiting for space.

        `given` means that the caller no longer modifies it, so that it may be stored without a
        copy.

        Raises
        ------
        CancelledError
            If the queue is closed, or the step is cancelled.
        InvalidArgumentError
            If a component has the wrong shape.
        """
        self.check(row)
        self._attempt(Enqueue((), 1, row, given), self.enqueues, step)

    def enqueue_many(self, columns: Row, step: Cancellation, *, given: bool = False) -> None:
        """Enqueue the elements of a batch one by one, as :meth:`enqueue` does."""
        count = self.count_of(columns)
        if count:
            self._attempt(Enqueue(columns, count, given=given), self.enqueues, step)

    def dequeue(self, step: Cancellation) -> Row:
        """Dequeue one element, waiting for it.

        Raises
        ------
        OutOfRangeError
            If the queue is closed and has too few elements.
        CancelledError
            If the step is cancelled.
        """
        attempt = Dequeue(1, single=True)
        self._attempt(attempt, self.dequeues, step)
        return self._hand_over(attempt)

    def dequeue_many(self, count: int, step: Cancellation, *, up_to: bool = False) -> Row:
        """Dequeue `count` elements as one batch; fewer with `up_to` if the queue is closed.

        Raises the errors of `dequeue`, and InvalidArgumentError if the elements cannot form a
        batch.
        """
        which = "DequeueUpToOp" if up_to else "DequeueManyOp"
        if count < 0:
            raise invalid(f"{which} requested {count} < 0 elements")
        if self.shapes is None:
            raise invalid(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have "
                f"specified shapes."
            )
        if count == 0:
            return self.rows.gather([])
        attempt = Dequeue(count, up_to=up_to)
        self._attempt(attempt, self.dequeues, step)
        return self._hand_over(attempt)

    def dequeue_ready(self, count: int, step: Cancellation) -> list[Row]:
        """Dequeue the available elements, at least one and at most `count`.

        Raises the errors of `dequeue`.
        """
        attempt = TakeReady(count)
        self._attempt(attempt, self.dequeues, step)
        tokens = self.tokens_of(attempt.tokens)
        found = [self.rows.copy(token) for token in tokens]
        with self.lock:
            self.rows.drop(tokens)
        return found

    def take_waiting(self, count: int) -> list[Row]:
        """Dequeue up to `count` available elements if no other thread waits for them."""
        with self.lock:
            left = 0 if self.closed else self.min_after_dequeue
            count = 0 if self.dequeues else min(count, len(self.order) - left)
            tokens = self.tokens_of(self.order.take(max(count, 0)))
            found = [self.rows.copy(token) for token in tokens]
            self.rows.drop(tokens)
            self._flush()
        return found

    @property
    def in_order(self) -> bool:
        """Whether elements leave in the order of arrival, including returned ones."""
        return isinstance(self.order, Fifo)

    def give_back(self, found: Sequence[Row]) -> None:
        """Return unused elements to their former places."""
        with self.lock:
            self.order.restore([self.rows.put(row) for row in found])
            self._flush()

    def close(self, step: Cancellation, *, cancel_pending_enqueues: bool = False) -> None:
        """Close the queue: after the pending enqueues, or immediately by cancelling them.

        Raises
        ------
        CancelledError
            If the queue is already closed and `cancel_pending_enqueues` is False.
        """
        if not cancel_pending_enqueues:
            self._attempt(Close(), self.enqueues, step)
            return
        with self.lock:
            self.closed = True
            for attempt in self.enqueues:
                if not attempt.done:
                    attempt.finish(called_off(attempt))
            self._flush()

    def size(self) -> int:
        """Return the number of elements."""
        return len(self.order)

    def exhausted(self, requested: int, size: int, single: bool) -> OutOfRangeError:
        """Return the error at the end, caused by the error that ended the queue early, if any."""
        label = self.label if single else f"{self.kind} '{self.name}'"
        error = OutOfRangeError(
            None,
            None,
            f"{label} is closed and has insufficient elements "
            f"(requested {requested}, current size {size})",
        )
        error.__cause__ = self.cause
        return error

    # Attempts.

    def _attempt(self, attempt: Attempt, line: deque[Attempt], step: Cancellation) -> None:
        if step.cancelled:
            raise called_off(attempt)
        with self.lock:
            line.append(attempt)
            if len(line) == 1:
                self._flush()
        if not attempt.done:
            self._wait(attempt, step)
        if attempt.error is not None:
            raise attempt.error

    def _flush(self) -> None:
        moved = True
        while moved:
            moved = self._advance(self.enqueues) if self.enqueues else False
            if self.dequeues:
                moved = self._advance(self.dequeues) or moved

    def _advance(self, line: deque[Attempt]) -> bool:
        moved = False
        while line:
            attempt = line[0]
            if attempt.done:  # it was cancelled
                line.popleft()
                continue
            try:
                outcome = attempt.run(self)
            except Exception as error:  # an error of this attempt only; the others continue
                attempt.error = error
                outcome = DONE
            if outcome != DONE:
                return moved or outcome == MOVED
            moved = True
            line.popleft()
            attempt.finish(attempt.error)
        return moved

    def _wait(self, attempt: Attempt, step: Cancellation) -> None:
        handle = step.register(lambda: self._call_off(attempt))
        try:
            if step.cancelled:
                self._call_off(attempt)
            since, fed = time.monotonic(), self.fed
            warned = attempt.action != "Dequeue"
            while not attempt.gate.acquire(timeout=min(_SLICE_SECONDS, UNFED_SECONDS)):
                by_hand = self.fed and not self._had_feeders
                if self.fed != fed or self.enqueues or self._feeders or by_hand:
                    since, fed = time.monotonic(), self.fed
                elif not warned and time.monotonic() - since >= UNFED_SECONDS:
                    warned = True
                    warnings.warn(self._unfed(), RuntimeWarning, stacklevel=2)
        except BaseException:  # Ctrl-C, or a warning that is raised as an error
            self._call_off(attempt)
            raise
        finally:
            step.deregister(handle)

    def _call_off(self, attempt: Attempt) -> None:
        with self.lock:
            if attempt.done:
                return
            attempt.give_up(self)
            attempt.finish(called_off(attempt))
            self._flush()

    def _hand_over(self, attempt: Dequeue) -> Row:
        tokens = self.tokens_of(attempt.tokens)
        values = self.rows.copy(tokens[0]) if attempt.single else self.rows.gather(tokens)
        with self.lock:
            self.rows.drop(tokens)
        return values

    def feeder_comes(self) -> None:
        """Note that a thread begins to feed the queue."""
        with self.lock:
            self._feeders += 1
            self._had_feeders = True

    def feeder_goes(self) -> None:
        """Note that a thread has stopped feeding the queue."""
        with self.lock:
            self._feeders -= 1

    def _unfed(self) -> str:
        text = f"a dequeue has waited {UNFED_SECONDS:g} s for the queue {self.op_name!r}, which "
        if not self._had_feeders:
            return text + (
                "nothing feeds: no queue runner of it was started. Call "
                "tf.train.start_queue_runners(sess, coord) after the initialisers have run, or "
                "QueueRunner.create_threads(sess, coord, start=True) for a runner of your own. "
                "Still waiting."
            )
        cause = "" if self.cause is None else f", the first by {self.cause!r}"
        return text + (
            f"nothing feeds any more: the threads of its queue runner have ended{cause}. With a "
            f"tf.train.Coordinator, start_queue_runners(sess, coord) would have closed the queue. "
            f"Still waiting."
        )


def _fits(found: tuple[int, ...], shape: Shape) -> bool:
    sizes = zip(found, shape, strict=False)
    return len(found) == len(shape) and all(want in (None, size) for size, want in sizes)


def shape_text(shape: Shape) -> str:
    """Format a shape as TensorFlow's messages do: ``[2,?]``."""
    return "[" + ",".join("?" if size is None else str(size) for size in shape) + "]"


class FifoQueue(Queue):
    """First in, first out."""


class ShuffleQueue(Queue):
    """Random order; until it is closed, `min_after_dequeue` elements remain."""

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        seeds: tuple[int, int],
        dtypes: Sequence[np.dtype[Any]],
        shapes: Sequence[Shape] | None = None,
        **names: Any,
    ) -> None:
        self.seeds = seeds
        super().__init__(capacity, dtypes, shapes, **names)
        self.min_after_dequeue = min_after_dequeue

    def _make_order(self) -> Order:
        return Shuffled(self.seeds)


class PaddingQueue(Queue):
    """First in, first out; batches are padded in dimensions of unknown size."""

    kind = "PaddingFIFOQueue"
    label_kind = "FIFOQueue"

    def _make_rows(self) -> Rows:
        assert self.shapes is not None
        if all(None not in shape for shape in self.shapes):
            return super()._make_rows()
        return Padded(self.dtypes, self.shapes)


class PriorityQueue(Queue):
    """Lowest priority first; the first component, an int64 scalar, is the priority."""

    kind = "PriorityQueue"
    all_at_once = True

    def _make_order(self) -> Order:
        self._heap = Heap()
        return self._heap

    def check(self, values: Row, outer: Shape = ()) -> None:
        super().check(values, outer)
        if self.shapes is None and values[0].ndim != len(outer):
            inner = shape_text(values[0].shape[len(outer) :])
            raise invalid(
                f"Expected the priority element to be a scalar, but received shape: {inner}"
            )

    def insert(self, row: Row, given: bool = False) -> None:
        self._heap.put(self._heap.rank([int(row[0])], [self.rows.put(row, given)]))
        self.fed += 1

    def insert_many(self, columns: Row, start: int, stop: int, given: bool = False) -> None:
        tokens = self.rows.put_many(columns, start, stop, given)
        self._heap.put(self._heap.rank(columns[0][start:stop].tolist(), tokens))
        self.fed += stop - start

    def tokens_of(self, taken: list[Any]) -> list[Any]:
        return [each.token for each in taken]
