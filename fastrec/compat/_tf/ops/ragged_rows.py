# SPDX-License-Identifier: Apache-2.0
"""Select, join, nest and reduce rows of ragged values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import invalid
from ..shape import in_messages
from ..specs import RaggedTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Mismatch, Op
from .picking import filled
from .ragged import (
    OutOfRows,
    Ragged,
    as_ragged,
    depth_of,
    normal,
    rank_of,
    spec_parts,
    splits_of,
    take,
    together,
    tried,
    with_spec,
)

# Select, join and nest rows.


def _getitem(ragged: Ragged, *tensors: Array, key: tuple[Any, ...]) -> Any:
    parts = [filled(part, tensors) for part in key]
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        used = sum(part is not None for part in parts) - 1
        parts[at : at + 1] = [slice(None)] * (rank_of(ragged) - used)
    return _picked(ragged, parts)


def _places_in(*, key: tuple[Any, ...]) -> int:
    numbers = [n for part in key if isinstance(part, slice) for n in (part.start, part.stop)]
    numbers += [part for part in key if isinstance(part, int)]
    return 4 + max([abs(n) for n in numbers if isinstance(n, int)], default=0)


def _picked(value: Any, key: Sequence[Any]) -> Any:
    """Return the parts of a dense or ragged value that an index selects."""
    if not key:
        return value
    if not isinstance(value, Ragged):
        try:
            return as_array(as_array(value)[tuple(key)])
        except IndexError:
            at = next(i for i, k in enumerate(key) if isinstance(k, int))
            text = f"slice index {key[at]} of dimension {at} out of bounds."
            raise invalid(text) from None
    first, *rest = key
    if first is None:
        inner = _picked(normal(value), [slice(None), *rest] if rest else [])
        return Ragged(inner, np.array([0, len(inner)], value.row_splits.dtype))
    if not isinstance(first, slice):
        if not -len(value) <= first < len(value):
            raise OutOfRows(f"Row key {first} out of bounds")
        begin, end = value.row_splits[first % len(value)], value.row_splits[first % len(value) + 1]
        return _picked(value.values[begin:end], rest)
    rows = take(value, np.arange(len(value))[first])
    return _within(rows, rest) if rest else rows


def _within(ragged: Ragged, key: Sequence[Any]) -> Any:
    """Return the parts of each row that an index selects."""
    first, *rest = key
    if first is None:
        inner = Ragged(ragged, np.arange(len(ragged) + 1, dtype=ragged.row_splits.dtype))
        return Ragged(_within(ragged, rest), inner.row_splits) if rest else inner
    if not isinstance(first, slice):
        raise Mismatch("Cannot index into an inner ragged dimension.")
    splits = ragged.row_splits.tolist()
    spans = [range(a, b)[first] for a, b in itertools.pairwise(splits)]
    none = np.zeros(0, np.int64)
    places = np.concatenate([none, *[np.arange(s.start, s.stop, s.step) for s in spans]])
    lengths = [len(span) for span in spans]
    values = take(ragged.values, places)
    if rest:
        inner_key = [slice(None), *rest]
        values = _picked(values, inner_key)
    return Ragged(values, splits_of(lengths, ragged.row_splits.dtype))


GETITEM = Op("RaggedStridedSlice", _getitem, tried(_getitem, _places_in))


def _gather(params: Any, indices: Any) -> Any:
    if isinstance(indices, Ragged):
        inner = normal(indices)
        return Ragged(_gather(params, inner.values), inner.row_splits)
    places = as_array(indices)
    bad = np.flatnonzero((places < 0) | (places >= len(params)))
    if bad.size:
        at = in_messages(np.unravel_index(bad[0], places.shape)) if places.ndim else "[]"
        text = f"indices{at} = {places.reshape(-1)[bad[0]]} is not in [0, {len(params)})"
        raise invalid(text.replace("indices[]", "indices"))
    if not places.ndim:
        return _picked(params, [int(places)])
    if not isinstance(params, Ragged):
        return as_array(params)[places]
    if places.ndim == 1:
        return take(params, places)
    width = places.shape[1]
    inner = _gather(params, places.reshape(-1, *places.shape[2:]))
    return Ragged(inner, np.arange(len(places) + 1, dtype=np.int64) * width)


def _among_rows(places: Any, starts: Array, sizes: Array) -> Any:
    """Convert indices within rows to indices into the concatenated rows."""
    if isinstance(places, Ragged):
        inner = normal(places)
        lengths = inner.row_lengths
        found = _among_rows(inner.values, np.repeat(starts, lengths), np.repeat(sizes, lengths))
        return Ragged(found, inner.row_splits)
    wide = (-1, *(1,) * (places.ndim - 1))
    if ((places < 0) | (places >= sizes.reshape(wide))).any():
        raise invalid("indices are not in the rows of params")
    return places + starts.reshape(wide)


def _gather_along(params: Any, indices: Any, *, axis: int, batch_dims: int) -> Any:
    """Gather elements along `axis`; each row in the batch dimensions has its own indices."""
    if not axis:
        return _gather(params, indices)
    rows, splits = params, []
    for _ in range(axis):
        level = normal(as_ragged(rows, max(1, depth_of(rows))))
        splits.append(level.row_splits)
        rows = level.values
    whole = indices if isinstance(indices, Ragged) else as_array(indices)
    for _ in range(batch_dims - 1):
        whole = normal(as_ragged(whole, max(1, depth_of(whole)))).values
    # The number of rows that have their own indices.
    count = len(splits[max(batch_dims, 1) - 1]) - 1
    if batch_dims and len(whole) != count:
        raise invalid("batch shape from indices does not match params shape")
    batch = np.arange(count) if batch_dims else np.zeros(count, np.int64)
    for inner in splits[max(batch_dims, 1) - 1 : -1]:
        batch = np.repeat(batch, np.diff(inner))
    if not batch_dims:
        alone = isinstance(whole, Ragged)
        whole = Ragged(whole, np.array([0, len(whole)])) if alone else whole[np.newaxis]
    starts, sizes = splits[-1][:-1], np.diff(splits[-1])
    found = _gather(rows, _among_rows(take(whole, batch), starts, sizes))
    for outer in reversed(splits[:-1]):
        found = Ragged(found, outer)
    return found


GATHER = Op("RaggedGather", _gather_along, tried(_gather_along))


def _joined(*values: Any, axis: int) -> Any:
    rank = max(1, *map(depth_of, values))
    if axis > 1:
        rank = max(rank, axis)
    splits = next((v.row_splits.dtype for v in values if isinstance(v, Ragged)), np.int64)
    return _joined_along([normal(as_ragged(v, rank, splits)) for v in values], axis)


def _joined_along(parts: Sequence[Any], axis: int) -> Any:
    first = parts[0]
    if not isinstance(first, Ragged):
        return np.concatenate(parts, axis)
    whole = together(parts)
    if axis == 0:
        return whole
    for number, part in enumerate(parts):
        if len(part) != len(first):
            text = f"Input tensors at index 0 (=x) and {number} (=y) have incompatible shapes."
            raise invalid(text)
    if axis == 1:
        order = np.arange(len(whole)).reshape(len(parts), -1).T.reshape(-1)
        found = take(whole, order)
        return Ragged(found.values, found.row_splits[:: len(parts)])
    for part in parts:
        if not np.array_equal(part.row_splits, first.row_splits):
            raise invalid("Inputs must have identical ragged splits")
    return Ragged(_joined_along([normal(p).values for p in parts], axis - 1), first.row_splits)


def _joined_spec(specs: Sequence[Any], _: Any, *, axis: int) -> list[TypeSpec]:
    found = [spec_parts(spec) for spec in specs]
    rank = max(1, axis, *[each[2] for each in found])
    splits = next((each[3] for each in found if each[2]), "int64")
    first = next((sizes for sizes, *_ in found if sizes is not None), None)
    if first is None:
        return [RaggedTensorSpec(None, specs[0].dtype, rank, splits)]
    known = [None if not sizes else sizes[0] for sizes, *_ in found]
    total = None if None in known else sum(size or 0 for size in known)
    rows = total if axis == 0 else known[0]
    return [
        RaggedTensorSpec(
            [rows, *[None] * rank, *first[rank + 1 :]], specs[0].dtype, rank, splits
        )
    ]  # fmt: skip


CONCAT = Op("RaggedConcat", _joined, _joined_spec)


def _stacked(*values: Any, axis: int) -> Any:
    dense = not any(isinstance(value, Ragged) for value in values)
    rank = rank_of(values[0])
    if dense and rank == 1 and axis == 0:
        lengths = [len(value) for value in values]
        return Ragged(np.concatenate([as_array(v) for v in values]), splits_of(lengths, np.int32))
    if dense and axis >= rank - 1:
        return np.stack([as_array(value) for value in values], axis)
    if rank > 1:
        splits = next((v.row_splits.dtype for v in values if isinstance(v, Ragged)), np.int64)
        values = tuple(as_ragged(v, max(1, *map(depth_of, values)), splits) for v in values)
    return _joined(*[_expand_dims(value, axis=axis) for value in values], axis=axis)


def _stacked_spec(specs: Sequence[Any], _: Any, *, axis: int) -> list[TypeSpec]:
    found: list[Any] = [spec_parts(spec) for spec in specs]
    depth, ranks = max(each[2] for each in found), {len(each[0] or ()) for each in found}
    rank, sizes = ranks.pop(), list(found[0][0] or ())
    if not depth and rank == 1 and axis == 0:
        return [RaggedTensorSpec([len(specs), None], specs[0].dtype, 1, "int32")]
    if not depth and axis >= rank - 1:
        return [TensorSpec([*sizes[:axis], len(specs), *sizes[axis:]], specs[0].dtype)]
    depth = max(depth, 1)
    splits = next((each[3] for each in found if each[2]), "int64")
    below = [None] * depth
    inner = [*([len(specs)] if axis > depth else []), *sizes[depth + 1 :]]
    shape = [len(specs) if axis == 0 else sizes[0], *below, *([] if axis > depth else [None])]
    nested = depth + (axis <= depth)
    return [RaggedTensorSpec([*shape, *inner], specs[0].dtype, nested, splits)]


STACK = Op("RaggedStack", _stacked, _stacked_spec)


def _expand_dims(value: Any, *, axis: int) -> Any:
    if not isinstance(value, Ragged):
        return np.expand_dims(as_array(value), axis)
    whole = normal(value)
    if axis == 0:
        return Ragged(whole, np.array([0, len(whole)], whole.row_splits.dtype))
    if axis == 1:
        return Ragged(whole, np.arange(len(whole) + 1, dtype=whole.row_splits.dtype))
    return Ragged(_expand_dims(whole.values, axis=axis - 1), whole.row_splits)


EXPAND_DIMS = Op("RaggedExpandDims", _expand_dims, tried(_expand_dims))


def _merged(value: Any, *, outer: int, inner: int) -> Any:
    if not isinstance(value, Ragged):
        array = as_array(value)
        return array.reshape(*array.shape[:outer], -1, *array.shape[inner + 1 :])
    whole = normal(value)
    if outer > 0:
        inside = _merged(whole.values, outer=outer - 1, inner=inner - 1) if outer > 1 else None
        if inside is not None:
            return Ragged(inside, whole.row_splits)
        splits, values = whole.row_splits, whole.values
        for _ in range(inner - 1):
            if isinstance(values, Ragged):
                values = normal(values)
                splits, values = values.row_splits[splits], values.values
            else:
                array = as_array(values)
                splits, values = splits * array.shape[1], array.reshape(-1, *array.shape[2:])
        return Ragged(values, splits)
    return whole.values if inner == 1 else _merged(whole.values, outer=0, inner=inner - 1)


MERGE_DIMS = Op("RaggedMergeDims", _merged, tried(_merged))


def _masked(data: Any, mask: Any) -> Any:
    if not isinstance(mask, Ragged) and as_array(mask).ndim == 1:
        return take(data, np.flatnonzero(as_array(mask)))
    kept = normal(as_ragged(mask, rank_of(mask) - 1))
    rows = normal(as_ragged(data, depth_of(kept)) if not isinstance(data, Ragged) else data)
    if not np.array_equal(kept.row_splits, rows.row_splits):
        raise invalid("Inputs must have identical ragged splits")
    values = _masked(rows.values, kept.values)
    if isinstance(kept.values, Ragged):
        return Ragged(values, kept.row_splits)
    counts = np.append(0, np.cumsum(as_array(kept.values)))
    return Ragged(values, counts[kept.row_splits].astype(kept.row_splits.dtype))


def _masked_spec(specs: Sequence[Any], _: Any) -> list[TypeSpec]:
    sizes, dtype, rank, splits = spec_parts(specs[0])
    depth = specs[1].shape.ndims
    if depth is None or sizes is None:
        raise Mismatch("mask.shape.ndims must be known statically.")
    shape = [None, *sizes[1:]] if depth == 1 else [sizes[0], *[None] * (depth - 1), *sizes[depth:]]
    return [with_spec(shape, dtype, max(rank, depth - 1), splits)]


BOOLEAN_MASK = Op("RaggedBooleanMask", _masked, _masked_spec)


def _ranges(starts: Array, limits: Array, deltas: Array, *, dtype: DType) -> Ragged:
    sizes = {len(each) for each in (starts, limits, deltas) if each.ndim}
    if len(sizes) > 1:
        raise invalid("starts, limits, and deltas must have the same shape")
    if (deltas == 0).any():
        raise invalid("Requires delta != 0")
    three: list[Any] = [np.atleast_1d(each) for each in (starts, limits, deltas)]
    a, b, d = np.broadcast_arrays(*three)
    if a.dtype == np.int32:
        a, b, d = (each.astype(np.int64) for each in (a, b, d))
        sizes_of = np.maximum((b - a + d - np.sign(d)) // d, 0)
        splits = splits_of(sizes_of, np.int64)
        begins, steps = np.repeat(a - splits[:-1] * d, sizes_of), np.repeat(d, sizes_of)
        values = (begins + np.arange(splits[-1]) * steps).astype(np.int32)
        return Ragged(values, splits.astype(dtype.numpy, copy=False))
    numbers: Any = np.arange
    rows: list[Any] = [
        numbers(x, y, z, dtype=a.dtype) for x, y, z in zip(a, b, d, strict=True)
    ]  # fmt: skip
    values = np.concatenate(rows or [np.zeros(0, a.dtype)])
    return Ragged(values, splits_of([len(row) for row in rows], dtype.numpy))


def _ranges_spec(specs: Sequence[Any], _: Any, *, dtype: DType) -> list[TypeSpec]:
    known = next((spec.shape.sizes[0] for spec in specs if spec.shape.sizes), None)
    if all(spec.shape.ndims == 0 for spec in specs):
        known = 1
    return [RaggedTensorSpec([known, None], specs[0].dtype, 1, dtype)]


RANGE = Op("RaggedRange", _ranges, _ranges_spec)


# Reductions.


def _limits(dtype: Any) -> Any:
    return np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)


# The function that combines values, and the result for empty rows.
_REDUCTIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "Sum": (np.add, lambda dtype: 0),
    "Prod": (np.multiply, lambda dtype: 1),
    "Max": (np.maximum, lambda dtype: _limits(dtype).min),
    "Min": (np.minimum, lambda dtype: _limits(dtype).max),
    "All": (np.logical_and, lambda dtype: True),
    "Any": (np.logical_or, lambda dtype: False),
}


def _by_segment(value: Any, ids: Array, count: int, kind: str) -> Any:
    """Combine the rows of each segment, element by element."""
    if not isinstance(value, Ragged):
        array = as_array(value)
        combine, none = _REDUCTIONS[kind]
        found = np.full((count, *array.shape[1:]), none(array.dtype), array.dtype)
        combine.at(found, ids, array)
        return found
    rows = normal(value)
    lengths = rows.row_lengths
    widths = np.zeros(count, np.int64)
    np.maximum.at(widths, ids, lengths)
    splits = splits_of(widths, rows.row_splits.dtype)
    places = np.arange(len(rows.values)) - np.repeat(rows.row_splits[:-1], lengths)
    inner = _by_segment(rows.values, np.repeat(splits[ids], lengths) + places, splits[-1], kind)
    return Ragged(inner, splits)


def _reduced_along(value: Any, axis: int, kind: str) -> Any:
    if not isinstance(value, Ragged):
        combine, none = _REDUCTIONS[kind]
        array = as_array(value)
        return combine.reduce(array, axis, array.dtype, initial=none(array.dtype))
    rows = normal(value)
    if axis == 0:
        return _picked(_by_segment(rows, np.zeros(len(rows), np.int64), 1, kind), [0])
    if axis == 1:
        ids = np.repeat(np.arange(len(rows)), rows.row_lengths)
        return _by_segment(rows.values, ids, len(rows), kind)
    return Ragged(_reduced_along(rows.values, axis - 1, kind), rows.row_splits)


def _over(value: Any, axes: Sequence[int], kind: str) -> Any:
    for axis in sorted(axes, reverse=True):
        value = _reduced_along(value, axis, kind)
    return value


def _each(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function to the flat values of several values with the same rows."""
    if isinstance(values[0], Ragged):
        first = normal(values[0])
        inner = _each(function, first.values, *[normal(v).values for v in values[1:]])
        return Ragged(inner, first.row_splits)
    return function(*map(as_array, values))


def _mean(value: Any, axes: Sequence[int]) -> Any:
    total, ones = _over(value, axes, "Sum"), _each(np.ones_like, value)
    return _each(np.true_divide, total, _over(ones, axes, "Sum"))


def _reduce(ragged: Ragged, *, kind: str, axes: Sequence[int], keepdims: bool) -> Any:
    flat = as_array(ragged.flat_values)
    if kind in ("Mean", "Variance", "Std") and flat.dtype.kind in "iu":
        ragged = _each(lambda x: x.astype(np.float64), ragged)
    if kind == "Mean":
        found = _mean(ragged, axes)
    elif kind in ("Variance", "Std"):
        square = _mean(_each(np.square, ragged), axes)
        found = _each(lambda a, b: np.maximum(a - b * b, 0), square, _mean(ragged, axes))
        found = _each(np.sqrt, found) if kind == "Std" else found
    else:
        found = _over(ragged, axes, kind)
    for axis in sorted(axes) if keepdims else ():
        found = _expand_dims(found, axis=axis)
    return found


REDUCE = Op("RaggedReduce", _reduce, tried(_reduce))
