# SPDX-License-Identifier: Apache-2.0
"""Calls of a program's functions, and the random numbers that they draw."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..specs import TypeSpec

if TYPE_CHECKING:
    from .recording import Recording

T = TypeVar("T")


class Unfit(TypeError):
    """Raised if a part of a function cannot be recorded as an operation."""


class DrawOfPart(NamedTuple):
    """Random numbers of a part of a function, drawn only for the elements that reach it."""

    spec: TypeSpec


# Code that calls a program's functions; frames above it do not identify a draw.
CALLERS: set[Any] = set()


class Draws:
    """Random draws of one function call, identified by their places in the program.

    Each place keeps its own random state, whichever branch the function takes, as each
    operation of TensorFlow's graph does.

    Attributes
    ----------
    visits : dict
        Number of draws at each place so far.
    unseeded : int
        Number of draws without a seed of their own.
    draws : list of Draw or DrawOfPart
        Recorded draws, to be made later.
    """

    def __init__(self) -> None:
        self.visits: dict[Any, int] = {}
        self.unseeded = 0
        self.draws: list[Any] = []

    def _place(self) -> Any:
        """Return the place of a draw: the call stack above the operation, and a repeat count."""
        found, frame = [], sys._getframe(3)
        while frame.f_back is not None and frame.f_code not in CALLERS:
            found.append((id(frame.f_code), frame.f_lasti))
            frame = frame.f_back
        at = tuple(found)
        self.visits[at] = number = self.visits.get(at, 0) + 1
        return at, number


class Called(Draws):
    """Call of a function with values.

    Parameters
    ----------
    states : dict
        Random state of each draw, kept between calls.
    """

    def __init__(self, states: dict[Any, Any]) -> None:
        super().__init__()
        self._states = states

    def state(self, make: Callable[[], T], place: Any = None) -> T:
        """Return the random state of a draw of this call; `make` creates the initial state.

        `place` identifies a draw that was recorded earlier.
        """
        at = place or self._place()
        found: T | None = self._states.get(at)
        return self._states.setdefault(at, make()) if found is None else found

    def drawing(self) -> contextlib.AbstractContextManager[None]:
        """Restore the random states if the ``with`` block raises."""
        return drawing(self._states)


@contextlib.contextmanager
def drawing(states: dict[Any, Any]) -> Iterator[None]:
    """Restore `states` if the ``with`` block raises, so that retrying draws the same numbers."""
    before = {key: state.position for key, state in states.items()}
    try:
        yield
    except Exception:
        for key in states.keys() - before.keys():
            del states[key]
        for key, position in before.items():
            states[key].position = position
        raise


# The function call that a dataset is currently making.
_CURRENT: contextvars.ContextVar[Recording | Called | None] = contextvars.ContextVar("call")


def current_call() -> Recording | Called | None:
    """Return the current call of a dataset's function, with symbols or with values."""
    return _CURRENT.get(None)


@contextlib.contextmanager
def calling(call: Recording | Called) -> Iterator[None]:
    """Make `call` the current call inside a ``with`` block."""
    before = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def apart(function: Callable[..., T]) -> Callable[..., T]:
    """Wrap a function so that its unseeded draws are counted separately from the caller's."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> T:
        if (call := current_call()) is None:
            return function(*args, **named)
        outer, call.unseeded = call.unseeded, 0
        try:
            return function(*args, **named)
        finally:
            call.unseeded = outer

    return called


def repeated(function: Callable[..., T]) -> Callable[..., T]:
    """Wrap a loop body so that the draws of each call continue those of the previous call.

    Raises
    ------
    Unfit
        If a conditional part of the body draws, because its draws cannot continue.
    """
    visits: dict[Any, int] | None = None

    @functools.wraps(function)
    def called(*arguments: Any) -> T:
        nonlocal visits
        call = current_call()
        if call is None:
            return function(*arguments)
        visits = dict(call.visits) if visits is None else visits
        call.visits, outer, call.unseeded = dict(visits), call.unseeded, 0
        drawn = len(call.draws)
        try:
            found = function(*arguments)
        finally:
            call.unseeded = outer
        if any(isinstance(each, DrawOfPart) for each in call.draws[drawn:]):
            raise Unfit("a part of a loop draws numbers")
        return found

    return called
