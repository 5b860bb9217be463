# SPDX-License-Identifier: Apache-2.0
"""Tracing of functions that branch on values: one trace for each path.

A function is called with symbols. When it asks whether a symbol is true, the operations so far
become a question, which is later asked of each element. The first time that an element gives a
new answer, the function is called again with this answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..columns import joined, taken
from ..ops import Draw
from .calls import Called
from .recording import Undecided
from .trace import Trace

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
        """Return the number of draws before the first question."""
        return len(self._way(())[0].draws)

    def run_block(
        self, count: int, columns: Sequence[Any], called: Called
    ) -> tuple[Any, list[Any]]:
        """Return the result's structure and its columns for `count` elements.

        Raises
        ------
        TypeError
            If it draws numbers after a question, or result types differ between paths; no
            random numbers are consumed then.
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
        slots: list[Any] = []
        while True:
            trace, structure = self._way(path)
            for at in range(len(drawn), len(trace.draws)):
                draw: Draw = trace.draws[at]
                drawn.append(draw.one(called.state(draw.start, trace.places[at])))
            found = trace.resumed((*values, *drawn), slots)
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
