# SPDX-License-Identifier: Apache-2.0
"""Public functions of both versions: written once, and instantiated for each version.

A subclass of :class:`Faces` defines the functions of one topic as methods. Each version creates
one object of every class, with its own :class:`Version`, which determines the type of tensors and
the wording of errors. If only the parameters of a function differ between the versions,
:func:`in_order` makes the function of one version from the other version's function.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ..dtypes import DType, bool_
from ..naming import accepting, named, renamed
from ..ops import Op
from .descriptions import DESCRIPTIONS, PARAMETERS


class Apply(Protocol):
    """A function that adds an operation to a graph, runs it or records it."""

    def __call__(
        self,
        op: Op,
        inputs: Sequence[Any],
        name: str | None = None,
        type: str | None = None,
        /,
        **attributes: Any,
    ) -> Any:
        """Return the output, or a tuple of several outputs; a list if all outputs are requested."""
        ...


class Version(NamedTuple):
    """How one version creates tensors, applies operations and rejects arguments.

    Attributes
    ----------
    tensor : callable
        Converts a value to a tensor, optionally of a given type.
    is_tensor : callable
        Returns whether a value is a tensor with its own type.
    apply : Apply
        Returns the output of an operation that has one output.
    apply_all : Apply
        Returns the outputs of an operation as a list.
    done : Apply
        Applies an operation without outputs. Returns the graph operation to run, or None if the
        operation has already run.
    apply_asserted : Apply
        Like `apply`, for operations whose arguments TensorFlow checks before it runs anything.
    checked : callable
        Takes an operation and a tensor, and returns the tensor if the operation accepts its type.
    pair : callable
        Takes the name of an operation and two values, and returns two tensors of one type.
    ragged : callable
        Returns the functions of ragged tensors.
    alike : callable
        Takes the name of an operation and values, and returns tensors of one type.
    integers : callable
        Takes a value, the names of its parameter and its attribute, the required rank and the
        allowed types, and returns a tensor.
    of_type : callable
        Takes an operation, a value, a type and the index of the input, and returns a tensor of
        that type.
    refused_type : callable
        Takes a parameter, an attribute, a type and the allowed types, and returns the error.
    refused_value : callable
        Takes the name of an operation, an attribute, a string and the allowed strings, and returns
        the error.
    refused_count : callable
        Takes the name of an operation, an attribute and a number below 1, and returns the error.
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
    """Functions of one topic, where all names of a function refer to the same object."""

    # Public order of parameters, if it differs from the method's, and a note for these functions.
    _orders: ClassVar[dict[str, str]] = {}
    _note = ""

    def __init__(self) -> None:
        for name in dir(type(self)):
            if not name.startswith("_"):
                function, order = getattr(self, name), self._orders.get(name)
                if order is not None:
                    function = in_order(function, order, self._note, name)
                setattr(self, name, function)

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

    if TYPE_CHECKING:  # these functions are created from tables

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def _operand(self, op: Op, value: Any) -> Any:
        """Convert a value to a tensor whose type the operation accepts."""
        tensor = self._given(value, bool_) if op.kinds == "b" else self._tensor(value)
        return self._version.checked(op, tensor)

    @property
    def _of_ragged(self) -> Any:
        """Return the functions of ragged tensors."""
        return self._version.ragged()

    def _given(self, value: Any, dtype: DType) -> Any:
        """Return a tensor unchanged, and convert any other value to a tensor of `dtype`."""
        return self._tensor(value, None if self._version.is_tensor(value) else dtype)


def functions_of(*faces: Functions) -> dict[str, Callable[..., Any]]:
    """Return the functions of several topics, by name."""
    found = {name: function for each in faces for name, function in vars(each).items()}
    return {name: function for name, function in found.items() if not name.startswith("_")}


def in_order(
    function: Callable[..., Any], order: str, note: str = "", public: str = ""
) -> Callable[..., Any]:
    """Return the same function with other parameters.

    Parameters
    ----------
    function : callable
    order : str
        The names of the new parameters. ``old=new`` renames a parameter, ``name!`` makes it
        required, ``-name`` adds a parameter that is ignored, and ``name:type`` declares a type.
        The other parameters follow in their order; a final ``.`` leaves them out.
    note : str
        Follows the description of the function.
    public : str
        The name in errors, if the function is public under another one.
    """
    import inspect  # the functions of version 2 do not need inspect

    positional, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    known = inspect.signature(function).parameters
    parameters: dict[str, inspect.Parameter] = {}
    renamed: dict[str, str] = {}
    unused = []
    for word in [*order.removesuffix(".").split(), *([] if order.endswith(".") else known)]:
        text, _, declared = word.strip("-!").partition(":")
        name, _, new = text.partition("=")
        if name in parameters:
            continue
        required = all(each.default is empty for each in parameters.values()) and not new
        default = known[name].default if name in known else None
        kind = known[new or name].annotation if (new or name) in known else Any
        if word.endswith("!"):
            default, kind = empty, str(kind).removesuffix(" | None")
        elif default is empty and not required:
            default = None  # the function itself reports the missing argument
        if new:
            renamed[name] = new
            kind = kind if "None" in str(kind) or kind in (Any, "Any") else f"{kind} | None"
        if word.startswith("-"):
            unused.append(name)
        kind = declared or kind
        parameters[name] = inspect.Parameter(name, positional, default=default, annotation=kind)
    signature = inspect.Signature(list(parameters.values()), return_annotation=Any)
    check = accepting(public or function.__name__, signature)

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        check(*arguments, **named)
        given = dict(zip(parameters, arguments, strict=False)) | named
        for old, new in renamed.items():
            if old in given:
                given[new] = one_of(old, given.pop(old), new, given.get(new))
        for name in unused:
            given.pop(name, None)
        return function(**given)

    called.__signature__ = signature  # type: ignore[attr-defined]
    if note:
        called.__doc__ = f"{function.__doc__}\n\n{note}"
    return called


def one_of(old: str, value: Any, new: str, other: Any) -> Any:
    """Return an argument that has an old and a new name.

    Raises
    ------
    ValueError
        If both are given.
    """
    if value is not None and other is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return value if other is None else other


# By topic: module and class.
_KINDS = {
    "activations": ("_tf.faces.math", "Activations"),
    "audio": ("extra.signal", "Audio"),
    "bitwise": ("_tf.faces.math", "Bitwise"),
    "characters": ("_tf.faces.characters", "Characters"),
    "checks": ("_tf.faces.checks", "Checks"),
    "codecs": ("_tf.faces.images", "ImageCodecs"),
    "encodings": ("_tf.faces.strings", "Encodings"),
    "images": ("_tf.faces.images", "Images"),
    "matrices": ("_tf.faces.math", "Matrices"),
    "measures": ("extra.measures", "Measures"),
    "ordering": ("_tf.faces.picking", "Ordering"),
    "parsers": ("_tf.faces.parsing", "Parsers"),
    "pixels": ("_tf.faces.segments", "Pixels"),
    "rare_matrices": ("_tf.faces.math", "RareMatrices"),
    "segments": ("_tf.faces.segments", "Segments"),
    "signals": ("extra.signal", "Signals"),
    "special": ("extra.special_functions", "Special"),
    "strings": ("_tf.faces.strings", "Strings"),
    "various": ("extra.special_functions", "Various"),
    "warps": ("extra.warps", "Warps"),
}


def topic(name: str, version: Version, ragged: type) -> Any:
    """Return the functions of a topic; `ragged` is the version's class of ragged tensors.

    Raises
    ------
    AttributeError
        If the topic does not exist.
    """
    if name not in _KINDS:
        raise AttributeError(name)
    module, kind = _KINDS[name]
    more = [ragged] if name == "characters" else []
    return getattr(importlib.import_module(f"fastrec.compat.{module}"), kind)(version, *more)
