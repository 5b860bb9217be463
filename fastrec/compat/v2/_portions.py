# SPDX-License-Identifier: Apache-2.0
"""Some of the elements, or all of them several times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fastrec

from ._pipeline import (
    INFINITE,
    UNKNOWN,
    Blocks,
    Node,
    Value,
    Values,
    cut,
    invalid,
    passed_over,
    steps,
)

__all__ = ["Repeat", "Shard", "Skip", "Take"]


class Take(Node):
    """The first elements."""

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0 or total == UNKNOWN:
            return total
        return self._count if total == INFINITE else min(total, self._count)

    def values(self, fast: bool = True) -> Values:
        stream, left = self.inputs[0].stream(fast), self._count
        if fast or left < 0:
            return stream if left < 0 else itertools.islice(stream, left)

        def step() -> Value:
            nonlocal left
            if not left:
                raise StopIteration
            found = next(stream)
            left -= 1
            return found

        return steps(step)

    def blocks(self, count: int) -> Blocks | None:
        if self._count == 0:
            return iter(())
        blocks = self.inputs[0].blocks(min(count, self._count) if self._count > 0 else count)
        return blocks if blocks is None or self._count < 0 else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        left = self._count
        for block in blocks:
            yield cut(block, 0, min(left, block[0]))
            left -= block[0]
            if left <= 0:
                return


class Skip(Node):
    """Without the first elements."""

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0
        return total if total < 0 else max(total - self._count, 0)

    def values(self, fast: bool = True) -> Values:
        if self._count < 0:
            return iter(())
        if fast:
            return itertools.islice(self.inputs[0].stream(fast), self._count, None)
        following = passed_over(self.inputs[0].stream(fast), self._count)
        return steps(lambda: following(0))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count)
        return None if blocks is None or self._count < 0 else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        left = self._count
        for block in blocks:
            if left < block[0]:
                yield cut(block, left, block[0])
            left = max(left - block[0], 0)


class Shard(Node):
    """Every so many-th element."""

    def __init__(self, node: Node, shards: int, index: int) -> None:
        super().__init__(node)
        if shards < 1:
            raise invalid(
                f"Number of shards must be greater than zero (currently num_shards = {shards})."
            )
        if not 0 <= index < shards:
            raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {index}).")
        self._shards, self._index = shards, index

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total < 0 else len(range(self._index, total, self._shards))

    def values(self, fast: bool = True) -> Values:
        if fast:
            return itertools.islice(self.inputs[0].stream(fast), self._index, None, self._shards)
        following = passed_over(self.inputs[0].stream(fast), self._index)
        return steps(lambda: following(self._shards - 1))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count * self._shards)
        return None if blocks is None else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        seen = 0
        for count, columns in blocks:
            first = (self._index - seen) % self._shards
            seen += count
            if first < count:
                picked = slice(first, None, self._shards)
                yield len(range(first, count, self._shards)), [_every(c, picked) for c in columns]


def _every(column: Any, picked: slice) -> Any:
    if isinstance(column, (np.ndarray, list, fastrec.Bytes)):
        return column[picked]
    return list(itertools.islice(column, picked.start, None, picked.step))


class Repeat(Node):
    """Everything several times, or for ever."""

    def __init__(self, node: Node, count: int | None) -> None:
        super().__init__(node)
        self._count = -1 if count is None else count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0 if total == 0 else INFINITE
        return 0 if self._count == 0 else total * self._count if total >= 0 else total

    def _epochs(self, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        for epoch in itertools.count():
            if epoch == self._count:
                return
            empty = True
            for item in make():
                empty = False
                yield item
            if empty and self._count < 0:
                return

    def values(self, fast: bool = True) -> Values:
        return self._epochs(lambda: self.inputs[0].stream(fast)) if fast else self._slow()

    def _slow(self) -> Values:
        stream, epoch, empty = self.inputs[0].stream(False), 1, True

        def step() -> Value:
            nonlocal stream, epoch, empty
            while self._count:
                try:
                    found = next(stream)
                except StopIteration:
                    if epoch == self._count or (empty and self._count < 0):
                        raise
                    stream, epoch, empty = self.inputs[0].stream(False), epoch + 1, True
                else:
                    empty = False
                    return found
            raise StopIteration

        return steps(step)

    def blocks(self, count: int) -> Blocks | None:
        first = self.inputs[0].blocks(count)
        if first is None:
            return None
        ready = [first]  # an epoch that was begun to find out is not begun again
        return self._epochs(
            lambda: ready.pop() if ready else self.inputs[0].blocks(count) or iter(())
        )
