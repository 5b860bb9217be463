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
from ..tensor import Tensor, convert_to_tensor
from .calls import CALLERS, DrawOfPart, Unfit, calling, current_call
from .recording import Recording
from .trace import Trace

__all__ = ["Draft", "Part", "as_part", "noted", "tracing"]


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


def as_part(value: Any) -> Any:
    """A value as a part of an element: a tensor, or an array of them."""
    if hasattr(value, "_node"):
        raise Unfit("a data set")
    return (
        value if isinstance(value, Tensor) or hasattr(value, "_raw") else convert_to_tensor(value)
    )


class Draft:
    """A function that has been called for a part, before it is known what of it is needed.

    Attributes
    ----------
    returned : object
        What it returns, nested as the program has it.
    """

    def __init__(self, function: Callable[..., Any], specs: Sequence[TypeSpec] = ()) -> None:
        self.count = len(specs)
        self._recording = Recording(specs, None, tracing())
        with calling(self._recording):
            self.returned = function(self._recording.inputs) if specs else function()

    def part(self, returned: Any, draws: bool = False) -> Part:
        """The part that returns this of it."""
        found = object.__new__(Part)
        found._finish(self, returned, draws)
        return found


CALLERS.add(Draft.__init__.__code__)


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
        draft = Draft(function, specs)
        self._finish(draft, draft.returned, draws)

    def _finish(self, draft: Draft, returned: Any, draws: bool) -> None:
        self.returned, self.count = returned, draft.count
        leaves = [leaf for leaf in nest.flatten(returned) if leaf is not None]
        with calling(draft._recording):
            self.trace = Trace(draft._recording, [as_part(leaf) for leaf in leaves])
        if self.trace.draws and not draws:
            raise Unfit("a loop draws numbers")
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
