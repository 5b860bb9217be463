# SPDX-License-Identifier: Apache-2.0
"""Serialized elements: a ``TensorProto`` per part and a ``StructuredValue`` of specs."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from .. import errors as _errors
from ..dtypes import as_dtype
from ..specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import TensorShape, as_array
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
