# SPDX-License-Identifier: Apache-2.0
"""Steps of a queue runner, which enqueue one record or a block of records.

TensorFlow runs the operations between a reader and a queue once for each record. If all of them
can process many records, this module reads, parses and enqueues blocks instead. If a block raises
an error, it is processed again record by record, so rows and errors are the same as in
TensorFlow. ``FASTREC_COMPAT_LOWERING=0`` or :func:`set_lowering` disables blocks.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import fastrec
from fastrec.threads.cpus import usable_cpus

from .._tf.columns import rows_of, size_of
from .._tf.data.functions import explain_step, explaining
from .._tf.ops import Block as Columns
from .._tf.specs import TensorSpec
from .._tf.tensor import as_array
from .._tf.tracing.calls import Unfit, calling
from .._tf.tracing.recording import Recording
from .._tf.tracing.trace import Trace
from .._tf.width import RunnerWidth
from ._functions import Effects, Way, dependent, drawing, emit, is_avoidable
from ._nodes import Operation, Tensor
from ._plan import needed
from ._queueing import Queue
from ._runtime import Runtime
from .block_sources import QUEUES, READS, Elements, Records, Several, Taken
from .draws import state_of

if TYPE_CHECKING:
    import concurrent.futures


_TRIED = 3  # records to time; the first one may include a setup

_ENQUEUES = ("QueueEnqueueV2", "QueueEnqueueManyV2")

_enabled = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(enabled: bool) -> bool:
    """Set whether new queue runners may process blocks; return the previous setting."""
    global _enabled
    before, _enabled = _enabled, enabled
    return before


class _Again(Exception):
    """Raised if a block must be processed again, record by record."""


class _NotLowered(Exception):
    """Raised if an enqueue requires an operation that cannot process blocks.

    Parameters
    ----------
    reason : str, optional
        None if the enqueue does not depend on records.
    op : Operation, optional
        The operation that cannot process blocks.
    """

    def __init__(self, reason: str | None = None, op: Operation | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.origin = op.origin if op is not None else None


def _source_of(enqueue: Operation, ops: Sequence[Operation]) -> Taken:
    reads = [op for op in ops if op.type in READS]
    if not reads:
        raise _NotLowered
    try:
        parts = [Records(op) if op.type == READS[0] else Elements(op) for op in reads]
        return parts[0] if len(parts) == 1 else Several(parts)
    except ValueError as error:
        raise _NotLowered(str(error), enqueue) from None


class BlockPlan:
    """Plan that fills a queue with blocks from a reader or another queue, in one thread.

    Parameters
    ----------
    enqueue : Operation

    Raises
    ------
    _NotLowered
        If the enqueue cannot process blocks.
    """

    def __init__(self, enqueue: Operation) -> None:
        ops = needed([enqueue], frozenset())
        self.source: Final = _source_of(enqueue, ops)
        if enqueue.type not in _ENQUEUES or enqueue.inputs[0].op.type not in QUEUES:
            raise _NotLowered("it is not the enqueue of elements", enqueue)
        self.enqueue: Final = enqueue
        self._queue = enqueue.inputs[0].op
        if self._queue in self.source.handles:
            raise _NotLowered("it gives to the queue that it takes from", enqueue)
        self.outputs: Final = [tensor for op in self.source.ops for tensor in op.outputs]
        known = {enqueue, self._queue, *self.source.ops, *self.source.handles}
        code = [op for op in ops if op not in known]
        self._step: Any = None
        try:
            self._trace = self._traced(code)
        except Unfit:  # draws of a branch cannot be made ahead
            self._trace = self._traced(code, ())
        references = [ref for node in self._trace.nodes for ref in node.inputs]
        used = {slot for is_slot, slot in references + self._trace.outputs if is_slot}
        self._wanted = [slot in used for slot in range(len(self.outputs))]
        self._drawing = drawing(code)
        self._width = RunnerWidth()

    def _traced(self, code: Sequence[Operation], answers: Any = None) -> Trace:
        way = Way(lambda: self._step, lambda op: state_of(op, self._step), True)
        specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in self.outputs]
        recording = Recording(specs, answers)
        values: dict[Tensor, Any] = dict(zip(self.outputs, recording.inputs, strict=True))
        with calling(recording), np.errstate(all="ignore"):
            for op in code:
                if (cause := dependent(op)) is not None and not is_avoidable(op):
                    raise _NotLowered(f"{cause.type} has effects that each record may see", cause)
                try:
                    emit(op, values, way)
                except Exception as error:  # each record raises it again
                    raise _NotLowered(f"it fails: {error}", op) from None
        return Trace(recording, [values[tensor] for tensor in self.enqueue.inputs[1:]])

    # Interface of a session's plan.

    def run(self, step: Any, feeds: Any) -> list[Any]:
        """Take a block and enqueue its rows."""
        queue: Queue = self._queue.node.op.kernel(step)[0]
        count = self._width.limited(queue.capacity)
        try:
            count = self.source.take(step, count)
        except Exception as error:
            raise self.source.ops[0].named(error) from error.__cause__
        states = [state_of(op, step) for op in self._drawing]
        positions = [state.position for state in states]
        try:
            columns = self._columns(step, count)
            parts, put = self._parts(queue, list(map(_rows, columns)), count)
        except Exception as error:
            for state, position in zip(states, positions, strict=True):
                state.position = position  # the records draw again, one by one
            raise _Again from error
        try:
            for part in parts:
                put(part, step.cancellation, given=True)
        except Exception as error:
            raise self.enqueue.named(error) from error.__cause__
        self.source.forget()
        return []

    def _columns(self, step: Any, count: int) -> list[Any]:
        """Return the components of `count` rows to enqueue."""
        self._step, trace, width = step, self._trace, self._width
        few = width.is_few(count)
        taken = self.source.columns(self._wanted, few)
        blocks = [Columns(column, True) for column in taken]
        given = [*taken, *trace.draws_of(count, blocks, {})]
        trace.made = sum(map(size_of, given))
        if few or (trace.is_large and trace.is_pure and width.is_slow):
            columns = self._row_by_row(count, given, threads=not few)
        else:
            columns = trace.run_block(count, given)
        width.update(count, trace.made, sum(map(size_of, columns)))
        return columns

    def _parts(self, queue: Queue, columns: list[Any], count: int) -> Any:
        """Return checked parts and the method that enqueues each; one part if shapes agree."""
        many = self.enqueue.type == "QueueEnqueueManyV2"
        together = all(isinstance(column, np.ndarray) for column in columns)
        if together and many:
            together = len({column.shape[1:2] for column in columns}) == 1 and columns[0].ndim > 1
            columns = [c.reshape(-1, *c.shape[2:]) for c in columns] if together else columns
        if together:
            parts = [tuple(columns)]
        else:
            parts = [tuple([as_array(column[i]) for column in columns]) for i in range(count)]
        if together or many:
            for part in parts:
                queue.count_of(part)
            return parts, queue.enqueue_many
        for part in parts:
            queue.check(part)
        return parts, queue.enqueue

    def _row_by_row(self, count: int, columns: list[Any], threads: bool) -> list[Any]:
        """Return the components of rows, each run alone; in threads if allowed and worthwhile."""
        width, run = self._width, self._trace
        parts = [[None] * count if column is None else rows_of(column) for column in columns]
        values = zip(*parts, strict=True)
        rows: list[tuple[Any, ...]] = []
        if threads and width.seconds is None:
            times = [time.perf_counter()]
            for value in itertools.islice(values, _TRIED):
                rows.append(run(value))
                times.append(time.perf_counter())
            width.seconds = float(np.diff(times).min())
        # Operations that take long, such as decoding an image, release the GIL.
        rows += _pool().map(run, values) if threads and width.is_slow else map(run, values)
        return [list(column) for column in zip(*rows, strict=True)]


@functools.cache
def _pool() -> concurrent.futures.ThreadPoolExecutor:
    """Return the process-wide thread pool that helps queue runners."""
    import concurrent.futures  # slow to import

    return concurrent.futures.ThreadPoolExecutor(usable_cpus(), "fastrec-rows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # its threads do not exist in the child


def _rows(column: Any) -> Any:
    """Return a column as an array, or as a list of arrays if shapes differ."""
    if isinstance(column, fastrec.Bytes):
        return column.to_numpy()
    return column if isinstance(column, np.ndarray) else [as_array(row) for row in column]


def enqueuer(sess: Any, op: Any) -> Callable[[], Any]:
    """Return a function that runs `op` for the next record or block of records."""
    plain: Callable[[], Any] = sess.make_callable(op)
    if not _enabled or not isinstance(sess, Runtime) or not isinstance(op, Operation):
        return plain
    try:
        plan = BlockPlan(op)
    except _NotLowered as error:
        if error.reason and explaining():
            explain_step(op.name, error.reason, error.origin)
        return plain
    one = sess.make_callable(op, feed_list=plan.outputs)

    alone = False

    def step() -> None:
        nonlocal alone
        if alone:
            plain()
            return
        try:
            sess.execute(plan, [], 0)
        except _Again as again:
            alone = isinstance(again.__cause__, Effects)
            _one_by_one(plan.source, one)

    return step


def _one_by_one(source: Taken, one: Callable[..., Any]) -> None:
    """Enqueue the records of a block; if one fails, return those after it to the source."""
    for i, row in enumerate(source.rows()):
        try:
            one(*row)
        except BaseException:
            source.give_back(i + 1)
            raise
