# SPDX-License-Identifier: Apache-2.0
"""Parts of a traced function that are traces of their own, as operations of it run them.

A part captures what it uses of the function. What it draws is drawn ahead of the function, for the
elements that come to it, so that the numbers are TensorFlow's however elements are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import nest
from ..ops import Op
from ..specs import TypeSpec
from ..structure import LEAF
from ..tensor import Tensor, convert_to_tensor
from .recording import DrawOfPart, Recording, Unfit, current_call
from .trace import traced

__all__ = ["Part", "noted", "tracing"]


def tracing() -> Recording:
    """The function that is traced.

    Raises
    ------
    Unfit
        When it is not known.
    """
    call = current_call()
    if not isinstance(call, Recording):
        raise Unfit("a symbol outside of its function")
    return call


def _tensor(value: Any) -> Any:
    if hasattr(value, "_node"):
        raise Unfit("a data set")
    return (
        value if isinstance(value, Tensor) or hasattr(value, "_raw") else convert_to_tensor(value)
    )


class Part:
    """A part of a function.

    Attributes
    ----------
    trace : Trace
    returned : object
        What it returns, nested as the program has it.
    """

    def __init__(
        self, function: Callable[..., Any], specs: Sequence[TypeSpec] = (), draws: bool = False
    ) -> None:
        def results(value: Any) -> tuple[Any, list[Any]]:
            self.returned = value
            leaves = [leaf for leaf in nest.flatten(value) if leaf is not None]
            return LEAF, [_tensor(leaf) for leaf in leaves]

        parent = tracing()
        self.trace, _ = traced(
            function, specs, lambda given: (given,) if specs else (), results, None, parent
        )
        if self.trace.draws and not draws:
            raise Unfit("a loop draws numbers")
        self.count = len(specs)
        outer = {own.slot: slot for slot, own in self.trace.captures.items()}
        self._outer = [outer.get(slot) for slot in self.trace.given[self.count :]]

    def inputs(self, parent: Recording) -> list[Any]:
        """What it captures, and what is drawn for it, as the function has them."""
        draws = iter(self.trace.draws)
        return [
            parent.draw(DrawOfPart(next(draws).spec)) if slot is None else parent.symbols[slot]
            for slot in self._outer
        ]

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Other parts, nested as what it returns."""
        left = iter(leaves)
        parts = [None if each is None else next(left) for each in nest.flatten(self.returned)]
        return nest.pack_sequence_as(self.returned, parts)


def noted(parent: Recording, op: Op, inputs: Sequence[Any]) -> list[Any]:
    found = parent.add(op, inputs, {})
    return list(found) if isinstance(found, tuple) else [found]
