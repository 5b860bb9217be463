# SPDX-License-Identifier: Apache-2.0
"""What operations are: what they do to one element, and to many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from fastrec.errors import FastrecError

from .errors import InvalidArgumentError, OpError
from .specs import TypeSpec

__all__ = ["Block", "Draw", "Op", "Parsing", "refused"]


@dataclass(frozen=True)
class Block:
    """What an operation gets of an input when it works on many elements at once."""

    value: Any  # a column, or the one value that all elements have
    many: bool


@dataclass(frozen=True)
class Op:
    """An operation.

    Attributes
    ----------
    name : str
    kernel : callable
        Of values and attributes; gives a value, or a tuple of `outputs` of them.
    infer : callable, optional
        Of the specs of the inputs and attributes; the list of specs of the outputs. By default the
        kernel is tried on zeros.
    block : callable, optional
        Of the number of elements, Blocks and attributes; a column, or a tuple of them, or None when
        it has to be element by element after all.
    pure : bool
        Whether it may be run ahead of time, and again.
    cheap : bool
        Whether it takes next to no time, whatever the size of what it gets.
    parsing : Parsing, optional
        How records are parsed natively, where that is what it does.
    """

    name: str
    kernel: Callable[..., Any]
    infer: Callable[..., list[TypeSpec]] | None = None
    block: Callable[..., Any] | None = None
    pure: bool = True
    cheap: bool = False
    parsing: Parsing | None = None


class Parsing(Protocol):
    """How records are parsed natively."""

    features: dict[Any, Any]

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """What an operation gives, of the columns of the features."""
        ...


class Draw(Protocol):
    """Random numbers that a function draws once for each element."""

    @property
    def spec(self) -> TypeSpec:
        """What one draw is."""
        ...

    def start(self) -> Any:
        """A generator of them, before its first draw."""
        ...

    def one(self, state: Any) -> NDArray[Any]:
        """The next draw."""
        ...

    def many(self, state: Any, count: int) -> NDArray[Any]:
        """A column of the next draws."""
        ...


def refused(error: Exception) -> Exception:
    """What NumPy says of values that an operation cannot work on, as TensorFlow's error."""
    if isinstance(error, (OpError, FastrecError)):
        return error
    return InvalidArgumentError(None, None, str(error))
