# SPDX-License-Identifier: Apache-2.0
"""The ``shuffle`` of datasets: elements drawn from a buffer."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fastrec
from fastrec.batches.shuffle_buffer import ring_shuffled
from fastrec.errors import FastrecError

from ..errors import invalid
from ..record_errors import data_error
from ..seeds import SeedSource
from ..specs import TensorSpec
from ..tracing.rules import enabled
from ..width import AHEAD, READ_BYTES
from .mapping import Map
from .pipeline import UNKNOWN, Node
from .sources import Slices, plain_files
from .streams import Block, Blocks, Value, Values, in_blocks, to_blocks, to_values


class Shuffle(Node):
    """Node that draws elements from a buffer, with TensorFlow's random numbers."""

    def __init__(self, node: Node, size: int, seed: int | None, reshuffle: bool) -> None:
        super().__init__(node)
        if size == UNKNOWN:  # number of all elements
            size = sys.maxsize
        if size < 1:
            raise invalid("buffer_size must be greater than zero or UNKNOWN_CARDINALITY")
        self._size, self._seeds = size, SeedSource(seed, reshuffle)

    def _shuffled(self, items: Iterator[Any]) -> Iterator[Any]:
        return ring_shuffled(items, self._size, self._seeds)

    def spend_seeds(self) -> None:
        self._seeds()
        super().spend_seeds()

    @property
    def shuffles(self) -> bool:
        return True

    def values(self) -> Values:
        return self._shuffled(self.inputs[0].stream())

    def blocks(self, count: int) -> Blocks | None:
        node = self.inputs[0]
        if not node.pure or not enabled("shuffle first"):
            return None
        maps: list[Map] = []
        while isinstance(node, Map):  # shuffling before an element-wise map is equivalent
            maps.append(node)
            node = node.inputs[0]
        source: Node = _Reordered(node, self._shuffled)
        for each in reversed(maps):
            source = each.over(source)
        return source.blocks(count)


class _Reordered(Node):
    """Node that reorders its input's elements."""

    def __init__(self, node: Node, reorder: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        super().__init__(node)
        self._reorder = reorder

    def values(self) -> Values:
        return self._reorder(self.inputs[0].stream())

    def blocks(self, count: int) -> Blocks | None:
        node = self.inputs[0]
        if isinstance(node, Slices) and node.blocks(1) is not None:
            return self._picked(node, count)
        if (paths := plain_files(node)) is not None:
            return self._read(paths, count)
        if not all(isinstance(s, TensorSpec) and s.shape.sizes == () for s in node.specs):
            return None
        # Asks the input once: two requests at each of many shuffles would be 2**n requests.
        blocks = node.blocks(AHEAD)
        if blocks is None and not node.pure:
            return None
        values = node.values() if blocks is None else to_values(blocks)
        return to_blocks(self._reorder(values), count)

    def _read(self, paths: list[str], count: int) -> Blocks:
        """Return records, shuffled by their numbers, so that the buffer holds numbers only."""
        reader = fastrec.Reader(paths, index=False)
        try:
            total = len(reader)
        except (FastrecError, OSError):  # report damage at its record instead
            return to_blocks(self._reorder(self.inputs[0].stream()), count)

        record_bytes = sum(map(os.path.getsize, paths)) // max(total, 1)
        count = min(count, max(AHEAD, READ_BYTES // max(record_bytes, 1)))

        def record(number: Value) -> Value:
            try:
                return (reader[number[0]],)
            except (FastrecError, OSError) as error:
                raise data_error(error) from error

        return in_blocks(
            self._numbers(total, count),
            lambda size, columns: (size, [reader.read_many(columns[0])]),
            lambda numbers: map(record, numbers),
        )

    def _picked(self, node: Slices, count: int) -> Blocks:
        def picked(block: Block) -> Block:
            where = np.array(block[1][0])
            found = [c[where] if isinstance(c, np.ndarray) else c.take(where) for c in node.columns]
            return block[0], found

        return map(picked, self._numbers(node.count, count))

    def _numbers(self, total: int, count: int) -> Blocks:
        """Return blocks of up to `count` element numbers in the new order."""
        numbers = self._reorder(iter(range(total)))
        chunks = iter(lambda: list(itertools.islice(numbers, count)), [])
        return ((len(chunk), [chunk]) for chunk in chunks)
