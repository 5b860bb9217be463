# SPDX-License-Identifier: Apache-2.0
"""``window``: datasets of consecutive elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..specs import DatasetSpec, TypeSpec
from ..structure import LEAF
from .pipeline import Node
from .streams import Value, Values, steps, taken

__all__ = ["Window"]


class Window(Node):
    """Node whose elements are datasets of up to `size` consecutive elements."""

    def __init__(
        self,
        node: Node,
        size: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        make: Callable[[Node], Any],
    ) -> None:
        super().__init__(node)
        self._size, self._shift, self._stride, self._drop = size, shift, stride, drop_remainder
        self._make = make

    @property
    def structure(self) -> Any:
        return self.inputs[0].structure

    @property
    def specs(self) -> list[Any]:
        return [DatasetSpec(spec) for spec in self.inputs[0].specs]

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total < 0:
            return total
        if not self._drop:
            return -(-total // self._shift)
        rest = total - ((self._size - 1) * self._stride + 1)
        return 0 if rest < 0 else rest // self._shift + 1

    def values(self, fast: bool = True) -> Values:
        reach = (self._size - 1) * self._stride + 1
        stream = self.inputs[0].stream(fast)
        held: list[Value | Exception] = []  # an error is kept in the place of its element
        shift = 0

        def hold(count: int) -> None:
            while len(held) < count:
                values, error = taken(stream, count - len(held))
                held.extend(values)
                if error is None:
                    return
                held.append(error)

        def step() -> Value:
            nonlocal shift
            hold(shift)
            del held[:shift]
            hold(reach)
            shift = self._shift
            picked = held[: reach : self._stride]
            if not picked or (self._drop and len(picked) < self._size):
                raise StopIteration
            return self._window(picked)

        return steps(step)

    def _window(self, picked: list[Value | Exception]) -> Value:
        values: list[Value] = []
        for each in picked:
            if isinstance(each, Exception):
                raise each
            values.append(each)
        specs = self.inputs[0].specs
        parts = [_Held([value[i] for value in values], spec) for i, spec in enumerate(specs)]
        return tuple(map(self._make, parts))


class _Held(Node):
    """Node over one part of the elements of a window."""

    structure = LEAF

    def __init__(self, values: list[Any], spec: TypeSpec) -> None:
        super().__init__()
        self._values, self._spec = values, spec

    @property
    def specs(self) -> list[TypeSpec]:
        return [self._spec]

    def cardinality(self) -> int:
        return len(self._values)

    def values(self, fast: bool = True) -> Values:
        return ((value,) for value in self._values)
