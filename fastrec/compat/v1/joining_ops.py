# SPDX-License-Identifier: Apache-2.0
"""Several arrays as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtypes import DType
from .._shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, pure, tensors_of, typed
from .constants import constant_value, convert_to_tensor, make_array, of_array
from .graph import create_op

__all__ = ["concat", "pack", "split", "stack", "unpack", "unstack"]


def _merged_shape(tensors: Sequence[Tensor], what: str) -> TensorShape:
    merged = TensorShape(None)
    for tensor in tensors:
        try:
            merged = merged.merge_with(tensor.shape)
        except ValueError:
            raise ValueError(
                f"Dimension mismatch: shapes must be equal, but are {in_messages(merged)} and "
                f"{in_messages(tensor.shape)} for '{what}'."
            ) from None
    return merged


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape, side by side along a new dimension."""
    return _stack(values, None, name, axis)


def _stack(values: Any, dtype: DType | None, name: str | None, axis: int = 0) -> Tensor:
    if axis == 0 and not typed(values):
        return of_array(make_array(list(values), dtype), name or "stack")
    tensors = tensors_of(list(values), dtype)
    if not tensors:
        raise ValueError("stack() needs at least one tensor")
    merged = _merged_shape(tensors, "Pack")
    sizes, known = merged.sizes, None
    if sizes is not None:
        if not -len(sizes) - 1 <= axis <= len(sizes):
            rank = len(sizes) + 1
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
        front = axis % (len(sizes) + 1)
        known = [*sizes[:front], len(tensors), *sizes[front:]]

    def kernel(*parts: Array) -> Array:
        for i, part in enumerate(parts):
            if part.shape != parts[0].shape:
                raise invalid(
                    f"Shapes of all inputs must match: values[0].shape = "
                    f"{in_messages(parts[0].shape)} != values[{i}].shape = "
                    f"{in_messages(part.shape)}"
                )
        return np.stack(parts, axis)

    return pure("Pack", kernel, tensors, tensors[0].dtype, known, name or "stack", axis=axis)


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along one dimension, each without it."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    if num is None:
        if sizes is None:
            raise ValueError(f"Cannot infer argument `num` from shape {tensor.shape}")
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
        num = sizes[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {tensor.shape}")
    known = None
    if sizes is not None:
        front = axis % len(sizes)
        known = [*sizes[:front], *sizes[front + 1 :]]
    count = num

    def kernel(step: Any, x: Array) -> tuple[Array, ...]:
        if x.shape[axis] != count:
            raise invalid(
                f"Input shape axis {axis} must equal {count}, got shape {in_messages(x.shape)}"
            )
        return tuple(np.asarray(part, x.dtype) for part in np.moveaxis(x, axis, 0))

    op = create_op("Unpack", (tensor,), [(tensor.dtype, known)] * num, kernel, name=name)
    return list(op.outputs)


pack, unpack = stack, unstack


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along a dimension that they have."""
    if isinstance(axis, (list, tuple, Tensor)) and isinstance(values, int):
        values, axis = axis, values  # the order of the arguments until version 1.0
    given = values if isinstance(values, (list, tuple)) else [values]
    tensors = tensors_of(list(given))
    at = constant_value(convert_to_tensor(axis))
    place = None if at is None else int(at)
    known = None if place is None else _concatenated(tensors, place)

    def kernel(where: Array, *parts: Array) -> Array:
        rank = parts[0].ndim
        if rank == 0 or not -rank <= int(where) < rank:
            raise invalid(
                f"ConcatOp : Expected concatenating dimensions in the range "
                f"[{-rank}, {rank}), but got {int(where)}"
            )
        for i, part in enumerate(parts):
            _same_but(parts[0], part, i, int(where) % rank)
        return np.concatenate(parts, int(where))

    inputs = [convert_to_tensor(axis, name="concat/axis"), *tensors]
    return pure("ConcatV2", kernel, inputs, tensors[0].dtype, known, name)


def _same_but(first: Array, part: Array, i: int, axis: int) -> None:
    if part.ndim != first.ndim:
        raise invalid(
            f"ConcatOp : Ranks of all input tensors should match: shape[0] = "
            f"{in_messages(first.shape)} vs. shape[{i}] = {in_messages(part.shape)}"
        )
    for d in range(first.ndim):
        if d != axis and part.shape[d] != first.shape[d]:
            raise invalid(
                f"ConcatOp : Dimension {d} in both shapes must be equal: shape[0] = "
                f"{in_messages(first.shape)} vs. shape[{i}] = {in_messages(part.shape)}"
            )


def _concatenated(tensors: Sequence[Tensor], axis: int) -> Any:
    shapes = [t.shape for t in tensors]
    ranks = {s.ndims for s in shapes} - {None}
    if not ranks:
        return None
    rank = ranks.pop()
    if ranks:
        raise ValueError("Shapes must be of equal rank for 'ConcatV2'")
    if not rank or not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for 'ConcatV2' of rank {rank}")
    axis %= rank
    rest = TensorShape(None)
    total: int | None = 0
    for known in shapes:
        sizes = known.sizes
        along = None if sizes is None else sizes[axis]
        total = None if total is None or along is None else total + along
        if sizes is not None:
            rest = rest.merge_with([None if i == axis else n for i, n in enumerate(sizes)])
    return [total if i == axis else n for i, n in enumerate(rest.as_list())]


def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """A tensor cut along a dimension, into parts of one size or of given ones."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    if isinstance(num_or_size_splits, int):
        count = num_or_size_splits
        along = None if sizes is None else sizes[axis]
        if along is not None and along % count:
            raise ValueError(f"Dimension size must be evenly divisible by {count} but is {along}")
        parts: list[int | None] = [None if along is None else along // count] * count
    else:
        parts = [int(n) for n in np.asarray(num_or_size_splits)]
        count = len(parts)

    def kernel(step: Any, x: Array) -> tuple[Array, ...]:
        if parts and None not in parts and sum(n or 0 for n in parts) != x.shape[axis]:
            raise invalid(f"the parts {parts} do not add up to {x.shape[axis]}")
        if None in parts and x.shape[axis] % count:
            raise invalid(f"{x.shape[axis]} cannot be split evenly into {count}")
        ends = np.cumsum([n or 0 for n in parts])[:-1]
        cut = np.split(x, count if None in parts else ends, axis)
        return tuple(cut)

    shapes = []
    for n in parts:
        known = None if sizes is None else [*sizes]
        if known is not None:
            known[axis] = n
        shapes.append((tensor.dtype, known))
    return list(create_op("Split", (tensor,), shapes, kernel, name=name).outputs)


operators["stack"] = _stack
