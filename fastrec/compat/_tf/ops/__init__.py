# SPDX-License-Identifier: Apache-2.0
"""Operations, with kernels for one element and for many elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from fastrec.errors import FastrecError

from ..dtypes import DType
from ..errors import OpError, invalid
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array

Array = np.ndarray[Any, Any]
Self = TypeVar("Self", bound="Op")


class Block:
    """An input of an operation on many elements.

    Attributes
    ----------
    value
        A column, or one value that all elements share.
    many : bool
        Whether `value` is a column.
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
        Takes values and attributes. Returns a value, or a tuple with a value for each output.
    infer : callable
        Takes the specs of the inputs, the inputs and attributes. Returns the list of specs of the
        outputs.
    block : callable, optional
        Takes the number of elements, Blocks and attributes. Returns a column, or a tuple of
        columns, or None if the elements must be processed one by one.
    pure : bool
        Whether the operation may run ahead of time and more than once.
    cheap : bool
        Whether the operation takes almost no time, regardless of the size of its inputs.
    parsing : Parsing, optional
        For an operation that parses records: how they are parsed natively.
    large : bool
        Whether the parts of the operation process images of considerable size.
    draws : Choosing, optional
        The random draws of the parts, if each part receives only some of the elements.
    only : callable, optional
        Takes indices of outputs. Returns an operation that computes only these outputs, and the
        indices of its inputs.
    kinds : str
        The accepted kinds of types, as NumPy's letters. An empty string accepts all types.
    into : callable, optional
        The kernel with an additional first argument: a function that returns memory for an array of
        a shape and type, or None.
    blocking : bool
        Whether it may wait for another operation of a session's step.
    """

    blocking: bool = False

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        infer: Callable[..., list[TypeSpec]],
        block: Callable[..., Any] | None = None,
        pure: bool = True,
        cheap: bool = False,
        parsing: Parsing | None = None,
        large: bool = False,
        draws: Choosing | None = None,
        only: Callable[[Sequence[int]], tuple[Op, list[int]]] | None = None,
        kinds: str = "",
        into: Callable[..., Any] | None = None,
    ) -> None:
        self.name: str = name
        self.kernel: Final = kernel
        self.infer: Final = infer
        self.block: Final = block
        self.pure: bool = pure
        self.cheap: bool = cheap
        self.parsing: Final = parsing
        self.only: Final = only
        self.large: bool = large
        self.draws: Final = draws
        self.kinds: str = kinds
        self.into = into

    def but(self: Self, **changes: Any) -> Self:
        """Return the same operation with other attributes."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made


class Parsing(Protocol):
    """Native parsing of records."""

    features: dict[Any, Any]

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """Return the outputs of the operation from the columns of the features."""
        ...


class Choosing(Protocol):
    """The random draws of the parts of an operation, each for the elements that the part receives.

    Attributes
    ----------
    needs : tuple of int
        The indices of the inputs that determine the draws.
    """

    needs: tuple[int, ...]

    def __call__(self, count: int, blocks: Sequence[Any], states: Any) -> dict[int, Array]:
        """Return the columns of draws for `count` elements, by the index of the input."""
        ...


class Draw(Protocol):
    """Random numbers that a function draws for each element.

    Attributes
    ----------
    blocks : int
        The number of blocks that each draw reserves.
    """

    blocks: int

    @property
    def spec(self) -> TypeSpec:
        """The spec of one draw."""
        ...

    def start(self) -> Any:
        """Return a generator of draws before its first draw."""
        ...

    def one(self, state: Any) -> Array:
        """Return the next draw."""
        ...

    def many(self, state: Any, count: int) -> Array:
        """Return a column of the next draws."""
        ...


class Mismatch(ValueError):
    """An incompatibility of inputs, which TensorFlow reports before it runs anything."""


def constant_of(raw: Any) -> Array | None:
    """Return the value of an input if it is the same in every run, and None otherwise."""
    symbolic = getattr(raw, "known", None)
    return as_array(raw) if symbolic is None else symbolic()


def known_sizes(raw: Any) -> Sequence[int | None] | None:
    """Return the sizes of a shape, as far as they are known before it is computed."""
    value = constant_of(raw)
    if value is None:
        found: Sequence[int | None] | None = raw.known_sizes()
        return found
    return [None if size < 0 else size for size in value.reshape(-1).tolist()]


def same_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[Any]:
    """Return the spec of the first input as the spec of the output."""
    return [specs[0]]


def known_specs(specs: Sequence[TypeSpec]) -> Callable[..., list[TypeSpec]]:
    """Return an inference function for outputs with these specs, whatever the inputs are."""
    return lambda *_, **__: list(specs)


def of_type(dtype: DType | str) -> Callable[..., list[TypeSpec]]:
    """Return an inference function for an output of this type in the first input's shape."""
    return lambda specs, *_, **__: [TensorSpec(specs[0].shape, dtype)]


def refused(error: Exception) -> Exception:
    """Return TensorFlow's error for values that NumPy cannot process."""
    if isinstance(error, (OpError, FastrecError, Mismatch)):
        return error
    return invalid(str(error))
