# SPDX-License-Identifier: Apache-2.0
"""The kinds of queues: the order of elements, and the form of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.errors import InvalidArgumentError
from ._queueing import Queue, shape_text
from ._rows import Heap, Order, Padded, Row, Rows, Shape, Shuffled

__all__ = ["FifoQueue", "PaddingQueue", "PriorityQueue", "ShuffleQueue"]


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
            raise InvalidArgumentError(
                None,
                None,
                f"Expected the priority element to be a scalar, but received shape: {inner}",
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
