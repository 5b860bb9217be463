# SPDX-License-Identifier: Apache-2.0
"""Functions that decide by values, as with an ``if``: a trace for each way through them.

A function is called with symbols. Where it asks whether one is true, what it has done so far is
kept as a question, which is then asked of each element. The first time that an answer comes, the
function is called again, with this answer.
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

__all__ = ["Branches"]

_MOST_WAYS = 64  # more are those of a loop, or of a function that never does the same
_MOST_QUESTIONS = 16  # of which all are answered alike

Path = tuple[bool, ...]


class _Question:
    """In the place of a structure: the trace gives the answer to a question."""


class Branches:
    """The ways through a function.

    Parameters
    ----------
    trace : callable
        Of answers: the trace of the function up to its end, and the structure of what it returns.
        It raises :class:`Undecided` where one answer more is needed.
    """

    def __init__(self, trace: Callable[[Path], tuple[Trace, Any]]) -> None:
        self._trace = trace
        self._ways: dict[Path, tuple[Trace, Any]] = {}

    def possible(self) -> bool:
        """Whether the function can be traced as far as its first question."""
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
        """Whether two of them, to their ends, can be run for many elements at once.

        These have to draw all that they do before the first question.
        """
        try:
            ends = [self._all_answered(answer)[0] for answer in (False, True)]
        except Exception:
            return False
        return not any(end.is_large or len(end.draws) > self._count_draws() for end in ends)

    def _count_draws(self) -> int:
        """How much is drawn before the first question."""
        return len(self._way(())[0].draws)

    def run_block(
        self, count: int, columns: Sequence[Any], called: Called
    ) -> tuple[Any, list[Any]]:
        """The structure of what the function returns, and columns of it, for `count` elements.

        Raises
        ------
        TypeError
            When it draws numbers after a question, or returns other types in other cases; nothing
            is drawn then.
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
        """The structure and the parts of what the function returns for an element."""
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
            if len(path) > _MOST_QUESTIONS:  # the other ways are for elements
                raise TypeError("too many questions")
        return found


def _differ(one: Any, other: Any) -> bool:
    first, second = (getattr(getattr(c, "values", c), "dtype", None) for c in (one, other))
    return first is not None and second is not None and first != second
