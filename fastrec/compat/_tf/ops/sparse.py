# SPDX-License-Identifier: Apache-2.0
"""Operations on sparse values, which consist of indices, values and a dense shape."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from ..columns import VarLen, shape_of
from ..errors import invalid
from ..kernels.shaping import new_sizes
from ..shape import in_messages
from ..specs import SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Mismatch, Op, known_sizes, same_spec

Sparse = fastrec.Sparse
_UNSORTED = (
    "is out of order. Many sparse ops require sorted indices.\n"
    "    Use `tf.sparse.reorder` to create a correctly ordered copy."
)


def _of_rank(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    """Return the spec of a sparse value with the type and rank of the first input."""
    rank = specs[0].shape.ndims
    return [SparseTensorSpec(None if rank is None else [None] * rank, specs[0].dtype)]


# Parts of sparse values.


def _made(indices: Any, values: Any, sizes: Any) -> Sparse:
    places, whole = np.asarray(indices), np.asarray(sizes)
    if places.ndim != 2:
        raise Mismatch(f"Shape {places.shape} must have rank 2")
    for one, other in ((len(places), len(values)), (places.shape[1], len(whole))):
        _same_size(one, other)
    return Sparse(places.astype(np.int64, copy=False), values, tuple(whole.tolist()))


def _same_size(one: int, other: int) -> None:
    if one != other:
        raise Mismatch(f"Dimensions {one} and {other} are not compatible")


def _made_spec(specs: Sequence[Any], raws: Any) -> list[TypeSpec]:
    return [SparseTensorSpec(known_sizes(raws[2]), specs[1].dtype)]


MAKE = Op("SparseTensor", _made, _made_spec)
INDICES = Op(
    "SparseIndices",
    lambda s: s.indices,
    lambda specs, _: [TensorSpec([None, specs[0].shape.ndims], "int64")],
)
VALUES = Op(
    "SparseValues", lambda s: s.values, lambda specs, _: [TensorSpec([None], specs[0].dtype)]
)
DENSE_SHAPE = Op(
    "SparseShape",
    lambda s: np.array(s.dense_shape, np.int64),
    lambda specs, _: [TensorSpec([specs[0].shape.ndims], "int64")],
)


def _with_values(sparse: Sparse, values: Any) -> Sparse:
    if len(shape_of(values)) != 1:
        raise Mismatch(f"Shape {shape_of(values)} must have rank 1")
    _same_size(len(sparse.indices), len(values))
    return Sparse(sparse.indices, values, sparse.dense_shape)


WITH_VALUES = Op(
    "SparseWithValues",
    _with_values,
    lambda specs, _: [SparseTensorSpec(specs[0].shape, specs[1].dtype)],
)
CAST = Op(
    "SparseCast",
    lambda s, *, dtype: Sparse(s.indices, as_array(s.values).astype(dtype.numpy), s.dense_shape),
    lambda specs, _, *, dtype: [SparseTensorSpec(specs[0].shape, dtype)],
)


# Dense arrays.


def dense_array(
    indices: Array, sizes: Any, values: Array, default: Any, validate: bool = True
) -> Array:
    """Return a dense array with `default` in place of missing values.

    Raises
    ------
    InvalidArgumentError
        If :func:`flat_places` raises it.
    """
    count, rank = (len(indices) if indices.ndim else 1), len(sizes)
    places = indices.reshape(count, rank if indices.size else 0)
    whole = np.full(tuple(int(n) for n in sizes), as_array(default)[()], dtype=values.dtype)
    if places.size:
        whole.reshape(-1)[flat_places(places, np.asarray(sizes), validate)] = values
    return whole


def flat_places(places: Array, sizes: Array, validate: bool) -> Array:
    """Return the index of each value in the flattened array.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds, or if `validate` is True and an index is repeated or out of
        order.
    """
    flat = places[:, 0].astype(np.int64)
    inside = True
    for axis, size in enumerate(sizes.tolist()):
        index = places[:, axis]
        inside = inside and index.min() >= 0 and index.max() < size
        if axis:
            flat *= size
            flat += index
    rises = flat[1:] > flat[:-1]
    if inside and (not validate or rises.all()):
        return flat
    whole = in_messages(sizes.tolist())
    if not validate:
        raise invalid(f"Indices are not valid (out of bounds).  Shape: {whole}")
    if inside:
        at = rises.argmin() + 1
        how = "is repeated" if flat[at] == flat[at - 1] else _UNSORTED
    else:
        at = ((places < 0) | (places >= sizes)).any(axis=1).argmax()
        how = f"is out of bounds: need 0 <= index < {whole}"
    raise invalid(f"indices[{at}] = [{','.join(map(str, places[at].tolist()))}] {how}")


def _dense(sparse: Sparse, default: Any, *, validate: bool = True) -> Array:
    values = as_array(sparse.values)
    return dense_array(sparse.indices, sparse.dense_shape, values, default, validate)


def _dense_block(_: int, sparse: Block, default: Block, **__: Any) -> Any:
    """Return the rows of vectors that have no missing values; the default is not needed."""
    return sparse.value.rows if isinstance(sparse.value, VarLen) and sparse.many else None


TO_DENSE = Op(
    "SparseToDense",
    _dense,
    lambda specs, _, **__: [TensorSpec(specs[0].shape, specs[0].dtype)],
    _dense_block,
)


def _from_dense(x: Any) -> Sparse:
    array = as_array(x)
    if not array.ndim:
        raise invalid("WhereOp : Unhandled input dimensions: 0")
    where = np.argwhere(array != (b"" if array.dtype == object else 0))
    return Sparse(where, array[tuple(where.T)], array.shape)


FROM_DENSE = Op(
    "SparseFromDense", _from_dense, lambda s, _: [SparseTensorSpec(s[0].shape, s[0].dtype)]
)


def _indicator(sparse: Sparse, *, size: int) -> Array:
    numbers = as_array(sparse.values).astype(np.int64)[:, np.newaxis]
    places = np.concatenate([sparse.indices[:, :-1], numbers], axis=1)
    sizes = (*sparse.dense_shape[:-1], size)
    return dense_array(places, sizes, np.ones(len(places), bool), False, validate=False)


def _indicator_spec(specs: Sequence[Any], _: Any, *, size: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else [*sizes[:-1], size], "bool")]


TO_INDICATOR = Op("SparseToIndicator", _indicator, _indicator_spec)


# Rearranged values.


def _sorted(indices: Array, values: Any, sizes: Sequence[int]) -> Sparse:
    """Sort values by index; the order of equal indices is preserved."""
    order = np.lexsort(indices.T[::-1]) if indices.size else np.arange(len(values))
    return Sparse(indices[order], as_array(values)[order], tuple(sizes))


def picked(sparse: Sparse, kept: Any, sizes: Sequence[int], offset: Any = 0) -> Sparse:
    """Select some of the indices and values, with a new dense shape."""
    return Sparse(sparse.indices[kept] - offset, as_array(sparse.values)[kept], tuple(sizes))


REORDER = Op("SparseReorder", lambda s: _sorted(s.indices, s.values, s.dense_shape), same_spec)


def _reset_shape(sparse: Sparse, *new: Array) -> Sparse:
    if not new:
        sizes = np.max(sparse.indices, axis=0, initial=-1) + 1
    else:
        sizes = new[0].astype(np.int64)
        _same_size(len(sizes), len(sparse.dense_shape))
        if (sizes < sparse.dense_shape).any():
            raise Mismatch(
                f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found "
                f"new_shape ({np.array(sparse.dense_shape)}), sp_input.shape ({sizes})."
            )
    return Sparse(sparse.indices, sparse.values, tuple(sizes.tolist()))


def _known_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    known = known_sizes(raws[1]) if len(raws) > 1 else [None] * (specs[0].shape.ndims or 0)
    return [SparseTensorSpec(known, specs[0].dtype)]


RESET_SHAPE = Op("SparseResetShape", _reset_shape, _known_spec)


def _reshape(sparse: Sparse, wanted: Array) -> Sparse:
    new, total = wanted.reshape(-1).tolist(), int(np.prod(sparse.dense_shape))
    holes = [at for at, size in enumerate(new) if size == -1]
    if len(holes) > 1:
        raise invalid(f"only one output dimension may be -1, not both {holes[0]} and {holes[1]}")
    known = int(np.prod([size for size in new if size != -1]))
    if total != known and (not holes or not known or total % known):
        filled = [size if size != -1 else total // max(known, 1) for size in new]
        shapes = f"input_shape={in_messages(sparse.dense_shape)} output_shape={in_messages(filled)}"
        what = "SparseTensor" if holes else "tensor"
        rest = f"shape requires a multiple of {known}" if holes else f"shape has {known}"
        raise invalid(
            f"Input to reshape is a {what} with {total} dense values, but the requested {rest}. "
            f"{shapes}"
        )
    target = new_sizes((total,), new)
    places = np.zeros((0, len(target)), np.int64)
    if len(sparse.indices):
        flat = np.ravel_multi_index(tuple(sparse.indices.T), sparse.dense_shape)
        places = np.stack(np.unravel_index(flat, target), axis=1).astype(np.int64)
    return Sparse(places, sparse.values, tuple(target))


RESHAPE = Op("SparseReshape", _reshape, _known_spec)


def _expand_dims(sparse: Sparse, *, axis: int) -> Sparse:
    rank = len(sparse.dense_shape)
    if not -rank - 1 <= axis <= rank:
        raise invalid(f"Expected size[1] in [0, {rank}], but got {axis}")
    at = axis % (rank + 1)
    sizes = (*sparse.dense_shape[:at], 1, *sparse.dense_shape[at:])
    return Sparse(np.insert(sparse.indices, at, 0, axis=1), sparse.values, sizes)


def _expanded_spec(specs: Sequence[Any], _: Any, *, axis: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is None:
        return [SparseTensorSpec(None, specs[0].dtype)]
    at = axis % (len(sizes) + 1)
    return [SparseTensorSpec([*sizes[:at], 1, *sizes[at:]], specs[0].dtype)]


EXPAND_DIMS = Op("SparseExpandDims", _expand_dims, _expanded_spec)


def _transpose(sparse: Sparse, *order: Array) -> Sparse:
    rank = len(sparse.dense_shape)
    axes = order[0].tolist() if order else list(range(rank))[::-1]
    _same_size(len(axes), rank)
    sizes = [sparse.dense_shape[axis] for axis in axes]
    return _sorted(sparse.indices[:, axes], sparse.values, sizes)


TRANSPOSE = Op("SparseTranspose", _transpose, _of_rank)


# Split and join.


def _slice(sparse: Sparse, start: Array, size: Array) -> Sparse:
    rank = len(sparse.dense_shape)
    for name, each in (("start", start), ("size", size)):
        if len(each) != rank:
            raise invalid(f"Expected {name} to be a vector of length {rank} but got length "
                          f"{len(each)}")  # fmt: skip
    sizes = np.clip(np.minimum(size, np.array(sparse.dense_shape) - start), 0, None)
    kept = ((sparse.indices >= start) & (sparse.indices < start + size)).all(axis=1)
    return picked(sparse, kept, sizes.tolist(), start)


SLICE = Op("SparseSlice", _slice, _of_rank)


def _split(sparse: Sparse, axis: Array, *, count: int) -> Any:
    rank, along = len(sparse.dense_shape), int(axis)
    if not -rank <= along < rank:
        raise invalid(f"Input axis should be in range [{-rank}, {rank}), got {along}")
    along %= rank
    size = sparse.dense_shape[along]
    if not 1 <= count <= size:
        raise invalid(
            f"Input num_split should be between 1 and the splitting dimension size ({size}), got "
            f"{count}"
        )
    short, longer = divmod(size, count)
    ends = np.cumsum([0, *[short + (i < longer) for i in range(count)]]).tolist()
    found = []
    for begin, end in itertools.pairwise(ends):
        sizes, offset = list(sparse.dense_shape), np.zeros(rank, np.int64)
        sizes[along], offset[along] = end - begin, begin
        places = sparse.indices[:, along]
        found.append(picked(sparse, (places >= begin) & (places < end), sizes, offset))
    return tuple(found) if count > 1 else found[0]


SPLIT = Op("SparseSplit", _split, lambda specs, _, *, count: _of_rank(specs) * count)


def _concat(*parts: Sparse, axis: int, expand: bool) -> Sparse:
    rank = len(parts[0].dense_shape)
    for number, part in enumerate(parts):
        if len(part.dense_shape) != rank:
            raise invalid(
                f"Ranks of all input tensors must match: expected {rank} but got "
                f"{len(part.dense_shape)} at position {number}"
            )
    if not -rank <= axis < rank:
        raise invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {axis}")
    along = axis % rank
    sizes = np.max([part.dense_shape for part in parts], axis=0)
    for number, part in enumerate(parts):
        for at in [at for at in range(rank) if at != along and not expand]:
            expected, found = parts[0].dense_shape[at], part.dense_shape[at]
            if found != expected:
                raise invalid(
                    f"Input shapes must match: expected {expected} for dimension {at} but got "
                    f"{found} at position {number}"
                )
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *[part.dense_shape[along] for part in parts]])
    moved = []
    for part, begin in zip(parts, ends, strict=False):
        moved.append(part.indices.copy())
        moved[-1][:, along] += begin
    sizes[along] = ends[-1]
    values = np.concatenate([as_array(part.values) for part in parts])
    return _sorted(np.concatenate(moved), values, sizes.tolist())


CONCAT = Op("SparseConcat", _concat, _of_rank)


def _retain(sparse: Sparse, kept: Array) -> Sparse:
    _same_size(len(sparse.indices), len(kept))
    return picked(sparse, kept, sparse.dense_shape)


RETAIN = Op("SparseRetain", _retain, same_spec)


def _fill_empty_rows(sparse: Sparse, default: Any) -> tuple[Sparse, Array]:
    count, rank = sparse.dense_shape[0], len(sparse.dense_shape)
    rows, values = sparse.indices[:, 0], as_array(sparse.values)
    bad = np.flatnonzero((rows < 0) | (rows >= count))
    if bad.size:
        row = rows[bad[0]]
        why = f"{row} < 0" if row < 0 else f"{row} >= {count}"
        raise invalid(f"indices({bad[0]}, 0) is invalid: {why}")
    empty = np.bincount(rows, minlength=count) == 0
    places = np.zeros((int(empty.sum()), rank), np.int64)
    places[:, 0] = np.flatnonzero(empty)
    filler = np.full(len(places), as_array(default)[()], values.dtype)
    order = np.argsort(np.concatenate([rows, places[:, 0]]), kind="stable")
    indices = np.concatenate([sparse.indices, places])[order]
    return Sparse(indices, np.concatenate([values, filler])[order], sparse.dense_shape), empty


FILL_EMPTY_ROWS = Op(
    "SparseFillEmptyRows",
    _fill_empty_rows,
    lambda specs, _: [specs[0], TensorSpec(specs[0].shape[:1], "bool")],
)
