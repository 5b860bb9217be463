# SPDX-License-Identifier: Apache-2.0
"""Set names, parameters and docstrings of generated functions and aliases."""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar, cast

__all__ = ["named", "renamed", "under_own_names"]

F = TypeVar("F")


def named(
    function: F, name: str, owner: str = "", doc: str | None = None, parameters: str = ""
) -> F:
    """Give a generated function its public name, and return it.

    Parameters
    ----------
    function : function
        A function that a factory created, named after the factory's inner function.
    name : str
    owner : str, optional
        The class that the function belongs to.
    doc : str, optional
        The docstring.
    parameters : str, optional
        Public names of its first parameters, separated by spaces.
    """
    inner: Any = function
    if parameters:
        inner.__code__ = _with_parameters(inner.__code__, tuple(parameters.split()))
    inner.__name__ = name
    inner.__qualname__ = f"{owner}.{name}" if owner else name
    if doc is not None:
        inner.__doc__ = doc
    return function


@functools.cache
def _with_parameters(code: CodeType, names: tuple[str, ...]) -> CodeType:
    """Return a copy of the code with other names of parameters."""
    return code.replace(co_varnames=names + code.co_varnames[len(names) :])


def renamed(function: F, name: str) -> F:
    """Return a function, or a copy if its name differs; return anything else unchanged."""
    value: Any = function
    inner = getattr(value, "__func__", value)
    if isinstance(inner, FunctionType) and inner.__name__ != name:
        copy: Any = _copied(inner, name)
        if isinstance(value, MethodType):
            copy = MethodType(copy, value.__self__)
        return cast(F, copy)
    return function


@functools.cache
def _copied(function: FunctionType, name: str) -> FunctionType:
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        name,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__, copy.__dict__ = function.__kwdefaults__, dict(function.__dict__)
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    copy.__annotations__ = function.__annotations__
    owner = function.__qualname__.rpartition(".")[0]
    copy.__qualname__ = f"{owner}.{name}" if owner and "<" not in owner else name
    return copy


def under_own_names(names: dict[str, Any]) -> dict[str, Any]:
    """Name each public function of a namespace after its key; return the namespace.

    A function with two names becomes two equivalent functions.
    """
    for name, value in list(names.items()):
        if not name.startswith("_") and callable(value):
            names[name] = renamed(value, name)
    return names
