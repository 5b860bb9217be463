# SPDX-License-Identifier: Apache-2.0
"""Operations on ragged values: concatenated rows, and the row splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec

from ..dtypes import DType, as_dtype
from ..errors import InvalidArgumentError, invalid
from ..specs import RaggedTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Mismatch, Op, constant_of

Ragged = fastrec.Ragged


class OutOfRows(IndexError, Mismatch):
    """A row number that is out of range."""


def splits_of(lengths: Any, dtype: Any = np.int64) -> Array:
    found = np.zeros(len(lengths) + 1, dtype)
    np.cumsum(lengths, out=found[1:])
    return found


def normal(ragged: Ragged) -> Ragged:
    """Return the same rows without unused values, which a slice of rows still shares."""
    splits = np.asarray(ragged.row_splits)
    begin, end = int(splits[0]), int(splits[-1])
    if begin == 0 and end == len(ragged.values):
        return ragged
    return Ragged(ragged.values[begin:end], splits - splits[0])


def take(values: Any, places: Array) -> Any:
    """Take rows of dense, string or ragged values."""
    if isinstance(values, Ragged):
        lengths = values.row_lengths[places]
        splits = splits_of(lengths, values.row_splits.dtype)
        inner = np.arange(splits[-1]) + np.repeat(values.row_splits[places] - splits[:-1], lengths)
        return Ragged(take(values.values, inner), splits)
    return values.take(places) if isinstance(values, fastrec.Bytes) else as_array(values)[places]


def together(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of dense or ragged values."""
    if not isinstance(parts[0], Ragged):
        return np.concatenate([as_array(part) for part in parts])
    lengths = np.concatenate([part.row_lengths for part in parts])
    values = together([normal(part).values for part in parts])
    return Ragged(values, splits_of(lengths, parts[0].row_splits.dtype))


def as_ragged(value: Any, rank: int, splits: Any = np.int64) -> Any:
    """Convert a dense value to one with `rank` ragged dimensions."""
    if isinstance(value, Ragged):
        return Ragged(as_ragged(value.values, rank - 1, splits), value.row_splits)
    array = as_array(value)
    if not rank:
        return array
    count, width, *rest = array.shape
    inner = as_ragged(array.reshape(count * width, *rest), rank - 1, splits)
    return Ragged(inner, np.arange(count + 1, dtype=splits) * width)


def depth_of(value: Any) -> int:
    return 1 + depth_of(value.values) if isinstance(value, Ragged) else 0


def rank_of(value: Any) -> int:
    if isinstance(value, (Ragged, fastrec.Bytes)):
        return 1 + rank_of(value.values) if isinstance(value, Ragged) else len(value.shape)
    return as_array(value).ndim


# Specs.


def with_spec(shape: Any, dtype: Any, rank: int, splits: Any) -> TypeSpec:
    """Return the spec of a value with `rank` ragged dimensions, which may be 0."""
    return RaggedTensorSpec(shape, dtype, rank, splits) if rank else TensorSpec(shape, dtype)


def spec_parts(spec: Any) -> tuple[Any, DType, int, Any]:
    """Return the sizes, the type, the number of ragged dimensions and the type of the splits."""
    rank = getattr(spec, "ragged_rank", 0)
    return spec.shape.sizes, spec.dtype, rank, getattr(spec, "row_splits_dtype", "int64")


def _values_spec(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    sizes, dtype, rank, splits = spec_parts(specs[0])
    return [with_spec(None if sizes is None else [None, *sizes[2:]], dtype, rank - 1, splits)]


def _below(specs: Sequence[Any], rows: int | None, splits: Any = None) -> list[TypeSpec]:
    """Return the spec of a value whose rows consist of rows of the first input."""
    sizes, dtype, rank, own = spec_parts(specs[0])
    shape = None if sizes is None else [rows, None, *sizes[1:]]
    return [RaggedTensorSpec(shape, dtype, rank + 1, splits or own)]


def spec_of_parts(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
    """Return the spec of a value with the given flat values and splits."""
    flat, *splits = specs
    rows = splits[0].shape.sizes
    count = None if not rows or rows[0] is None else rows[0] - 1
    shape = [count, *[None] * len(splits), *(flat.shape.sizes or (None,))[1:]]
    return [RaggedTensorSpec(shape, flat.dtype, len(splits), splits[0].dtype)]


def _sample(spec: Any, unknown: int, number: int) -> Any:
    sizes, dtype, rank, splits = spec_parts(spec)
    if sizes is None:
        raise TypeError(f"the rank of {spec} must be known")
    shape = [unknown if size is None else size for size in sizes]
    filler = b"" if dtype.name == "string" else number
    return as_ragged(np.full(shape, filler, dtype.numpy), rank, as_dtype(splits).numpy)


def tried(
    kernel: Callable[..., Any], least: Callable[..., int] | None = None
) -> Callable[..., list[TypeSpec]]:
    """Return an inference function that runs a kernel on samples of two sizes.

    `least` returns the minimum size of a sample for the attributes.
    """

    def infer(specs: Sequence[Any], _: Any, **attributes: Any) -> list[TypeSpec]:
        first, *others = specs
        if least is not None and others:  # the number of rows may vary
            first = first.reshaped([None, *(first.shape.sizes or ())[1:]])
        start = 2 if least is None else least(**attributes) + 2 * len(others)
        trials = []
        for more in range(2):
            step = 0 if least is None else more + 1  # all numbers of the samples differ
            given = [
                _sample(spec, start + more, step * number)
                for number, spec in enumerate((first, *others))
            ]
            trials.append(kernel(*given, **attributes))
        shapes = [_shape(trial) for trial in trials]
        depth, flat = depth_of(trials[0]), trials[0]
        splits = flat.row_splits.dtype if depth else None
        while isinstance(flat, Ragged):
            flat = flat.values
        known = [a if a == b else None for a, b in zip(*shapes, strict=True)]
        return [with_spec(known, as_dtype(as_array(flat).dtype), depth, splits)]

    return infer


def _shape(value: Any) -> list[int | None]:
    if not isinstance(value, Ragged):
        return list(as_array(value).shape)
    return [len(value), None, *_shape(value.values)[1:]]


# Parts of ragged values.


def _made(flat: Any, *splits: Any) -> Any:
    whole: Any = as_array(flat)
    for each in reversed(splits):
        whole = Ragged(whole, np.asarray(each))
    return whole


MAKE = Op("RaggedTensor", _made, spec_of_parts)
VALUES = Op("RaggedValues", lambda r: normal(r).values, _values_spec)
ROW_SPLITS = Op(
    "RowSplits",
    lambda r: normal(r).row_splits,
    lambda specs, _: [
        TensorSpec(
            [
                None if not specs[0].shape.sizes or specs[0].shape.sizes[0] is None
                else specs[0].shape.sizes[0] + 1
            ],
            specs[0].row_splits_dtype,
        )
    ],
)  # fmt: skip
NROWS = Op(
    "RaggedNrows",
    lambda r, *, dtype: np.asarray(len(r), dtype.numpy),
    lambda specs, _, *, dtype: [TensorSpec([], dtype)],
)


def _refilled(ragged: Ragged, flat: Any) -> Ragged:
    inner, whole = normal(ragged).values, normal(ragged)
    if not isinstance(inner, Ragged) and flat.shape[:1] != (len(inner),):
        count = () if not flat.shape else (len(flat),)
        raise Mismatch(f"Shapes ({len(inner)},) and {count} are incompatible")
    return Ragged(_refilled(inner, flat) if isinstance(inner, Ragged) else flat, whole.row_splits)


def _refilled_spec(specs: Sequence[Any], _: Any) -> list[TypeSpec]:
    sizes, _, rank, splits = spec_parts(specs[0])
    inner = specs[1].shape.sizes
    known = None if sizes is None or inner is None else [*sizes[: rank + 1], *inner[1:]]
    return [RaggedTensorSpec(known, specs[1].dtype, rank, splits)]


WITH_FLAT_VALUES = Op("WithFlatValues", _refilled, _refilled_spec)


def _same_rows(one: Ragged, other: Ragged) -> Ragged:
    if not np.array_equal(normal(one).row_splits, normal(other).row_splits):
        raise invalid("Inputs must have identical ragged splits")
    if isinstance(one.values, Ragged) and isinstance(other.values, Ragged):
        _same_rows(normal(one).values, normal(other).values)
    return other


SAME_ROWS = Op("AssertSameRows", _same_rows, lambda specs, _: [specs[1]])


def _aligned(ragged: Ragged, dense: Any) -> Any:
    """Return the element of a dense value for each of the flat values."""
    array, whole = as_array(dense), normal(ragged)
    if isinstance(whole.values, Ragged) or array.ndim > (rank := as_array(whole.values).ndim + 1):
        raise Mismatch("a dense tensor goes with a ragged one of one ragged dimension")
    count, lengths = len(whole), whole.row_lengths
    array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    width = array.shape[1]
    if len(array) not in (1, count) or (width != 1 and not (lengths == width).all()):
        raise invalid("Condition x == y did not hold.")
    rows = np.repeat(np.arange(count) if len(array) > 1 else np.zeros(count, int), lengths)
    places = np.arange(len(rows)) - np.repeat(whole.row_splits[:-1], lengths)
    return array[rows, places if width > 1 else 0]


def _aligned_spec(specs: Sequence[Any], _: Any) -> list[TypeSpec]:
    sizes, _, rank, _ = spec_parts(specs[0])
    inner = 0 if sizes is None else len(sizes) - rank - 1
    dense = specs[1].shape.sizes
    known = [None] * inner if dense is None else [*(1,) * inner, *dense][len(dense) :]
    return [TensorSpec([None, *known], specs[1].dtype)]


ALIGNED = Op("RaggedBroadcast", _aligned, _aligned_spec)


# Values and their row partitions.


def _checked(name: str, holds: Any, what: str = "RaggedTensor") -> None:
    if not np.all(holds):
        raise invalid(f"Arguments to {name} do not form a valid {what}")


def _of_splits(splits: Array, count: int) -> Array:
    if not len(splits):
        raise Mismatch("row_splits tensor may not be empty.")
    _checked("from_row_splits", splits[0] == 0, "RaggedTensor:zero")
    _checked("from_row_splits", np.diff(splits) >= 0, "RaggedTensor:monotonic.  ")
    return splits


def _of_lengths(lengths: Array, count: int) -> Array:
    _checked("from_row_lengths", lengths >= 0, "RowPartition.  ")
    return splits_of(lengths, lengths.dtype)


def _of_starts(starts: Array, count: int) -> Array:
    if len(starts):
        _checked("from_row_starts", starts[0] == 0)
        _checked("from_row_starts", np.diff(starts) >= 0, "RaggedTensor.  ")
        _checked("from_row_starts", starts[-1] <= count)
    return np.append(starts, starts.dtype.type(count))


def _of_limits(limits: Array, count: int) -> Array:
    _checked("from_row_limits", limits[:1] >= 0, "RaggedTensor.  ")
    _checked("from_row_limits", np.diff(limits) >= 0, "RaggedTensor.  ")
    return np.insert(limits, 0, 0)


def _of_rowids(ids: Array, count: int, nrows: Array | None = None) -> Array:
    least = int(ids[-1]) + 1 if len(ids) else 0
    total = least if nrows is None else int(nrows)
    if len(ids) != count:
        raise Mismatch(f"Shapes ({count},) and ({len(ids)},) are incompatible")
    if total < 0:
        raise Mismatch(f"Expected nrows >= 0; got {total}")
    if least > total:
        raise Mismatch(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={total}, value_rowids[-1]="
            f"{least - 1}"
        )
    _checked("from_value_rowids", ids[:1] >= 0, "RowPartition.  ")
    _checked("from_value_rowids", np.diff(ids) >= 0, "RowPartition.  ")
    return splits_of_ids(ids, total)


def _of_uniform(length: Array, count: int, nrows: Array | None = None) -> Array:
    size = int(length)
    if size < 0:
        raise Mismatch("uniform_row_length must be >= 0.")
    rows = (count // size if size else 0) if nrows is None else int(nrows)
    if rows * size != count:
        raise Mismatch(
            f"uniform_row_length={size} times nrows={rows} must equal nvals={count}"
        )  # fmt: skip
    return np.arange(rows + 1, dtype=length.dtype) * size


_PARTITIONS: dict[str, Callable[..., Array]] = {
    "row_splits": _of_splits,
    "row_lengths": _of_lengths,
    "row_starts": _of_starts,
    "row_limits": _of_limits,
    "value_rowids": _of_rowids,
    "uniform_row_length": _of_uniform,
}


def splits_of_ids(ids: Array, count: int) -> Array:
    """Return the row splits for values with the given row numbers, which ascend."""
    return splits_of(np.bincount(ids, minlength=count), ids.dtype)


def _partitioned(
    values: Any, where: Array, *nrows: Array, kind: str, validate: bool
) -> Ragged:  # fmt: skip
    whole = normal(values) if isinstance(values, Ragged) else values
    try:
        splits = _PARTITIONS[kind](where, len(whole), *nrows)
    except (InvalidArgumentError, Mismatch):
        if not validate and kind == "row_splits" and len(where):
            return Ragged(whole, where)
        raise
    if validate or splits[-1] > len(whole):
        _checked("_from_row_partition", splits[-1] == len(whole))
    return Ragged(whole, splits)


def _partitioned_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, kind: str, validate: bool
) -> list[TypeSpec]:
    sizes = specs[1].shape.sizes
    given = None if not sizes else sizes[0]
    rows = given if kind in ("row_lengths", "row_starts", "row_limits") else None
    if kind == "row_splits" and given:
        rows = given - 1
    if kind in ("value_rowids", "uniform_row_length"):
        sizes, where = specs[0].shape.sizes, constant_of(raws[1])
        nrows = constant_of(raws[2]) if len(raws) > 2 else None
        if nrows is not None:
            rows = int(nrows)
        elif len(raws) == 2 and where is not None and where.size:
            count = sizes[0] if sizes else None
            if kind == "value_rowids":
                rows = int(where[-1]) + 1
            elif where > 0 and count is not None:
                rows = count // int(where)
    return _below(specs, rows, specs[1].dtype)


FROM_PARTITION = Op("RaggedFromRowPartition", _partitioned, _partitioned_spec)
SEGMENT_IDS = Op(
    "RowSplitsToSegmentIds",
    lambda splits: np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), np.diff(splits)),
    lambda specs, _: [TensorSpec([None], specs[0].dtype)],
)
