# SPDX-License-Identifier: Apache-2.0
"""Elements picked out of tensors by where they are, and where something holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tf.dtypes import DType, as_dtype, bool_, float32, int32, string
from .._tf.ops import Op
from .._tf.ops import picking as rows
from .._tf.shape import in_messages
from .._tf.specs import TensorSpec
from . import ragged
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, record, record_all, tensors_of
from .constants import convert_to_tensor
from .math_ops import cast

__all__ = [
    "boolean_mask",
    "gather",
    "gather_nd",
    "one_hot",
    "sequence_mask",
    "unique",
    "where",
]


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The parts of `params` that `indices` name, along one dimension."""
    if ragged.functions.among([params, indices]):
        if axis or batch_dims:
            raise NotImplementedError("gather of ragged tensors covers axis=0 without batch_dims")
        return ragged.functions.gather(params, indices)  # type: ignore[no-any-return]
    along = numbers_of(batch_dims if axis is None else axis, "axis", rank=0)
    inputs = (convert_to_tensor(params), _places(indices), along)
    return record(rows.GATHER, inputs, name, batch_dims=batch_dims)


def _places(indices: Any) -> Tensor:
    return numbers_of(indices, "indices", allowed=("int16", "int32", "int64"))


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The parts of `params` at the places that the last dimension of `indices` spells out."""
    inputs = convert_to_tensor(params), _places(indices)
    return record(rows.GATHER_ND, inputs, name, batch_dims=batch_dims)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Rows of `depth` elements that have `on_value` at one place and `off_value` elsewhere."""
    if isinstance(indices, ragged.RaggedTensor):
        how = depth, on_value, off_value, axis, dtype
        return indices._mapped(lambda flat: one_hot(flat, *how))  # type: ignore[no-any-return]
    places = numbers_of(indices, "indices", allowed=("uint8", "int8", "int32", "int64"))
    count = numbers_of(depth, "depth", rank=0, allowed=("int32",))
    element = _one_hot_type(on_value, off_value, dtype)
    on = convert_to_tensor(1 if on_value is None else on_value, element)
    off = convert_to_tensor(0 if off_value is None else off_value, element)
    at = -1 if axis is None else int(axis)
    return record(rows.ONE_HOT, (places, count, on, off), name or "one_hot", axis=at)


def _one_hot_type(on_value: Any, off_value: Any, dtype: Any) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    types = [convert_to_tensor(v).dtype for v in (on_value, off_value) if v is not None]
    if len(types) > 1 and types[0] is not types[1]:
        raise TypeError(
            f"dtype {types[0]} of on_value does not match dtype {types[1]} of off_value"
        )
    return types[0] if types else float32


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """The places where `condition` holds; or elements of `x` there, and of `y` elsewhere.

    A vector as the condition chooses among rows.
    """
    holds = convert_to_tensor(condition)
    if holds.dtype is string or (x is not None and holds.dtype is not bool_):
        raise TypeError(f"Input 'condition' has type {holds.dtype.name}, which is not bool.")
    if x is None and y is None:
        return record(rows.WHERE, (holds,), name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return record(_SELECT, (holds, *tensors_of([x, y])), name)


def _by_rows(c: Array, a: Array, b: Array) -> Array:
    if c.ndim == 1 and a.shape == b.shape and not a.ndim:
        raise invalid("'then' must be at least a vector, but saw shape: []")
    if a.shape != b.shape:
        _not_alike(c if c.shape != a.shape else a, b, 2)
    if c.shape != (a.shape[: c.ndim] if c.ndim < 2 else a.shape):
        _not_alike(c, a, 1)
    return np.where(c.reshape(c.shape + (1,) * (a.ndim - c.ndim)), a, b)


def _not_alike(first: Array, other: Array, number: int) -> None:
    raise invalid(
        f"Inputs to operation Select of type Select must have the same size and shape.  Input 0: "
        f"{in_messages(first.shape)} != input {number}: {in_messages(other.shape)}"
    )


def _alike(specs: Sequence[Any], *_: Any) -> list[Any]:
    return [TensorSpec(specs[1].shape.merge_with(specs[2].shape), specs[1].dtype)]


_SELECT = Op("Select", _by_rows, _alike)


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """The elements at the places where `mask` is true, in a row."""
    inputs = convert_to_tensor(tensor), cast(mask, bool_)
    return record(rows.BOOLEAN_MASK, inputs, name, axis=axis or 0)


class Unique(NamedTuple):
    """Values without repetition, and where each element's value is among them."""

    y: Tensor
    idx: Tensor


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The values of a vector in the order in which they first come."""
    found = record_all(rows.UNIQUE, (convert_to_tensor(x),), name, out_idx=as_dtype(out_idx))
    return Unique(*found)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Tensor:
    """Rows that are true in front, each for as long as its length says."""
    inputs = [convert_to_tensor(each) for each in (lengths, maxlen) if each is not None]
    return record(rows.SEQUENCE_MASK, inputs, name, dtype=as_dtype(dtype))
