# SPDX-License-Identifier: Apache-2.0
"""Compute shapes, and reshape tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec.columns import Arrays

from ..columns import are_numbers, flat_values, rows_of_shapes, shapes_of
from ..dtypes import DType
from ..errors import InvalidArgumentError, invalid
from ..kernels.shaping import new_sizes
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of, known_sizes
from .reductions import one_number


def is_column(block: Block) -> bool:
    """Return whether a block is an array of elements that have one shape."""
    return block.many and isinstance(block.value, np.ndarray)


def moved(column: Any, move: Callable[[Array], Array]) -> Any:
    """Rearrange the elements of an array or a Bytes as `move` rearranges an array."""
    if not isinstance(column, fastrec.Bytes):
        return move(column)
    places = move(np.arange(len(column.offsets) - 1).reshape(column.shape))
    taken = column.take(places.reshape(-1))
    return fastrec.Bytes(taken.data, taken.offsets, places.shape)


def _shape(x: Any, *, out_type: DType) -> Array:
    return np.array(() if isinstance(x, bytes) else x.shape, out_type.numpy)


def _shape_block(_: int, x: Block, *, out_type: DType) -> Any:
    if x.many and isinstance(x.value, fastrec.Ragged):
        return x.value.row_lengths[:, np.newaxis].astype(out_type.numpy)
    if x.many and isinstance(x.value, Arrays):
        return x.value.shapes.astype(out_type.numpy)
    return Block(np.array(x.value.shape[1:], out_type.numpy), False) if is_column(x) else None


SHAPE = Op(
    "Shape",
    _shape,
    lambda specs, *_, out_type: [TensorSpec([specs[0].shape.ndims], out_type)],
    _shape_block,
)


def _size(x: Any, *, out_type: DType) -> Array:
    return np.asarray(1 if isinstance(x, bytes) else math.prod(x.shape), out_type.numpy)


def _size_block(_: int, x: Block, *, out_type: DType) -> Any:
    if x.many and isinstance(x.value, fastrec.Ragged):
        return x.value.row_lengths.astype(out_type.numpy)
    if x.many and isinstance(x.value, Arrays):
        return np.diff(x.value.row_splits).astype(out_type.numpy)
    return Block(_size(x.value[:1], out_type=out_type), False) if is_column(x) else None


SIZE = Op("Size", _size, lambda *_, out_type: [TensorSpec((), out_type)], _size_block)
RANK = Op(
    "Rank",
    lambda x: np.asarray(as_array(x).ndim, np.int32),
    lambda *_: [TensorSpec((), "int32")],
)


def _reshape(x: Any, sizes: Array) -> Any:
    if sizes.ndim > 1:
        raise invalid(f"sizes input must be 1-D, not {in_messages(sizes.shape)}")
    wanted = sizes.reshape(-1).tolist()
    if isinstance(x, fastrec.Bytes):
        return fastrec.Bytes(x.data, x.offsets, tuple(new_sizes(x.shape, wanted)))
    array = as_array(x)
    return array.reshape(new_sizes(array.shape, wanted))


def _reshape_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes = constant_of(raws[1])
    if sizes is None:
        return [TensorSpec(known_sizes(raws[1]), specs[0].dtype)]
    wanted = sizes.reshape(-1).tolist()
    known, count = specs[0].shape, specs[0].shape.num_elements()
    for size in wanted:
        if size < -1:
            raise ValueError(f"Invalid value in tensor used for shape: {size}")
    if count is None:
        return [TensorSpec([None if size < 0 else size for size in wanted], specs[0].dtype)]
    total = math.prod(wanted)
    if min(wanted, default=0) >= 0 and total != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {in_messages(wanted)} "
            f"({total} elements) for 'Reshape' with input shapes: {in_messages(known)}, "
            f"[{len(wanted)}]."
        )
    return [TensorSpec(new_sizes(known.as_list(), wanted), specs[0].dtype)]


def _reshape_block(count: int, x: Block, sizes: Block) -> Any:
    shapes = sizes.value
    if not x.many or (sizes.many and (not is_column(sizes) or (shapes != shapes[:1]).any())):
        return None
    wanted = (shapes[0] if sizes.many else shapes).reshape(-1).tolist()
    if isinstance(x.value, (fastrec.Ragged, Arrays)):
        return _reshape_rows(x.value, wanted)
    if not isinstance(x.value, (np.ndarray, fastrec.Bytes)):
        return None
    try:
        return _in_shape(x.value, (count, *new_sizes(x.value.shape[1:], wanted)))
    except InvalidArgumentError:
        return None  # processing the elements one by one finds the error


def _in_shape(values: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(values, fastrec.Bytes):
        return fastrec.Bytes(values.data, values.offsets, shape)
    return values.reshape(shape)


def _reshape_rows(rows: Any, wanted: Sequence[int]) -> Any:
    """Reshape arrays of varying shape; one of the wanted sizes may be -1."""
    if not isinstance(rows.values, (np.ndarray, fastrec.Bytes)) or min(wanted, default=0) < -1:
        return None
    totals, open_at = np.diff(rows.row_splits), [i for i, n in enumerate(wanted) if n == -1]
    known = math.prod(n for n in wanted if n != -1)
    if len(open_at) > 1 or not known or (totals % known).any():
        return None  # processing the elements one by one finds the error
    if not open_at:
        alike = bool((totals == known).all())
        return _in_shape(flat_values(rows), (len(rows), *wanted)) if alike else None
    if len(wanted) == 1:
        return fastrec.Ragged(rows.values, rows.row_splits)
    if not isinstance(rows.values, np.ndarray):
        return None
    shapes = np.tile(np.array(wanted, np.int64), (len(rows), 1))
    shapes[:, open_at[0]] = totals // known
    return Arrays(rows.values, rows.row_splits, shapes)


RESHAPE = Op("Reshape", _reshape, _reshape_spec, _reshape_block, cheap=True)


def _expand_dims(x: Any, dim: Array) -> Array:
    array, at = as_array(x), one_number(dim, "'dim' input")
    if not -array.ndim - 1 <= at <= array.ndim:
        raise invalid(f"Tried to expand dim index {at} for tensor with {array.ndim} dimensions.")
    return array[(slice(None),) * (at % (array.ndim + 1)) + (np.newaxis,)]


def _expand_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    at, sizes = constant_of(raws[1]), specs[0].shape.sizes
    known: list[int | None] | None = None
    if at is not None and at.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value for 'ExpandDims'")
    if sizes is not None:
        rank = len(sizes)
        known = [None] * (rank + 1)
        if at is not None:
            place = int(at.reshape(-1)[0])
            if not -rank - 1 <= place <= rank:
                raise ValueError(
                    f"dim {place} not in the interval [{-rank - 1}, {rank}]. for 'ExpandDims' with "
                    f"input shapes: {in_messages(sizes)}, []."
                )
            known = list(sizes)
            known.insert(place % (rank + 1), 1)
    return [TensorSpec(known, specs[0].dtype)]


def _expand_block(_: int, x: Block, dim: Block) -> Any:
    if x.many and not dim.many and are_numbers(x.value):
        shapes, at = shapes_of(x.value), one_number(dim.value, "'dim' input")
        rank = shapes.shape[1]
        if not -rank - 1 <= at <= rank:
            return None
        whole = np.insert(shapes, at % (rank + 1), 1, axis=1)
        return Arrays(x.value.values, x.value.row_splits, whole)
    if not is_column(x) or dim.many:
        return None
    at, rank = one_number(dim.value, "'dim' input"), x.value.ndim - 1
    if not -rank - 1 <= at <= rank:
        return None
    return np.expand_dims(x.value, at % (rank + 1) + 1)


EXPAND_DIMS = Op("ExpandDims", _expand_dims, _expand_spec, _expand_block, cheap=True)


def _dropped(sizes: Sequence[int | None], axes: Sequence[int]) -> set[int]:
    """Return the axes to remove: the given axes, or all axes of size 1."""
    rank = len(sizes)
    for number, a in enumerate(axes):
        if not -rank <= a < rank:
            raise invalid(f"squeeze_dims[{number}] not in [-{rank},{rank}).")
    drop = {a % rank for a in axes} or {i for i, n in enumerate(sizes) if n == 1}
    for a in sorted(drop):
        if sizes[a] not in (1, None):
            raise invalid(f"Can not squeeze dim[{a}], expected a dimension of 1, got {sizes[a]}")
    return drop


def _squeeze(x: Any, *, squeeze_dims: Sequence[int]) -> Array:
    array = as_array(x)
    return np.squeeze(array, tuple(_dropped(array.shape, squeeze_dims)))


def _squeeze_spec(specs: Sequence[Any], *_: Any, squeeze_dims: Sequence[int]) -> list[TypeSpec]:
    sizes, known = specs[0].shape.sizes, None
    if sizes is not None and (squeeze_dims or None not in sizes):
        drop = _dropped(sizes, squeeze_dims)
        known = [n for i, n in enumerate(sizes) if i not in drop]
    return [TensorSpec(known, specs[0].dtype)]


def _squeeze_block(_: int, x: Block, *, squeeze_dims: Sequence[int]) -> Any:
    if not is_column(x):
        return None
    drop = _dropped(x.value.shape[1:], squeeze_dims)
    return np.squeeze(x.value, tuple([a + 1 for a in drop]))


SQUEEZE = Op("Squeeze", _squeeze, _squeeze_spec, _squeeze_block, cheap=True)


def _order_of(perm: Array, rank: int) -> list[int]:
    """Return a permutation of axes as non-negative numbers."""
    if perm.ndim != 1:
        raise invalid(f"perm must be rank 1, got shape {in_messages(perm.shape)}")
    if perm.size != rank:
        raise invalid(
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{perm.size}"
        )
    places = perm.reshape(-1).tolist()
    for at in places:
        if not -rank <= at < rank:
            raise invalid(f"{at} is out of range [0 .. {rank})")
    places = [at % rank for at in places]
    missing = sorted(set(range(rank)) - set(places))
    if missing:
        raise invalid(f"{missing[0]} is missing from {{{','.join(map(str, places))}}}.")
    return places


def _transpose(x: Any, *perm: Array) -> Array:
    array = as_array(x)
    return array.transpose(_order_of(perm[0], array.ndim)) if perm else array.transpose()


def _transpose_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes, known = specs[0].shape.sizes, None
    if len(raws) == 1:
        known = None if sizes is None else sizes[::-1]
    elif (perm := constant_of(raws[1])) is not None:
        places = perm.reshape(-1).tolist()
        sizes = specs[0].shape.with_rank(len(places)).sizes
        for p in places:
            if not -len(places) <= p < len(places):
                raise ValueError(f"perm dim {p} is out of range of input rank {len(places)}")
        known = [None] * len(places) if sizes is None else [sizes[p] for p in places]
    return [TensorSpec(known, specs[0].dtype)]


def _turned_rows(column: Arrays) -> Arrays:
    """Transpose matrices of varying size."""
    sizes = np.diff(column.row_splits)
    m, n = (np.repeat(column.shapes[:, axis], sizes) for axis in (0, 1))
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(len(begins)) - begins
    values = flat_values(column)[begins + within % m * n + within // m]
    turned: Arrays = rows_of_shapes(values, np.ascontiguousarray(column.shapes[:, ::-1]))
    return turned


def _transpose_block(_: int, x: Block, *perm: Block) -> Any:
    if isinstance(x.value, Arrays) and x.many and x.value.shapes.shape[1] == 2:
        fixed = not any(p.many for p in perm) and are_numbers(x.value)
        turned = not perm or perm[0].value.tolist() == [1, 0]
        return _turned_rows(x.value) if fixed and turned else None
    if not is_column(x) or any(p.many for p in perm):
        return None
    rank = x.value.ndim - 1
    order = _order_of(perm[0].value, rank) if perm else range(rank)[::-1]
    return x.value.transpose(0, *[place + 1 for place in order])


TRANSPOSE = Op("Transpose", _transpose, _transpose_spec, _transpose_block, cheap=True)
