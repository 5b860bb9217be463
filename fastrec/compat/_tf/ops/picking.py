# SPDX-License-Identifier: Apache-2.0
"""Select elements of tensors by index or by a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec.columns import Arrays

from ..columns import are_alike, flat_values, rows_of_shapes
from ..errors import invalid
from ..kernels import shaping as slicing
from ..kernels.shaping import room
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import TensorShape, as_array
from . import Array, Block, Op, constant_of, known_sizes
from .reductions import one_number
from .shaping import is_column, moved

_WORTH = 1 << 12  # the minimum number of elements for a faster method
_LONG = 1 << 7  # rows of at least this number of elements are copied faster as a whole
INVALID_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)


class Place(NamedTuple):
    """A part of an index that is an input of the operation."""

    number: int


def index_of(key: Any, number: Callable[[Any], Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """Return the parts of an index, and the tensors for its :class:`Place` parts.

    Parameters
    ----------
    key : object
        The index, as Python passes it to ``__getitem__``.
    number : callable
        Converts a part to an int, None, or a tensor.
    """
    if type(key) is int:  # the most common case
        return (key,), []
    tensors: list[Any] = []

    def one(part: Any) -> Any:
        found = number(part)
        if found is None or isinstance(found, int):
            return found
        tensors.append(found)
        return Place(len(tensors) - 1)

    def whole(part: Any) -> Any:
        if part is None or part is Ellipsis:
            return part
        if isinstance(part, slice):
            bounds = (part.start, part.stop, part.step)
            return slice(*[None if bound is None else one(bound) for bound in bounds])
        return one(part)

    parts = tuple(map(whole, key if isinstance(key, (tuple, list)) else (key,)))
    if sum(part is Ellipsis for part in parts) > 1:
        raise ValueError("Multiple ellipses are not allowed.")
    return parts, tensors


def python_number(item: Any) -> int:
    """Convert a part of an index to an integer.

    Raises
    ------
    TypeError
        If the part is not an integer.
    """
    bad = isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__")
    if bad or getattr(item, "ndim", False):
        raise TypeError(f"{INVALID_INDEX}, got {item!r}")
    return int(item.__index__())


def filled(part: Any, values: Sequence[Any]) -> Any:
    """Replace each :class:`Place` in a part of an index by the value of its input."""
    if isinstance(part, Place):
        value = values[part.number]
        if value.ndim:
            raise invalid(
                f"Expected begin, end, and strides to be 1D equal size tensors, but got a part of "
                f"shape {in_messages(value.shape)} instead."
            )
        return int(value)
    if isinstance(part, slice):
        return slice(*[filled(bound, values) for bound in (part.start, part.stop, part.step)])
    return part


def _strided_slice(x: Any, *values: Array, index: tuple[Any, ...]) -> Array:
    places = [filled(part, values) for part in index] if values else index
    return slicing.strided_slice(as_array(x), places)


def _strided_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, index: tuple[Any, ...]
) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    if sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    rank, used = len(sizes), sum(part is not None and part is not Ellipsis for part in index)
    if used > rank:
        raise ValueError(
            f"Index out of range using input dim {rank}; input has only {rank} dims for "
            f"'StridedSlice' with input shapes: {in_messages(sizes)}."
        )
    known: list[int | None] = []
    left = list(sizes)
    for part in [*index, *([] if Ellipsis in index else [Ellipsis])]:
        if part is None:
            known.append(1)
        elif part is Ellipsis:
            keep = rank - used
            known.extend(left[:keep])
            del left[:keep]
        elif isinstance(part, slice):
            known.append(_length(part, left.pop(0)))
        else:
            size = left.pop(0)
            if size is not None and not isinstance(part, Place) and not -size <= part < size:
                raise ValueError(
                    f"slice index {part} of dimension {rank - len(left) - 1} out of bounds. for "
                    f"'StridedSlice' with input shapes: {in_messages(sizes)}."
                )
    return [TensorSpec(known, specs[0].dtype)]


def _length(part: slice, size: int | None) -> int | None:
    if any(isinstance(bound, Place) for bound in (part.start, part.stop, part.step)):
        return None
    if part.step == 0:
        raise ValueError("strides must be non-zero")
    if size is None:
        start, stop, step = part.start or 0, part.stop, part.step or 1
        return 0 if stop is not None and step > 0 and 0 <= stop <= start else None
    return len(range(*part.indices(size)))


def _strided_block(_: int, x: Block, *values: Block, index: tuple[Any, ...]) -> Any:
    if isinstance(x.value, (fastrec.Ragged, Arrays)) and x.many and not values:
        parts = [part for part in index if part is not Ellipsis]
        if len(parts) == 1 and isinstance(parts[0], slice):
            return _part_of_rows(x.value, parts[0])
        return _one_of_rows(x.value, parts)
    if not isinstance(x.value, (np.ndarray, fastrec.Bytes)):
        return None
    if values:
        return _places_block(x, values, index)
    if not x.many:
        return None
    try:
        return moved(x.value, lambda column: column[(slice(None), *index)])
    except (IndexError, ValueError):
        return None  # processing the elements one by one finds the error


def _places_block(x: Block, values: Sequence[Block], index: tuple[Any, ...]) -> Any:
    """Index one array, or a column, at positions that differ for each element."""
    if x.many and isinstance(index[0], slice) and x.value.ndim > 1:
        return _parts_of_matrix(x.value, values, index)
    late = [isinstance(part, Place) for part in index]
    rest = index[sum(late) :]
    if not all(late[: sum(late)]) or any(type(part) is not slice for part in rest):
        return None
    if any(isinstance(bound, Place) for s in rest for bound in (s.start, s.stop, s.step)):
        return None
    places = [values[part.number] for part in index[: sum(late)]]
    if not any(place.many for place in places) or any(p.value.ndim != p.many for p in places):
        return None
    sizes = x.value.shape[x.many :]
    if len(sizes) < len(index) or any(
        (p.value < -size).any() or (p.value >= size).any()
        for p, size in zip(places, sizes, strict=False)
    ):
        return None  # processing the elements one by one finds the error
    first = [np.arange(len(x.value))] if x.many else []
    where = (*first, *[place.value for place in places], *rest)
    return moved(x.value, lambda whole: whole[where])


def _parts_of_matrix(column: Any, values: Sequence[Block], index: tuple[Any, ...]) -> Any:
    """Slice the rows of each element, from and to positions that differ for each element."""
    bounds = [
        values[bound.number] if isinstance(bound, Place) else Block(bound, False)
        for bound in (index[0].start, index[0].stop)
    ]
    whole = len(index) == 1 and isinstance(column, np.ndarray)
    if not whole or any(np.ndim(bound.value) != bound.many for bound in bounds):
        return None
    shapes = np.broadcast_to(column.shape[1:], (len(column), column.ndim - 1))
    rows = rows_of_shapes(column.reshape(-1), shapes)
    begin, end = [bound.value for bound in bounds]
    return _part_of_rows(rows, slice(begin, end, index[0].step))


def _one_of_rows(rows: Any, parts: Sequence[Any]) -> Any:
    """Return the value at one position of each row."""
    if len(parts) != 1 or not isinstance(parts[0], int) or isinstance(rows, Arrays):
        return None
    place, lengths = parts[0], rows.row_lengths
    if not isinstance(rows.values, (np.ndarray, fastrec.Bytes)) or len(rows.values.shape) != 1:
        return None
    if (lengths <= place if place >= 0 else lengths < -place).any():
        return None  # processing the elements one by one finds the error
    where = (rows.row_splits[:-1] if place >= 0 else rows.row_splits[1:]) + place
    return moved(rows.values, lambda values: values[where])


def _part_of_rows(rows: Any, part: slice) -> Any:
    """Slice each row, in steps of 1."""
    begin, end = 0 if part.start is None else part.start, part.stop
    if part.step not in (None, 1):
        return None
    if not isinstance(rows.values, (np.ndarray, fastrec.Bytes)):
        return None
    arrays = isinstance(rows, Arrays)
    lengths = rows.shapes[:, 0] if arrays else rows.row_lengths
    if np.any(begin < 0):
        begin = np.where(begin < 0, np.maximum(begin + lengths, 0), begin)
    if end is not None and np.any(end < 0):
        end = np.where(end < 0, np.maximum(end + lengths, 0), end)
    kept = np.maximum((lengths if end is None else np.minimum(lengths, end)) - begin, 0)
    if (kept == lengths).all():
        return rows
    widths = np.prod(rows.shapes[:, 1:], axis=1) if arrays else np.ones(len(kept), np.int64)
    first = rows.row_splits[:-1] + begin * widths
    splits = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept * widths, out=splits[1:])
    values = _pieces(rows.values, first, kept * widths)
    if not arrays:
        return fastrec.Ragged(values, splits)
    return Arrays(values, splits, np.hstack([kept[:, np.newaxis], rows.shapes[:, 1:]]))


def _pieces(values: Any, first: Array, lengths: Array) -> Any:
    """Concatenate runs of values with the given first positions and lengths."""
    if isinstance(values, fastrec.Bytes) or lengths.sum() < _LONG * len(lengths):
        at = lengths.cumsum()
        where = np.arange(at[-1] if len(at) else 0) + np.repeat(first - at + lengths, lengths)
        return moved(values, lambda flat: flat[where])
    parts = zip(first.tolist(), (first + lengths).tolist(), strict=True)
    return np.concatenate([values[:0], *(values[a:b] for a, b in parts)])


STRIDED_SLICE = Op("StridedSlice", _strided_slice, _strided_spec, _strided_block, cheap=True)


def _slice(x: Any, begin: Array, size: Array) -> Array:
    return slicing.slice_array(as_array(x), begin, size)


def _slice_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes, dtype = specs[0].shape.sizes, specs[0].dtype
    for spec in specs[1:]:
        parts = spec.shape.num_elements()
        if sizes is not None and parts not in (len(sizes), None):
            raise ValueError(f"Shape must be rank {parts} but is rank {len(sizes)} for 'Slice'")
    wanted, start = constant_of(raws[2]), constant_of(raws[1])
    known = known_sizes(raws[2])
    if known is None and sizes is not None:
        known = [None] * len(sizes)
    if wanted is not None and start is not None and sizes is not None and known is not None:
        parts = zip(known, sizes, start.reshape(-1).tolist(), strict=True)
        found = [(m if m is None else m - b) if n is None else n for n, m, b in parts]
        known = [None if n is not None and n < 0 else n for n in found]
    return [TensorSpec(known, dtype)]


def _slice_block(count: int, x: Block, begin: Block, size: Block) -> Any:
    if not is_column(x) or size.many or not isinstance(begin.value, np.ndarray):
        return None
    lengths, sizes = np.array(x.value.shape[1:]), size.value.astype(np.int64)
    starts = np.asarray(begin.value if begin.many else begin.value[np.newaxis], np.int64)
    if starts.ndim != 2 or starts.shape[1] != len(lengths) or len(sizes) != len(lengths):
        return None
    if (sizes < 0).any() or (starts < 0).any() or (starts + sizes > lengths).any():
        return None  # process -1 and errors element by element
    ends = starts + sizes
    if not begin.many:
        return x.value[(slice(None), *map(slice, starts[0].tolist(), ends[0].tolist()))]
    result = np.empty((count, *sizes.tolist()), x.value.dtype)
    for i, (first, last) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        result[i] = x.value[(i, *map(slice, first, last))]
    return result


SLICE = Op("Slice", _slice, _slice_spec, _slice_block)


def _gather(x: Any, indices: Array, axis: Array, *, batch_dims: int) -> Any:
    at = one_number(axis, "axis")
    if isinstance(x, fastrec.Bytes) and len(x.shape) == 1 and at in (0, -1) and not batch_dims:
        slicing.check_places(indices, len(x))
        taken = x.take(indices.reshape(-1))
        return fastrec.Bytes(taken.data, taken.offsets, indices.shape)
    return slicing.gather(as_array(x), indices, at, batch_dims)


def _gather_spec(specs: Sequence[Any], raws: Sequence[Any], *, batch_dims: int) -> list[TypeSpec]:
    sizes, picked, at = specs[0].shape.sizes, specs[1].shape.sizes, constant_of(raws[2])
    if sizes is None or picked is None or at is None:
        return [TensorSpec(None, specs[0].dtype)]
    front, batch = int(at), batch_dims + (len(picked) if batch_dims < 0 else 0)
    if not -len(sizes) <= front < len(sizes):
        raise ValueError(f"Shape must be at least rank {front + 1} but is rank {len(sizes)}")
    front %= len(sizes)
    return [TensorSpec([*sizes[:front], *picked[batch:], *sizes[front + 1 :]], specs[0].dtype)]


def _gather_block(_: int, x: Block, indices: Block, axis: Block, *, batch_dims: int) -> Any:
    if x.many or axis.many or axis.value or batch_dims or not is_column(indices):
        return None
    return _gather(x.value, indices.value, axis.value, batch_dims=0)


GATHER = Op("GatherV2", _gather, _gather_spec, _gather_block)


def _gather_nd(x: Any, indices: Array, *, batch_dims: int) -> Array:
    return slicing.gather_nd(as_array(x), indices, batch_dims)


def _gather_nd_spec(specs: Sequence[Any], *_: Any, batch_dims: int) -> list[TypeSpec]:
    sizes, picked = specs[0].shape.sizes, specs[1].shape.sizes
    if picked == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0 for 'GatherNd'")
    if sizes is None or not picked or picked[-1] is None:
        return [TensorSpec(None, specs[0].dtype)]
    if picked[-1] > len(sizes) - batch_dims:
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{in_messages(picked)} and params shape: {in_messages(sizes)}"
        )
    return [TensorSpec([*picked[:-1], *sizes[batch_dims + picked[-1] :]], specs[0].dtype)]


GATHER_ND = Op("GatherNd", _gather_nd, _gather_nd_spec)


def _one_hot(indices: Array, depth: Array, on: Any, off: Any, *, axis: int) -> Array:
    if not -1 <= axis <= indices.ndim:
        raise invalid(
            f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}"
        )
    count = int(depth)
    if count < 0:
        raise invalid(f"depth must be non-negative, got: {count}")
    values = as_array(on), as_array(off)
    for what, given in zip(("on", "off"), values, strict=True):
        if given.ndim:
            shape = in_messages(given.shape)
            raise invalid(f"{what}_value must be a scalar, but got: {shape}")
    result = room((indices.size * count,), values[1].dtype)
    result.fill(values[1][()])
    places = indices.reshape(-1)
    known = (places >= 0) & (places < count)
    where = np.arange(indices.size) * count + places
    result[where if known.all() else where[known]] = values[0]
    codes = result.reshape(*indices.shape, count)
    return codes if axis == -1 else np.moveaxis(codes, -1, axis)


def _one_hot_spec(specs: Sequence[Any], raws: Sequence[Any], *, axis: int) -> list[TypeSpec]:
    sizes, depth, dtype = specs[0].shape.sizes, constant_of(raws[1]), specs[2].dtype
    if axis < -1 or (depth is not None and depth < 0):
        raise ValueError(f"axis must be >= -1, and depth no less than 0: {axis}, {depth}")
    if sizes is None:
        return [TensorSpec(None, dtype)]
    known = list(sizes)
    known.insert(len(known) if axis == -1 else axis, None if depth is None else int(depth))
    return [TensorSpec(known, dtype)]


def _one_hot_block(_: int, indices: Block, *others: Block, axis: int) -> Any:
    if not is_column(indices) or axis != -1 or any(other.many for other in others):
        return None
    return _one_hot(indices.value, *[other.value for other in others], axis=-1)


ONE_HOT = Op("OneHot", _one_hot, _one_hot_spec, _one_hot_block)


def _where(x: Any) -> Array:
    array = as_array(x)
    found = np.flatnonzero(array)  # much faster than np.nonzero()
    places = np.empty((found.size, array.ndim), np.int64)
    for axis in range(array.ndim - 1, 0, -1):
        size = max(array.shape[axis], 1)
        quotients = found // size  # NumPy vectorizes this, unlike divmod
        np.subtract(found, quotients * size, out=places[:, axis])
        found = quotients
    places[:, :1] = found[:, np.newaxis]
    return places


WHERE = Op(
    "Where",
    _where,
    lambda specs, *_: [TensorSpec([None, specs[0].shape.ndims], "int64")],
    kinds="fiucb",
)


def _boolean_mask(x: Any, mask: Array, *, axis: int) -> Array:
    array = as_array(x)
    if array.shape[axis : axis + mask.ndim] != mask.shape:
        shapes = f"{in_messages(array.shape)} and {in_messages(mask.shape)}"
        raise invalid(f"Shapes {shapes} are incompatible")
    if not axis and mask.size >= _WORTH and array.dtype != object and array.flags.c_contiguous:
        size = array[(0,) * mask.ndim].nbytes  # bytes that one entry of the mask selects
        rows = np.flatnonzero(mask)
        found = array.reshape(-1).view(f"V{size}").take(rows) if size else None
        if found is not None:
            return found.view(array.dtype).reshape(len(rows), *array.shape[mask.ndim :])
    return array[(slice(None),) * axis + (mask,)]


def _mask_spec(specs: Sequence[Any], *_: Any, axis: int) -> list[TypeSpec]:
    sizes, rank = specs[0].shape.sizes, specs[1].shape.ndims
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if sizes is None or rank is None:
        return [TensorSpec(None, specs[0].dtype)]
    TensorShape(sizes[axis : axis + rank]).assert_is_compatible_with(specs[1].shape)
    return [TensorSpec([*sizes[:axis], None, *sizes[axis + rank :]], specs[0].dtype)]


def _mask_block(_: int, x: Block, mask: Block, *, axis: int) -> Any:
    if axis or not all(b.many and isinstance(b.value, fastrec.Ragged) for b in (x, mask)):
        return None
    if not are_alike([x.value, mask.value]):
        return None
    kept = flat_values(mask.value)
    before = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    splits = before[mask.value.row_splits - mask.value.row_splits[0]]
    return fastrec.Ragged(flat_values(x.value)[kept], splits)


BOOLEAN_MASK = Op("BooleanMask", _boolean_mask, _mask_spec, _mask_block)
