# SPDX-License-Identifier: Apache-2.0
"""Functions that decide by values, as with an ``if``: a trace for each way through them.

A function is called with symbols. Where it asks whether one is true, what it has done so far is
kept as a question, which is then asked of each element. The first time that an answer comes, the
function is called again, with this answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .ops import Draw
from .trace import Called, Trace, Undecided

__all__ = ["Branches"]

_MOST_WAYS = 64  # more are those of a loop, or of a function that never does the same

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
            trace = question.symbol.trace
            trace.finish([question.symbol])
            found = trace, _Question
        if not found[0].is_pure:
            raise TypeError("what a function does cannot be done again")
        self._ways[path] = found
        return found

    def __call__(self, values: Sequence[Any], called: Called) -> tuple[Any, list[Any]]:
        """The structure and the parts of what the function returns for an element."""
        path: Path = ()
        drawn: list[Any] = []
        while True:
            trace, structure = self._way(path)
            more: Sequence[Draw] = trace.draws[len(drawn) :]
            drawn += [draw.one(called.state(draw.start)) for draw in more]
            found = trace((*values, *drawn), together=True)
            if structure is not _Question:
                return structure, list(found)
            path = (*path, bool(found[0]))
