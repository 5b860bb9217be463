# SPDX-License-Identifier: Apache-2.0
"""Functions of elements that consist of operations, run on many at once or in threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..columns import size_of
from ..errors import OpError
from ..specs import TensorSpec, TypeSpec
from ..tracing.trace import Into, Trace
from .drawing import Drawn
from .functions import Function, failed
from .native import with_fallback
from .pipeline import Node, lowering
from .rooms import Place, Row, places
from .streams import (
    AHEAD,
    Block,
    Blocks,
    Value,
    Values,
    cut,
    elements,
    flattened,
    in_blocks,
    steps,
    to_blocks,
)
from .threads import in_order, workers
from .untraced import EagerMap

__all__ = ["Map", "Parsable", "mapped"]

_FEW = 16  # elements, which may have encoded images
_SMALL = 1 << 14  # bytes of an element
_LARGE = 1 << 18
_CACHED = 1 << 22

_Part = tuple[Any, Value]  # an element, and how far its function has come
_BEGUN, _DONE = object(), object()


def mapped(node: Node, function: Callable[..., Any], parallel: int | None) -> Node:
    """A node for ``map``."""
    call = Function(function, node.structure)
    found = call.trace(node.specs) if all(isinstance(s, TypeSpec) for s in node.specs) else None
    if found is None:
        return EagerMap(node, call, parallel)
    trace, structure = found
    return Map(Drawn(node, trace) if trace.draws else node, trace, structure, parallel)


class Parsable(Node):
    """Node whose elements can be parsed natively."""

    def parsed(self, trace: Trace) -> Values | None:
        """The elements, as the first operation of `trace` parses them; None if it cannot."""
        raise NotImplementedError


def _bytes_of(spec: Any) -> int:
    """Of a part of an element; as much as a cache has where that is not known."""
    known = isinstance(spec, TensorSpec) and spec.dtype.name != "string"
    count = spec.shape.num_elements() if known else None
    return _CACHED if count is None else count * spec.dtype.size


def _whole(value: Value) -> _Part:
    return None, value


class Map(Node):
    """A function that consists of operations."""

    def __init__(
        self,
        node: Node,
        trace: Trace,
        structure: Any,
        parallel: int | None = None,
        name: str = "Map",
    ) -> None:
        super().__init__(node)
        self.trace, self._structure, self.parallel = trace, structure, parallel
        self._name = name  # in messages
        self._most: int | None = None  # elements at a time, if what was made of some is large

    structure = property(lambda self: self._structure)

    @property
    def shuffles(self) -> bool:
        return self.inputs[0].shuffles

    @property
    def specs(self) -> list[TypeSpec]:
        return self.trace.specs

    @property
    def pure(self) -> bool:
        return super().pure and self.trace.is_pure

    def over(self, node: Node) -> Map:
        """The same function of the elements of another node."""
        return Map(node, self.trace, self._structure, self.parallel, self._name)

    def of_large(self) -> Map:
        """The same function, of which it is known that what it makes is large."""
        trace = self.trace.of_large()
        return Map(self.inputs[0], trace, self._structure, self.parallel, self._name)

    def _workers(self) -> int:
        return workers(self.parallel, self.trace.is_waiting)

    def values(self, fast: bool = True) -> Values:
        parsed = self._parsed() if fast else None
        if parsed is None:
            return self._values(fast)
        found = (self.trace(value, parsed=True) for value in parsed)
        return with_fallback(found, lambda: self._values(fast))

    def _values(self, fast: bool) -> Values:
        if fast and (parts := self._divided(AHEAD)) is not None:
            return in_order(self._rest, parts, self._workers())
        count = self._workers() if fast else 0
        return in_order(self._of_one, self.inputs[0].stream(fast), count)

    def _divided(self, most: int) -> Iterator[_Part] | None:
        """Elements of which all but images is done, many at once; None where that cannot be.

        Up to `most`, where what they are made of is known to stay in a cache.
        """
        node, trace = self.inputs[0], self.trace
        if not lowering() or not (trace.is_divided or trace.may_be_small):
            return None
        size = sum(map(_bytes_of, node.specs))
        blocks = node.fast_blocks(max(_FEW, min(most, _CACHED // max(size, 1))))
        if blocks is not None:
            return flattened(map(self._early, blocks))
        return self._measured(node.stream()) if trace.may_be_small and node.pure else None

    def _measured(self, values: Values) -> Iterator[_Part]:
        """The elements, several at a time as soon as one of them is found to be small."""
        small, blocks = False, to_blocks(values, _FEW)

        def step() -> Iterator[_Part]:
            nonlocal small
            if small:
                return self._early(next(blocks))
            value = next(values)
            small = sum(map(size_of, value)) <= _SMALL
            return iter([_whole(value)])

        return flattened(steps(step))

    def _early(self, block: Block) -> Iterator[_Part]:
        count, columns = block
        may_be_small = self.trace.may_be_small and self._most is None
        try:
            if may_be_small and sum(map(size_of, columns)) <= _SMALL * count:
                return zip(itertools.repeat(_DONE), elements(self._of_block(count, columns)))
            if self.trace.is_divided:
                done = elements((count, self.trace.early(count, columns)))
                return zip(itertools.repeat(_BEGUN), done)
        except Exception:  # which one it is of, the elements tell
            pass
        return map(_whole, elements(block))

    def _rest(self, part: _Part, into: Into | None = None) -> Value:
        done, value = part
        if done is not _BEGUN:
            return value if done is _DONE else self._of_one(value, into)
        try:
            return self.trace.late(value, into)
        except OpError as error:
            raise failed(error, self._name) from error.__cause__

    def placed(self, size: int, *room: Any) -> Iterator[Place] | None:
        """The elements, each in its place of a batch of `size`; None where they are small.

        The other arguments are those of :func:`.rooms.places`.
        """
        if not lowering() or not self.trace.is_large:
            return None
        following = places(size, *room)
        if (parts := self._divided(size)) is None:
            parts = map(_whole, self.inputs[0].stream())

        jobs = ((next(following), part) for part in parts)
        return in_order(self._put, jobs, self._workers())

    def _put(self, job: tuple[Row, _Part]) -> Place:
        row, part = job
        return row, row.put(self._rest(part, row.part))

    def _of_one(self, value: Value, into: Into | None = None) -> Value:
        try:
            return self.trace(value, together=lowering(), into=into)
        except OpError as error:
            raise failed(error, self._name) from error.__cause__

    def _parsed(self) -> Values | None:
        """Batches of records, parsed natively as this would do."""
        batch = self.inputs[0]
        return batch.parsed(self.trace) if isinstance(batch, Parsable) else None

    def ahead(self) -> Values | None:
        return self.values() if self.trace.is_cheap and self._parsed() is not None else None

    def blocks(self, count: int) -> Blocks | None:
        if not self.pure or self.trace.is_large:
            return None
        if (blocks := self.inputs[0].gathered(count)) is None:
            return None
        return self._in_blocks(self._parts_of(blocks))

    def _parts_of(self, blocks: Blocks) -> Blocks:
        """The same elements, so many at a time that what is made of them stays in a cache."""
        block: Block = (0, [])
        begin = 0

        def step() -> Block:
            nonlocal block, begin
            while begin >= block[0]:
                block, begin = next(blocks), 0
            first, begin = begin, min(block[0], begin + (self._most or block[0]))
            return cut(block, first, begin)

        return steps(step)

    def chunks(self, count: int) -> Blocks | None:
        """Columns of exactly `count` elements, whatever makes what the function is given."""
        if not lowering() or not self.trace.is_pure or self.trace.is_large:
            return None
        node = self.inputs[0]
        inner = node.chunks(count) if isinstance(node, Map) else None
        return self._in_blocks(to_blocks(node.stream(), count) if inner is None else inner)

    def _in_blocks(self, blocks: Blocks) -> Blocks:
        return in_blocks(blocks, self._of_block, lambda values: map(self._of_one, values))

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        found = self.trace.run_block(count, columns)
        size = sum(map(size_of, found)) // count
        self._most = max(1, _CACHED // size) if size > _LARGE else None
        return count, found
