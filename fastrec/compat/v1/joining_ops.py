# SPDX-License-Identifier: Apache-2.0
"""Several arrays as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType
from .._tf.errors import InvalidArgumentError
from .._tf.shape import TensorShape, in_messages
from ._nodes import Tensor, operators
from ._ops import Array, invalid, numbers_of, one_number, pure, tensors_of
from .constants import constant_value, convert_to_tensor, holds_tensor, of_array
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
    if axis == 0:
        try:  # what is one array, or one tensor, already
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for 'values' argument to 'stack' Op, not {values!r}.")
    return _stack(values, None, name, axis)


def _stack(values: Any, dtype: DType | None, name: str | None, axis: int = 0) -> Tensor:
    if axis == 0 and not holds_tensor(values):
        return of_array(make_array(list(values), dtype), name or "stack")
    tensors = tensors_of(list(values), dtype or _type_within(values))
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
        rank = parts[0].ndim + 1
        if not -rank <= axis < rank:
            raise invalid(f"axis = {axis} not in [{-rank}, {rank})")
        return np.stack(parts, axis)

    return pure("Pack", kernel, tensors, tensors[0].dtype, known, name or "stack", axis=axis)


def _type_within(values: Any) -> DType | None:
    """The type of the first tensor in lists of lists."""
    for value in values:
        if isinstance(value, (list, tuple)):
            found = _type_within(value)
            if found is not None:
                return found
        elif holds_tensor([value]):
            return convert_to_tensor(value).dtype
    return None


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along one dimension, each without it."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    known = None
    if sizes is not None:
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
        front = axis % len(sizes)
        known = [*sizes[:front], *sizes[front + 1 :]]
        if num is not None and sizes[axis] not in (None, num):
            raise ValueError(f"Dimension must be {num} but is {sizes[axis]} for 'Unpack'")
        num = sizes[axis] if num is None else num
    if num is None:
        raise ValueError(f"Cannot infer argument `num` from shape {tensor.shape}")
    if num < 0:
        raise ValueError(f"Attr 'num' of 'Unpack' Op passed {num} less than minimum 0.")
    count = num

    def kernel(step: Any, x: Array) -> tuple[Array, ...]:
        if not -x.ndim <= axis < x.ndim:
            raise invalid(f"axis = {axis} not in [{-x.ndim}, {x.ndim})")
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
    if not tensors:
        raise ValueError("List argument 'values' to 'ConcatV2' Op with length 0 is too short.")
    where = numbers_of(axis, "axis", rank=0)
    if len(tensors) == 1:
        only = tensors[0]
        return pure("Identity", lambda x: x, tensors, only.dtype, only.shape, name)
    at = constant_value(where)
    place = None if at is None else one_number(at, "axis")
    known = None if place is None else _concatenated(tensors, place)

    def kernel(dim: Array, *parts: Array) -> Array:
        axis, rank = one_number(dim, "ConcatOp : Concat dim tensor"), parts[0].ndim
        if not all(part.ndim for part in parts):
            raise invalid("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
        if not -rank <= axis < rank:
            raise invalid(
                f"ConcatOp : Expected concatenating dimensions in the range "
                f"[{-rank}, {rank}), but got {axis}"
            )
        for i, part in enumerate(parts):
            _same_but(parts[0], part, i, axis % rank)
        return np.concatenate(parts, axis)

    return pure("ConcatV2", kernel, [where, *tensors], tensors[0].dtype, known, name)


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
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """A tensor cut along a dimension, into parts of one size or of given ones.

    Parameters
    ----------
    value : Tensor
        The whole.
    num_or_size_splits : int, or Tensor of int, shape (n,)
        How many parts, or the size of each: -1, once, for what is left.
    axis : Tensor of int, shape ()
        Which dimension is cut.
    num : int, optional
        How many sizes there are, where this is not known.
    name : str
        Of the operation.
    """
    tensor, where = convert_to_tensor(value), numbers_of(axis, "axis", rank=0)
    if isinstance(num_or_size_splits, (int, np.integer)):
        count = int(num_or_size_splits)
        if count < 1:
            raise ValueError(f"Attr 'num_split' of 'Split' Op passed {count} less than minimum 1.")
        lengths = None
        inputs = [tensor, where]
    else:
        lengths = _lengths(num_or_size_splits)
        found = lengths.shape.num_elements() if num is None else num
        if found is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
        count = found
        inputs = [tensor, where, lengths]
    known = _cut_shapes(tensor, constant_value(where), lengths, count)

    def kernel(step: Any, x: Array, dim: Array, *sizes: Array) -> tuple[Array, ...]:
        place = one_number(dim, "split_dim")
        if not -x.ndim <= place < x.ndim:
            raise invalid(
                f"-input rank({-x.ndim}) <= split_dim < input rank ({x.ndim}), but got {place}"
            )
        size = x.shape[place]
        parts = _part_sizes(sizes[0], size) if sizes else _equal_parts(count, size, place)
        return tuple(np.split(x, np.cumsum(parts)[:-1], place))

    outputs = [(tensor.dtype, shape) for shape in known]
    return list(create_op("Split", inputs, outputs, kernel, name=name).outputs)


def _lengths(value: Any) -> Tensor:
    lengths = numbers_of(value, "size_splits", allowed=("int8", "int32", "int64"))
    if lengths.shape.ndims == 0:
        raise ValueError(
            f"Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {value}"
        )
    if lengths.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {lengths.shape.ndims} for 'SplitV'")
    return lengths


def _equal_parts(count: int, size: int, axis: int) -> list[int]:
    if size % count:
        raise invalid(
            f"Number of ways to split should evenly divide the split dimension, but got "
            f"split_dim {axis} (size = {size}) and num_split {count}"
        )
    return [size // count] * count


def _part_sizes(lengths: Array, size: int) -> list[int]:
    """The sizes of the parts, with what is left in the place of -1."""
    parts = [int(n) for n in lengths.reshape(-1)]
    for i, n in enumerate(parts):
        if n < -1:
            raise invalid(f"Split size at index {i} must be >= 0. Got: {n}")
    if parts.count(-1) > 1:
        raise invalid("There can only be one -1 in the input.")
    left = size - sum(n for n in parts if n >= 0)
    if left < 0 or (left and -1 not in parts):
        raise invalid(
            f"Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim if not fully "
            f"specified.  Got: {size - left}"
        )
    return [left if n == -1 else n for n in parts]


def _cut_shapes(tensor: Tensor, axis: Array | None, lengths: Tensor | None, count: int) -> Any:
    """Static shapes of the parts.

    Raises
    ------
    ValueError
        When it is known that the tensor cannot be cut so.
    """
    sizes = tensor.shape.sizes
    if sizes is None or axis is None:
        return [None if sizes is None else [None] * len(sizes)] * count
    place, rank = one_number(axis, "axis"), len(sizes)
    if not -rank <= place < rank:
        raise ValueError(
            f"Dimension size, given by scalar input {place} must be in range [-{rank}, {rank})"
        )
    size, given = sizes[place], None if lengths is None else constant_value(lengths)
    along: list[int | None] = [None] * count
    if size is not None:
        if lengths is None and size % count:
            raise ValueError(f"Dimension size must be evenly divisible by {count} but is {size}")
        if lengths is None:
            along = [size // count] * count
        elif given is not None:
            try:
                along = [*_part_sizes(given, size)]
            except InvalidArgumentError as error:
                raise ValueError(error.message) from None
    elif given is not None:
        along = [None if n < 0 else int(n) for n in given]
    front = place % rank
    return [[*sizes[:front], n, *sizes[front + 1 :]] for n in along]


operators["stack"] = _stack
