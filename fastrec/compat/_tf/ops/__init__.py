# SPDX-License-Identifier: Apache-2.0
"""Operations: their kernels for one element and for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from fastrec.errors import FastrecError

from ..dtypes import DType
from ..errors import InvalidArgumentError, OpError
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array

__all__ = [
    "Array",
    "Block",
    "Draw",
    "Mismatch",
    "Op",
    "Parsing",
    "constant_of",
    "invalid",
    "known_sizes",
    "of_type",
    "refused",
    "same_spec",
]

Array = np.ndarray[Any, Any]
Self = TypeVar("Self", bound="Op")


class Block:
    """Input of an operation that works on many elements at once.

    Attributes
    ----------
    value
        A column, or the one value that all elements have.
    many : bool
    """

    __slots__ = ("many", "value")

    def __init__(self, value: Any, many: bool) -> None:
        self.value, self.many = value, many


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
    large : bool
        Whether its parts work on images of some size.
    draws : Choosing, optional
        What its parts draw, where only some elements come to each.
    passes : callable, optional
        Of the value of the first input: of each output the place of the input that it is then, None
        for one that is made.
    only : callable, optional
        Of places of outputs: the operation that gives only these, and the places of its inputs.
    kinds : str
        The kinds of types that it takes, as NumPy's letters; all of them for the empty string.
    into : callable, optional
        The kernel, after an argument that gives memory for an array of a shape and type, or None.
    """

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        infer: Callable[..., list[TypeSpec]] | None = None,
        block: Callable[..., Any] | None = None,
        pure: bool = True,
        cheap: bool = False,
        parsing: Parsing | None = None,
        large: bool = False,
        draws: Choosing | None = None,
        passes: Callable[[Any], list[int | None]] | None = None,
        only: Callable[[Sequence[int]], tuple[Op, list[int]]] | None = None,
        kinds: str = "",
        into: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.kernel, self.infer, self.block = name, kernel, infer, block
        self.pure, self.cheap, self.parsing, self.only = pure, cheap, parsing, only
        self.large, self.draws, self.passes, self.kinds = large, draws, passes, kinds
        self.into = into

    def but(self: Self, **changes: Any) -> Self:
        """The same operation with other attributes."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made


class Parsing(Protocol):
    """Native parsing of records."""

    features: dict[Any, Any]

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """Outputs of the operation, from the columns of the features."""
        ...


class Choosing(Protocol):
    """What the parts of an operation draw, each for the elements that come to it.

    Attributes
    ----------
    needs : tuple of int
        The inputs that decide it, by their place.
    """

    needs: tuple[int, ...]

    def __call__(self, count: int, blocks: Sequence[Any], states: Any) -> dict[int, Array]:
        """Columns of what is drawn for `count` elements, by the place of the input."""
        ...


class Draw(Protocol):
    """Random numbers that a function draws for each element.

    Attributes
    ----------
    blocks : int
        What each draw sets aside.
    """

    blocks: int

    @property
    def spec(self) -> TypeSpec:
        """Spec of one draw."""
        ...

    def start(self) -> Any:
        """A generator of them, before its first draw."""
        ...

    def one(self, state: Any) -> Array:
        """The next draw."""
        ...

    def many(self, state: Any, count: int) -> Array:
        """A column of the next draws."""
        ...


class Mismatch(ValueError):
    """What does not go together, which TensorFlow says before it runs anything."""


def invalid(message: str) -> InvalidArgumentError:
    """Return the error of a kernel for an invalid value."""
    return InvalidArgumentError(None, None, message)


def constant_of(raw: Any) -> Array | None:
    """The value of an input that is the same whenever it is run; None for any other."""
    symbolic = getattr(raw, "known", None)
    return as_array(raw) if symbolic is None else symbolic()


def known_sizes(raw: Any) -> Sequence[int | None] | None:
    """Return the sizes that a shape has, as far as they are known before it is run."""
    value = constant_of(raw)
    if value is None:
        found: Sequence[int | None] | None = raw.known_sizes()
        return found
    return [None if size < 0 else size for size in value.reshape(-1).tolist()]


def same_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[Any]:
    """Specs of an output like the first input."""
    return [specs[0]]


def of_type(dtype: DType | str) -> Callable[..., list[TypeSpec]]:
    """Inference of an output that has the shape of the first input, and this type."""
    return lambda specs, *_, **__: [TensorSpec(specs[0].shape, dtype)]


def refused(error: Exception) -> Exception:
    """Return TensorFlow's error for values that NumPy cannot work on."""
    if isinstance(error, (OpError, FastrecError, Mismatch)):
        return error
    return InvalidArgumentError(None, None, str(error))
