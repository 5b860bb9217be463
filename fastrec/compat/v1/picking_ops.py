# SPDX-License-Identifier: Apache-2.0
"""Elements picked out of tensors by where they are, and where something holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._tf.dtypes import DType, as_dtype, bool_, float32, int32, int64, string
from .._tf.kernels import slicing
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor
from ._ops import Array, invalid, numbers_of, one_number, pure, tensors_of
from .constants import constant_value, convert_to_tensor
from .graph import create_op
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
    tensor, places = convert_to_tensor(params), _places(indices)
    where = numbers_of(batch_dims if axis is None else axis, "axis", rank=0)
    sizes, picked, at = tensor.shape.sizes, places.shape.sizes, constant_value(where)
    known: Any = None
    if sizes is not None and picked is not None and at is not None:
        front, batch = int(at), batch_dims + (len(picked) if batch_dims < 0 else 0)
        if not -len(sizes) <= front < len(sizes):
            raise ValueError(f"Shape must be at least rank {front + 1} but is rank {len(sizes)}")
        front %= len(sizes)
        known = [*sizes[:front], *picked[batch:], *sizes[front + 1 :]]

    def kernel(x: Array, i: Array, dim: Array) -> Array:
        return slicing.gather(x, i, one_number(dim, "axis"), batch_dims)

    return pure("GatherV2", kernel, (tensor, places, where), tensor.dtype, known, name)


def _places(indices: Any) -> Tensor:
    return numbers_of(indices, "indices", allowed=("int16", "int32", "int64"))


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The parts of `params` at the places that the last dimension of `indices` spells out."""
    tensor, places = convert_to_tensor(params), _places(indices)
    sizes, picked = tensor.shape.sizes, places.shape.sizes
    known: Any = None
    if picked == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0 for 'GatherNd'")
    if sizes is not None and picked and (picked[-1] or 0) > len(sizes) - batch_dims:
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{in_messages(picked)} and params shape: {in_messages(sizes)}"
        )
    if sizes is not None and picked and picked[-1] is not None:
        known = [*picked[:-1], *sizes[batch_dims + picked[-1] :]]

    def kernel(x: Array, i: Array) -> Array:
        return slicing.gather_nd(x, i, batch_dims)

    return pure("GatherNd", kernel, (tensor, places), tensor.dtype, known, name)


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
    places = numbers_of(indices, "indices", allowed=("uint8", "int8", "int32", "int64"))
    count = numbers_of(depth, "depth", rank=0, allowed=("int32",))
    element = _one_hot_type(on_value, off_value, dtype)
    on = convert_to_tensor(1 if on_value is None else on_value, element)
    off = convert_to_tensor(0 if off_value is None else off_value, element)
    at = -1 if axis is None else int(axis)
    sizes, length = places.shape.sizes, constant_value(count)
    known: Any = None
    if at < -1 or (length is not None and length < 0):
        raise ValueError(f"axis must be >= -1, and depth no less than 0: {at}, {length}")
    if sizes is not None:
        front = len(sizes) if at == -1 else at
        known = [*sizes[:front], None if length is None else int(length), *sizes[front:]]

    def kernel(i: Array, n: Array, yes: Array, no: Array) -> Array:
        if at > i.ndim:
            raise invalid(
                f"Expected axis to be -1 or between [0, {i.ndim + 1}).  But received: {at}"
            )
        for what, given in (("on", yes), ("off", no)):
            if given.ndim:
                shape = in_messages(given.shape)
                raise invalid(f"{what}_value must be a scalar, but got: {shape}")
        hit = np.expand_dims(i, -1) == np.arange(int(n))
        return np.moveaxis(np.where(hit, yes, no), -1, at)

    return pure("OneHot", kernel, (places, count, on, off), element, known, name or "one_hot")


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
        function = lambda c: np.argwhere(c).astype(np.int64)  # noqa: E731
        return pure("Where", function, (holds,), int64, [None, holds.shape.ndims], name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    yes, no = tensors_of([x, y])

    def kernel(c: Array, a: Array, b: Array) -> Array:
        if c.ndim == 1 and a.shape == b.shape and not a.ndim:
            raise invalid("'then' must be at least a vector, but saw shape: []")
        if a.shape != b.shape:
            _not_alike(c if c.shape != a.shape else a, b, 2)
        if c.shape != (a.shape[: c.ndim] if c.ndim < 2 else a.shape):
            _not_alike(c, a, 1)
        return np.where(c.reshape(c.shape + (1,) * (a.ndim - c.ndim)), a, b)

    known = yes.shape.merge_with(no.shape)
    return pure("Select", kernel, (holds, yes, no), yes.dtype, known, name)


def _not_alike(first: Array, other: Array, number: int) -> None:
    raise invalid(
        f"Inputs to operation Select of type Select must have the same size and shape.  Input 0: "
        f"{in_messages(first.shape)} != input {number}: {in_messages(other.shape)}"
    )


def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """The elements at the places where `mask` is true, in a row."""
    given, holds = convert_to_tensor(tensor), cast(mask, bool_)
    at = axis or 0
    sizes, rank = given.shape.sizes, holds.shape.ndims
    known: Any = None
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if sizes is not None and rank is not None:
        TensorShape(sizes[at : at + rank]).assert_is_compatible_with(holds.shape)
        known = [*sizes[:at], None, *sizes[at + rank :]]

    def kernel(x: Array, m: Array) -> Array:
        if x.shape[at : at + m.ndim] != m.shape:
            raise invalid(
                f"Shapes {in_messages(x.shape)} and {in_messages(m.shape)} are incompatible"
            )
        return x[(slice(None),) * at + (m,)]

    return pure("BooleanMask", kernel, (given, holds), given.dtype, known, name)


class Unique(NamedTuple):
    """Values without repetition, and where each element's value is among them."""

    y: Tensor
    idx: Tensor


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The values of a vector in the order in which they first come."""
    tensor, index = convert_to_tensor(x), as_dtype(out_idx)
    if tensor.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.shape.ndims} for 'Unique'")

    def kernel(step: Any, value: Array) -> tuple[Array, Array]:
        if value.ndim != 1:
            raise invalid("unique expects a 1D vector.")
        seen: dict[Any, int] = {}
        idx = [seen.setdefault(item, len(seen)) for item in value.tolist()]
        y = np.empty(len(seen), dtype=value.dtype)
        y[:] = list(seen)
        return y, np.array(idx, dtype=index.numpy)

    outputs = [(tensor.dtype, [None]), (index, tensor.shape)]
    return Unique(*create_op("Unique", (tensor,), outputs, kernel, name=name).outputs)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Tensor:
    """Rows that are true in front, each for as long as its length says."""
    tensor, element = convert_to_tensor(lengths), as_dtype(dtype)
    inputs = [tensor] if maxlen is None else [tensor, convert_to_tensor(maxlen)]
    known = tensor.shape.concatenate(
        [None if maxlen is None or isinstance(maxlen, Tensor) else maxlen]
    )

    def kernel(n: Array, *most: Array) -> Array:
        width = int(most[0]) if most else int(n.max(initial=0))
        return (np.arange(width) < np.expand_dims(n, -1)).astype(element.numpy)

    return pure("SequenceMask", kernel, inputs, element, known, name)
