# SPDX-License-Identifier: Apache-2.0
"""Sources of a queue runner that reads blocks: readers, queues, and several of them together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from .._tf.columns import column_of
from ._attempts import held
from ._nodes import Operation
from ._queueing import Queue
from ._reading import ReaderState
from ._sources import Block

QUEUES = ("FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2")
READS = ("ReaderReadV2", "QueueDequeueV2")
_READERS = (
    "TFRecordReaderV2",
    "FixedLengthRecordReaderV2",
    "TextLineReaderV2",
    "WholeFileReaderV2",
)
_IN_ORDER = ("FIFOQueueV2", "PaddingFIFOQueueV2")


class Taken(Protocol):
    """Source of rows, which keeps the rows that were taken last.

    Attributes
    ----------
    ops : list of Operation
        Operations that take one row from the source.
    handles : list of Operation
        Readers and queues that the operations use.
    """

    ops: list[Operation]
    handles: list[Operation]

    def take(self, step: Any, count: int) -> int:
        """Take 1 to `count` rows that are ready; return their number."""

    def columns(self, wanted: Sequence[bool], few: bool) -> list[Any]:
        """Return the rows as columns, one for each wanted output of the operations."""

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows, each a tuple of values for the outputs of the operations."""

    def give_back(self, start: int) -> None:
        """Return the rows from number `start` on to the source; no rows follow them."""

    def forget(self) -> None:
        """Release the rows."""


class Records:
    """Source of the records of a reader.

    Raises
    ------
    ValueError
        If records of this reader must not be read ahead.
    """

    def __init__(self, op: Operation) -> None:
        self.ops: list[Operation] = [op]
        self.handles: list[Operation] = [tensor.op for tensor in op.inputs]
        self._reader, self._files = self.handles
        for handle, known in ((self._reader, _READERS), (self._files, QUEUES)):
            if handle.type not in known:
                raise ValueError(f"a {handle.type} is not read ahead")
        self._block: Block | None = None

    def take(self, step: Any, count: int) -> int:
        self._state: ReaderState = self._reader.node.op.kernel(step)[0]
        files = self._files.node.op.kernel(step)[0]
        self._block = self._state.read_block(files, count, step.cancellation)
        return len(self._block.values)

    def columns(self, wanted: Sequence[bool], few: bool) -> list[Any]:
        assert self._block is not None
        return [self._block.keys() if wanted[0] else None, self._block.values]

    def rows(self) -> list[tuple[Any, ...]]:
        assert self._block is not None
        return list(zip(self._block.keys().tolist(), self._block.values, strict=True))

    def give_back(self, start: int) -> None:
        assert self._block is not None
        self._state.give_back(self.rows()[start:])
        values, keys = self._block
        self._block = Block(values[:start], lambda: keys()[:start])

    def forget(self) -> None:
        self._block = None  # the next block may use its memory


class Elements:
    """Source of the elements of another queue.

    Raises
    ------
    ValueError
        If the queue is not known in advance.
    """

    def __init__(self, op: Operation) -> None:
        self.ops: list[Operation] = [op]
        self.handles: list[Operation] = [op.inputs[0].op]
        if self.handles[0].type not in QUEUES:
            raise ValueError(f"a {self.handles[0].type} is not read ahead")
        self._rows: list[tuple[Any, ...]] = []

    def take(self, step: Any, count: int) -> int:
        self._state: Queue = self.handles[0].node.op.kernel(step)[0]
        self._rows = self._state.dequeue_ready(count, step.cancellation)
        return len(self._rows)

    def columns(self, wanted: Sequence[bool], few: bool) -> list[Any]:
        lists = ([_scalar(value) for value in column] for column in zip(*self._rows, strict=True))
        return list(lists) if few else [column_of(values) for values in lists]

    def rows(self) -> list[tuple[Any, ...]]:
        return self._rows

    def give_back(self, start: int) -> None:
        self._state.give_back(self._rows[start:])
        del self._rows[start:]

    def forget(self) -> None:
        self._rows = []


def _scalar(value: Any) -> Any:
    """Convert a value from its form in columns; a string becomes bytes."""
    return value[()] if value.dtype.kind == "O" and not value.ndim else value


class Several:
    """Sources that are read together: each row has an element of each source.

    Raises
    ------
    ValueError
        If two sources share a reader or queue, or a source cannot take rows back.
    """

    def __init__(self, parts: Sequence[Records | Elements]) -> None:
        self._parts = parts
        self.ops: list[Operation] = [op for part in parts for op in part.ops]
        self.handles: list[Operation] = [handle for part in parts for handle in part.handles]
        if len(set(self.handles)) < len(self.handles):
            raise ValueError("it takes from one reader or queue several times")
        for part in parts:
            if part.handles[-1].type not in _IN_ORDER:
                raise ValueError(f"a {part.handles[-1].type} is not read ahead with others")

    def take(self, step: Any, count: int) -> int:
        # Rows that belong together must be taken by the same thread.
        lock = step.resource(self.ops[0], threading.Lock)
        with held(lock, step.cancellation, "Dequeue operation was cancelled"):
            for number, part in enumerate(self._parts):
                try:
                    count = part.take(step, count)
                except Exception as error:
                    for other in self._parts[:number]:
                        other.give_back(0)
                    raise part.ops[0].named(error) from error.__cause__
            for part in self._parts:
                part.give_back(count)
        return count

    def columns(self, wanted: Sequence[bool], few: bool) -> list[Any]:
        left = iter(wanted)
        return [
            column
            for part in self._parts
            for column in part.columns([next(left) for _ in part.ops[0].outputs], few)
        ]

    def rows(self) -> list[tuple[Any, ...]]:
        parts = zip(*[part.rows() for part in self._parts], strict=True)
        return [tuple(value for part in row for value in part) for row in parts]

    def give_back(self, start: int) -> None:
        for part in self._parts:
            part.give_back(start)

    def forget(self) -> None:
        for part in self._parts:
            part.forget()
