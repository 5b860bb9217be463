# SPDX-License-Identifier: Apache-2.0
"""Join tensors, and split a tensor."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec.columns import Arrays

from ..columns import (
    are_alike,
    are_numbers,
    arrays_of,
    flat_values,
    rows_of_shapes,
    shapes_of,
)
from ..errors import invalid
from ..kernels.shaping import joined
from ..shape import TensorShape as Shape
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import TensorShape, as_array
from . import Array, Block, Op, constant_of
from .reductions import one_number
from .shaping import is_column, moved


def _columns(count: int, blocks: Sequence[Block]) -> list[Array] | None:
    """Return arrays with `count` rows; None if the elements differ in shape."""
    if not all(isinstance(b.value, (np.ndarray, fastrec.Bytes)) for b in blocks):
        return None
    values = [as_array(b.value) for b in blocks]
    return [
        x if b.many else np.broadcast_to(x, (count, *x.shape))
        for x, b in zip(values, blocks, strict=True)
    ]


def _pack(*values: Any, axis: int) -> Array:
    parts = [as_array(value) for value in values]
    for i, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise invalid(
                f"Shapes of all inputs must match: values[0].shape = {in_messages(parts[0].shape)} "
                f"!= values[{i}].shape = {in_messages(part.shape)}"
            )
    rank = parts[0].ndim + 1
    if not -rank <= axis < rank:
        raise invalid(f"axis = {axis} not in [{-rank}, {rank})")
    place = (slice(None),) * (axis % rank) + (np.newaxis,)
    return np.concatenate([part[place] for part in parts], axis)


def _pack_spec(specs: Sequence[Any], *_: Any, axis: int) -> list[TypeSpec]:
    merged: Shape = TensorShape(None)
    for spec in specs:
        try:
            merged = merged.merge_with(spec.shape)
        except ValueError:
            raise ValueError(
                f"Dimension mismatch: shapes must be equal, but are {in_messages(merged)} and "
                f"{in_messages(spec.shape)} for 'Pack'."
            ) from None
    if merged.sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    known, rank = list(merged.sizes), len(merged.sizes) + 1
    if not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    known.insert(axis % rank, len(specs))
    return [TensorSpec(known, specs[0].dtype)]


def _pack_block(count: int, *blocks: Block, axis: int) -> Any:
    rows = [block.value for block in blocks if block.many]
    if axis in (1, -1) and len(rows) == len(blocks) and are_alike(rows):
        if isinstance(rows[0], Arrays):
            return None
        parts = [flat_values(column) for column in rows]
        return arrays_of(np.stack(parts, 1), rows[0].row_splits - rows[0].row_splits[0])
    columns = _columns(count, blocks)
    if columns is None or len({column.shape for column in columns}) > 1:
        return None
    return np.stack(columns, axis + 1 if axis >= 0 else axis)


PACK = Op("Pack", _pack, _pack_spec, _pack_block)


def _unpack(x: Any, *, num: int, axis: int) -> tuple[Array, ...]:
    array = as_array(x)
    if not num:
        return ()
    if not -array.ndim <= axis < array.ndim:
        raise invalid(f"axis = {axis} not in [{-array.ndim}, {array.ndim})")
    if array.shape[axis] != num:
        raise invalid(
            f"Input shape axis {axis} must equal {num}, got shape {in_messages(array.shape)}"
        )
    parts = array if not axis else np.moveaxis(array, axis, 0)
    return tuple([parts[i, ...] for i in range(num)])


def _unpack_spec(specs: Sequence[Any], *_: Any, num: int, axis: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is None:
        return [TensorSpec(None, specs[0].dtype)] * num
    front = axis % len(sizes)
    if sizes[axis] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {sizes[axis]} for 'Unpack'")
    return [TensorSpec([*sizes[:front], *sizes[front + 1 :]], specs[0].dtype)] * num


def _unpack_block(_: int, x: Block, *, num: int, axis: int) -> Any:
    if not is_column(x) or axis < 0 or x.value.ndim < axis + 2 or x.value.shape[axis + 1] != num:
        return None
    return tuple(np.moveaxis(x.value, axis + 1, 0))


UNPACK = Op("Unpack", _unpack, _unpack_spec, _unpack_block)


def number_of_parts(shape: Any, num: int | None, axis: int) -> int:
    """Return the number of parts along an axis.

    Raises
    ------
    ValueError
        If the number is unknown or negative, or if the axis is out of range.
    """
    sizes = shape.sizes
    if sizes is not None:
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
        num = sizes[axis] if num is None else num
    if num is None:
        raise ValueError(f"Cannot infer argument `num` from shape {shape}")
    if num < 0:
        raise ValueError(f"Attr 'num' of 'Unpack' Op passed {num} less than minimum 0.")
    return num


def _concat(dim: Array, *values: Any) -> Array:
    parts = [as_array(value) for value in values]
    return joined(parts, _axis_of(dim, parts))


def _axis_of(dim: Array, parts: Sequence[Any]) -> int:
    """Return the axis along which arrays or pieces are joined, after checking their shapes."""
    axis, rank = one_number(dim, "ConcatOp : Concat dim tensor"), parts[0].ndim
    if not all(part.ndim for part in parts):
        raise invalid("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -rank <= axis < rank:
        raise invalid(
            f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got "
            f"{axis}"
        )
    for i, part in enumerate(parts):
        _same_but(parts[0].shape, part.shape, i, axis % rank)
    return axis


def _same_but(first: tuple[int, ...], shape: tuple[int, ...], i: int, axis: int) -> None:
    if (*shape[:axis], first[axis], *shape[axis + 1 :]) == first and len(shape) == len(first):
        return
    shapes = f"shape[0] = {in_messages(first)} vs. shape[{i}] = {in_messages(shape)}"
    if len(shape) != len(first):
        raise invalid(f"ConcatOp : Ranks of all input tensors should match: {shapes}")
    for d, (m, n) in enumerate(zip(first, shape, strict=True)):
        if d != axis and m != n:
            raise invalid(f"ConcatOp : Dimension {d} in both shapes must be equal: {shapes}")


def _concat_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    at, shapes, dtype = constant_of(raws[0]), [spec.shape for spec in specs[1:]], specs[1].dtype
    ranks = {shape.ndims for shape in shapes} - {None}
    if at is None or not ranks:
        return [TensorSpec(None, dtype)]
    axis, rank = one_number(at, "axis"), ranks.pop()
    if ranks:
        raise ValueError("Shapes must be of equal rank for 'ConcatV2'")
    if not rank or not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for 'ConcatV2' of rank {rank}")
    axis %= rank
    rest: Shape = TensorShape(None)
    total: int | None = 0
    for shape in shapes:
        sizes = shape.sizes
        along = None if sizes is None else sizes[axis]
        total = None if total is None or along is None else total + along
        if sizes is not None:
            rest = rest.merge_with([None if i == axis else n for i, n in enumerate(sizes)])
    return [TensorSpec([total if i == axis else n for i, n in enumerate(rest.as_list())], dtype)]


def _joined_rows(columns: Sequence[Any]) -> Any:
    """Append the rows of each column to the rows of the first; return None if shapes differ."""
    shapes = [shapes_of(column) for column in columns]
    if any(not np.array_equal(each[:, 1:], shapes[0][:, 1:]) for each in shapes[1:]):
        return None
    parts = [flat_values(column) for column in columns]
    ends = np.cumsum([0, *map(len, parts)])
    sizes = np.stack([np.diff(column.row_splits) for column in columns], 1).reshape(-1)
    begins = [c.row_splits[:-1] - c.row_splits[0] + e for c, e in zip(columns, ends, strict=False)]
    before = np.stack(begins, 1).reshape(-1) - (np.cumsum(sizes) - sizes)
    places = np.arange(ends[-1]) + np.repeat(before, sizes)
    whole = shapes[0].copy()
    whole[:, 0] = sum(each[:, 0] for each in shapes)
    return rows_of_shapes(np.concatenate(parts)[places], whole)


def _as_rows(count: int, block: Block) -> Any:
    """Return elements as rows of numbers; None if they are not numbers or are scalars."""
    value = block.value
    if block.many and are_numbers(value):
        return value
    if not isinstance(value, np.ndarray) or value.ndim == block.many:
        return None
    whole = value if block.many else np.broadcast_to(value, (count, *value.shape))
    return rows_of_shapes(whole.reshape(-1), np.tile(whole.shape[1:], (count, 1)))


def _concat_block(count: int, dim: Block, *blocks: Block) -> Any:
    if not dim.many and any(block.many and are_numbers(block.value) for block in blocks):
        rows = [_as_rows(count, block) for block in blocks]
        if any(each is None for each in rows):
            return None
        first = one_number(dim.value, "axis") == 0
        ranks = {shapes_of(column).shape[1] for column in rows}
        return _joined_rows(rows) if first and len(ranks) == 1 else None
    columns = _columns(count, blocks)
    if columns is None or dim.many or len({column.ndim for column in columns}) > 1:
        return None
    axis, rank = one_number(dim.value, "axis"), columns[0].ndim - 1
    return np.concatenate(columns, axis % rank + 1) if -rank <= axis < rank else None


CONCAT = Op("ConcatV2", _concat, _concat_spec, _concat_block)


def part_sizes(lengths: Array | None, num: int, size: int, axis: int) -> list[int]:
    """Return the sizes of `num` parts: equal sizes, or `lengths` with the rest in place of -1.

    Raises
    ------
    InvalidArgumentError
        If the parts do not add up to `size`.
    """
    if lengths is None:
        if size % num:
            raise invalid(
                f"Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {axis} (size = {size}) and num_split {num}"
            )
        return [size // num] * num
    parts: list[int] = lengths.reshape(-1).tolist()
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


def _split(x: Any, dim: Array, *lengths: Array, num: int) -> tuple[Array, ...]:
    array, axis = as_array(x), one_number(dim, "split_dim")
    rank = array.ndim
    if not -rank <= axis < rank:
        raise invalid(f"-input rank({-rank}) <= split_dim < input rank ({rank}), but got {axis}")
    sizes = part_sizes(lengths[0] if lengths else None, num, array.shape[axis], axis)
    return tuple(np.split(array, np.cumsum(sizes)[:-1], axis))


def _split_spec(specs: Sequence[Any], raws: Sequence[Any], *, num: int) -> list[TypeSpec]:
    sizes, axis, dtype = specs[0].shape.sizes, constant_of(raws[1]), specs[0].dtype
    if sizes is None or axis is None:
        return [TensorSpec(None if sizes is None else [None] * len(sizes), dtype)] * num
    place, rank = one_number(axis, "axis"), len(sizes)
    if not -rank <= place < rank:
        raise ValueError(
            f"Dimension size, given by scalar input {place} must be in range [-{rank}, {rank})"
        )
    size, given = sizes[place], constant_of(raws[2]) if len(raws) > 2 else None
    along: list[int | None] = [None] * num
    if size is not None and (given is not None or len(raws) == 2):
        along = [*part_sizes(given, num, size, place)]
    elif given is not None:
        along = [None if n < 0 else n for n in given.tolist()]
    front = place % rank
    return [TensorSpec([*sizes[:front], n, *sizes[front + 1 :]], dtype) for n in along]


def _split_block(_: int, x: Block, dim: Block, *lengths: Block, num: int) -> Any:
    if not x.many or not isinstance(x.value, (np.ndarray, fastrec.Bytes)):
        return None
    if dim.many or any(each.many for each in lengths):
        return None
    axis, rank = one_number(dim.value, "split_dim"), len(x.value.shape) - 1
    if not -rank <= axis < rank:
        return None
    given = lengths[0].value if lengths else None
    bounds = np.cumsum([0, *part_sizes(given, num, x.value.shape[axis % rank + 1], axis % rank)])
    inside = (slice(None),) * (axis % rank + 1)
    places = [(*inside, slice(a, b)) for a, b in itertools.pairwise(bounds.tolist())]
    return tuple(moved(x.value, operator.itemgetter(place)) for place in places)


SPLIT = Op("Split", _split, _split_spec, _split_block)
