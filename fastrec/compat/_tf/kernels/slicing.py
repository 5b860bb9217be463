# SPDX-License-Identifier: Apache-2.0
"""Select parts of arrays, with TensorFlow's error messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from ..shape import in_messages

__all__ = ["check_places", "gather", "gather_nd", "slice_array", "strided_slice"]

Array = np.ndarray[Any, Any]


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


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
        raise _invalid(_why_not(value.shape, index)) from None


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
        raise _invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {value.ndim}, but got "
            f"shapes {in_messages(begin.shape)} and {in_messages(size.shape)} instead."
        )
    index = []
    for d, length in enumerate(value.shape):
        first, count = int(begin[d]), int(size[d])
        if not 0 <= first <= length:
            raise _invalid(f"Expected begin[{d}] in [0, {length}], but got {first}")
        if count == -1:
            count = length - first
        if not 0 <= count <= length - first:
            raise _invalid(f"Expected size[{d}] in [0, {length - first}], but got {count}")
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
        raise _invalid("params must be at least 1 dimensional")
    if not -value.ndim <= axis < value.ndim:
        raise _invalid(f"Expected axis in the range [{-value.ndim}, {value.ndim}), but got {axis}")
    axis %= value.ndim
    batch_dims += indices.ndim if batch_dims < 0 else 0
    if not 0 <= batch_dims <= min(axis, indices.ndim):
        raise _invalid(f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis})")
    for d in range(batch_dims):
        if value.shape[d] != indices.shape[d]:
            raise _invalid(
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
        raise _invalid(f"indices{where} = {indices[tuple(bad)]} is not in [0, {length})")


def gather_nd(value: Array, indices: Array, batch_dims: int = 0) -> Array:
    """Gather the slices of `value` at the indices in the last axis of `indices`.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds.
    """
    if not value.ndim:
        raise _invalid("params must be at least a vector")
    if batch_dims:
        rows = zip(value, indices, strict=True)
        return np.stack([gather_nd(v, i, batch_dims - 1) for v, i in rows])
    depth = indices.shape[-1]
    if not depth:
        return np.broadcast_to(value, (*indices.shape[:-1], *value.shape))
    if depth > value.ndim:
        raise _invalid(
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
        raise _invalid(
            f"indices{where} = [{place}] does not index into param shape {in_messages(value.shape)}"
        )
    return np.asarray(value[tuple(np.moveaxis(indices, -1, 0))], dtype=value.dtype)
