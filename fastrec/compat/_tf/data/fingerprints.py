# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of pipelines, which are equal in every process for equal pipelines."""

from __future__ import annotations

import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType
from ..seeds import SeedSource
from ..shape import TensorShape
from ..specs import TypeSpec
from .pipeline import Node

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), slice)
_BY_REPR = (np.generic, np.dtype, DType, TensorShape, TypeSpec, enum.Enum)
_MOST_BYTES = 1 << 26


class Unrepeatable(Exception):
    """Raised if part of a pipeline cannot be proved to be the same in another process."""


def fingerprint(node: Node) -> str:
    """Return a name for a pipeline from its steps, their arguments and the code of its functions.

    Raises
    ------
    Unrepeatable
        If it contains a generator, an open file or another object without a description.
    """
    return _Description().of(node)


class _Description:
    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps addresses of these objects unique
        self._size = 0

    def of(self, node: Node) -> str:
        self._add(node)
        return str(int.from_bytes(self._hash.digest(), "little"))

    def _note(self, text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        self._size += len(data) + 16
        if self._size > _MOST_BYTES:
            raise Unrepeatable("too much to describe")
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def _add(self, value: Any) -> None:
        if (isinstance(value, _PLAIN) and type(value) in _PLAIN) or isinstance(value, _BY_REPR):
            self._note(f"{type(value).__name__} {value!r}")
        elif isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
            self._named(value)
        elif id(value) in self._seen:
            self._note(f"seen {self._seen[id(value)]}")
        else:
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
            self._add_new(value)

    def _named(self, value: Any) -> None:
        self._note(f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', value)}")
        if isinstance(value, types.BuiltinFunctionType) and value.__self__ is not None:
            self._add(value.__self__)

    def _add_new(self, value: Any) -> None:
        self._note(type(value).__qualname__)
        if isinstance(value, np.ndarray):
            self._note(f"{value.dtype} {value.shape}")
            if value.dtype.hasobject:
                self._all(value.reshape(-1).tolist())
            else:
                self._note(value.tobytes())
        elif isinstance(value, (list, tuple)):
            self._all(value)
        elif isinstance(value, (dict, types.MappingProxyType)):
            self._all([part for pair in value.items() for part in pair])
        elif isinstance(value, (set, frozenset)):
            self._all(sorted(value, key=repr))
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._all([value.__func__, value.__self__])
        elif isinstance(value, functools.partial):
            self._all([value.func, value.args, value.keywords])
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, SeedSource):
            self._all(value.given)
        else:
            self._object(value)

    def _all(self, values: Any) -> None:
        self._note(str(len(values)))
        for each in values:
            self._add(each)

    def _object(self, value: Any) -> None:
        names = [s for c in type(value).__mro__ for s in _listed(c.__dict__.get("__slots__", ()))]
        if not names and not hasattr(value, "__dict__"):
            raise Unrepeatable(f"{type(value).__qualname__} has no description")
        self._named(type(value))
        found = {name: getattr(value, name) for name in names if hasattr(value, name)}
        found |= getattr(value, "__dict__", {})
        skipped = {"dataset", "__weakref__", "__dict__"}
        for name in sorted(found.keys() - skipped):
            self._note(name)
            self._add(found[name])

    def _function(self, function: Callable[..., Any]) -> None:
        assert isinstance(function, types.FunctionType)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self._all([*cells, function.__defaults__, function.__kwdefaults__])
        if _of_library(function):
            self._named(function)
            return
        self._add(function.__code__)
        for name in _names_in(function.__code__):
            if name in function.__globals__:
                self._note(name)
                self._add(function.__globals__[name])

    def _code(self, code: types.CodeType) -> None:
        self._note(code.co_code)
        self._all([code.co_names, code.co_varnames, code.co_freevars, code.co_consts])


def _listed(slots: Any) -> list[str]:
    return [slots] if isinstance(slots, str) else list(slots)


def _names_in(code: types.CodeType) -> list[str]:
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return sorted({*code.co_names, *(name for each in inner for name in _names_in(each))})


def _of_library(function: types.FunctionType) -> bool:
    root = (function.__module__ or "").partition(".")[0]
    where = function.__code__.co_filename
    known = root == "fastrec" or root in sys.stdlib_module_names
    return (known and root != "__main__") or "site-packages" in where
