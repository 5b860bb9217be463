# SPDX-License-Identifier: Apache-2.0
"""Functions that are called with each element because they cannot be traced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..errors import OpError
from ..seeds import looking_ahead
from ..specs import TypeSpec
from ..structure import LEAF
from ..tracing.calls import Called
from .functions import Function, failed
from .pipeline import Node, loose_spec, lowering
from .streams import (
    Block,
    Blocks,
    Value,
    Values,
    elements,
    first,
    in_blocks,
    to_blocks,
)
from .threads import in_order, workers


class Untraced(Node):
    """Node whose element structure is known only from its first element."""

    _found: tuple[Any, list[TypeSpec]] | None = None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None:
            with looking_ahead():
                first(self._tried())
        return self._found or (LEAF, [])

    def _tried(self) -> Values:
        """Return elements for `_learn` only; they are dropped afterwards."""
        return self.values(False)

    def _learn(self, structure: Any, parts: Sequence[Any]) -> None:
        if self._found is None:
            self._found = structure, list(map(loose_spec, parts))

    @property
    def structure(self) -> Any:
        return self._known()[0]

    @property
    def specs(self) -> list[TypeSpec]:
        return self._known()[1]

    @property
    def pure(self) -> bool:
        return False


class EagerMap(Untraced):
    """Node that calls a function with each element."""

    def __init__(self, node: Node, function: Function, parallel: int | None = None) -> None:
        super().__init__(node)
        self._function, self._parallel = function, parallel
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        self._branches = function.branches(node.specs) if known else None

    def _known(self) -> tuple[Any, list[TypeSpec]]:
        if self._found is None and all(isinstance(s, TypeSpec) for s in self.inputs[0].specs):
            self._found = self._function.signature(self.inputs[0].specs)
        return super()._known()

    def _tried(self) -> Values:
        return map(functools.partial(self._call, {}), self.inputs[0].stream(False))

    def _call(self, states: dict[Any, Any], value: Value) -> Value:
        try:
            structure, parts = self._made(states, value)
        except OpError as error:
            if str(error) == self._function.refusal:  # the error does not depend on the element
                raise ValueError(self._function.refusal) from None
            raise failed(error, "Map") from error.__cause__
        self._learn(structure, parts)
        return tuple(parts)

    def _made(self, states: dict[Any, Any], value: Value) -> tuple[Any, list[Any]]:
        if self._branches is not None and lowering():
            called = Called(states)
            failure = None
            try:
                with called.drawing():
                    try:
                        return self._branches(value, called)
                    except OpError as error:  # an error of this element, after random draws
                        failure = error
            except Exception:  # the call with values raises the real error
                self._branches = None
            if failure is not None:
                raise failure
        return self._function(value, states)

    def values(self, fast: bool = True) -> Values:
        count = workers(self._parallel) if fast else 0
        call = functools.partial(self._call, self._function.states())
        return in_order(call, self.inputs[0].stream(fast), count)

    def blocks(self, count: int) -> Blocks | None:
        node = self.inputs[0]
        if not node.pure or (blocks := node.blocks(count)) is None:
            return None
        return self._in_blocks(blocks)

    def chunks(self, count: int) -> Blocks | None:
        """Return columns of exactly `count` elements, from any kind of input."""
        return self._in_blocks(to_blocks(self.inputs[0].stream(), count)) if lowering() else None

    def _in_blocks(self, blocks: Blocks) -> Blocks | None:
        ways = self._branches
        if ways is None or not ways.are_small():
            return None
        states = self._function.states()
        call = functools.partial(self._call, states)

        def of_block(count: int, columns: list[Any]) -> Block:
            structure, found = ways.run_block(count, columns, Called(states))
            self._learn(structure, next(elements((count, found))))
            return count, found

        return in_blocks(blocks, of_block, functools.partial(map, call))
