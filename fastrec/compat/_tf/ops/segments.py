# SPDX-License-Identifier: Apache-2.0
"""Rows by the number of their part: sums of segments, partitions, scattering, searching."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, constant_of, invalid, same_spec
from .picking import numbered


def _rest(spec: Any, gone: int) -> tuple[int | None, ...] | None:
    sizes: tuple[int | None, ...] | None = spec.shape.sizes
    return None if sizes is None else sizes[gone:]


def _with_first(count: int | None, spec: Any, gone: int = 1) -> list[TypeSpec]:
    rest = _rest(spec, gone)
    return [TensorSpec(None if rest is None else [count, *rest], spec.dtype)]


def _least(dtype: np.dtype[Any], greatest: bool) -> Any:
    info: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return info.max if greatest else info.min


_GATHERED: dict[str, tuple[Callable[..., Any], Callable[[np.dtype[Any]], Any]]] = {
    "Sum": (np.add, lambda dtype: 0),
    "Prod": (np.multiply, lambda dtype: 1),
    "Max": (np.maximum, lambda dtype: _least(dtype, False)),
    "Min": (np.minimum, lambda dtype: _least(dtype, True)),
    "Mean": (np.add, lambda dtype: 0),
}


def _segmented(kind: str, data: Array, ids: Array, count: int) -> Array:
    function, nothing = _GATHERED[kind]
    rows = data.reshape(ids.size, *data.shape[ids.ndim :])
    flat = ids.reshape(-1)
    if flat.size and flat.max() >= count:
        raise invalid(
            f"segment_ids[{int(flat.argmax())}] = {flat.max()} is out of range [0, {count})"
        )
    kept = flat >= 0
    found = np.full((count, *rows.shape[1:]), nothing(data.dtype), data.dtype)
    function.at(found, flat[kept], rows[kept])  # type: ignore[attr-defined]
    if kind == "Mean":
        lengths = np.maximum(np.bincount(flat[kept], minlength=count), 1)
        lengths = lengths.reshape(-1, *[1] * (found.ndim - 1))
        found = (found / lengths if found.dtype.kind == "f" else found // lengths).astype(
            data.dtype
        )
    return found


def _segment(kind: str) -> Op:
    def kernel(data: Array, ids: Array) -> Array:
        if ids.ndim != 1 or len(ids) != len(data):
            raise invalid("segment_ids should be the same size as dimension 0 of input.")
        if (np.diff(ids, prepend=0) < 0).any():
            raise invalid(
                "segment ids are not increasing" if len(ids) else "segment ids must be >= 0"
            )
        count = int(ids[-1]) + 1 if len(ids) else 0
        found = _segmented(kind, data, ids, count)
        if kind in ("Max", "Min"):  # of nothing, 0
            found[np.bincount(ids, minlength=count) == 0] = 0
        return found

    return Op(f"Segment{kind}", kernel, lambda specs, *_: _with_first(None, specs[0]))


def _unsorted(kind: str) -> Op:
    def kernel(data: Array, ids: Array, count: Array) -> Array:
        if data.shape[: ids.ndim] != ids.shape:
            raise invalid("data.shape must start with segment_ids.shape")
        return _segmented(kind, data, ids, int(count))

    def infer(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
        count, rank = constant_of(raws[2]), specs[1].shape.ndims
        if rank is None:
            return [TensorSpec(None, specs[0].dtype)]
        return _with_first(None if count is None else int(count), specs[0], rank)

    return Op(f"UnsortedSegment{kind}", kernel, infer)


SEGMENT = {kind: _segment(kind) for kind in _GATHERED}
UNSORTED_SEGMENT = {kind: _unsorted(kind) for kind in _GATHERED}


def _partitioned(data: Array, parts: Array, *, count: int) -> tuple[Array, ...]:
    flat = parts.reshape(-1)
    if flat.size and not 0 <= flat.min() <= flat.max() < count:
        wrong = int(np.flatnonzero((flat < 0) | (flat >= count))[0])
        raise invalid(f"partitions[{wrong}] = {flat[wrong]} is not in [0, {count})")
    rows = as_array(data).reshape(flat.size, *data.shape[parts.ndim :])
    return tuple(rows[flat == number] for number in range(count))


def _partition_specs(specs: Sequence[Any], _: Any, *, count: int) -> list[TypeSpec]:
    rank = specs[1].shape.ndims
    if rank is None:
        return [TensorSpec(None, specs[0].dtype)] * count
    return _with_first(None, specs[0], rank) * count


DYNAMIC_PARTITION = Op("DynamicPartition", _partitioned, _partition_specs)


def _stitched(*values: Array) -> Array:
    half = len(values) // 2
    indices, parts = values[:half], values[half:]
    count = max([int(each.max()) + 1 for each in indices if each.size], default=0)
    tail = parts[0].shape[indices[0].ndim :]
    found = np.zeros((count, *tail), parts[0].dtype)
    if found.dtype.kind == "O":
        found[...] = b""
    for where, part in zip(indices, parts, strict=True):
        found[where.reshape(-1)] = part.reshape(where.size, *tail)
    return found


DYNAMIC_STITCH = Op(
    "DynamicStitch",
    _stitched,
    lambda specs, *_: _with_first(
        None, specs[len(specs) // 2], specs[0].shape.ndims if specs[0].shape.ndims else 0
    ),
)


def _scattered(indices: Array, updates: Array, shape: Array) -> Array:
    found = np.zeros(shape.tolist(), updates.dtype)
    depth = indices.shape[-1]
    limits = np.array(shape[:depth])
    outside = ((indices < 0) | (indices >= limits)).any(axis=-1)
    if outside.any():
        at = [int(n) for n in np.argwhere(outside)[0]]
        where = str(indices[tuple(at)].tolist()).replace(" ", "")
        raise invalid(
            f"indices{at} = {where} does not index into shape {in_messages(shape.tolist())}"
        )
    np.add.at(found, tuple(np.moveaxis(indices, -1, 0)), updates)
    return found


def _of_sizes(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes = constant_of(raws[2])
    return [TensorSpec(None if sizes is None else sizes.tolist(), specs[1].dtype)]


SCATTER_ND = Op("ScatterNd", _scattered, _of_sizes)


def _sequence_reversed(x: Array, lengths: Array, *, seq_axis: int, batch_axis: int) -> Array:
    whole = np.moveaxis(x, (batch_axis, seq_axis), (0, 1))
    found = whole.copy()
    for row, source, size in zip(found, whole, lengths.tolist(), strict=True):
        if not 0 <= size <= source.shape[0]:
            raise invalid(f"seq_lens({size}) must be within 0 and {source.shape[0]}")
        row[:size] = source[:size][::-1]
    return np.moveaxis(found, (0, 1), (batch_axis, seq_axis))


REVERSE_SEQUENCE = Op("ReverseSequence", _sequence_reversed, same_spec)


def _searched(rows: Array, values: Array, *, side: str, dtype: DType) -> Array:
    width = values.shape[-1] if values.ndim else 1
    pairs = zip(rows.reshape(-1, rows.shape[-1]), values.reshape(-1, width), strict=True)
    found = [np.searchsorted(row, wanted, side) for row, wanted in pairs]  # type: ignore[call-overload]
    return np.asarray(found, dtype.numpy).reshape(values.shape)


SEARCH_SORTED = Op(
    "SearchSorted",
    _searched,
    lambda specs, *_, dtype, side: [TensorSpec(specs[1].shape, dtype)],
)


def _counted_unique(x: Array, *, dtype: DType) -> tuple[Array, ...]:
    found, numbers = numbered(x)
    counts = np.bincount(numbers, minlength=len(found))
    return found, numbers.astype(dtype.numpy), counts.astype(dtype.numpy)


def _unique_specs(specs: Sequence[Any], _: Any, *, dtype: DType) -> list[TypeSpec]:
    return [
        TensorSpec([None], specs[0].dtype),
        TensorSpec(specs[0].shape, dtype),
        TensorSpec([None], dtype),
    ]


UNIQUE_WITH_COUNTS = Op("UniqueWithCounts", _counted_unique, _unique_specs)


def _difference(x: Array, y: Array, *, dtype: DType) -> tuple[Array, Array]:
    gone = set(y.tolist())
    kept = [place for place, each in enumerate(x.tolist()) if each not in gone]
    return x[kept], np.array(kept, dtype.numpy)


LIST_DIFF = Op(
    "ListDiff",
    _difference,
    lambda specs, _, *, dtype: [TensorSpec([None], specs[0].dtype), TensorSpec([None], dtype)],
)


def _bin_counts(
    x: Array,
    *weights: Array,
    least: int,
    most: int | None,
    dtype: DType,
    by_row: bool,
    binary: bool,
) -> Array:
    if x.size and x.min() < 0:
        raise invalid(f"Input 'in' must be non-negative! Negative input value found: {x.min()}")
    if by_row and x.ndim > 2:
        raise invalid(f"Shape must be at most rank 2 but is rank {x.ndim}")
    size = max(int(x.max()) + 1 if x.size else 0, least)
    size = size if most is None else min(size, most)
    outer = x.shape[:-1] if by_row else ()
    rows = x.reshape(math.prod(outer), -1 if x.size else 0).astype(np.int64)
    kept = rows < size
    numbers = (rows + np.arange(len(rows))[:, np.newaxis] * size)[kept]
    given = weights[0].reshape(rows.shape)[kept] if weights else None
    found = np.bincount(numbers, given, len(rows) * size).reshape(*outer, size)
    kind = weights[0].dtype if weights else dtype.numpy
    return (found > 0 if binary else found).astype(kind)


def _bin_specs(specs: Sequence[Any], *_: Any, dtype: DType, by_row: bool, **__: Any) -> list[Any]:
    rank = specs[0].shape.ndims if by_row else 1
    kind = specs[1].dtype if len(specs) > 1 else dtype
    return [TensorSpec(None if rank is None else [None] * max(rank, 1), kind)]


BINCOUNT = Op("Bincount", _bin_counts, _bin_specs)


def _histogram(values: Array, limits: Array, *, nbins: int, dtype: DType) -> Array:
    low, high = limits.astype(np.float64)
    places = np.floor((values.astype(np.float64) - low) / (high - low) * nbins)
    numbers = np.clip(places, 0, nbins - 1).astype(np.int64).reshape(-1)
    return np.bincount(numbers, minlength=nbins).astype(dtype.numpy)


HISTOGRAM = Op(
    "HistogramFixedWidth",
    _histogram,
    lambda *_, nbins, dtype: [TensorSpec([nbins], dtype)],
)


def _inverted(x: Array) -> Array:
    if sorted(x.tolist()) != list(range(len(x))):
        raise invalid("x is not a permutation of 0 to its size")
    found = np.empty_like(x)
    found[x] = np.arange(len(x), dtype=x.dtype)
    return found


INVERT_PERMUTATION = Op("InvertPermutation", _inverted, same_spec)


def _to_depth(x: Array, *, size: int) -> Array:
    batch, height, width, depth = x.shape
    if height % size or width % size:
        raise invalid(f"Image height {height} and width {width} should be divisible by {size}")
    parts = x.reshape(batch, height // size, size, width // size, size, depth)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(
        batch, height // size, width // size, size * size * depth
    )


def _from_depth(x: Array, *, size: int) -> Array:
    batch, height, width, depth = x.shape
    parts = x.reshape(batch, height, width, size, size, depth // size**2)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(
        batch, height * size, width * size, depth // size**2
    )


def _tiled(forth: bool) -> Callable[..., list[TypeSpec]]:
    def infer(specs: Sequence[Any], _: Any, *, size: int) -> list[TypeSpec]:
        sizes = specs[0].shape.sizes
        if sizes is None:
            return [TensorSpec([None] * 4, specs[0].dtype)]
        one = [None if n is None else (n // size if forth else n * size) for n in sizes[1:3]]
        depth = sizes[3]
        if depth is not None:
            depth = depth * size**2 if forth else depth // size**2
        return [TensorSpec([sizes[0], *one, depth], specs[0].dtype)]

    return infer


SPACE_TO_DEPTH = Op("SpaceToDepth", _to_depth, _tiled(True))
DEPTH_TO_SPACE = Op("DepthToSpace", _from_depth, _tiled(False))
