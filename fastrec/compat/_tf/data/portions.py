# SPDX-License-Identifier: Apache-2.0
"""``take``, ``skip``, ``shard`` and ``repeat``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

import fastrec

from .pipeline import INFINITE, UNKNOWN, Node, invalid
from .streams import Block, Blocks, Value, Values, cut, passed_over, steps

__all__ = ["Repeat", "Shard", "Skip", "Take"]

T = TypeVar("T")


class Take(Node):
    """Node that yields the first elements."""

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
        if left < 0:
            return stream

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

        def step() -> Block:
            nonlocal left
            if left <= 0:
                raise StopIteration
            block = next(blocks)
            found = cut(block, 0, min(left, block[0]))
            left -= block[0]
            return found

        return steps(step)


class Skip(Node):
    """Node that skips the first elements."""

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
        following = passed_over(self.inputs[0].stream(fast), self._count)
        return steps(lambda: following(0))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count)
        return None if blocks is None or self._count < 0 else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        left = self._count

        def step() -> Block:
            nonlocal left
            while True:
                try:
                    block = next(blocks)
                except Exception:
                    left = self._count if left else 0  # consistent with `passed_over`
                    raise
                begin, left = left, max(left - block[0], 0)
                if begin < block[0]:
                    return cut(block, begin, block[0])

        return steps(step)


class Shard(Node):
    """Node that yields every n-th element."""

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
        following = passed_over(self.inputs[0].stream(fast), self._index)
        return steps(lambda: following(self._shards - 1))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count * self._shards)
        return None if blocks is None else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        between, left = self._index, self._index

        def step() -> Block:
            nonlocal between, left
            while True:
                try:
                    count, columns = next(blocks)
                except Exception:
                    left = between if left else 0  # consistent with `passed_over`
                    raise
                picked = range(left, count, self._shards)
                if not picked:
                    left -= count
                    continue
                between = self._shards - 1
                left = picked[-1] + self._shards - count
                every = slice(picked[0], None, self._shards)
                return len(picked), [_every(column, every) for column in columns]

        return steps(step)


def _every(column: Any, picked: slice) -> Any:
    if isinstance(column, (np.ndarray, list, fastrec.Bytes)):
        return column[picked]
    return list(itertools.islice(column, picked.start, None, picked.step))


class Repeat(Node):
    """Node that repeats its input a number of times, or forever."""

    def __init__(self, node: Node, count: int | None) -> None:
        super().__init__(node)
        self._count = -1 if count is None else count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0 if total == 0 else INFINITE
        return 0 if self._count == 0 else total * self._count if total >= 0 else total

    def _epochs(self, make: Callable[[], Iterator[T]]) -> Iterator[T]:
        stream, epoch, empty, over = make(), 1, True, False

        def step() -> T:
            nonlocal stream, epoch, empty, over
            while self._count:
                try:
                    found = next(stream)
                except StopIteration:
                    if epoch == self._count or (empty and self._count < 0):
                        if epoch > 1 and not over and not self.inputs[0].shuffles:
                            self.inputs[0].spend_seeds()  # seeds of one more epoch
                        over = True
                        raise
                    stream, epoch, empty = make(), epoch + 1, True
                else:
                    empty = False
                    return found
            raise StopIteration

        return steps(step)

    def values(self, fast: bool = True) -> Values:
        return self._epochs(lambda: self.inputs[0].stream(fast))

    def blocks(self, count: int) -> Blocks | None:
        first = self.inputs[0].blocks(count)
        if first is None:
            return None
        ready = [first]  # use the first epoch's stream instead of starting it again
        return self._epochs(
            lambda: ready.pop() if ready else self.inputs[0].blocks(count) or iter(())
        )
