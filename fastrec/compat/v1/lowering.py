# SPDX-License-Identifier: Apache-2.0
"""Step of a queue runner's thread: an enqueue of one record, or of a block.

TensorFlow runs what leads from a reader to a queue once for each record. Here, where all that it
consists of can be run on many records, it is: a block is read, parsed and worked on, and its rows
are enqueued. When anything goes wrong in a block it is done again record by record, so that rows
and errors are the same. ``FASTREC_COMPAT_LOWERING=0``, or :func:`set_lowering`, forces the way of
TensorFlow everywhere.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import fastrec
from fastrec.threads import usable_cpus

from .._tf.columns import column_of, size_of
from .._tf.data.explaining import explain_step, explaining
from .._tf.data.streams import elements
from .._tf.ops import Block as Columns
from .._tf.shape import TensorShape
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array
from .._tf.tracing.recording import Recording, Unfit, calling
from .._tf.tracing.trace import Trace
from ._attempts import Cancellation
from ._draws import state_of
from ._functions import Way, dependent, drawing, emit
from ._nodes import Operation, Tensor
from ._plan import needed, raised
from ._queueing import Queue
from ._reading import ReaderState
from ._runtime import Runtime
from ._sources import Block

if TYPE_CHECKING:
    import concurrent.futures

__all__ = ["BlockPlan", "enqueuer", "set_lowering"]

_FIRST_RECORDS, _MOST_RECORDS = 16, 512
_BLOCK_BYTES = 1 << 23  # of all that is made of a block
_LONG_S = 2e-4  # below which threads gain nothing, and columns are better
_TRIED = 3  # records; the first takes long where something is made for all of them

_QUEUES = ("FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2")
_READERS = ("TFRecordReaderV2", "FixedLengthRecordReaderV2", "TextLineReaderV2")
_PARSES = ("ParseSingleExample", "ParseSequenceExampleV2")

_enabled = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(enabled: bool) -> bool:
    """Say whether queue runners that start from now on may work on blocks; what it was before."""
    global _enabled
    before, _enabled = _enabled, enabled
    return before


class _Again(Exception):
    """A block has to be done again, record by record."""


class _NotLowered(Exception):
    """Not all that an enqueue needs can be run on blocks.

    Parameters
    ----------
    reason : str, optional
        None where there are no records.
    op : Operation, optional
        It is the cause.
    """

    def __init__(self, reason: str | None = None, op: Operation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.origin = op.origin if op is not None else None


class _Source(Protocol):
    """Source of the records of a block."""

    op: Operation

    def take(self, step: Any, count: int, wanted: Sequence[bool]) -> tuple[list[Any], int]:
        """Columns for the outputs of the operation that are wanted, and how many records."""

    def rows(self) -> list[tuple[Any, ...]]:
        """The records that were taken last: values for the outputs of the operation."""

    def give_back(self, start: int) -> None:
        """Give those back that begin with number `start`."""

    def forget(self) -> None:
        """Release them."""


class _Reader:
    """Records that a reader reads."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self._reader, self._files = [tensor.op for tensor in op.inputs]
        for handle, known in ((self._reader, _READERS), (self._files, _QUEUES)):
            if handle.type not in known:
                raise _NotLowered(f"a {handle.type} is not read ahead", op)
        self.handles = (self._reader, self._files)
        self._block: Block | None = None

    def take(self, step: Any, count: int, wanted: Sequence[bool]) -> tuple[list[Any], int]:
        self._state: ReaderState = self._reader.kernel(step)[0]
        files = self._files.kernel(step)[0]
        block = self._block = self._state.read_block(files, count, step.cancellation)
        return [block.keys() if wanted[0] else None, block.values], len(block.values)

    def rows(self) -> list[tuple[Any, ...]]:
        assert self._block is not None
        return list(zip(self._block.keys().tolist(), self._block.values, strict=True))

    def give_back(self, start: int) -> None:
        self._state.give_back(self.rows()[start:])

    def forget(self) -> None:
        self._block = None  # whose memory the next one may use


class _Elements:
    """Elements that another queue holds: serialized examples among them."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self._queue = op.inputs[0].op
        if self._queue.type not in _QUEUES:
            raise _NotLowered(f"a {self._queue.type} is not read ahead", op)
        self.handles = (self._queue,)
        self._rows: list[tuple[Any, ...]] = []

    def take(self, step: Any, count: int, wanted: Sequence[bool]) -> tuple[list[Any], int]:
        self._state: Queue = self._queue.kernel(step)[0]
        self._rows = self._state.dequeue_ready(count, step.cancellation)
        columns = [[_scalar(value) for value in c] for c in zip(*self._rows, strict=True)]
        return [column_of(column) for column in columns], len(self._rows)

    def rows(self) -> list[tuple[Any, ...]]:
        return self._rows

    def give_back(self, start: int) -> None:
        self._state.give_back(self._rows[start:])

    def forget(self) -> None:
        self._rows = []


def _scalar(value: Any) -> Any:
    """A value, as columns have it: a string as bytes."""
    return value[()] if value.dtype.kind == "O" and not value.ndim else value


def _source_of(enqueue: Operation, ops: Sequence[Operation]) -> _Reader | _Elements:
    reads = [op for op in ops if op.type in ("ReaderReadV2", "QueueDequeueV2")]
    if not reads:
        raise _NotLowered
    if len(reads) > 1:
        raise _NotLowered(f"it takes from {len(reads)} readers and queues", enqueue)
    if reads[0].type == "ReaderReadV2":
        return _Reader(reads[0])
    # Elements are taken ahead of their use, which is visible: only where it is faster.
    if not any(op.type in _PARSES for op in ops):
        raise _NotLowered("what it takes from a queue is not parsed", enqueue)
    return _Elements(reads[0])


class BlockPlan:
    """The way from a reader or another queue to an enqueue, for many records. For one thread.

    Parameters
    ----------
    enqueue : Operation

    Raises
    ------
    _NotLowered
        When it is another way.
    """

    def __init__(self, enqueue: Operation) -> None:
        ops = needed([enqueue], frozenset())
        self.source = _source_of(enqueue, ops)
        if enqueue.type != "QueueEnqueueV2" or enqueue.inputs[0].op.type not in _QUEUES:
            raise _NotLowered("it is not the enqueue of an element", enqueue)
        self.enqueue, self._queue = enqueue, enqueue.inputs[0].op
        known = {enqueue, self._queue, self.source.op, *self.source.handles}
        code = [op for op in ops if op not in known]
        self._step: Any = None
        try:
            self._trace = self._traced(code)
        except Unfit:  # what is drawn in some part of it cannot be drawn ahead
            self._trace = self._traced(code, ())
        references = [ref for node in self._trace.nodes for ref in node.inputs]
        used = {slot for is_slot, slot in references + self._trace.outputs if is_slot}
        self._wanted = [slot in used for slot in range(len(self.source.op.outputs))]
        self._drawing = drawing(code)
        self._count = _FIRST_RECORDS
        self._is_long: bool | None = None  # whether what is done for one record takes long

    def _traced(self, code: Sequence[Operation], answers: Any = None) -> Trace:
        outputs = self.source.op.outputs
        way = Way(lambda: self._step, lambda op: state_of(op, self._step), False)
        specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in outputs]
        recording = Recording(specs, answers)
        values: dict[Tensor, Any] = dict(zip(outputs, recording.inputs, strict=True))
        with calling(recording), np.errstate(all="ignore"):
            for op in code:
                if (cause := dependent(op)) is not None:
                    raise _NotLowered(f"{cause.type} has effects that each record may see", cause)
                try:
                    emit(op, values, way)
                except Exception as error:  # which it will raise again, in its place
                    raise _NotLowered(f"it fails: {error}", op) from None
        return Trace(recording, [values[tensor] for tensor in self.enqueue.inputs[1:]])

    # What a session executes.

    def run(self, step: Any, feeds: Any) -> list[Any]:
        """Take a block and enqueue its rows."""
        queue: Queue = self._queue.kernel(step)[0]
        count = min(self._count, max(queue.capacity, _FIRST_RECORDS))
        try:
            taken, count = self.source.take(step, count, self._wanted)
        except Exception as error:
            raise raised(error, self.source.op) from error.__cause__
        drawn = [getattr(step.session.kept(op), "position", None) for op in self._drawing]
        try:
            columns = list(map(_rows, self._columns(step, taken, count)))
            _check(queue, columns)
        except Exception as error:
            for op, number in zip(self._drawing, drawn, strict=True):
                if (state := step.session.kept(op)) is not None:
                    state.position = number  # the records will draw again
            raise _Again from error
        try:
            _put(queue, columns, count, step.cancellation)
        except Exception as error:
            raise raised(error, self.enqueue) from error.__cause__
        self.source.forget()
        return []

    def _columns(self, step: Any, taken: list[Any], count: int) -> list[Any]:
        self._step, trace = step, self._trace
        blocks = [Columns(column, True) for column in taken]
        given = [*taken, *trace.draws_of(count, blocks, {})]
        trace.made = sum(map(size_of, given))
        if trace.has_late and self._is_long is not False:
            columns = self._late(count, trace.early(count, given))
        else:
            columns = trace.run_block(count, given)
        made = trace.made + sum(map(size_of, columns))
        most = _BLOCK_BYTES * count // max(made, 1)
        self._count = max(1, min(_MOST_RECORDS, 4 * self._count, most))
        return columns

    def _late(self, count: int, columns: list[Any]) -> list[Any]:
        """Columns of what is left to be done for each record; in threads, if that takes long."""
        each, values = self._trace.late, elements((count, columns))
        rows: list[tuple[Any, ...]] = []
        if self._is_long is None:
            times = [time.perf_counter()]
            for value in itertools.islice(values, _TRIED):
                rows.append(each(value))
                times.append(time.perf_counter())
            self._is_long = bool(np.diff(times).min() > _LONG_S)
        # Most of what takes long, as decoding an image, holds no lock.
        rows += _pool().map(each, values) if self._is_long else map(each, values)
        return [list(column) for column in zip(*rows, strict=True)]


@functools.cache
def _pool() -> concurrent.futures.ThreadPoolExecutor:
    """Threads that help those of queue runners, in this process."""
    import concurrent.futures  # which takes as long as all of this package

    return concurrent.futures.ThreadPoolExecutor(usable_cpus(), "fastrec-rows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # which has none of the threads


def _rows(column: Any) -> Any:
    """A column as an array, or a list of arrays where shapes differ."""
    if isinstance(column, fastrec.Bytes):
        return column.to_numpy()
    return column if isinstance(column, np.ndarray) else [as_array(row) for row in column]


def _check(queue: Queue, columns: Sequence[Any]) -> None:
    """Refuse rows of a shape that the queue does not take, which has its own text for one row."""
    for column, shape in zip(columns, queue.shapes or (), strict=False):
        rows = isinstance(column, list)
        for found in {row.shape for row in column} if rows else (column.shape[1:],):
            TensorShape(shape).assert_is_compatible_with(found)


def _put(queue: Queue, columns: list[Any], count: int, step: Cancellation) -> None:
    if all(isinstance(column, np.ndarray) for column in columns):
        queue.enqueue_many(tuple(columns), step, given=True)
        return
    for i in range(count):
        row = [column[i] if isinstance(column, list) else column[i, ...] for column in columns]
        queue.enqueue(tuple(row), step, given=True)


def enqueuer(sess: Any, op: Any) -> Callable[[], Any]:
    """A function that runs `op` for the next record, or for several of them."""
    plain: Callable[[], Any] = sess.make_callable(op)
    if not _enabled or not isinstance(sess, Runtime) or not isinstance(op, Operation):
        return plain
    try:
        plan = BlockPlan(op)
    except _NotLowered as error:
        if error.reason and explaining():
            explain_step(op.name, error.reason, error.origin)
        return plain
    one = sess.make_callable(op, feed_list=plan.source.op.outputs)

    def step() -> None:
        try:
            sess.execute(plan, [], 0)
        except _Again:
            _one_by_one(plan.source, one)

    return step


def _one_by_one(source: _Source, one: Callable[..., Any]) -> None:
    """Enqueue the records of a block; when one fails, those after it go back."""
    for i, row in enumerate(source.rows()):
        try:
            one(*row)
        except BaseException:
            source.give_back(i + 1)
            raise
