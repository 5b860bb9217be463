# SPDX-License-Identifier: Apache-2.0
"""``scan``: elements computed from an element and a running state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import OpError
from ..specs import TensorSpec, TypeSpec
from ..structure import flatten, pack
from .functions import Function, Unsupported, failed, hidden
from .iterating import tensors
from .pipeline import Node
from .streams import Value, Values, steps
from .untraced import Untraced

__all__ = ["Scan"]


class Scan(Untraced):
    """Node that applies a function of state and element, which returns the next state.

    Parameters
    ----------
    node : Node
    initial_state : structure of tensors
    function : callable
        Takes a state and an element; returns the next state and an output element.
    """

    def __init__(self, node: Node, initial_state: Any, function: Callable[..., Any]) -> None:
        super().__init__(node)
        self._state, self._function = tensors(initial_state), function
        self._call = Function(self._pair, (flatten(self._state)[0], self.inputs[0].structure))
        self._found = self._traced()

    def _traced(self) -> tuple[Any, list[TypeSpec]] | None:
        structure, leaves = flatten(self._state)
        specs: list[Any] = [TensorSpec(leaf.shape, leaf.dtype) for leaf in leaves]
        traced = self._call.trace([*specs, *self.inputs[0].specs])
        if traced is None:
            return None
        (state, made), found = traced[1], traced[0].specs
        following, specs_made = found[: len(specs)], found[len(specs) :]
        if state != structure or any(
            one.dtype != other.dtype for one, other in zip(specs, following, strict=True)
        ):
            raise TypeError(
                "The element types for the new state must match the initial state. Expected "
                f"{pack(structure, specs)}; got {following}."
            )
        if [spec.shape.sizes for spec in following] != [spec.shape.sizes for spec in specs]:
            return None  # the state grows, so output shapes may change
        return made, specs_made

    def _pair(self, state: Any, element: Any) -> Any:
        """Call the function and check that it returns a (state, element) pair."""
        found = self._function(state, element)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Unsupported(
                "`scan_func` should return a pair consisting of new state and the output value."
            )
        return found

    def values(self, fast: bool = True) -> Values:
        stream = self.inputs[0].stream(fast)
        state: list[Any] = list(map(hidden, flatten(self._state)[1]))

        def step() -> Value:
            nonlocal state
            element = next(stream)
            try:
                (_, kind), parts = self._call([*state, *element])
            except OpError as error:
                raise failed(error, "Scan") from error.__cause__
            state, value = parts[: len(state)], tuple(parts[len(state) :])
            self._learn(kind, value)
            return value

        return steps(step)
