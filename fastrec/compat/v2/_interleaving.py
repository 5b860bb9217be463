# SPDX-License-Identifier: Apache-2.0
"""Data sets of elements, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._mapping import Function
from ._pipeline import UNKNOWN, Blocks, Node, Value, Values, steps, taken, to_blocks
from ._seeds import looking_ahead
from ._specs import TypeSpec
from ._structure import LEAF

__all__ = ["Interleave"]


class Interleave(Node):
    """Elements of the data sets that a function gives for elements, in turns.

    Parameters
    ----------
    node : Node
    function : callable
    cycle : int
        Data sets to take elements of at a time.
    block : int
        Elements to take of each in its turn.
    """

    def __init__(
        self, node: Node, function: Callable[..., Any], cycle: int = 1, block: int = 1
    ) -> None:
        super().__init__(node)
        self._function = Function(function, node.structure)
        self._cycle, self._block = cycle, block
        self._sample: Node | None = None

    def _of(self, value: Value) -> Node:
        _, parts = self._function(value)
        if not isinstance(parts[0], Node):
            raise TypeError("`map_func` must return a `Dataset` object.")
        self._sample = self._sample or parts[0]
        return parts[0]

    def _known(self) -> Node | None:
        if self._sample is None:
            with looking_ahead():
                found, _ = taken(self.inputs[0].stream(False), 1)  # an error comes in its place
                return self._of(found[0]) if found else None
        return self._sample

    @property
    def structure(self) -> Any:
        known = self._known()
        return LEAF if known is None else known.structure

    @property
    def specs(self) -> list[TypeSpec]:
        known = self._known()
        return [] if known is None else known.specs

    @property
    def pure(self) -> bool:
        known = self._known()
        return super().pure and known is not None and known.pure

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        def made(value: Value) -> Values:
            return self._of(value).stream(fast)

        streams = map(made, self.inputs[0].stream(fast))  # goes on after an error
        return (
            _one_by_one(streams)
            if self._cycle == 1
            else _in_turns(streams, self._cycle, self._block)
        )

    def blocks(self, count: int) -> Blocks | None:
        known = self._known() if super().pure else None
        if known is None or not known.pure or [s.shape.sizes for s in known.specs] != [()]:
            return None
        return to_blocks(self.values(), count)


def _one_by_one(streams: Iterator[Values]) -> Values:
    current: Values = iter(())

    def step() -> Value:
        nonlocal current
        while (found := next(current, None)) is None:
            current = next(streams)
        return found

    return steps(step)


def _in_turns(streams: Iterator[Values], cycle: int, block: int) -> Values:
    """As TensorFlow does: one that has ended gives up its turn, and is replaced at the next."""
    slots: list[Values | None] = [None] * cycle
    at, taken, ended = 0, 0, False
    while True:
        current = slots[at]
        if current is not None:
            for value in current:
                yield value
                taken += 1
                break
            else:
                slots[at], taken = None, block
            if taken == block:
                at, taken = (at + 1) % cycle, 0
        elif not ended:
            slots[at] = next(streams, None)
            ended = slots[at] is None
        elif any(slot is not None for slot in slots):
            at, taken = (at + 1) % cycle, 0
        else:
            return
