# SPDX-License-Identifier: Apache-2.0
"""Nodes that choose, order, number and cache elements."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from fastrec.errors import FastrecError

from .. import errors as _errors
from ..errors import invalid
from ..kernels import philox
from ..specs import TensorSpec, TypeSpec
from ..structure import LEAF
from ..tensor import as_array
from .pipeline import INFINITE, UNKNOWN, Node, Portion
from .streams import Block, Blocks, Pieces, Value, Values, cut, steps

T = TypeVar("T")


class Zip(Node):
    """Node that combines the elements of several inputs into tuples."""

    def __init__(
        self, structure: Any, nodes: Sequence[Node], rebuild: Callable[[list[Any]], Any]
    ) -> None:
        super().__init__(*nodes)
        self._rebuild = rebuild

    @property
    def structure(self) -> Any:
        return self._rebuild([node.structure for node in self.inputs])

    @property
    def specs(self) -> list[TypeSpec]:
        return [spec for node in self.inputs for spec in node.specs]

    def cardinality(self) -> int:
        totals = [node.cardinality() for node in self.inputs]
        finite = [total for total in totals if total != INFINITE]
        return UNKNOWN if UNKNOWN in totals else min(finite, default=INFINITE)

    def values(self) -> Values:
        pulls = [node.stream().__next__ for node in self.inputs]
        return steps(lambda: tuple(itertools.chain.from_iterable(_advanced(pulls))))

    def blocks(self, count: int) -> Blocks | None:
        streams = []
        for node in self.inputs:
            if (stream := node.gathered(count)) is None:
                return None
            streams.append(stream)
        return _side_by_side(streams)


def _advanced(pulls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what all `pulls` return; call each of them, even if one raises or has ended."""
    parts = []
    failed: Exception | None = None
    ended = False
    for pull in pulls:
        try:
            parts.append(pull())
        except StopIteration:
            ended = True
        except Exception as error:
            failed = failed or error
    if failed is not None:
        try:
            raise failed
        finally:
            del failed  # otherwise the error and this frame would keep each other alive
    if ended:
        raise StopIteration
    return parts


def _side_by_side(streams: Sequence[Blocks]) -> Blocks:
    """Yield blocks of the columns of all streams, as :meth:`Zip.values` yields elements."""
    waiting: list[Block] = [(0, []) for _ in streams]

    def fill(number: int) -> None:
        while not waiting[number][0]:
            waiting[number] = next(streams[number])

    pulls = [functools.partial(fill, number) for number in range(len(streams))]

    def step() -> Block:
        size = 1  # where an input fails or ends, the others lose one element
        try:
            _advanced(pulls)
            size = min(block[0] for block in waiting)
        finally:
            parts = [cut(block, slice(size)) for block in waiting]
            waiting[:] = [cut(block, slice(size, None)) for block in waiting]
        return size, [column for _, columns in parts for column in columns]

    return steps(step)


class Enumerate(Node):
    """Node that pairs each element with its number."""

    def __init__(self, node: Node, start: int) -> None:
        super().__init__(node)
        self._start = start

    @property
    def structure(self) -> Any:
        return (LEAF, self.inputs[0].structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), "int64"), *self.inputs[0].specs]

    def values(self) -> Values:
        stream = self.inputs[0].stream()
        numbers = itertools.count(self._start)  # an element that cannot be made has a number, too
        return steps(lambda: (np.asarray(next(numbers), np.int64), *next(stream)))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count)
        return None if blocks is None else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        at = self._start

        def step() -> Block:
            nonlocal at
            try:
                count, columns = next(blocks)
            except Exception:
                at += 1
                raise
            begin, at = at, at + count
            return count, [np.arange(begin, at), *columns]

        return steps(step)


class Cache(Node):
    """Node that keeps elements in memory once all have been made."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._kept: list[Value] | None = None
        self._blocks: list[Block] | None = None

    def values(self) -> Values:
        if self._kept is not None:
            return iter(self._kept)
        total = self.inputs[0].cardinality()

        def keep(kept: list[Value], ended: bool) -> None:
            if ended or len(kept) == total:
                self._kept = kept

        return _keeping(self.inputs[0].stream(), keep)

    def blocks(self, count: int) -> Blocks | None:
        if self._blocks is not None:
            return self._again(self._blocks, count)
        if self._kept is not None:
            return None
        blocks = self.inputs[0].blocks(count) if self.inputs[0].pure else None
        if blocks is None:
            return None
        total = self.inputs[0].cardinality()

        def keep(kept: list[Block], ended: bool) -> None:
            if ended or (total >= 0 and sum(block[0] for block in kept) == total):
                self._blocks = kept

        return map(_own, _keeping(blocks, keep))

    @staticmethod
    def _again(kept: list[Block], count: int) -> Blocks:
        for block in kept:
            for at in range(0, block[0], count):
                yield _own(cut(block, slice(at, at + count)))


def _keeping(stream: Iterator[T], keep: Callable[[list[T], bool], None]) -> Iterator[T]:
    """Yield from `stream`, and call `keep` with all elements so far and whether it has ended."""
    kept: list[T] = []

    def step() -> T:
        try:
            kept.append(next(stream))
        except StopIteration:
            keep(kept, True)
            raise
        keep(kept, False)
        return kept[-1]

    return steps(step)


def _own(block: Block) -> Block:
    """Return a copy of a block that may be written to."""
    return block[0], [c.copy() if isinstance(c, np.ndarray) else c for c in block[1]]


class IgnoreErrors(Portion):
    """Node that drops elements that raise an error."""

    def __init__(self, node: Node, log: bool) -> None:
        super().__init__(node)
        self._log = log

    @property
    def pure(self) -> bool:
        return super().pure and not self._log

    def cardinality(self) -> int:
        return UNKNOWN

    def _passed(self, stream: Iterator[T], pieces: Pieces) -> Iterator[T]:
        def step() -> T:
            while True:
                try:
                    return next(stream)
                except StopIteration:
                    raise
                except (_errors.OpError, FastrecError) as error:
                    if getattr(error, "of_source", False):  # every call would raise it again
                        raise
                    if self._log:
                        warnings.warn(f"Error raised with error message {error}", stacklevel=2)

        return steps(step)


class TakeWhile(Node):
    """Node that ends as soon as a function returns False, without that element."""

    def __init__(self, node: Node, keeps: Callable[[Value], bool]) -> None:
        super().__init__(node)
        self._keeps = keeps

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self) -> Values:
        return itertools.takewhile(self._keeps, self.inputs[0].stream())


class Unique(Node):
    """Node that drops elements that have occurred before."""

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self) -> Values:
        seen: set[Any] = set()

        def is_new(value: Value) -> bool:
            arrays = [as_array(part) for part in value]
            key = tuple(
                (a.shape, tuple(a.reshape(-1).tolist()) if a.dtype == object else a.tobytes())
                for a in arrays
            )
            before = len(seen)
            seen.add(key)
            return len(seen) > before

        return filter(is_new, self.inputs[0].stream())


class Sample(Node):
    """Node that takes each element from the input that a sequence of choices names."""

    def __init__(
        self, nodes: Sequence[Node], choices: Callable[[], Iterator[int]], stop: bool
    ) -> None:
        super().__init__(*nodes)
        self._choices, self._stop = choices, stop

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        totals = [node.cardinality() for node in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN

    def values(self) -> Values:
        streams: list[Values | None] = [node.stream() for node in self.inputs]
        choices = self._choices()

        def step() -> Value:
            while any(stream is not None for stream in streams):
                choice = next(choices)
                if not 0 <= choice < len(streams):
                    raise invalid(f"Selector index out of range: {choice} >= {len(streams)}")
                stream = streams[choice]
                if stream is not None:
                    if (value := next(stream, None)) is not None:
                        return value
                    streams[choice] = None
                    if self._stop:
                        break
            raise StopIteration

        return steps(step)


def by_weight(weights: Sequence[float] | None, count: int, numbers: Iterator[int]) -> Iterator[int]:
    """Yield input numbers below `count`, drawn by weight; each draw uses two of `numbers`."""
    import bisect

    with np.errstate(divide="ignore"):
        logits = np.zeros(count) if weights is None else np.log(np.asarray(weights, np.float32))
    ends = np.cumsum(np.exp(logits.astype(np.float64) - logits.max())).tolist()
    for seed in numbers:
        drawn = philox.drawn("uniform", philox.scrambled(seed, next(numbers)), (1,), np.float64)
        yield min(bisect.bisect_right(ends, float(drawn[0]) * ends[-1]), count - 1)
