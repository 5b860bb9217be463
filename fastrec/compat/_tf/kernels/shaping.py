# SPDX-License-Identifier: Apache-2.0
"""Kernels that reshape, join, slice and reduce arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import _core, _tensor

from ..errors import invalid
from ..shape import in_messages

Array = np.ndarray[Any, Any]
_WORTH = 1 << 12  # the minimum number of elements for native code
_FOLDED = 1 << 8
_LARGE = 1 << 17  # the minimum number of elements for reused memory
_SHORT = 8  # NumPy adds fewer numbers than this one after another


def new_sizes(shape: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Return the shape for reshaping an array of `shape`; one size of `wanted` may be -1.

    If the array is empty and `wanted` contains a 0, only sizes above 0 determine the size for -1.

    Raises
    ------
    InvalidArgumentError
        If the number of elements differs, with TensorFlow's message.
    """
    unknown = -1
    for at, size in enumerate(wanted):
        if size < -1:
            raise invalid(f"Size {at} must be non-negative, not {size}")
        if size == -1 and unknown >= 0:
            raise invalid(f"Only one input size may be -1, not both {unknown} and {at}")
        if size == -1:
            unknown = at
    sizes, count = list(wanted), math.prod(shape)
    values = f"Input to reshape is a tensor with {count} values, but the requested shape"
    if unknown >= 0:
        product = math.prod([size for size in wanted if size > 0])
        rest = math.prod([size for size in shape if size]) if 0 in wanted else count
        sizes[unknown] = rest // product
        if rest % product:
            raise invalid(f"{values} requires a multiple of {product}")
    if math.prod(sizes) != count:
        raise invalid(f"{values} has {math.prod(sizes)}")
    return sizes


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """Concatenate arrays along a dimension; a short last dimension is joined natively."""
    first = arrays[0]
    if (
        first.ndim >= 2
        and (first.ndim == 3 or first.shape[-1] > 1)  # NumPy joins single columns faster
        and axis in (-1, first.ndim - 1)
        and first.size >= _WORTH
        and first.dtype != object
        and all(each.ndim == first.ndim and each.dtype == first.dtype for each in arrays)
        and all(each.shape[:-1] == first.shape[:-1] for each in arrays)
    ):
        return _tensor.join_channels(list(arrays))
    shape = list(first.shape)
    shape[axis] = sum([each.shape[axis] for each in arrays])
    return np.concatenate(arrays, axis, room(shape, first.dtype))


def room(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return an uninitialized array; large arrays reuse memory, which is faster."""
    if dtype.kind == "O" or math.prod(shape) < _LARGE:
        return np.empty(shape, dtype)
    return _core.empty(tuple(shape), dtype)


def reduced(
    function: np.ufunc, x: Array, axis: tuple[int, ...] | None, keepdims: bool, **how: Any
) -> Array:
    """Return the result of ``function.reduce``, reducing one of several axes at a time.

    NumPy iterates along the last axis, which is slow if that axis is as short as channels are.
    """
    last = x.ndim - 1
    if axis is None or last < 1 or x.size < _FOLDED or x.shape[last] >= _SHORT:
        return np.asarray(function.reduce(x, axis, keepdims=keepdims, **how))
    total: Any = x
    if axis == (last,):
        parts = np.moveaxis(x, last, 0)
        dtype = how.get("dtype", x.dtype)
        total = parts[0].astype(dtype)
        for part in parts[1:]:
            function(total, part, out=total, dtype=dtype)
        return np.expand_dims(total, last) if keepdims else np.asarray(total)
    if last in axis:
        return np.asarray(function.reduce(x, axis, keepdims=keepdims, **how))
    for done, each in enumerate(sorted(axis)):
        place = each if keepdims else each - done
        total = function.reduce(total, place, keepdims=keepdims, **how)
    return np.asarray(total)


def summed(x: Array, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
    """Return sums in the type of `x`."""
    return reduced(np.add, x, axis, keepdims, dtype=x.dtype)


def strided_slice(value: Array, index: Sequence[Any]) -> Array:
    """Return ``value[index]`` for an index of integers, slices, ``...`` and None.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds, a step is 0, or there are more indices than dimensions.
    """
    try:
        return np.asarray(value[tuple(index)], dtype=value.dtype)
    except (IndexError, ValueError):
        raise invalid(_why_not(value.shape, index)) from None


def _why_not(sizes: tuple[int, ...], index: Sequence[Any]) -> str:
    used = sum(1 for part in index if part is not None and part is not Ellipsis)
    rank = len(sizes)
    if not rank:
        return "Attempting to slice scalar input."
    if used > rank:
        return f"Index out of range using input dim {rank}; input has only {rank} dims"
    dim = 0
    for at, part in enumerate(index):
        if part is Ellipsis:
            dim += len(sizes) - used
            continue
        if part is None:
            continue
        if isinstance(part, slice):
            if part.step == 0:
                return f"strides[{at}] must be non-zero"
        elif not -sizes[dim] <= part < sizes[dim]:
            return f"slice index {part} of dimension {dim} out of bounds."
        dim += 1
    return "the slice is not a valid one"


def slice_array(value: Array, begin: Array, size: Array) -> Array:
    """Return a slice of `size` elements from `begin` along each axis; -1 means all remaining.

    Raises
    ------
    InvalidArgumentError
        If the slice exceeds the array.
    """
    if begin.size != value.ndim or size.size != value.ndim:
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {value.ndim}, but got "
            f"shapes {in_messages(begin.shape)} and {in_messages(size.shape)} instead."
        )
    index = []
    for d, length in enumerate(value.shape):
        first, count = int(begin[d]), int(size[d])
        if not 0 <= first <= length:
            raise invalid(f"Expected begin[{d}] in [0, {length}], but got {first}")
        if count == -1:
            count = length - first
        if not 0 <= count <= length - first:
            raise invalid(f"Expected size[{d}] in [0, {length - first}], but got {count}")
        index.append(slice(first, first + count))
    return value[tuple(index)]


def gather(value: Array, indices: Array, axis: int = 0, batch_dims: int = 0) -> Array:
    """Gather the slices of `value` at `indices` along one axis.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds, which includes negative indices.
    """
    if not value.ndim:
        raise invalid("params must be at least 1 dimensional")
    if not -value.ndim <= axis < value.ndim:
        raise invalid(f"Expected axis in the range [{-value.ndim}, {value.ndim}), but got {axis}")
    axis %= value.ndim
    batch_dims += indices.ndim if batch_dims < 0 else 0
    if not 0 <= batch_dims <= min(axis, indices.ndim):
        raise invalid(f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis})")
    for d in range(batch_dims):
        if value.shape[d] != indices.shape[d]:
            raise invalid(
                f"params.shape[{d}]: {value.shape[d]} should be equal to indices.shape[{d}]: "
                f"{indices.shape[d]}"
            )
    length = value.shape[axis]
    check_places(indices, length)
    if batch_dims and value.size:  # index the rows of all batches consecutively
        outer = value.shape[:axis]
        batches, before = math.prod(outer[:batch_dims]), math.prod(outer[batch_dims:])
        starts = (np.arange(batches * before) * length).reshape(batches, before, 1)
        places = indices.reshape(batches, 1, -1) + starts
        inner = value.shape[axis + 1 :]
        rows = value.reshape(-1, *inner).take(places.reshape(-1), 0)
        return np.asarray(rows.reshape(*outer, *indices.shape[batch_dims:], *inner))
    return np.asarray(np.take(value, indices, axis), dtype=value.dtype)


def check_places(indices: Array, length: int) -> None:
    """Raise InvalidArgumentError if an index is not from 0 to below `length`."""
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < length:
        bad = np.argwhere((indices < 0) | (indices >= length))[0]
        where = f"[{','.join(str(i) for i in bad)}]" if bad.size else ""
        raise invalid(f"indices{where} = {indices[tuple(bad)]} is not in [0, {length})")


def gather_nd(value: Array, indices: Array, batch_dims: int = 0) -> Array:
    """Gather the slices of `value` at the indices in the last axis of `indices`.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds.
    """
    if not value.ndim:
        raise invalid("params must be at least a vector")
    if batch_dims:
        rows = zip(value, indices, strict=True)
        return np.stack([gather_nd(v, i, batch_dims - 1) for v, i in rows])
    depth = indices.shape[-1]
    if not depth:
        return np.broadcast_to(value, (*indices.shape[:-1], *value.shape))
    if depth > value.ndim:
        raise invalid(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. "
            f"{value.ndim}"
        )
    try:
        flat = np.ravel_multi_index(tuple(np.moveaxis(indices, -1, 0)), value.shape[:depth])
    except ValueError:  # the code below finds the index that is out of bounds
        pass
    else:
        found: Array = value.reshape(-1, *value.shape[depth:]).take(flat, 0)
        return found
    limits = np.array(value.shape[:depth])
    bad = np.argwhere(((indices < 0) | (indices >= limits)).any(-1))
    if bad.size or (bad.shape[0] and not bad.shape[1]):
        at = tuple(bad[0])
        place = ", ".join(str(i) for i in indices[at])
        where = f"[{','.join(str(i) for i in at)}]"
        raise invalid(
            f"indices{where} = [{place}] does not index into param shape {in_messages(value.shape)}"
        )
    return np.asarray(value[tuple(np.moveaxis(indices, -1, 0))], dtype=value.dtype)
