# SPDX-License-Identifier: Apache-2.0
"""What data sets are made of: nodes that give elements one by one, or many at once as columns.

An element is the tuple of its parts, each a value as :mod:`._columns` has it. Both ways give the
same. The fast way is taken where a node has it, all the way up to its source; that it was worth it
is known beforehand, for functions are traced. ``FASTREC_COMPAT_LOWERING=0`` takes the slow one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import _errors
from ._columns import column_of, joined, rows_of
from ._specs import TypeSpec

__all__ = [
    "INFINITE",
    "UNKNOWN",
    "Blocks",
    "Node",
    "Values",
    "invalid",
    "lowering",
    "passed_over",
    "rechunked",
    "set_lowering",
    "steps",
    "to_blocks",
    "to_values",
]

INFINITE = -1
UNKNOWN = -2
AHEAD = 64  # elements to have ready where nobody has asked for batches

Value = tuple[Any, ...]
Values = Iterator[Value]
Blocks = Iterator[tuple[int, list[Any]]]


class _Switch:
    on = os.environ.get("FASTREC_COMPAT_LOWERING", "1") != "0"


def set_lowering(on: bool) -> bool:
    """Whether many elements may be made at once where that gives the same; what it was before."""
    before, _Switch.on = _Switch.on, on
    return before


def lowering() -> bool:
    """Whether many elements may be made at once."""
    return _Switch.on


def invalid(text: str) -> _errors.OpError:
    """What TensorFlow raises for arguments that it only looks at when it runs."""
    return _errors.InvalidArgumentError(None, None, text)


class Node:
    """A step of a pipeline.

    Parameters
    ----------
    inputs : Node
        Where its elements come from.
    """

    dataset: Any = None  # what shows it to programs

    def __init__(self, *inputs: Node) -> None:
        self.inputs = inputs

    @property
    def structure(self) -> Any:
        """How the parts of an element are nested."""
        return self.inputs[0].structure

    @property
    def specs(self) -> list[TypeSpec]:
        """What the parts of an element are."""
        return self.inputs[0].specs

    @property
    def pure(self) -> bool:
        """Whether elements may be made ahead of time: nobody can tell when they are made."""
        return all(node.pure for node in self.inputs)

    def cardinality(self) -> int:
        """How many elements there are; `INFINITE` or `UNKNOWN`."""
        return self.inputs[0].cardinality()

    def values(self, fast: bool = True) -> Values:
        """The elements. When not `fast`, iterating may go on after an error."""
        raise NotImplementedError

    def blocks(self, count: int) -> Blocks | None:
        """The elements as columns of up to `count`; None when there are none to be had."""
        return None

    def ahead(self) -> Values | None:
        """The elements, when they are made ahead of time anyway."""
        return None

    def stream(self, fast: bool = True) -> Values:
        """The elements, by the fastest way there is."""
        blocks = self.fast_blocks(AHEAD) if fast else None
        return self.values(fast) if blocks is None else to_values(blocks)

    def fast_blocks(self, count: int) -> Blocks | None:
        """The elements as columns, unless that is switched off."""
        return self.blocks(count) if _Switch.on else None


_NEVER = object()


def steps(step: Callable[[], Value]) -> Values:
    """What `step` returns until it raises StopIteration; another error does not end it."""
    return iter(step, _NEVER)


def passed_over(stream: Values, count: int) -> Callable[[int], Value]:
    """A function that gives the element after so many others, `count` before the first.

    After an error among these, all of them are passed over anew.
    """
    left = count

    def following(between: int) -> Value:
        nonlocal left
        for _ in range(left):
            next(stream)
        left = 0
        found = next(stream)
        left = between
        return found

    return following


def to_values(blocks: Blocks) -> Values:
    """The elements of columns."""
    for _, columns in blocks:
        yield from zip(*map(rows_of, columns), strict=True)


def to_blocks(values: Values, count: int) -> Blocks:
    """Columns of elements. An error comes after the elements before it."""
    while True:
        chunk, error = taken(values, count)
        if chunk:
            yield len(chunk), [column_of(part) for part in zip(*chunk, strict=True)]
        if error is not None:
            raise error
        if len(chunk) < count:
            return


def taken(values: Iterable[Value], count: int) -> tuple[list[Value], Exception | None]:
    """Up to `count` elements, and what was raised instead of another one."""
    chunk: list[Value] = []
    try:
        chunk.extend(itertools.islice(values, count))
    except Exception as error:
        return chunk, error
    return chunk, None


def cut(block: tuple[int, list[Any]], begin: int, end: int) -> tuple[int, list[Any]]:
    """The elements of a block from `begin` up to `end`."""
    count, columns = block
    if begin == 0 and end >= count:
        return block
    return end - begin, [column[begin:end] for column in columns]


def rechunked(blocks: Blocks, size: int) -> Blocks:
    """Blocks of exactly `size` elements, but for the last."""
    waiting: list[tuple[int, list[Any]]] = []
    have = 0
    for block in blocks:
        begin = 0
        while have + block[0] - begin >= size:
            end = begin + size - have
            waiting.append(cut(block, begin, end))
            yield size, _merged(waiting)
            waiting, have, begin = [], 0, end
        if begin < block[0]:
            waiting.append(cut(block, begin, block[0]))
            have += block[0] - begin
    if waiting:
        yield have, _merged(waiting)


def _merged(blocks: Sequence[tuple[int, list[Any]]]) -> list[Any]:
    if len(blocks) == 1:
        return blocks[0][1]
    return [joined(list(parts)) for parts in zip(*(columns for _, columns in blocks), strict=True)]


class Once(Node):
    """A node whose elements are made by calling something."""

    def __init__(
        self,
        make: Callable[[], Values],
        structure: Any,
        specs: list[TypeSpec],
        cardinality: int = UNKNOWN,
    ) -> None:
        super().__init__()
        self._make, self._structure, self._specs = make, structure, specs
        self._cardinality = cardinality

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return self._cardinality

    def values(self, fast: bool = True) -> Values:
        return self._make()
