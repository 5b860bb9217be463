# SPDX-License-Identifier: Apache-2.0
"""Public functions that both versions have: written once, and made for each of them.

A class of :class:`Faces` has the functions of a topic. A version makes one object of it, with the
:class:`Version` that says what tensors are there and how errors read; its methods are the
functions. What a version calls by other arguments is a function of the version's own, on top.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ..dtypes import DType, bool_
from ..naming import named, renamed
from ..ops import Op
from .descriptions import DESCRIPTIONS, PARAMETERS

__all__ = ["Apply", "Faces", "Functions", "Version", "functions_of", "in_order", "one_of"]


class Apply(Protocol):
    """Adds an operation to a graph, runs it, or notes it down."""

    def __call__(
        self,
        op: Op,
        inputs: Sequence[Any],
        name: str | None = None,
        type: str | None = None,
        /,
        **attributes: Any,
    ) -> Any:
        """The output; a tuple of them where there are several, unless all are asked for."""
        ...


class Version(NamedTuple):
    """How one version makes tensors, applies operations and refuses arguments.

    Attributes
    ----------
    tensor : callable
        A value, and optionally a type, as a tensor.
    is_tensor : callable
        Whether a value is a tensor, and has a type of its own.
    apply : Apply
        The output of an operation of one output.
    apply_all : Apply
        The outputs of an operation, as a list.
    done : Apply
        What a graph runs for an operation without outputs; None where that is done.
    apply_asserted : Apply
        As `apply`, for operations whose checks TensorFlow makes before it runs anything.
    checked : callable
        An operation and a tensor; the tensor, whose type the operation takes.
    pair : callable
        The name of an operation and two values; tensors of one type.
    ragged : callable
        Gives the functions of ragged tensors.
    alike : callable
        The name of an operation and values; tensors of one type.
    integers : callable
        A value, the parameter and the attribute that it is for, the rank that it must have and the
        types that it may have; a tensor.
    of_type : callable
        An operation, a value, a type and the number of the input; a tensor of that type.
    refused_type : callable
        The parameter, the attribute, the type and the allowed ones; the error.
    refused_value : callable
        The name of an operation, the attribute, the string and the allowed ones; the error.
    refused_count : callable
        The name of an operation, the attribute and the number, which is below 1; the error.
    """

    tensor: Callable[..., Any]
    is_tensor: Callable[[Any], bool]
    apply: Apply
    apply_all: Apply
    done: Apply
    apply_asserted: Apply
    checked: Callable[[Op, Any], Any]
    pair: Callable[[str, Any, Any], tuple[Any, Any]]
    ragged: Callable[[], Any]
    alike: Callable[[str, Sequence[Any]], list[Any]]
    integers: Callable[..., Any]
    of_type: Callable[..., Any]
    refused_type: Callable[[str, str, DType, Sequence[str]], Exception]
    refused_value: Callable[[str, str, str, Sequence[str]], Exception]
    refused_count: Callable[[str, str, int], Exception]


class Functions:
    """Functions of one topic, each the same object under all of its names."""

    _orders: ClassVar[dict[str, str]] = {}  # of parameters, where they are not those of the method

    def __init__(self) -> None:
        for name in dir(type(self)):
            if not name.startswith("_"):
                function, order = getattr(self, name), self._orders.get(name)
                setattr(self, name, function if order is None else in_order(function, order))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            inner = getattr(value, "__func__", value)
            if isinstance(inner, FunctionType) and "<locals>" in inner.__qualname__:
                doc, parameters = DESCRIPTIONS.get(name), PARAMETERS.get(name, "")
                named(inner, name, type(self).__name__.lstrip("_"), doc, parameters)
            value = renamed(value, name)
        super().__setattr__(name, value)


class Faces(Functions):
    """Functions of one topic, for one of the versions."""

    def __init__(self, version: Version) -> None:
        super().__init__()
        self._version = version
        self._tensor, self._apply = version.tensor, version.apply

    if TYPE_CHECKING:  # functions that are made of tables

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def _operand(self, op: Op, value: Any) -> Any:
        """A tensor that an operation takes."""
        tensor = self._given(value, bool_) if op.kinds == "b" else self._tensor(value)
        return self._version.checked(op, tensor)

    @property
    def _of_ragged(self) -> Any:
        """The functions of ragged tensors."""
        return self._version.ragged()

    def _given(self, value: Any, dtype: DType) -> Any:
        """A tensor as it is; anything else as one of `dtype`."""
        return self._tensor(value, None if self._version.is_tensor(value) else dtype)


def functions_of(*faces: Functions) -> dict[str, Callable[..., Any]]:
    """The functions of some topics, by name."""
    found = {name: function for each in faces for name, function in vars(each).items()}
    return {name: function for name, function in found.items() if not name.startswith("_")}


def in_order(function: Callable[..., Any], order: str) -> Callable[..., Any]:
    """The same function with other parameters.

    Parameters
    ----------
    function : callable
    order : str
        The names of its parameters; ``old=new`` for one of another name, and ``-name`` for one
        that it has not, and that has no effect.
    """
    import inspect  # which functions of version 2 do without

    pairs = [each.strip("-").partition("=") for each in order.split()]
    renamed = {old: new for old, _, new in pairs if new}
    unused = {each[1:] for each in order.split() if each.startswith("-")}
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    known = dict(inspect.signature(function).parameters)
    parameters: list[inspect.Parameter] = []
    for old, _, new in [*pairs, *((name, "", "") for name in known)]:
        if old in {parameter.name for parameter in parameters}:
            continue
        required = all(each.default is each.empty for each in parameters) and not new
        default = known[old].default if old in known else None
        if default is inspect.Parameter.empty and not required:
            default = None  # the function itself says that the argument is missing
        parameters.append(inspect.Parameter(old, positional, default=default))
    signature = inspect.Signature(parameters, return_annotation=Any)

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        given = signature.bind_partial(*arguments, **named).arguments
        for old in renamed.keys() & given.keys():
            new = renamed[old]
            given[new] = one_of(old, given.pop(old), new, given.get(new))
        return function(**{name: value for name, value in given.items() if name not in unused})

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def one_of(old: str, value: Any, new: str, other: Any) -> Any:
    """An argument that has two names.

    Raises
    ------
    ValueError
        When both are given.
    """
    if value is not None and other is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return value if other is None else other
