# SPDX-License-Identifier: Apache-2.0
"""Which elements come, in which order, and when."""

from __future__ import annotations

import bisect
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _errors
from .._kernels import philox
from ._pipeline import INFINITE, UNKNOWN, Blocks, Node, Value, Values, cut, invalid, steps, taken
from ._specs import TensorSpec, TypeSpec
from ._tensor import as_array

__all__ = [
    "Cache",
    "Enumerate",
    "IgnoreErrors",
    "Sample",
    "TakeWhile",
    "Unique",
    "Zip",
]


class Zip(Node):
    """Elements side by side."""

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

    def values(self, fast: bool = True) -> Values:
        streams = [node.stream(fast) for node in self.inputs]
        if fast:
            return map(_side_by_side, zip(*streams, strict=False))

        def step() -> Value:
            found = [taken(stream, 1) for stream in streams]  # of all, whatever is raised
            for _, error in found:
                if error is not None:
                    raise error
            if not all(chunk for chunk, _ in found):
                raise StopIteration
            return _side_by_side(tuple(chunk[0] for chunk, _ in found))

        return steps(step)


def _side_by_side(parts: tuple[Value, ...]) -> Value:
    return tuple(itertools.chain.from_iterable(parts))


class Enumerate(Node):
    """Elements and their numbers."""

    def __init__(self, node: Node, start: int) -> None:
        super().__init__(node)
        self._start = start

    @property
    def structure(self) -> Any:
        return (None, self.inputs[0].structure)

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), "int64"), *self.inputs[0].specs]

    def values(self, fast: bool = True) -> Values:
        stream = self.inputs[0].stream(fast)
        if fast:
            return map(_numbered, enumerate(stream, self._start))
        numbers = itertools.count(self._start)  # which go on after an error
        return steps(lambda: _numbered((next(numbers), next(stream))))

    def blocks(self, count: int) -> Blocks | None:
        blocks = self.inputs[0].blocks(count)
        return None if blocks is None else self._blocks(blocks)

    def _blocks(self, blocks: Blocks) -> Blocks:
        at = self._start
        for count, columns in blocks:
            yield count, [np.arange(at, at + count), *columns]
            at += count


def _numbered(pair: tuple[int, Value]) -> Value:
    return (np.asarray(pair[0], np.int64), *pair[1])


class Cache(Node):
    """Elements that are made once, and kept in memory when all have been."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._kept: list[Value] | None = None
        self._blocks: list[tuple[int, list[Any]]] | None = None

    def values(self, fast: bool = True) -> Values:
        return self._filling(fast) if self._kept is None else iter(self._kept)

    def _filling(self, fast: bool) -> Values:
        stream = self.inputs[0].stream(fast)
        kept: list[Value] = []
        whole = True

        def step() -> Value:
            nonlocal whole
            try:
                value = next(stream)
            except StopIteration:
                if whole:
                    self._kept = kept
                raise
            except Exception:
                whole = not fast  # what is fast may end with an error
                raise
            kept.append(value)
            return value

        return steps(step)

    def blocks(self, count: int) -> Blocks | None:
        if self._blocks is not None:
            return self._again(self._blocks, count)
        if self._kept is not None:
            return None
        blocks = self.inputs[0].blocks(count) if self.inputs[0].pure else None
        return None if blocks is None else self._keeping(blocks)

    def _keeping(self, blocks: Blocks) -> Blocks:
        kept = []
        for block in blocks:
            kept.append(block)
            yield block[0], [_own(column) for column in block[1]]
        self._blocks = kept

    @staticmethod
    def _again(kept: list[tuple[int, list[Any]]], count: int) -> Blocks:
        for block in kept:
            for at in range(0, block[0], count):
                size, columns = cut(block, at, min(at + count, block[0]))
                yield size, [_own(column) for column in columns]


def _own(column: Any) -> Any:
    """A column that may be written to."""
    return column.copy() if isinstance(column, np.ndarray) else column


class IgnoreErrors(Node):
    """Elements that could be made."""

    def __init__(self, node: Node, log: bool) -> None:
        super().__init__(node)
        self._log = log

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        stream = self.inputs[0].stream(False)
        while True:
            try:
                yield next(stream)
            except StopIteration:
                return
            except _errors.NotFoundError:
                raise  # or the same file would be looked for again, for ever
            except Exception as error:
                if self._log:
                    warnings.warn(f"Error raised with error message {error}", stacklevel=2)


class TakeWhile(Node):
    """Elements up to the first for which a function says False."""

    def __init__(self, node: Node, keeps: Callable[[Value], bool]) -> None:
        super().__init__(node)
        self._keeps = keeps

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        return itertools.takewhile(self._keeps, self.inputs[0].stream(fast))


class Unique(Node):
    """Elements that have not been before."""

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        seen = set()
        for value in self.inputs[0].stream(fast):
            arrays = [as_array(part) for part in value]
            key = tuple(
                (a.shape, tuple(a.reshape(-1).tolist()) if a.dtype == object else a.tobytes())
                for a in arrays
            )
            if key not in seen:
                seen.add(key)
                yield value


class Sample(Node):
    """Elements of data sets by a choice of which is next."""

    def __init__(
        self, nodes: Sequence[Node], choices: Callable[[], Iterator[int]], stop: bool
    ) -> None:
        super().__init__(*nodes)
        self._choices, self._stop = choices, stop

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        streams: list[Values | None] = [node.stream(fast) for node in self.inputs]
        for choice in self._choices():
            if not 0 <= choice < len(streams):
                raise invalid(f"Selector index out of range: {choice} >= {len(streams)}")
            stream = streams[choice]
            if stream is None:
                continue
            for value in stream:
                yield value
                break
            else:
                streams[choice] = None
                if self._stop or not any(s is not None for s in streams):
                    return


def by_weight(weights: Sequence[float] | None, count: int, numbers: Iterator[int]) -> Iterator[int]:
    """Numbers below `count`, each as often as its weight says; from pairs of `numbers`."""
    with np.errstate(divide="ignore"):
        logits = np.zeros(count) if weights is None else np.log(np.asarray(weights, np.float32))
    ends = np.cumsum(np.exp(logits.astype(np.float64) - logits.max())).tolist()
    for seed in numbers:
        drawn = philox.uniform(philox.scrambled(seed, next(numbers)), (1,), np.dtype(np.float64))
        yield min(bisect.bisect_right(ends, float(drawn[0]) * ends[-1]), count - 1)
