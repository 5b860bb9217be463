# SPDX-License-Identifier: Apache-2.0
"""Bounds on the time that Python's backtracking ``re`` may take for a pattern.

TensorFlow matches with RE2, in time linear in the text. ``re`` tries the ways to divide a text
among the repetitions of a pattern one after the other: up to ``n ** k`` for `k` repetitions and `n`
bytes, and exponentially many if a repeated part can itself match in several ways. A hostile record
can hold such a text, so ``re`` gets a text only if its bound is acceptable. For other texts
google-re2 is required, which matches in linear time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as sre
    import sre_parse as parser

__all__ = ["MOST_STEPS", "Bound", "bound_of", "linear"]

#: Steps that a single text may cost: about a second.
MOST_STEPS = 100_000_000


class Bound(NamedTuple):
    """Number of ways to match a text of `n` bytes from one position: ``ways * n ** degree``."""

    ways: int
    degree: int

    def steps(self, size: int, starts: int) -> int:
        """Return the most steps for a text of `size` bytes and that many first positions."""
        steps: int = self.ways * size**self.degree * starts
        return steps


def bound_of(pattern: str, flags: int, is_search: bool) -> Bound | None:
    """Return the bound of a valid pattern; None if it is exponential in the size of a text.

    A search succeeds as soon as the last part has matched, so a repetition at the end is not
    divided again.
    """
    parts = list(parser.parse(pattern, flags))
    if is_search and parts and parts[-1][0] is sre.MAX_REPEAT and parts[-1][1][1] is sre.MAXREPEAT:
        last = _of_repeat(*parts.pop()[1])
        if last is None:
            return None
    return _of_sequence(parts)


def _of_sequence(parts: Sequence[Any]) -> Bound | None:
    ways, degree = 1, 0
    for op, argument in parts:
        bound = _of_part(op, argument)
        if bound is None:
            return None
        ways, degree = ways * bound.ways, degree + bound.degree
    return Bound(ways, degree)


def _of_part(op: Any, argument: Any) -> Bound | None:
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        return _of_repeat(*argument)
    if op is sre.SUBPATTERN:
        return _of_sequence(list(argument[-1]))
    if op is not sre.BRANCH:
        return Bound(1, 0)
    branches = [list(branch) for branch in argument[1]]
    bounds = [_of_sequence(branch) for branch in branches]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return None
    first = [branch[0][1] for branch in branches if branch and branch[0][0] is sre.LITERAL]
    is_decided = len(set(first)) == len(branches)  # The next character chooses the branch.
    ways = (max if is_decided else sum)(bound.ways for bound in known)
    return Bound(ways, max(bound.degree for bound in known))


def _of_repeat(least: int, most: Any, body: Any) -> Bound | None:
    bound = _of_sequence(list(body))
    if bound is None:
        return None
    if most is sre.MAXREPEAT:
        return Bound(1, 1) if bound == (1, 0) else None
    return Bound((most - least + 1) * bound.ways**most, bound.degree * most)


def linear(pattern: bytes) -> Any:
    """Return the pattern compiled by google-re2.

    Raises
    ------
    ImportError
        If google-re2 is not installed.
    """
    try:
        import re2
    except ImportError as error:
        raise ImportError(
            f"the pattern {pattern!r} may take exponential or polynomial time in Python's re: "
            "install google-re2, which matches in linear time (pip install 'fastrec-io[re2]')"
        ) from error
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
