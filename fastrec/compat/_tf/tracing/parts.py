# SPDX-License-Identifier: Apache-2.0
"""Nested traces: the branches and loop bodies of a traced function.

A part captures the values that it uses from the enclosing function. Its random numbers are drawn
before the function runs, for the elements that reach the part, as TensorFlow would draw them.
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
    """Return the recording of the function being traced.

    Raises
    ------
    Unfit
        If no function is being traced.
    """
    call = current_call()
    if not isinstance(call, Recording):
        raise Unfit("a symbol outside of its function")
    return call


def as_part(value: Any) -> Any:
    """Convert a value to one that can be part of an element: a tensor or composite tensor."""
    if hasattr(value, "_node"):
        raise Unfit("a data set")
    return (
        value if isinstance(value, Tensor) or hasattr(value, "_raw") else convert_to_tensor(value)
    )


class Draft:
    """Recorded call of a function, before it is known which results are needed.

    Attributes
    ----------
    returned : object
        The function's result, nested as the program returned it.
    """

    def __init__(self, function: Callable[..., Any], specs: Sequence[TypeSpec] = ()) -> None:
        self.count = len(specs)
        self._recording = Recording(specs, None, tracing())
        with calling(self._recording):
            self.returned = function(self._recording.inputs) if specs else function()

    def part(self, returned: Any, draws: bool = False) -> Part:
        """Return the part that computes `returned`."""
        found = object.__new__(Part)
        found._finish(self, returned, draws)
        return found


CALLERS.add(Draft.__init__.__code__)


class Part:
    """Traced part of a function.

    Attributes
    ----------
    trace : Trace
    returned : object
        The result, nested as the program returned it.
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
        """Return the captured values, then symbols for drawn numbers, of the outer function."""
        draws = iter(self.trace.draws)
        return [
            parent.draw(DrawOfPart(next(draws).spec)) if slot is None else parent.symbols[slot]
            for slot in self._outer
        ]

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Nest `leaves` like the result of this part."""
        left = iter(leaves)
        parts = [None if each is None else next(left) for each in nest.flatten(self.returned)]
        return nest.pack_sequence_as(self.returned, parts)


def noted(parent: Recording, op: Op, inputs: Sequence[Any]) -> list[Any]:
    found = parent.add(op, inputs, {})
    return list(found) if isinstance(found, tuple) else [found]
