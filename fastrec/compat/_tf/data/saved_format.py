# SPDX-License-Identifier: Apache-2.0
"""Serialized elements, and fingerprints of pipelines that are equal in every process."""

from __future__ import annotations

import collections
import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec

from .. import errors as _errors
from ..dtypes import DType, as_dtype
from ..seeds import SeedSource
from ..shape import TensorShape
from ..specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from ..tensor_proto import (
    Malformed,
    content_of,
    decode,
    field,
    fields,
    shape_field,
    shape_sizes,
    varint,
)
from .pipeline import Stage

_VARIANT = 21
_TENSOR, _RAGGED = b"tensorflow::Tensor", b"RaggedTensorVariant"
_SPARSE_SPEC, _RAGGED_SPEC = (1, b"SparseTensorSpec"), (3, b"RaggedTensorSpec")
_DEEPEST = 64  # maximum nesting of structures


def _tensor(value: Any) -> bytes:
    array = as_array(value)
    return content_of(array, as_dtype(array.dtype))


def _variant(kind: bytes, tensors: Sequence[Any]) -> bytes:
    return field(1, kind) + b"".join(field(3, _tensor(each)) for each in tensors)


def encoded(value: Any) -> bytes:
    """Serialize a part of an element as a ``TensorProto``."""
    if isinstance(value, fastrec.Sparse):
        shape = np.array(value.dense_shape, np.int64)
        parts = [_variant(_TENSOR, [each]) for each in (value.indices, value.values, shape)]
        sizes: list[int] = [3]
    elif isinstance(value, fastrec.Ragged):
        splits: list[Any] = []
        while isinstance(value, fastrec.Ragged):
            splits.append(value.row_splits)
            value = value.values
        parts, sizes = [_variant(_RAGGED, [*splits, value])], []
    else:
        return _tensor(value)
    content = b"".join(varint(len(part)) for part in parts) + b"".join(parts)
    return b"\x08" + varint(_VARIANT) + field(2, shape_field(sizes)) + field(4, content)


def _variants(data: bytes) -> list[list[Any]]:
    """Yield the tensors of each variant in a ``TensorProto``."""
    last = dict(fields(data))
    content, at, lengths = last.get(4, b""), 0, []
    for _ in range(int(np.prod(shape_sizes(last.get(2, b""))))):
        size = shift = 0
        while True:
            if at >= len(content) or shift > 35:
                raise Malformed
            size |= (content[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < 0x80:
                break
        lengths.append(size)
    found = []
    for size in lengths:
        part = content[at : at + size]
        found.append([decode(value) for number, value in fields(part) if number == 3])
        at += size
    return found


def decoded(data: bytes, spec: Any) -> Any:
    """Parse the part of an element from a record.

    Raises
    ------
    DataLossError
        If the record does not contain a value of the expected type.
    """
    try:
        if isinstance(spec, SparseTensorSpec):
            (indices,), (values,), (shape,) = _variants(data)
            return fastrec.Sparse(indices, values, tuple(shape.tolist()))
        if isinstance(spec, RaggedTensorSpec):
            ((*splits, value),) = _variants(data)
            for each in reversed(splits):
                value = fastrec.Ragged(value, each)
            return value
        array = decode(data)
    except (Malformed, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise _errors.DataLossError(None, None, "a saved element is damaged") from error
    if as_dtype(array.dtype) != spec.dtype or not spec.shape.is_compatible_with(array.shape):
        raise _errors.DataLossError(
            None, None, f"a saved element is of {array.dtype} and shape {array.shape}, not {spec}"
        )
    return array


# Specs.


def kind_of(spec: Any) -> int:
    """Return the number that the metadata uses for the type of a part."""
    return int(spec.dtype) if isinstance(spec, TensorSpec) else _VARIANT


def _shape_value(shape: TensorShape) -> bytes:
    return b"\x18\x01" if shape.sizes is None else shape_field(shape.sizes)


def _leaf_spec(spec: Any) -> bytes:
    if isinstance(spec, NoneTensorSpec):
        raise TypeError("None in elements cannot be saved")
    kind = varint(int(spec.dtype))
    if isinstance(spec, TensorSpec):
        return field(33, field(2, _shape_value(spec.shape)) + b"\x18" + kind)
    if not isinstance(spec, (SparseTensorSpec, RaggedTensorSpec)):
        raise TypeError(f"elements of {spec} cannot be saved")
    state = [field(31, _shape_value(spec.shape)), varint(32 << 3) + kind]
    number, name, parts = *_SPARSE_SPEC, 3
    if isinstance(spec, RaggedTensorSpec):
        number, name, parts = *_RAGGED_SPEC, spec.ragged_rank + 1
        state.append(varint(12 << 3) + varint(2 * spec.ragged_rank))
        state.append(varint(32 << 3) + varint(int(spec.row_splits_dtype)))
    inside = field(52, b"".join(field(1, each) for each in state))
    head = b"\x08" + varint(number) + field(2, inside) + field(3, name)
    return field(34, head + b"\x20" + varint(parts))


def structured(spec: Any) -> bytes:
    """Serialize a structure of specs as a ``StructuredValue``."""

    def pairs(items: Any) -> bytes:
        made = ((field(1, key.encode()), field(2, structured(each))) for key, each in items)
        return b"".join(field(1, key + value) for key, value in made)

    if isinstance(spec, dict):
        return field(53, pairs(sorted(spec.items())))
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        items = zip(spec._fields, spec, strict=True)
        made = ((field(1, key.encode()), field(2, structured(each))) for key, each in items)
        values = b"".join(field(2, key + value) for key, value in made)
        return field(54, field(1, type(spec).__name__.encode()) + values)
    if isinstance(spec, tuple):
        return field(52, b"".join(field(1, structured(each)) for each in spec))
    return _leaf_spec(spec)


def _shape_of(data: bytes) -> TensorShape:
    unknown = any(number == 3 and value for number, value in fields(data))
    if unknown:
        return TensorShape(None)
    return TensorShape([None if size < 0 else size for size in shape_sizes(data, True)])


def _type_spec(data: bytes) -> TypeSpec:
    parts = dict(fields(data))
    ((_, state),) = fields(parts[2])
    values = [next(iter(fields(each))) for number, each in fields(state) if number == 1]
    shape, dtype = _shape_of(values[0][1]), as_dtype(values[1][1])
    if parts[1] == _SPARSE_SPEC[0]:
        return SparseTensorSpec(shape, dtype)
    if parts[1] == _RAGGED_SPEC[0]:
        return RaggedTensorSpec(shape, dtype, values[2][1] // 2, as_dtype(values[3][1]))
    raise Malformed


def structure_of(data: bytes, depth: int = 0) -> Any:
    """Parse a structure of specs from a ``StructuredValue``."""
    if depth > _DEEPEST:
        raise Malformed

    def pair(data: bytes) -> tuple[str, Any]:
        parts = dict(fields(data))
        return parts[1].decode(), structure_of(parts[2], depth + 1)

    ((number, value),) = fields(data)
    if number == 33:
        parts = dict(fields(value))
        return TensorSpec(_shape_of(parts.get(2, b"")), as_dtype(parts[3]))
    if number == 34:
        return _type_spec(value)
    if number in (51, 52):
        return tuple(structure_of(each, depth + 1) for n, each in fields(value) if n == 1)
    if number == 53:
        return dict(pair(each) for n, each in fields(value) if n == 1)
    if number == 54:
        named = [pair(each) for n, each in fields(value) if n == 2]
        name = dict(fields(value))[1].decode()
        return collections.namedtuple(name, [key for key, _ in named])(*[each for _, each in named])
    raise Malformed


_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), slice)
_BY_REPR = (np.generic, np.dtype, DType, TensorShape, TypeSpec, enum.Enum)
_MOST_BYTES = 1 << 26


class Unrepeatable(Exception):
    """Raised if part of a pipeline cannot be proved to be the same in another process."""


def fingerprint(stage: Stage) -> str:
    """Return a name for a pipeline from its steps, their arguments and the code of its functions.

    Raises
    ------
    Unrepeatable
        If it contains a generator, an open file or another object without a description.
    """
    return _Description().of(stage)


class _Description:
    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps addresses of these objects unique
        self._size = 0

    def of(self, stage: Stage) -> str:
        self._add(stage)
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
