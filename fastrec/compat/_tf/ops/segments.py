# SPDX-License-Identifier: Apache-2.0
"""Segment reductions, partitions, scattering and searching, by segment or index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..columns import are_alike, flat_values
from ..dtypes import DType
from ..errors import invalid
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array, as_texts
from . import Array, Block, Op, constant_of, same_spec


def _rest(spec: Any, gone: int) -> tuple[int | None, ...] | None:
    sizes: tuple[int | None, ...] | None = spec.shape.sizes
    return None if sizes is None else sizes[gone:]


def _with_first(count: int | None, spec: Any, gone: int = 1) -> list[TypeSpec]:
    rest = _rest(spec, gone)
    return [TensorSpec(None if rest is None else [count, *rest], spec.dtype)]


def _least(dtype: np.dtype[Any], greatest: bool) -> Any:
    info: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return info.max if greatest else info.min


_MANY = 1 << 8  # from this number of values, a table is faster than a dict
_KINDS = ("Sum", "Prod", "Max", "Min", "Mean")
_NATIVE = set(map(np.dtype, ("float32", "float64", "int32", "int64")))
_UFUNCS: dict[str, Any] = {
    "Sum": np.add,
    "Prod": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
}


def _neutral(kind: str, dtype: np.dtype[Any]) -> Any:
    if kind in ("Sum", "Prod"):
        return int(kind == "Prod")
    return _least(dtype, kind == "Min")


def combined(kind: str, data: Array, ids: Array, count: int) -> Array:
    """Combine the rows of each segment, natively if their type allows it.

    Parameters
    ----------
    kind : {"Sum", "Prod", "Max", "Min", "Mean"}
    data : ndarray
    ids : ndarray of int
        The segment of each row of `data`. A row with a negative id is dropped.
    count : int
        The number of segments.
    """
    rows = data.reshape(ids.size, *data.shape[ids.ndim :])
    flat, combined = ids.reshape(-1), "Sum" if kind == "Mean" else kind
    if data.dtype in _NATIVE:
        try:
            result = _tensor.combine_segments(combined, rows, flat, count)
        except IndexError as error:
            raise _beyond(flat, error.args[0], count) from None
    else:
        for place in np.flatnonzero(flat >= count)[:1].tolist():
            raise _beyond(flat, place, count)
        kept = flat >= 0
        result = np.full((count, *rows.shape[1:]), _neutral(combined, data.dtype), data.dtype)
        _UFUNCS[combined].at(result, flat[kept], rows[kept])
    if kind != "Mean":
        return result
    lengths = np.maximum(_tensor.count_segments(flat, count), 1)
    lengths = lengths.reshape(-1, *[1] * (result.ndim - 1)).astype(data.dtype)
    quotient = np.true_divide if data.dtype.kind in "fc" else np.floor_divide
    return np.asarray(quotient(result, lengths), data.dtype)


def _beyond(ids: Array, place: int, count: int) -> Exception:
    return invalid(f"segment_ids[{place}] = {ids[place]} is out of range [0, {count})")


def _segment(kind: str) -> Op:
    def kernel(data: Array, ids: Array) -> Array:
        if ids.ndim != 1 or len(ids) != len(data):
            raise invalid("segment_ids should be the same size as dimension 0 of input.")
        if len(ids) and (ids[0] < 0 or (ids[1:] < ids[:-1]).any()):
            raise invalid(
                "segment ids are not increasing" if len(ids) else "segment ids must be >= 0"
            )
        count = int(ids[-1]) + 1 if len(ids) else 0
        return of_all(data, ids, count)

    def of_all(data: Array, ids: Array, count: int) -> Array:
        found = combined(kind, data, ids, count)
        if kind in ("Max", "Min"):  # the result of an empty segment is 0
            found[_tensor.count_segments(ids, count) == 0] = 0
        return found

    def block(_: int, data: Block, ids: Block) -> Any:
        if not _are_vectors(data, ids):
            return None
        splits, flat = _starting_at_0(ids.value)
        ends = splits[1:] - 1
        filled = np.diff(splits) > 0
        begins, last = flat[splits[:-1][filled]], flat[ends[filled]]
        falls = np.flatnonzero(flat[1:] < flat[:-1]) + 1
        if (begins < 0).any() or not np.isin(falls, splits).all():
            return None  # processing the elements one by one finds the error
        counts = np.zeros(len(splits) - 1, np.int64)
        counts[filled] = last + 1
        return _of_rows(of_all, data.value, flat, splits, counts)

    return Op(f"Segment{kind}", kernel, lambda specs, *_: _with_first(None, specs[0]), block)


def _are_vectors(data: Block, ids: Block) -> bool:
    """Return whether both are columns of vectors of numbers with the same lengths."""
    columns = [each.value for each in (data, ids) if each.many]
    rows = len(columns) == 2 and all(isinstance(each, fastrec.Ragged) for each in columns)
    return rows and are_alike(columns)


def _starting_at_0(rows: fastrec.Ragged) -> tuple[Array, Array]:
    """Return the row splits and the values of a column of vectors."""
    return rows.row_splits - rows.row_splits[0], flat_values(rows)


def _of_rows(
    combine: Callable[..., Array], data: Any, ids: Array, splits: Array, counts: Array
) -> fastrec.Ragged:
    """Combine the segments of many rows, where row i has `counts[i]` segments."""
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    moved = ids.astype(np.int64) + np.repeat(ends[:-1], np.diff(splits))
    moved[ids < 0] = -1
    return fastrec.Ragged(combine(flat_values(data), moved, ends[-1]), ends)


def _unsorted(kind: str) -> Op:
    def kernel(data: Array, ids: Array, count: Array) -> Array:
        if data.shape[: ids.ndim] != ids.shape:
            raise invalid("data.shape must start with segment_ids.shape")
        if count < 0:
            raise invalid(f"Input num_segments == {int(count)} must not be negative.")
        return combined(kind, data, ids, int(count))

    def block(rows: int, data: Block, ids: Block, count: Block) -> Any:
        if not _are_vectors(data, ids) or np.ndim(count.value) != count.many:
            return None
        splits, flat = _starting_at_0(ids.value)
        counts = np.broadcast_to(count.value, rows).astype(np.int64)
        if (counts < 0).any() or (flat >= np.repeat(counts, np.diff(splits))).any():
            return None  # processing the elements one by one finds the error
        return _of_rows(kernel, data.value, flat, splits, counts)

    def infer(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
        count, rank = constant_of(raws[2]), specs[1].shape.ndims
        if rank is None:
            return [TensorSpec(None, specs[0].dtype)]
        return _with_first(None if count is None else int(count), specs[0], rank)

    return Op(f"UnsortedSegment{kind}", kernel, infer, block)


SEGMENT = {kind: _segment(kind) for kind in _KINDS}
UNSORTED_SEGMENT = {kind: _unsorted(kind) for kind in _KINDS}


def _partitioned(data: Array, parts: Array, *, count: int) -> tuple[Array, ...]:
    flat = parts.reshape(-1)
    rows = as_array(data).reshape(flat.size, *data.shape[parts.ndim :])
    places = np.arange(len(rows)) if rows.dtype.hasobject else None
    try:
        split = _tensor.split_segments(rows if places is None else places, flat, count)
    except IndexError as error:
        wrong = error.args[0]
        raise invalid(f"partitions[{wrong}] = {flat[wrong]} is not in [0, {count})") from None
    return tuple(split if places is None else [rows[each] for each in split])


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
    depth = indices.shape[-1]
    limits = np.array(shape[:depth])
    outside = ((indices < 0) | (indices >= limits)).any(axis=-1)
    if outside.any():
        at = [int(n) for n in np.argwhere(outside)[0]]
        where = str(indices[tuple(at)].tolist()).replace(" ", "")
        raise invalid(
            f"indices{at} = {where} does not index into shape {in_messages(shape.tolist())}"
        )
    steps = np.cumprod([1, *limits[:0:-1].tolist()])[::-1]
    places = indices.reshape(math.prod(indices.shape[:-1]), depth)
    rows = (places * steps[:depth]).sum(axis=1, dtype=np.int64)
    updates = updates.reshape(len(rows), *shape[depth:])
    return combined("Sum", updates, rows, math.prod(limits.tolist())).reshape(shape)


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


def numbered(values: Any) -> tuple[Any, Array]:
    """Return the distinct values of a vector in order, and the index of each element's value."""
    if isinstance(values, fastrec.Bytes):
        places, firsts = _tensor.number_texts(values)
        return values.take(firsts), places
    if values.dtype.kind in "iu" and values.size >= _MANY:
        low = values.min()
        span = int(values.max()) - int(low) + 1
        if span <= 4 * values.size:
            places = np.subtract(values, low, dtype=np.int64, casting="unsafe")
            first = np.full(span, values.size)
            first[places[::-1]] = np.arange(values.size)[::-1]  # the last write wins
            begins = np.sort(first[first < values.size])
            first[places[begins]] = np.arange(begins.size)
            return values[begins], first[places]
    texts = as_texts(values) if values.dtype.hasobject and values.size >= _MANY else None
    if texts is not None:
        places, firsts = _tensor.number_texts(texts)
        return values[firsts], places
    seen: dict[Any, int] = {}
    numbers = [seen.setdefault(value, len(seen)) for value in values.tolist()]
    found = np.empty(len(seen), values.dtype)
    found[:] = list(seen)
    return found, np.array(numbers, np.int64)


def _unique(x: Any, *, out_idx: DType) -> tuple[Any, Array]:
    values = x if isinstance(x, fastrec.Bytes) else as_array(x)
    if len(values.shape) != 1:
        raise invalid("unique expects a 1D vector.")
    found, numbers = numbered(values)
    return found, numbers.astype(out_idx.numpy)


def _unique_spec(specs: Sequence[Any], *_: Any, out_idx: DType) -> list[TypeSpec]:
    shape = specs[0].shape
    if shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {shape.ndims} for 'Unique'")
    return [TensorSpec([None], specs[0].dtype), TensorSpec(shape, out_idx)]


UNIQUE = Op("Unique", _unique, _unique_spec)


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
    if x.dtype.hasobject:
        gone = set(y.tolist())
        kept = np.array([each not in gone for each in x.tolist()], bool)
    else:
        kept = ~np.isin(x, y)
    return x[kept], np.flatnonzero(kept).astype(dtype.numpy)


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
    if not by_row and not weights:
        counts = _tensor.count_segments(x.reshape(-1), size)
        return (counts > 0 if binary else counts).astype(dtype.numpy)
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


def _counts_of_rows(
    x: Array,
    ids: Array,
    rows: Array,
    *weights: Array,
    least: int,
    most: int | None,
    dtype: DType,
    binary: bool,
) -> Array:
    if x.size and x.min() < 0:
        raise invalid("Input must be non-negative")
    size = max(int(x.max()) + 1 if x.size else 0, least)
    size = size if most is None else min(size, most)
    kept, count = x < size, int(rows)
    given = weights[0][kept] if weights else None
    found = np.bincount(ids[kept] * size + x[kept], given, count * size).reshape(count, size)
    return (found > 0 if binary else found).astype(weights[0].dtype if weights else dtype.numpy)


# Counts the integers of each row, where each integer comes with the number of its row.
BINCOUNT_OF_ROWS = Op(
    "RaggedBincount",
    _counts_of_rows,
    lambda specs, *_, dtype, **__: [TensorSpec(None, specs[3].dtype if len(specs) > 3 else dtype)],
)


def _histogram(values: Array, limits: Array, *, nbins: int, dtype: DType) -> Array:
    numbers = values if values.dtype in _NATIVE else values.astype(np.float64)
    low, high = limits.tolist()
    return _tensor.histogram(numbers, low, high, nbins).astype(dtype.numpy)


HISTOGRAM = Op(
    "HistogramFixedWidth",
    _histogram,
    lambda *_, nbins, dtype: [TensorSpec([nbins], dtype)],
)


def _inverted(x: Array) -> Array:
    places = x.astype(np.intp, copy=False)
    inverse = np.full_like(x, -1)
    if len(x) and places.min() >= 0 and places.max() < len(x):
        inverse[places] = np.arange(len(x), dtype=x.dtype)
    if (inverse < 0).any():
        raise invalid("x is not a permutation of 0 to its size")
    return inverse


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
