# SPDX-License-Identifier: Apache-2.0
"""``map`` of traced functions: run on blocks of elements, or on elements in threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..columns import size_of
from ..errors import OpError
from ..specs import TypeSpec
from ..tracing.trace import Into, Trace
from ..width import PARSED, limited_rows
from .drawing import Drawn
from .functions import Function, failed
from .native import with_fallback
from .pipeline import Node, lowering
from .rooms import Place, Row, places
from .streams import (
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

_Row = tuple[bool, Value]  # whether the column segment has run, and the values after it


def mapped(node: Node, function: Callable[..., Any], parallel: int | None) -> Node:
    """Return a node for ``map``."""
    call = Function(function, node.structure)
    found = call.trace(node.specs) if all(isinstance(s, TypeSpec) for s in node.specs) else None
    if found is None:
        return EagerMap(node, call, parallel)
    trace, structure = found
    return Map(Drawn(node, trace) if trace.draws else node, trace, structure, parallel)


class Parsable(Node):
    """Node whose elements can be parsed natively."""

    def parsed(self, trace: Trace) -> Values | None:
        """Return elements as the first operation of `trace` parses them; None if it cannot."""
        raise NotImplementedError


class Map(Node):
    """Node that applies a traced function."""

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
        self._name = name  # used in messages
        self._most: int | None = None  # maximum rows per block, if known

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
        """Return the same function applied to another node."""
        return Map(node, self.trace, self._structure, self.parallel, self._name)

    def _workers(self) -> int:
        return workers(self.parallel, self.trace.is_waiting)

    def values(self, fast: bool = True) -> Values:
        parsed = self._parsed() if fast else None
        if parsed is None:
            return self._values(fast)
        found = (self.trace(value, parsed=True) for value in parsed)
        return with_fallback(found, lambda: self._values(fast))

    def _values(self, fast: bool) -> Values:
        if not fast:
            return map(self._of_one, self.inputs[0].stream(fast))
        return in_order(self._run, self._rows(), self._workers())

    def _rows(self) -> Iterator[_Row]:
        """Return the elements, parsed in blocks if they are parsed records."""
        blocks = None
        if lowering() and self.trace.is_divided:
            blocks = self.inputs[0].fast_blocks(PARSED)
        if blocks is None:
            return zip(itertools.repeat(False), self.inputs[0].stream())
        return flattened(map(self._early, blocks))

    def _early(self, block: Block) -> Iterator[_Row]:
        try:
            done = elements((block[0], self.trace.early(*block)))
        except Exception:  # each row then raises its own error
            return zip(itertools.repeat(False), elements(block))
        return zip(itertools.repeat(True), done)

    def _run(self, row: _Row, into: Into | None = None) -> Value:
        """Return the result for an element after the column segment, or for the whole function."""
        is_parsed, value = row
        try:
            if is_parsed:
                return self.trace.late(value, into)
            return self.trace(value, together=lowering(), into=into)
        except OpError as error:
            raise failed(error, self._name) from error.__cause__

    def placed(self, size: int, *room: Any) -> Iterator[Place] | None:
        """Write each element to its row of a batch of `size`; return None for small elements.

        The other arguments are those of :func:`.rooms.places`.
        """
        if not lowering() or not self.trace.is_large:
            return None
        following = places(size, *room)
        jobs = zip(self._rows(), following, strict=False)  # an element that raises takes no row
        return in_order(self._put, jobs, self._workers())

    def _put(self, job: tuple[_Row, Row]) -> Place:
        row, place = job
        return place, place.put(self._run(row, place.part))

    def _of_one(self, value: Value) -> Value:
        return self._run((False, value))

    def _parsed(self) -> Values | None:
        """Return natively parsed batches, if the input can parse records."""
        batch = self.inputs[0]
        return batch.parsed(self.trace) if isinstance(batch, Parsable) else None

    def blocks(self, count: int) -> Blocks | None:
        if not self.pure or self.trace.is_large:
            return None
        if (blocks := self.inputs[0].gathered(count)) is None:
            return None
        return self._in_blocks(self._parts_of(blocks))

    def _parts_of(self, blocks: Blocks) -> Blocks:
        """Split blocks so that their results stay in the processor's cache."""
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
        """Return columns of exactly `count` elements, from any kind of input."""
        if not lowering() or not self.trace.is_pure or self.trace.is_large:
            return None
        node = self.inputs[0]
        inner = node.chunks(count) if isinstance(node, Map) else None
        return self._in_blocks(to_blocks(node.stream(), count) if inner is None else inner)

    def _in_blocks(self, blocks: Blocks) -> Blocks:
        return in_blocks(blocks, self._of_block, lambda values: map(self._of_one, values))

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        found = self.trace.run_block(count, columns)
        self._most = limited_rows(sum(map(size_of, found)) / count)
        return count, found
