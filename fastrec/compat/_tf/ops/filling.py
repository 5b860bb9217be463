# SPDX-License-Identifier: Apache-2.0
"""Fill, repeat, pad and reverse tensors, and create ranges of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from ..columns import are_numbers, flat_values, refilled, rows_of_shapes, shapes_of
from ..dtypes import DType
from ..errors import invalid
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of, known_sizes
from .shaping import is_column


def _fill(dims: Array, value: Any) -> Array:
    sizes, filler = _filled(dims, value)
    return np.full(sizes, filler[()], dtype=filler.dtype)


def _filled(dims: Array, value: Any) -> tuple[list[int], Array]:
    filler, sizes = as_array(value), dims.reshape(-1).tolist()
    for size in sizes:
        if size < 0:
            raise invalid(f"Dimension {size} must be >= 0")
    if filler.size != 1:
        raise invalid(f"value must be a scalar, got shape {in_messages(filler.shape)}")
    return sizes, filler.reshape(())


def _fill_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    for spec, rank in zip(specs, (1, 0), strict=True):
        if spec.shape.ndims not in (rank, None):
            raise ValueError(f"Shape must be rank {rank} but is rank {spec.shape.ndims} for 'Fill'")
    return [TensorSpec(known_sizes(raws[0]), specs[1].dtype)]


def _fill_block(_: int, dims: Block, value: Block) -> Any:
    sizes = dims.value
    if not is_column(dims) or sizes.ndim != 2 or not sizes.shape[1] or value.many:
        return None
    if np.ndim(value.value) or (sizes < 0).any():
        return None  # processing the elements one by one finds the error
    if len(sizes) and (sizes == sizes[0]).all():
        return np.full((len(sizes), *sizes[0].tolist()), value.value)
    return rows_of_shapes(np.repeat(value.value, sizes.prod(1).sum()), sizes.astype(np.int64))


FILL = Op("Fill", _fill, _fill_spec, _fill_block)


def _like(x: Any, *, value: Any, dtype: DType) -> Array:
    return np.full(as_array(x).shape, value, dtype.numpy)


def _like_block(_: int, x: Block, *, value: Any, dtype: DType) -> Any:
    if is_column(x):
        return _like(x.value, value=value, dtype=dtype)
    if not x.many or not are_numbers(x.value):
        return None
    return refilled(x.value, _like(flat_values(x.value), value=value, dtype=dtype))


FILLED_LIKE = Op(
    "FilledLike",
    _like,
    lambda specs, *_, value, dtype: [TensorSpec(specs[0].shape, dtype)],
    _like_block,
)


def _broadcast_to(x: Any, sizes: Array) -> Array:
    array = as_array(x)
    try:
        return np.broadcast_to(array, sizes.tolist())
    except ValueError:
        shapes = f"{in_messages(array.shape)} vs. {in_messages(sizes.tolist())}"
        raise invalid(f"Incompatible shapes: {shapes}") from None


def _to_sizes(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    return [TensorSpec(known_sizes(raws[1]), specs[0].dtype)]


BROADCAST_TO = Op("BroadcastTo", _broadcast_to, _to_sizes)


def _tile(x: Any, multiples: Array) -> Array:
    array = as_array(x)
    if multiples.ndim != 1 or multiples.size != array.ndim:
        raise invalid(
            f"Expected multiples argument to be a vector of length {array.ndim} but got length "
            f"{multiples.size if multiples.ndim else 0}"
        )
    for i, n in enumerate(multiples.tolist()):
        if n < 0:
            raise invalid(f"Expected multiples[{i}] >= 0, but got {n}")
    return np.tile(array, multiples.tolist())


def _tile_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes, times = specs[0].shape.sizes, constant_of(raws[1])
    known = None if sizes is None else [None] * len(sizes)
    if times is not None and times.ndim == 1:
        sizes = specs[0].shape.with_rank(times.size).as_list()
        pairs = zip(sizes, times.tolist(), strict=True)
        known = [None if n is None or m < 0 else n * m for n, m in pairs]
    return [TensorSpec(known, specs[0].dtype)]


def _tile_block(_: int, x: Block, multiples: Block) -> Any:
    if not is_column(x) or multiples.many or multiples.value.shape != (x.value.ndim - 1,):
        return None
    return _tile(x.value, np.concatenate([[1], multiples.value]))


TILE = Op("Tile", _tile, _tile_spec, _tile_block)


def _pad(x: Any, paddings: Array, *filler: Any, mode: str) -> Array:
    array = as_array(x)
    if paddings.shape != (array.ndim, 2):
        raise invalid(
            f"The first dimension of paddings must be the rank of inputs"
            f"{in_messages(paddings.shape)} {in_messages(array.shape)}"
        )
    around = paddings.tolist()
    if (paddings < 0).any():
        raise invalid("Paddings must be non-negative")
    if mode == "CONSTANT":
        sizes = [n + a + b for n, (a, b) in zip(array.shape, around, strict=True)]
        result = np.full(sizes, as_array(filler[0])[()], dtype=array.dtype)
        pairs = zip(array.shape, around, strict=True)
        result[tuple([slice(a, a + n) for n, (a, _) in pairs])] = array
        return result
    for n, (a, b) in zip(array.shape, around, strict=True):
        if max(a, b) > n:
            raise invalid(
                f"paddings must be no greater than the dimension size: {a}, {b} greater than {n}"
            )
        if mode == "REFLECT" and max(a, b) >= n:
            raise invalid(
                f"paddings must be less than the dimension size: {a}, {b} not less than {n}"
            )
    return _mirrored(array, around, int(mode == "REFLECT"))


def _mirrored(array: Array, around: Sequence[Sequence[int]], without: int) -> Array:
    """Mirror-pad an array; `without` is 1 if the edge is not repeated, else 0."""
    pairs = list(zip(array.shape, around, strict=True))
    result = np.empty([a + n + b for n, (a, b) in pairs], array.dtype)
    inner = [slice(a, a + n) for n, (a, _) in pairs]
    result[tuple(inner)] = array
    for axis, (n, (a, b)) in enumerate(pairs):
        if not a and not b:
            continue
        rows = result[(slice(None),) * (axis + 1) + tuple(inner[axis + 1 :])].swapaxes(0, axis)
        first, last = a + without, a + n - without
        rows[:a] = rows[first : first + a][::-1]
        rows[a + n :] = rows[last - b : last][::-1]
    return result


def _pad_spec(specs: Sequence[Any], raws: Sequence[Any], *, mode: str) -> list[TypeSpec]:
    sizes, around = specs[0].shape.sizes, constant_of(raws[1])
    if specs[1].shape.ndims not in (2, None):
        raise ValueError(f"Shape must be rank 2 but is rank {specs[1].shape.ndims} for 'Pad'")
    if sizes is None:
        rank = specs[1].shape.sizes[0] if around is None and specs[1].shape.sizes else None
        rank = len(around) if around is not None else rank
        sizes = None if rank is None else (None,) * rank
    known = None if sizes is None else [None] * len(sizes)
    if around is not None and sizes is not None:
        if around.shape != (len(sizes), 2):
            raise ValueError(f"Shape must be [{len(sizes)},2] but is {in_messages(around.shape)}")
        pairs = zip(sizes, around.sum(1).tolist(), strict=True)
        known = [None if n is None else n + more for n, more in pairs]
    elif sizes is not None and len(rows := raws[1].known_rows()) == len(sizes):
        known = [
            None if n is None or row is None or None in row else n + sum(row)
            for n, row in zip(sizes, rows, strict=True)
        ]
    return [TensorSpec(known, specs[0].dtype)]


def _pad_block(count: int, x: Block, paddings: Block, *filler: Block, mode: str) -> Any:
    around = paddings.value
    if any(each.many for each in filler):
        return None
    if paddings.many or (x.many and are_numbers(x.value)):
        return (
            None
            if mode != "CONSTANT"
            else _padded_alike(count, x, paddings, *[each.value for each in filler])
        )
    if not is_column(x) or around.shape != (x.value.ndim - 1, 2):
        return None
    return _pad(x.value, np.vstack([[[0, 0]], around]), *[f.value for f in filler], mode=mode)


def _padded_rows(rows: Any, before: Any, sizes: Array, filler: Any) -> fastrec.Ragged:
    """Pad vectors to `sizes`, with `before` values in front of each."""
    splits = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=splits[1:])
    values = np.full(splits[-1], filler, rows.values.dtype)
    begins = splits[:-1] + before - (rows.row_splits[:-1] - rows.row_splits[0])
    flat = flat_values(rows)
    values[np.arange(len(flat)) + np.repeat(begins, rows.row_lengths)] = flat
    return fastrec.Ragged(values, splits)


def _padded_alike(count: int, x: Block, paddings: Block, filler: Any) -> Any:
    """Pad arrays that may differ in shape; return None for matrices that still differ."""
    column, around = x.value, paddings.value
    if is_column(x) and column.ndim > 1:
        shapes, kind = np.tile(column.shape[1:], (count, 1)), column.dtype
    elif x.many and are_numbers(column):
        shapes, kind = shapes_of(column), column.values.dtype
    else:
        return None
    if not isinstance(around, np.ndarray) or around.shape[paddings.many :] != (shapes.shape[1], 2):
        return None
    sizes = shapes + around.sum(-1)
    if (around < 0).any():
        return None
    if (sizes != sizes[0]).any():
        if sizes.shape[1] > 1:
            return None
        return _padded_rows(column, around[..., 0, 0], sizes[:, 0], as_array(filler)[()])
    value, whole = as_array(filler)[()], (count, *sizes[0].tolist())
    # Np.zeros gets cleared memory.
    result = np.full(whole, value, kind) if value else np.zeros(whole, kind)
    begins = np.broadcast_to(around[..., 0], shapes.shape).tolist()
    for place, row, begin, size in zip(result, column, begins, shapes.tolist(), strict=True):
        place[tuple([slice(a, a + n) for a, n in zip(begin, size, strict=True)])] = row
    return result


PAD = Op("Pad", _pad, _pad_spec, _pad_block)
PAD_MODES = ("CONSTANT", "REFLECT", "SYMMETRIC")


def _turned(axes: Array, rank: int) -> tuple[int, ...]:
    if axes.ndim != 1:
        raise invalid(f"'dims' must be 1-dimension, not {axes.ndim}")
    found: list[int] = []
    for i, axis in enumerate(axes.tolist()):
        if not -rank <= axis < rank:
            raise invalid(f"'axis'[{i}] = {axis} is out of valid range [0, {rank - 1}")
        if axis % rank in found:
            raise invalid(f"axis {axis % rank} specified more than once.")
        found.append(axis % rank)
    return tuple(found)


def _reverse(x: Any, axes: Array) -> Array:
    array = as_array(x)
    return np.flip(array, _turned(axes, array.ndim))


def _reverse_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    axes, rank = constant_of(raws[1]), specs[0].shape.ndims
    if axes is not None and rank is not None:
        _turned(axes, rank)
    return [specs[0]]


def _reverse_block(_: int, x: Block, axes: Block) -> Any:
    if not is_column(x) or axes.many:
        return None
    return np.flip(x.value, tuple([a + 1 for a in _turned(axes.value, x.value.ndim - 1)]))


REVERSE = Op("ReverseV2", _reverse, _reverse_spec, _reverse_block)


def _range(start: Array, limit: Array, delta: Array) -> Array:
    if not start.size == limit.size == delta.size == 1:
        raise invalid("start, limit and delta must each be one number")
    start, limit, delta = (each.reshape(()) for each in (start, limit, delta))
    if delta == 0:
        raise invalid("Requires delta != 0: 0")
    if (limit - start) * np.sign(delta) < 0:
        way, sign = ("<=", ">") if delta > 0 else (">=", "<")
        raise invalid(f"Requires start {way} limit when delta {sign} 0: {start}/{limit}")
    numbers: Any = (start, limit, delta)
    found: Array = np.arange(*numbers, dtype=start.dtype)
    return found


def _range_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    dtype = specs[0].dtype
    if any(s.shape.ndims not in (0, None) for s in specs) or dtype.kind not in "iuf":
        raise ValueError("start, limit and delta must each be one number")
    known, count = [constant_of(raw) for raw in raws], None
    if all(value is not None for value in known):
        a, b, c = [value.item() for value in known if value is not None]
        if c and not np.isfinite((b - a) / c):
            raise ValueError("Requires ((limit - start) / delta) <= 9223372036854775807")
        count = max(int(np.ceil((b - a) / c)), 0) if c else None
    return [TensorSpec([count], dtype)]


def _range_block(count: int, *ends: Block) -> Any:
    """Return ranges of integers, one for each element."""
    values = [block.value for block in ends]
    alike = all(
        v.dtype.kind in "iu" and v.ndim == b.many for v, b in zip(values, ends, strict=True)
    )
    if not alike or ends[2].many or not values[2]:
        return None
    start, limit, delta = [np.broadcast_to(v.astype(np.int64), count) for v in values]
    if ((limit - start) * np.sign(delta) < 0).any():
        return None  # processing the elements one by one finds the error
    lengths = -((start - limit) // delta)
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = np.repeat(start, lengths) + steps * int(values[2])
    return rows_of_shapes(found.astype(values[0].dtype), lengths[:, np.newaxis])


RANGE = Op("Range", _range, _range_spec, _range_block)


def _linspace(start: Array, stop: Array, num: Array, *, axis: int) -> Array:
    if num < 0:
        raise invalid(f"Requires num >= 0: {num}")
    return np.linspace(start, stop, int(num), dtype=start.dtype, axis=axis)


def _linspace_spec(specs: Sequence[Any], raws: Sequence[Any], *, axis: int) -> list[TypeSpec]:
    sizes, num = specs[0].shape.sizes, constant_of(raws[2])
    if sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    known: list[int | None] = list(sizes)
    known.insert(axis % (len(sizes) + 1), None if num is None else max(int(num), 0))
    return [TensorSpec(known, specs[0].dtype)]


LINSPACE = Op("LinSpace", _linspace, _linspace_spec)


def _grid(*arrays: Array, indexing: Any) -> tuple[Array, ...]:
    return tuple(np.meshgrid(*arrays, indexing=indexing))


def _grid_specs(specs: Sequence[Any], *_: Any, indexing: Any) -> list[TypeSpec]:
    sizes = [spec.shape.num_elements() for spec in specs]
    if indexing == "xy":
        sizes[:2] = sizes[1::-1]
    return [TensorSpec(sizes, spec.dtype) for spec in specs]


MESHGRID = Op("Meshgrid", _grid, _grid_specs)


def _sequence_mask(lengths: Array, *most: Array, dtype: DType) -> Array:
    width = int(most[0]) if most else int(lengths.max(initial=0))
    if width < 0:
        raise invalid(f"Requires start <= limit when delta > 0: 0/{width}")
    return (np.arange(width) < np.expand_dims(lengths, -1)).astype(dtype.numpy)


def _mask_of_spec(specs: Sequence[Any], raws: Sequence[Any], *, dtype: DType) -> list[TypeSpec]:
    sizes, most = specs[0].shape.sizes, constant_of(raws[1]) if len(raws) > 1 else None
    if most is not None and most < 0:
        raise ValueError(f"Dimension {most} must be >= 0")
    if sizes is None:
        return [TensorSpec(None, dtype)]
    return [TensorSpec([*sizes, None if most is None else int(most)], dtype)]


def _sequence_block(_: int, lengths: Block, *most: Block, dtype: DType) -> Any:
    if not is_column(lengths) or not most or most[0].many:
        return None
    return _sequence_mask(lengths.value, most[0].value, dtype=dtype)


SEQUENCE_MASK = Op("SequenceMask", _sequence_mask, _mask_of_spec, _sequence_block)
