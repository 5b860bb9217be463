# SPDX-License-Identifier: Apache-2.0
"""Calls of functions of programs, and the places at which these draw."""

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

__all__ = [
    "CALLERS",
    "Called",
    "DrawOfPart",
    "Draws",
    "Unfit",
    "apart",
    "calling",
    "current_call",
    "drawing",
    "repeated",
]

T = TypeVar("T")


class Unfit(TypeError):
    """Raised when a part of a function cannot be an operation."""


class DrawOfPart(NamedTuple):
    """Random numbers that a part of a function draws, for the elements that come to it."""

    spec: TypeSpec


# The code that calls functions of programs: what is above it says nothing about their draws.
CALLERS: set[Any] = set()


class Draws:
    """The draws of a call of a function, told apart by where the program makes them.

    So they keep their states whichever way the function takes, as each operation of TensorFlow's
    graph of it does.

    Attributes
    ----------
    visits : dict
        How many draws each place has made.
    unseeded : int
        How many of its draws have no seed of their own.
    draws : list of Draw or DrawOfPart
        Those that are noted down, to be made later.
    """

    def __init__(self) -> None:
        self.visits: dict[Any, int] = {}
        self.unseeded = 0
        self.draws: list[Any] = []

    def _place(self) -> Any:
        """That of a draw: what its operation, which calls the caller of this, is called from."""
        found, frame = [], sys._getframe(3)
        while frame.f_back is not None and frame.f_code not in CALLERS:
            found.append((id(frame.f_code), frame.f_lasti))
            frame = frame.f_back
        at = tuple(found)
        self.visits[at] = number = self.visits.get(at, 0) + 1
        return at, number


class Called(Draws):
    """A call of a function with values.

    Parameters
    ----------
    states : dict
        What each of its draws has come to in earlier calls.
    """

    def __init__(self, states: dict[Any, Any]) -> None:
        super().__init__()
        self._states = states

    def state(self, make: Callable[[], T], place: Any = None) -> T:
        """Random state of a draw of this call; `make` returns the initial one.

        The place is that of a draw that was noted down.
        """
        at = place or self._place()
        found: T | None = self._states.get(at)
        return self._states.setdefault(at, make()) if found is None else found

    def drawing(self) -> contextlib.AbstractContextManager[None]:
        """While it draws what is drawn again if it fails."""
        return drawing(self._states)


@contextlib.contextmanager
def drawing(states: dict[Any, Any]) -> Iterator[None]:
    """While numbers are drawn from states, which are as they were if that fails."""
    before = {key: state.position for key, state in states.items()}
    try:
        yield
    except Exception:
        for key in states.keys() - before.keys():
            del states[key]
        for key, position in before.items():
            states[key].position = position
        raise


# The function that a data set calls now.
_CURRENT: contextvars.ContextVar[Recording | Called | None] = contextvars.ContextVar("call")


def current_call() -> Recording | Called | None:
    """The call of a function of a data set that is going on: with symbols, or with values."""
    return _CURRENT.get(None)


@contextlib.contextmanager
def calling(call: Recording | Called) -> Iterator[None]:
    """While a data set calls a function."""
    before = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def apart(function: Callable[..., T]) -> Callable[..., T]:
    """A function whose draws in a data set count their seeds for themselves."""

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
    """The body of a loop, whose draws go on from one call to the next.

    Raises
    ------
    Unfit
        When a part of it draws, which would not.
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
