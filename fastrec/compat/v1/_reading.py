# SPDX-License-Identifier: Apache-2.0
"""The implementation of readers, independent of graphs: work items and their records."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

import fastrec

from .._tf.errors import UnimplementedError, invalid
from .._tf.tensor_proto import field, fields, signed, varint
from .._tf.width import SOURCE_BYTES
from ._attempts import Cancellation, held
from ._queueing import Queue
from ._rows import Array, Row
from ._sources import Block, Source, strings


class ReaderState:
    """The state of a reader: its counts and its current source.

    Parameters
    ----------
    label : str
        The name in messages.
    opens : callable
        A function that opens the source of a work item.
    serializable : bool
        Whether the state can be saved, which requires that each work item is one record.
    """

    def __init__(
        self, label: str, opens: Callable[[bytes], Source], *, serializable: bool = False
    ) -> None:
        self._label, self._opens, self._serializable = label, opens, serializable
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._work = b""
        self._started = self._finished = 0
        self._returned: deque[tuple[bytes, bytes]] = deque()
        self.produced = 0

    @property
    def units_completed(self) -> int:
        """Number of work items that were read to their end."""
        return self._finished

    def _alone(self, step: Cancellation) -> AbstractContextManager[None]:
        """Hold the lock, which a thread may hold while it waits for the next work item."""
        return held(self._lock, step, "Read operation was cancelled")

    def _next_work(self, queue: Queue, step: Cancellation) -> Source:
        if len(queue.dtypes) != 1:
            raise invalid("Expected single component queue")
        if queue.dtypes[0] != np.dtype(object):
            raise invalid("Expected queue with single string component")
        return self._begun(queue.dequeue(step))

    def _begun(self, item: Row) -> Source:
        (value,) = item
        if value.size != 1:
            raise invalid("Expected to dequeue a one-element string tensor")
        self._work = value.reshape(-1)[0]
        self._source = source = self._opens(self._work)
        self._started += 1
        return source

    def _finish(self) -> None:
        if self._source is not None:
            self._source.close()
        self._source = None
        self._finished = self._started

    def read(self, queue: Queue, step: Cancellation) -> tuple[bytes, bytes]:
        """Return the next key and value.

        Raises
        ------
        OutOfRangeError
            If there are no more work items.
        OpError
            If a file cannot be read. A file that cannot be opened is skipped by the next call;
            damage within a file is reported until :meth:`reset`.
        """
        with self._alone(step):
            if self._returned:
                self.produced += 1
                return self._returned.popleft()
            while True:
                source = self._source or self._next_work(queue, step)
                pair = source.read()
                if pair is None:
                    self._finish()
                    continue
                self.produced += 1
                if self._serializable:
                    self._finish()
                return pair

    def read_up_to(self, queue: Queue, count: int, step: Cancellation) -> tuple[Array, Array]:
        """Return up to `count` keys and values of one work item; raise as :meth:`read` does."""
        blocks: list[Block] = []
        with self._alone(step):
            some = range(min(count, len(self._returned)))
            if some:
                blocks.append(self._of([self._returned.popleft() for _ in some]))
            left = count - len(some)
            while left > 0:
                source = self._source or self._next_work(queue, step)
                block = source.block(left)
                if block is not None:
                    self.produced += len(block.values)
                    left -= len(block.values)
                    blocks.append(block)
                if block is None or self._serializable:
                    self._finish()
                    if blocks:
                        break
        values = [value for block in blocks for value in block.values]
        return strings([key for _, keys in blocks for key in keys()]), strings(values)

    def read_block(self, queue: Queue, count: int, step: Cancellation) -> Block:
        """Return up to `count` available records, at least one; raise as :meth:`read` does."""
        with self._alone(step):
            if self._returned:
                some = range(min(count, len(self._returned)))
                return self._of([self._returned.popleft() for _ in some])
            while True:
                source = self._source or self._next_work(queue, step)
                if self._serializable:
                    return self._of(self._whole_items(source, queue, count))
                block = source.block(count)
                if block is not None:
                    self.produced += len(block.values)
                    return block
                self._finish()

    def _of(self, pairs: list[tuple[bytes, bytes]]) -> Block:
        self.produced += len(pairs)
        values = fastrec.Bytes.from_list([value for _, value in pairs])
        return Block(values, lambda: strings([key for key, _ in pairs]))

    def _whole_items(self, source: Source, queue: Queue, count: int) -> list[tuple[bytes, bytes]]:
        """Return the records of `source` and of the available one-record work items."""
        pairs: list[tuple[bytes, bytes]] = []
        size, ahead = 0, iter([*queue.take_waiting(count - 1)] if queue.in_order else [])
        while True:
            if (pair := source.read()) is not None:
                pairs.append(pair)
                size += len(pair[1])
            self._finish()
            if (item := next(ahead, None)) is None:
                return pairs
            try:
                if size <= SOURCE_BYTES:
                    source = self._begun(item)
                    continue
            except Exception:  # the next read raises it again
                pass
            queue.give_back([item, *ahead])
            return pairs

    def give_back(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """Return unused keys and values, which are read again first."""
        with self._lock:
            self._returned.extend(pairs)
            self.produced -= len(pairs)

    def reset(self, step: Cancellation) -> None:
        """Discard the work item and the counts."""
        with self._alone(step):
            self._reset()

    def _reset(self) -> None:
        self._finish()
        self._work = b""
        self._returned.clear()
        self._started = self._finished = self.produced = 0

    def serialize(self, step: Cancellation) -> bytes:
        """Return the state as TensorFlow's ``ReaderBaseState``.

        Raises
        ------
        UnimplementedError
            If the reader may be within a work item.
        """
        with self._alone(step):
            if not self._serializable:
                raise UnimplementedError(None, None, "Reader SerializeState")
            numbers = (self._started, self._finished, self.produced)
            parts = [varint(at << 3) + varint(n) for at, n in enumerate(numbers, 1) if n]
            if self._work:
                parts.append(field(4, self._work))
            return b"".join(parts)

    def restore(self, state: bytes, step: Cancellation) -> None:
        """Restore a state of :meth:`serialize`.

        Raises
        ------
        InvalidArgumentError
            If the state is invalid; the reader is then reset.
        UnimplementedError
            As `serialize`.
        """
        with self._alone(step):
            self._reset()
            if not self._serializable:
                raise UnimplementedError(None, None, "Reader RestoreState")
            found = _parsed(state)
            if found is None:
                raise invalid(f"Could not parse state for {self._label}: {_escaped(state)}")
            numbers, work = found
            if min(numbers) < 0:
                raise invalid(f"Unexpected negative value when restoring in {self._label}")
            if numbers[0] > numbers[1]:
                raise invalid(
                    f"Inconsistent work started vs. finished when restoring in {self._label}"
                )
            self._started, self._finished, self.produced = numbers
            self._work = work


def _parsed(data: bytes) -> tuple[tuple[int, int, int], bytes] | None:
    """Return the three counters and the work item of a state; None if it is invalid."""
    numbers, work = [0, 0, 0], b""
    try:
        for number, value in fields(data):
            if number <= 4 and isinstance(value, int) != (number < 4):
                return None
            if number < 4:
                numbers[number - 1] = signed(value)
            elif number == 4:
                work = value
    except ValueError:
        return None
    return (numbers[0], numbers[1], numbers[2]), work


_NAMED = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _escaped(data: bytes) -> str:
    """Escape bytes as a C string literal does."""
    return "".join(
        _NAMED.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data
    )
