# SPDX-License-Identifier: Apache-2.0
"""Nested traces: the branches and loop bodies of a traced function.

A part captures the values that it uses from the enclosing function. Its random numbers are drawn
before the function runs, for the elements that reach the part, as TensorFlow would draw them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import nest
from ..columns import joined, taken
from ..errors import invalid
from ..ops import Block, Draw, Op
from ..specs import TypeSpec, common
from ..tensor import Tensor, convert_to_tensor
from .calls import CALLERS, Called, DrawOfPart, Unfit, calling, current_call
from .recording import Mistake, Recording, Symbol, Undecided, raw_of
from .running import as_column, part_of
from .trace import Trace


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


class _Choice:
    """Operation that runs one of several branches for each element.

    Parameters
    ----------
    parts : list of Trace
    numbers : dict
        Branch number by value of the first input; any other value selects the last branch.
    """

    def __init__(self, parts: Sequence[Trace], numbers: dict[int, int]) -> None:
        self._parts, self._numbers = parts, numbers
        ends = np.cumsum([1, *[len(part.given) for part in parts]]).tolist()
        self._places = [range(*pair) for pair in itertools.pairwise(ends)]
        self.needs = (0, *[
            at
            for part, places in zip(parts, self._places, strict=True)
            for slot, at in zip(part.given, places, strict=True)
            if slot in part.draws_need
        ])  # fmt: skip

    @property
    def op(self) -> Op:
        """The operation that makes the choice."""
        return Op(
            "Case",
            self.kernel,
            self.infer,
            self.block,
            pure=all(part.is_pure for part in self._parts),
            large=any(part.is_large for part in self._parts),
            draws=self if any(part.draws for part in self._parts) else None,
            only=self.only,
        )

    def only(self, places: Sequence[int]) -> tuple[Op, list[int]]:
        """Return the operation restricted to some outputs; see :class:`Op`."""
        parts = [part.only(places) for part in self._parts]
        inputs = [
            at
            for part, whole, all_places in zip(parts, self._parts, self._places, strict=True)
            for slot, at in zip(whole.given, all_places, strict=True)
            if slot in part.given
        ]
        return _Choice(parts, self._numbers).op, [0, *inputs]

    def kernel(self, value: Any, *inputs: Any) -> tuple[Any, ...]:
        if np.ndim(value):
            raise invalid(f"pred must be a scalar, but it has shape {list(np.shape(value))}")
        at = self._at(value)
        given = [inputs[place - 1] for place in self._places[at]]
        return self._parts[at](given)

    def _at(self, value: Any) -> int:
        return self._numbers.get(int(value), len(self._parts) - 1)

    def infer(self, *_: Any) -> list[TypeSpec]:
        first, *others = [part.specs for part in self._parts]
        for other in others:
            first = [common(a, b) for a, b in zip(first, other, strict=True)]
        return first

    def _rows(self, count: int, value: Block) -> list[np.ndarray[Any, Any]]:
        """Return the element numbers for each branch."""
        last = len(self._parts) - 1
        values = np.asarray(as_column(value, count)).reshape(count).tolist()
        numbers = np.array([self._numbers.get(int(each), last) for each in values])
        return [np.flatnonzero(numbers == at) for at in range(last + 1)]

    def block(self, count: int, *blocks: Block) -> tuple[Block, ...]:
        all_rows = self._rows(count, blocks[0])
        found, order = [], []
        for part, places, rows in zip(self._parts, self._places, all_rows, strict=True):
            if len(rows) == count:
                return tuple(part.run_blocks(count, [blocks[at] for at in places]))
            if len(rows):
                given = [part_of(blocks[at], rows) for at in places]
                found.append([as_column(b, len(rows)) for b in part.run_blocks(len(rows), given)])
                order.append(rows)
        places_of = np.argsort(np.concatenate(order))
        return tuple(
            Block(taken(joined(each), places_of), True) for each in zip(*found, strict=True)
        )

    def __call__(self, count: int, blocks: Sequence[Any], states: Any) -> dict[int, Any]:
        """Draw the random numbers of each branch for the elements that reach it."""
        found = {}
        all_rows = self._rows(count, blocks[0])
        for part, places, rows in zip(self._parts, self._places, all_rows, strict=True):
            own = dict(zip(part.given, places, strict=True))
            needed = set(part.draws_need)
            given = [
                part_of(blocks[own[slot]], rows) if slot in needed else None for slot in part.values
            ]
            drawn = part.draws_of(len(rows), given, states) if part.draws and len(rows) else None
            for number, (slot, draw) in enumerate(zip(part.drawn, part.draws, strict=True)):
                sizes = draw.spec.shape.as_list()
                column = np.zeros((count, *map(int, sizes)), draw.spec.dtype.numpy)
                if drawn is not None:
                    column[rows] = drawn[number]
                found[own[slot]] = column
        return found


def chosen(
    value: Symbol,
    functions: Sequence[Callable[[], Any]],
    numbers: dict[int, int],
    names: str = "true_fn and false_fn arguments to tf.cond",
) -> Any:
    """Record a choice between functions and return its symbolic result.

    Parameters
    ----------
    value : Symbol
        An integer or a truth value.
    functions : sequence of callable
    numbers : dict
        Function number by value; any other value selects the last function.
    names : str
        Name of the functions in error messages.

    Raises
    ------
    Unfit
        If the functions cannot be recorded.
    Mistake
        If the functions return different structures or types.
    """
    draws = not tracing().is_asking
    return chosen_part(value, [Part(each, draws=draws) for each in functions], numbers, names)


def chosen_part(
    value: Symbol, parts: Sequence[Part], numbers: dict[int, int], names: str = "sides"
) -> Any:
    """Record a choice between recorded parts; see :func:`chosen`."""
    parent = tracing()
    traces = [part.trace for part in parts]
    _check_alike(parts, names)
    inputs = [raw_of(value), *[each for part in parts for each in part.inputs(parent)]]
    op = _Choice(traces, numbers).op
    return parts[-1].packed(noted(parent, op, inputs))


def _check_alike(parts: Sequence[Part], names: str) -> None:
    kinds = [[(type(s), s.dtype) for s in part.trace.specs] for part in parts]
    try:
        for part in parts[1:]:
            nest.assert_same_structure(parts[0].returned, part.returned)
        alike = all(kind == kinds[0] for kind in kinds)
    except ValueError:
        alike = False
    if not alike:
        raise Mistake(
            f"{names} must have the same number, type, and overall structure of return values."
        )


_MOST_WAYS = 64  # more paths mean a loop, or a function that is never the same
_MOST_QUESTIONS = 16  # with the same answer to all of them

Path = tuple[bool, ...]


class _Question:
    """Marker instead of a structure: the trace computes the answer to a question."""


class Branches:
    """The traced paths through a function with branches.

    Parameters
    ----------
    trace : callable
        Takes answers; returns the trace of that path and the structure of its result. It raises
        :class:`Undecided` if another answer is needed.
    """

    def __init__(self, trace: Callable[[Path], tuple[Trace, Any]]) -> None:
        self._trace = trace
        self._ways: dict[Path, tuple[Trace, Any]] = {}

    def possible(self) -> bool:
        """Return whether the function can be traced up to its first question."""
        try:
            self._way(())
        except Exception:
            return False
        return True

    def _way(self, path: Path) -> tuple[Trace, Any]:
        found = self._ways.get(path)
        if found is not None:
            return found
        if len(self._ways) >= _MOST_WAYS:
            raise TypeError("too many ways through a function")
        try:
            found = self._trace(path)
        except Undecided as question:
            symbol = question.symbol
            found = Trace(symbol.recording, [symbol]), _Question
        if not found[0].is_pure:
            raise TypeError("what a function does cannot be done again")
        self._ways[path] = found
        return found

    def are_small(self) -> bool:
        """Return whether the two paths with constant answers can run on many elements at once.

        All random numbers must be drawn before the first question.
        """
        try:
            ends = [self._all_answered(answer)[0] for answer in (False, True)]
        except Exception:
            return False
        return not any(end.is_large or len(end.draws) > self._count_draws() for end in ends)

    def _count_draws(self) -> int:
        """Return the number of draws before the function asks for the value of a tensor."""
        return len(self._way(())[0].draws)

    def run_block(
        self, count: int, columns: Sequence[Any], called: Called
    ) -> tuple[Any, list[Any]]:
        """Return the result's structure and its columns for `count` elements.

        Raises
        ------
        TypeError
            If the function draws random numbers after it has asked for the value of a tensor, or
            returns different types for different values; no random numbers are consumed then.
        """
        trace = self._way(())[0]
        with called.drawing():
            drawn = [
                draw.many(called.state(draw.start, place), count)
                for draw, place in zip(trace.draws, trace.places, strict=True)
            ]
            return self._of_block((), count, [*columns, *drawn])

    def _of_block(self, path: Path, count: int, columns: Sequence[Any]) -> tuple[Any, list[Any]]:
        trace, structure = self._way(path)
        if len(trace.draws) != self._count_draws():
            raise TypeError("numbers are drawn for one element after the other")
        found = trace.run_block(count, columns)
        if structure is not _Question:
            return structure, found
        answers = np.asarray(found[0]).reshape(count).astype(bool)
        if (answers == answers[0]).all():
            return self._of_block((*path, bool(answers[0])), count, columns)
        sides = [np.flatnonzero(~answers), np.flatnonzero(answers)]
        (one, first), (other, second) = (
            self._of_block((*path, bool(n)), len(rows), [taken(c, rows) for c in columns])
            for n, rows in enumerate(sides)
        )
        if one != other or any(_differ(*pair) for pair in zip(first, second, strict=True)):
            raise TypeError("the ways through a function give other types")
        order = np.argsort(np.concatenate(sides))
        return one, [taken(joined(pair), order) for pair in zip(first, second, strict=True)]

    def __call__(self, values: Sequence[Any], called: Called) -> tuple[Any, list[Any]]:
        """Return the structure and the parts of the function's result for one element."""
        path: Path = ()
        drawn: list[Any] = []
        known: dict[int, Any] = {}
        while True:
            trace, structure = self._way(path)
            for at in range(len(drawn), len(trace.draws)):
                draw: Draw = trace.draws[at]
                drawn.append(draw.one(called.state(draw.start, trace.places[at])))
            found = trace.resumed((*values, *drawn), known)
            if structure is not _Question:
                return structure, list(found)
            path = (*path, bool(found[0]))

    def _all_answered(self, answer: bool) -> tuple[Trace, Any]:
        path: Path = ()
        while (found := self._way(path))[1] is _Question:
            path = (*path, answer)
            if len(path) > _MOST_QUESTIONS:  # the other paths are called with an element
                raise TypeError("too many questions")
        return found


def _differ(one: Any, other: Any) -> bool:
    first, second = (getattr(getattr(c, "values", c), "dtype", None) for c in (one, other))
    return first is not None and second is not None and first != second
