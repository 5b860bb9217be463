# SPDX-License-Identifier: Apache-2.0
"""What a queue runner's thread calls again and again: an enqueue of one record, or of a block.

TensorFlow runs what leads from a reader to a queue once for each record. Here, where all that it
consists of can be run on many records, it is: a block is read, parsed and worked on, and its rows
are enqueued. When anything goes wrong in a block it is done again record by record, so that rows
and errors are the same. ``FASTREC_COMPAT_LOWERING=0``, or :func:`set_lowering`, forces the way of
TensorFlow everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._attempts import Cancellation
from ._blocks import Column, Same, as_rows, row_of, run_block
from ._nodes import Operation, Tensor
from ._plan import needed, raised
from ._queueing import Queue
from ._reading import ReaderState
from ._runtime import Runtime
from ._sources import Block

__all__ = ["BlockPlan", "enqueuer", "set_lowering"]

_FIRST_RECORDS, _MOST_RECORDS = 16, 256
_BLOCK_BYTES = 1 << 22  # of all that is made of a block

_QUEUES = ("FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2")
_READERS = ("TFRecordReaderV2", "FixedLengthRecordReaderV2", "TextLineReaderV2")
#: Operations with a state of their own, which may be run for many records before the next one is.
_INDEPENDENT = ("Assert", "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "NoOp")

_enabled = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(enabled: bool) -> bool:
    """Say whether queue runners that start from now on may work on blocks; what it was before."""
    global _enabled
    before, _enabled = _enabled, enabled
    return before


class _Again(Exception):
    """A block has to be done again, record by record."""


class _NotLowered(Exception):
    """Not all that an enqueue needs can be run on blocks."""


class BlockPlan:
    """The way from a reader to an enqueue, for many records at once. For one thread.

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
        reads = [op for op in ops if op.type == "ReaderReadV2"]
        if enqueue.type != "QueueEnqueueV2" or len(reads) != 1:
            raise _NotLowered
        self.enqueue, self.read = enqueue, reads[0]
        self._handles = (enqueue.inputs[0].op, *[tensor.op for tensor in self.read.inputs])
        if self._handles[1].type not in _READERS or any(
            handle.type not in _QUEUES for handle in (self._handles[0], self._handles[2])
        ):
            raise _NotLowered
        self._same: dict[Tensor, Same] = {}
        self._code: list[Operation] = []
        for op in ops:
            if op not in (enqueue, self.read, *self._handles):
                self._add(op)
        used = {tensor for op in (enqueue, *self._code) for tensor in op.inputs}
        self._wants_keys = self.read.outputs[0] in used
        self._count = _FIRST_RECORDS
        self.block: Block | None = None
        self.reader: ReaderState | None = None

    def _add(self, op: Operation) -> None:
        if op.blocking or (op.stateful and op.type not in _INDEPENDENT):
            raise _NotLowered
        ahead = [*op.inputs, *[t for other in op.control_inputs for t in other.outputs]]
        if op.stateful or not all(tensor in self._same for tensor in ahead):
            self._code.append(op)
            return
        try:
            with np.errstate(all="ignore"):
                values = op.kernel(None, *[self._same[tensor].value for tensor in op.inputs])
        except Exception:  # which it will raise again, in its place
            raise _NotLowered from None
        self._same.update(zip(op.outputs, map(Same, values), strict=True))

    # What a session executes.

    def run(self, step: Any, feeds: Any) -> list[Any]:
        """Read a block and enqueue its rows."""
        queue, reader, files = [op.kernel(step)[0] for op in self._handles]
        try:
            self.reader = reader
            most = max(queue.capacity, _FIRST_RECORDS)
            self.block = reader.read_block(files, min(self._count, most), step.cancellation)
        except Exception as error:
            raise raised(error, self.read) from error.__cause__
        try:
            columns = self._columns(step, self.block)
        except Exception as error:
            raise _Again from error
        try:
            _put(queue, columns, len(self.block.values), step.cancellation)
        except Exception as error:
            raise raised(error, self.enqueue) from error.__cause__
        self.block = None  # whose memory the next one may use
        return []

    def _columns(self, step: Any, block: Block) -> list[Column]:
        count = len(block.values)
        values: dict[Tensor, Column] = dict(self._same)
        key, value = self.read.outputs
        values[value] = block.values
        if self._wants_keys:
            values[key] = block.keys()
        made = block.values.nbytes
        for op in self._code:
            outputs = run_block(op, step, [values[tensor] for tensor in op.inputs], count)
            values.update(zip(op.outputs, outputs, strict=True))
            made += sum(map(_size, outputs))
        self._count = max(1, min(_MOST_RECORDS, 4 * self._count, _BLOCK_BYTES * count // made))
        return [values[tensor] for tensor in self.enqueue.inputs[1:]]


def _size(column: Column) -> int:
    if isinstance(column, list):
        return sum(row.nbytes for row in column)
    return getattr(column, "nbytes", 0)


def _put(queue: Queue, columns: list[Column], count: int, step: Cancellation) -> None:
    rows = [as_rows(column, count) for column in columns]
    whole = [row for row in rows if isinstance(row, np.ndarray)]
    if len(whole) == len(rows):
        queue.enqueue_many(tuple(whole), step)
        return
    for i in range(count):
        queue.enqueue(tuple([row_of(column, i) for column in rows]), step)


def enqueuer(sess: Any, op: Any) -> Callable[[], Any]:
    """A function that runs `op` for the next record, or for several of them."""
    plain: Callable[[], Any] = sess.make_callable(op)
    if not _enabled or not isinstance(sess, Runtime) or not isinstance(op, Operation):
        return plain
    try:
        plan = BlockPlan(op)
    except _NotLowered:
        return plain
    one = sess.make_callable(op, feed_list=plan.read.outputs)

    def step() -> None:
        try:
            sess.execute(plan, [], 0)
        except _Again:
            _one_by_one(plan, one)

    return step


def _one_by_one(plan: BlockPlan, one: Callable[[Any, Any], Any]) -> None:
    """Enqueue the records of a block; when one fails, the reader gets back those after it."""
    assert plan.block is not None
    assert plan.reader is not None
    pairs = list(zip(plan.block.keys().tolist(), plan.block.values, strict=True))
    for i, (key, value) in enumerate(pairs):
        try:
            one(key, value)
        except BaseException:
            plan.reader.give_back(pairs[i + 1 :])
            raise
