# SPDX-License-Identifier: Apache-2.0
"""Random numbers for a function of elements, drawn before the function runs."""

from __future__ import annotations

import functools
from typing import Any

from ..columns import column_of, rows_of
from ..errors import OpError
from ..ops import Block as Given
from ..ops import refused
from ..seeds import kept_for_run
from ..specs import TypeSpec
from ..tracing.calls import drawing
from ..tracing.trace import Trace
from ..width import AHEAD, DRAWS
from .functions import failed
from .pipeline import Node
from .streams import (
    Block,
    Blocks,
    Value,
    Values,
    flattened,
    in_blocks,
    steps,
)

__all__ = ["Drawn"]


class Drawn(Node):
    """Node that appends a function's random numbers to the parts of each element."""

    draws = True

    def __init__(self, node: Node, trace: Trace) -> None:
        super().__init__(node)
        self._trace = trace
        # When a draw happens is not visible: draw several at a time, unless they are large.
        most = max(draw.spec.shape.num_elements() or 0 for draw in trace.draws)
        self._ahead = max(1, min(AHEAD, DRAWS // max(most, 1)))

    @property
    def specs(self) -> list[TypeSpec]:
        return [*self.inputs[0].specs, *(draw.spec for draw in self._trace.draws)]

    def values(self, fast: bool = True) -> Values:
        values = self.inputs[0].stream(fast)
        if self._trace.draws_need:
            states: dict[Any, Any] = kept_for_run((self, "states"), dict)
            return map(functools.partial(self._of_one, states), values)
        drawn = kept_for_run((self, "rows"), self._rows)

        def with_draws(value: Value) -> Value:
            return (*value, *next(drawn))

        return map(with_draws, values)

    def _rows(self) -> Values:
        states: dict[Any, Any] = {}
        nothing = [None] * len(self._trace.values)

        def some() -> Values:
            _, columns = self._of_block(states, self._ahead, nothing)
            return zip(*map(rows_of, columns[len(nothing) :]), strict=True)

        return flattened(steps(some))

    def blocks(self, count: int) -> Blocks | None:
        if (blocks := self.inputs[0].blocks(count)) is None:
            return None
        states: dict[Any, Any] = kept_for_run((self, "columns"), dict)
        each = functools.partial(self._of_one, states)
        return in_blocks(
            blocks, functools.partial(self._of_block, states), functools.partial(map, each)
        )

    def _of_one(self, states: dict[Any, Any], value: Value) -> Value:
        _, columns = self._of_block(states, 1, [column_of([part]) for part in value])
        return (*value, *next(zip(*map(rows_of, columns[len(value) :]), strict=True)))

    def _of_block(self, states: dict[Any, Any], count: int, columns: list[Any]) -> Block:
        given = [Given(column, True) for column in columns]
        try:
            with drawing(states):
                return count, [*columns, *self._trace.draws_of(count, given, states)]
        except Exception as error:
            if isinstance(error, (IndexError, ValueError)):
                error = refused(error)
            raise failed(error, "Map") if isinstance(error, OpError) else error from error.__cause__
