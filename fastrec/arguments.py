# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of public functions, by their annotations."""

from __future__ import annotations

import ast
import math
import numbers
import os
import reprlib
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from operator import index
from types import UnionType
from typing import Any, Literal, NamedTuple, Union

import numpy as np
from numpy import bool_, generic
from numpy.typing import NDArray

__all__ = [
    "check_fields",
    "check_int",
    "check_keys",
    "check_path",
    "check_types",
    "checked_arguments",
    "is_bytes_like",
    "is_int",
    "is_number",
    "shown",
]


class _WrongValueError(Exception):
    """A value has the right type and is nevertheless not allowed."""


class _Kind(NamedTuple):
    """One kind of values that an annotation allows."""

    text: str
    """What a value must be, as messages say it."""
    takes: Callable[[Any], bool]
    """Whether a value is of this kind; raises _WrongValueError with what is wrong about it."""


def shown(value: Any) -> str:
    """Return the beginning of a value's repr in ASCII, as messages show it."""
    return reprlib.repr(value)[:80].encode("ascii", "backslashreplace").decode()


def check_keys(keys: Any, count: int) -> NDArray[np.uint64]:
    """Return the keys of random changes as an array, one for each of `count` images.

    Raises
    ------
    TypeError, ValueError
        If the keys are not integers from 0 to 2**64 - 1, or not one for each.
    """
    numbers = np.asarray(keys)
    if numbers.shape != (count,):
        raise ValueError(f"keys must be one for each of {count} images, got shape {numbers.shape}")
    if not isinstance(keys, np.ndarray) and numbers.dtype.kind == "f":
        numbers = np.asarray(keys, object)  # NumPy makes floats of ints above and below 2**63
    if count and numbers.dtype.kind not in "iu" and not all(map(is_int, numbers)):
        raise TypeError(f"keys must be integers from 0 to 2**64 - 1, got {shown(keys)}")
    if count and numbers.dtype != np.uint64 and not (numbers.min() >= 0 and numbers.max() < 2**64):
        low, high = numbers.min(), numbers.max()
        raise ValueError(f"keys must be from 0 to 2**64 - 1, got {low} to {high}")
    return np.ascontiguousarray(numbers, np.uint64)


def check_types(function: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Raise unless arguments are of the kinds that the annotations of a function name.

    The first statement of a public function is ``check_types(function, locals())``. A parameter is
    not checked if its annotation has ``Any`` or a name that is imported for type checkers only.
    True and False are not accepted as integers or numbers, and integers are not accepted as True
    or False. Numbers must be finite, and paths must not be empty. NumPy's scalars are accepted like
    Python's.

    Raises
    ------
    TypeError
        If an argument is of another type.
    ValueError
        If it has the right type and a value that is not allowed.
    """
    for name, kinds in _kinds_of_function(function).items():
        if name in values:
            _check(name, values[name], kinds)


def checked_arguments(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Check arguments like :func:`check_types`, and return them to be passed on as keywords."""
    check_types(function, values)
    return {name: values[name] for name in function.__annotations__ if name != "return"}


def check_fields(instance: Any, skip: Collection[str] = ()) -> None:
    """Check the fields of a frozen dataclass as :func:`check_types` checks arguments.

    NumPy's scalars are replaced by Python's. The caller checks the fields in `skip`.
    """
    for name, kinds in _kinds_of_class(instance.__class__).items():
        if name in skip:
            continue
        value = getattr(instance, name)
        _check(name, value, kinds)
        if isinstance(value, generic):
            object.__setattr__(instance, name, value.item())


def check_int(name: str, value: Any, least: int, most: int) -> int:
    """Return an argument as an int.

    Raises
    ------
    TypeError
        If it is not an integer. True and False are not integers here.
    ValueError
        If it is less than `least` or more than `most`.
    """
    if not is_int(value):
        raise TypeError(f"{name} must be an int, got {shown(value)}")
    number = index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")
    return number


def check_path(name: str, value: Any) -> None:
    """Raise unless an argument is a path: a str, bytes or an os.PathLike that is not empty.

    Integers are not paths: ``open(1)`` would open, and close, standard output.
    """
    _check(name, value, (_PATH,))


def _check(name: str, value: Any, kinds: tuple[_Kind, ...]) -> None:
    problem: str | None = None
    for kind in kinds:
        try:
            if kind.takes(value):
                return
        except _WrongValueError as error:
            problem = str(error)
    if problem is not None:
        raise ValueError(f"{name} {problem}")
    text = f"{name} must be {_joined([kind.text for kind in kinds])}, got {shown(value)}"
    choices = [kind for kind in kinds if kind.text[0] == "'"]
    others = [kind for kind in kinds if kind not in choices and kind.text not in _WORDLESS]
    is_word = isinstance(value, str) or not others
    raise (ValueError if choices and is_word else TypeError)(text)


def _joined(texts: list[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} or {unique[-1]}"


def is_int(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    if type(value) is int:
        return True
    if isinstance(value, (bool, bool_)):
        return False
    try:
        index(value)
    except TypeError:
        return False
    return True


def is_bytes_like(value: Any) -> bool:
    """Return whether a value has a buffer of bytes, as bytes, bytearrays and arrays have."""
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; raise an exception if it is NaN or infinite."""
    if isinstance(value, (bool, bool_)) or not isinstance(value, numbers.Real):
        return False
    try:
        if math.isfinite(value):
            return True
    except OverflowError:
        pass
    raise _WrongValueError(f"must be a finite number, got {shown(value)}")


def _is_choice(choice: Any, value: Any) -> bool:
    return type(value) is type(choice) and bool(value == choice)


def _is_path(value: Any) -> bool:
    if not isinstance(value, (str, bytes, os.PathLike)):
        return False
    name = os.fspath(value)
    if not name:
        raise _WrongValueError("must be a path, got an empty one")
    if (b"\0" if isinstance(name, bytes) else "\0") in name:
        raise _WrongValueError(f"must be a path without null characters, got {shown(value)}")
    return True


_PATH = _Kind("a path", _is_path)
# With these and some choices only, a wrong value raises ValueError, because choices are strings.
_WORDLESS = ("None", "callable")
_NONE = _Kind("None", lambda value: value is None)
_PLAIN: dict[Any, _Kind] = {
    None: _NONE,
    type(None): _NONE,
    bool: _Kind("True or False", lambda value: isinstance(value, (bool, bool_))),
    int: _Kind("an int", is_int),
    float: _Kind("a number", is_number),
    str: _Kind("a str", lambda value: isinstance(value, str)),
    bytes: _Kind("bytes", lambda value: isinstance(value, bytes)),
    os.PathLike: _PATH,
}


@cache
def _kinds_of_function(function: Any) -> dict[str, tuple[_Kind, ...]]:
    return _kinds(function.__annotations__, function.__globals__)


@cache
def _kinds_of_class(kind: Any) -> dict[str, tuple[_Kind, ...]]:
    from dataclasses import fields

    texts = {field.name: field.type for field in fields(kind)}
    return _kinds(texts, vars(sys.modules[kind.__module__]))


def _kinds(texts: Mapping[str, Any], names: dict[str, Any]) -> dict[str, tuple[_Kind, ...]]:
    """Return the kinds of each parameter whose annotation can be checked."""
    names = {"os": os, "Any": Any, **names}  # PathLike, an alias, has a reference to these
    found: dict[str, tuple[_Kind, ...]] = {}
    for name, text in texts.items():
        kinds: list[_Kind] = []
        if name != "return" and _add(text, names, kinds):
            if _PATH in kinds:  # a str in a union with os.PathLike is a path
                kinds = [kind for kind in kinds if kind.text not in ("a str", "bytes")]
            found[name] = tuple(kinds)
    return found


def _add(annotation: Any, names: dict[str, Any], kinds: list[_Kind]) -> bool:
    """Add the kinds of an annotation; return False if it cannot be checked."""
    if isinstance(annotation, str):
        return _add_node(ast.parse(annotation, mode="eval").body, names, kinds)
    if isinstance(annotation, typing.ForwardRef):
        return _add(annotation.__forward_arg__, names, kinds)
    if annotation is Any:
        return False
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, UnionType):
        return all(_add(each, names, kinds) for each in arguments)
    if origin is Literal:
        kinds += [_Kind(repr(each), partial(_is_choice, each)) for each in arguments]
        return True
    plain = _PLAIN.get(origin or annotation)
    if plain is None and origin is not np.ndarray:  # for lists are arrays, too
        plain = _kind_of_generic(origin or annotation, arguments, names)
    if plain is not None:
        kinds.append(plain)
    return plain is not None


def _add_node(node: ast.expr, names: dict[str, Any], kinds: list[_Kind]) -> bool:
    if isinstance(node, ast.BinOp):
        return all(_add_node(each, names, kinds) for each in (node.left, node.right))
    try:
        # The text is an annotation in this package, never an argument.
        return _add(eval(ast.unparse(node), names), names, kinds)
    except NameError:  # imported for type checkers only
        if not isinstance(node, ast.Name) or node.id not in sys.modules[__package__].__all__:
            return False
    name = node.id
    kinds.append(
        _Kind(_with_article(name), lambda v: any(c.__name__ == name for c in type(v).__mro__))
    )
    return True


def _kind_of_generic(origin: Any, arguments: Any, names: dict[str, Any]) -> _Kind | None:
    if not isinstance(origin, type) or origin.__module__ == "typing":
        return None
    if getattr(origin, "_is_protocol", False):
        return None
    if origin.__module__ == "collections.abc":
        if origin.__name__ == "Callable":
            return _Kind("callable", callable)
        if issubclass(origin, Mapping):
            return _Kind("a mapping", lambda value: isinstance(value, Mapping))
        if issubclass(origin, Iterable):
            return _kind_of_items(arguments, names, origin is Iterable)
        return None
    if origin is tuple:
        return _kind_of_tuple(arguments, names)
    return _Kind(_with_article(origin.__name__), lambda value: isinstance(value, origin))


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _kind_of_items(arguments: Any, names: dict[str, Any], is_any: bool) -> _Kind:
    items: list[_Kind] = []
    known = bool(arguments) and _add(arguments[0], names, items)
    text = "an iterable" if is_any else "a list"
    if known:
        text += f" of {_joined(_without_articles(items))}"

    def takes(value: Any) -> bool:
        is_text = isinstance(value, (str, bytes, Mapping)) or getattr(value, "shape", None) == ()
        if is_text or not isinstance(value, Iterable if is_any else Collection):
            return False
        if not known or not isinstance(value, (list, tuple, set, frozenset, range, np.ndarray)):
            return True
        return all(any(kind.takes(item) for kind in items) for item in value)

    return _Kind(text, takes)


def _kind_of_tuple(arguments: Any, names: dict[str, Any]) -> _Kind:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _kind_of_items(arguments[:1], names, False)
    parts: list[list[_Kind]] = [[] for _ in arguments]
    known = [_add(each, names, kinds) for each, kinds in zip(arguments, parts, strict=True)]
    texts = [_joined(_without_articles(kinds)) if kinds else "value" for kinds in parts]
    text = f"({', '.join(texts)})"

    def takes(value: Any) -> bool:
        if not isinstance(value, (tuple, list)):
            return False
        if len(value) != len(parts):
            raise _WrongValueError(f"must be {text}, got {shown(value)}")
        return all(
            not checkable or any(kind.takes(item) for kind in kinds)
            for item, kinds, checkable in zip(value, parts, known, strict=True)
        )

    return _Kind(text, takes)


def _without_articles(kinds: list[_Kind]) -> list[str]:
    return [kind.text.removeprefix("an ").removeprefix("a ") for kind in kinds]
